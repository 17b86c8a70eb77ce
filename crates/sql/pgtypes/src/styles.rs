//! Styles of reading and writing values.

use jiff::tz::TimeZone;

/// Settings on which the text forms of values depend. DateStyle is `ISO, MDY`.
#[derive(Clone, Debug)]
pub struct Styles {
    /// The session's time zone.
    pub zone: TimeZone,
    /// The transaction's start in microseconds since 1970-01-01 UTC: 'now' and 'today'.
    pub now_micros: i64,
    /// Output style of intervals.
    pub intervals: IntervalStyle,
    /// bytea_output: `escape`, not `hex`.
    pub bytea_escaped: bool,
}

/// IntervalStyle, as far as there are styles here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}

impl Default for Styles {
    fn default() -> Styles {
        Styles { zone: TimeZone::UTC, now_micros: 0, intervals: IntervalStyle::Postgres, bytea_escaped: false }
    }
}
