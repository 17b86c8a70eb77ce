//! Styles of reading and writing values.

use jiff::tz::TimeZone;

/// Settings on which the text forms of values depend.
#[derive(Clone, Debug)]
pub struct Styles {
    /// The session's time zone.
    pub zone: TimeZone,
    /// The transaction's start in microseconds since 1970-01-01 UTC: 'now' and 'today'.
    pub now_micros: i64,
    /// Output style of dates and timestamps.
    pub dates: DateStyle,
    /// Order of day, month and year in dates of numbers.
    pub order: DateOrder,
    /// Output style of intervals.
    pub intervals: IntervalStyle,
    /// bytea_output: `escape`, not `hex`.
    pub bytea_escaped: bool,
}

/// Output style of DateStyle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateStyle {
    /// `1997-12-17 07:37:16-08`
    #[default]
    Iso,
    /// `12/17/1997 07:37:16.00 PST`
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `17.12.1997 07:37:16.00 PST`
    German,
}

/// Order of DateStyle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

impl DateStyle {
    /// Reads the setting over the one before: a style, an order, or both. German dates are in the order of days unless
    /// an order is given with them.
    ///
    /// # Errors
    /// What is wrong with the setting, as PostgreSQL's DETAIL says it.
    pub fn read(setting: &str, before: (DateStyle, DateOrder)) -> Result<(DateStyle, DateOrder), String> {
        let conflict = || "Conflicting \"datestyle\" specifications.".to_owned();
        let (mut style, mut order) = (None, None);
        for word in setting.split(',') {
            let word = word.trim().to_ascii_lowercase();
            let found = match word.as_str() {
                "iso" => DateStyle::Iso,
                "sql" => DateStyle::Sql,
                "german" => DateStyle::German,
                _ if word.starts_with("postgres") => DateStyle::Postgres,
                _ => {
                    let found = match word.as_str() {
                        "ymd" => DateOrder::Ymd,
                        "dmy" => DateOrder::Dmy,
                        "mdy" | "us" => DateOrder::Mdy,
                        _ if word.starts_with("euro") => DateOrder::Dmy,
                        _ if word.starts_with("noneuro") => DateOrder::Mdy,
                        _ => return Err(format!("Unrecognized key word: \"{word}\".")),
                    };
                    if order.replace(found).is_some_and(|before| before != found) {
                        return Err(conflict());
                    }
                    continue;
                }
            };
            if style.replace(found).is_some_and(|before| before != found) {
                return Err(conflict());
            }
        }
        let usual = if style == Some(DateStyle::German) { DateOrder::Dmy } else { before.1 };
        Ok((style.unwrap_or(before.0), order.unwrap_or(usual)))
    }

    /// The setting as SHOW prints it.
    pub fn show(self, order: DateOrder) -> String {
        let style = match self {
            DateStyle::Iso => "ISO",
            DateStyle::Sql => "SQL",
            DateStyle::Postgres => "Postgres",
            DateStyle::German => "German",
        };
        let order = match order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        format!("{style}, {order}")
    }
}

/// IntervalStyle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`
    Verbose,
    /// `+1-2 -3 +4:05:06`
    Sql,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}

impl Default for Styles {
    fn default() -> Styles {
        Styles {
            zone: TimeZone::UTC,
            now_micros: 0,
            dates: DateStyle::Iso,
            order: DateOrder::Mdy,
            intervals: IntervalStyle::Postgres,
            bytea_escaped: false,
        }
    }
}
