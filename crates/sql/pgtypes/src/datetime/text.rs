//! Dates, times and intervals as text.
//!
//! `scan.rs` cuts the text into fields as PostgreSQL's `ParseDateTime` does; `moment.rs` interprets the fields of a date or
//! time, `span.rs` the fields of an interval; this file writes values.

mod moment;
mod scan;
mod span;

pub(crate) use moment::{parse_date, parse_time, parse_timestamp, parse_timestamptz};
pub(crate) use span::parse_interval;

use super::civil::{HOUR, MINUTE, SECOND, civil_from_days, is_infinite, offset_at, split};
use super::zone::write_offset;
use crate::Interval;
use jiff::tz::TimeZone;
use std::fmt::Write;

/// Two digits.
fn push_two(value: i64, out: &mut String) {
    out.push(char::from(b'0' + (value / 10 % 10) as u8));
    out.push(char::from(b'0' + (value % 10) as u8));
}

/// Appends a date: `2020-01-31`, `0044-03-15 BC`.
pub(crate) fn write_date(date: i32, out: &mut String) {
    match date {
        i32::MIN => out.push_str("-infinity"),
        i32::MAX => out.push_str("infinity"),
        _ => {
            if write_day(i64::from(date), out) {
                out.push_str(" BC");
            }
        }
    }
}

/// Returns whether the year is before Christ; the caller adds that at the end.
fn write_day(days: i64, out: &mut String) -> bool {
    let (year, month, day) = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    if shown < 10_000 {
        push_two(shown / 100, out);
        push_two(shown % 100, out);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "{shown}");
    }
    out.push('-');
    push_two(i64::from(month), out);
    out.push('-');
    push_two(i64::from(day), out);
    year <= 0
}

/// Appends a time of day: `04:05:06.789`.
pub(crate) fn write_time(micros: i64, out: &mut String) {
    push_two(micros / HOUR, out);
    out.push(':');
    push_two(micros / MINUTE % 60, out);
    out.push(':');
    push_two(micros / SECOND % 60, out);
    write_fraction(micros % SECOND, out);
}

/// A point and microseconds without zeros at the end; nothing for zero.
fn write_fraction(micros: i64, out: &mut String) {
    if micros != 0 {
        let start = out.len();
        // Writing to a string cannot fail.
        let _ = write!(out, ".{micros:06}");
        let kept = out[start..].trim_end_matches('0').len();
        out.truncate(start + kept);
    }
}

/// Appends a timestamp: `2020-01-31 04:05:06.789`.
pub(crate) fn write_timestamp(micros: i64, out: &mut String) {
    write_moment(micros, None, out);
}

/// Appends a timestamp in local time, with the offset from UTC.
pub(crate) fn write_timestamptz(micros: i64, zone: &TimeZone, out: &mut String) {
    write_moment(micros, Some(zone), out);
}

fn write_moment(micros: i64, zone: Option<&TimeZone>, out: &mut String) {
    if is_infinite(micros) {
        out.push_str(if micros < 0 { "-infinity" } else { "infinity" });
        return;
    }
    let offset = zone.map(|zone| offset_at(micros, zone));
    let (days, time) = split(micros.saturating_add(offset.unwrap_or(0) * SECOND));
    let before_christ = write_day(days, out);
    out.push(' ');
    write_time(time, out);
    if let Some(offset) = offset {
        write_offset(offset, out);
    }
    if before_christ {
        out.push_str(" BC");
    }
}

/// Appends an interval in IntervalStyle `iso_8601`: `P1Y2M-3DT4H5M6S`.
pub(crate) fn write_iso_interval(interval: &Interval, out: &mut String) {
    if (interval.months, interval.days, interval.micros) == (0, 0, 0) {
        return out.push_str("PT0S");
    }
    out.push('P');
    for (value, unit) in [(interval.months / 12, 'Y'), (interval.months % 12, 'M'), (interval.days, 'D')] {
        if value != 0 {
            // Writing to a string cannot fail.
            let _ = write!(out, "{value}{unit}");
        }
    }
    if interval.micros == 0 {
        return;
    }
    out.push('T');
    for (value, unit) in [(interval.micros / HOUR, 'H'), (interval.micros % HOUR / MINUTE, 'M')] {
        if value != 0 {
            // Writing to a string cannot fail.
            let _ = write!(out, "{value}{unit}");
        }
    }
    let seconds = interval.micros % MINUTE;
    if seconds != 0 {
        let sign = if seconds < 0 { "-" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(out, "{sign}{}", seconds.abs() / SECOND);
        write_fraction(seconds.abs() % SECOND, out);
        out.push('S');
    }
}

/// Appends an interval in IntervalStyle `postgres`: `1 year 2 mons -3 days +04:05:06`.
pub(crate) fn write_interval(interval: &Interval, out: &mut String) {
    let start = out.len();
    let mut before_negative = false;
    for (value, unit) in [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")] {
        if value != 0 {
            let blank = if out.len() > start { " " } else { "" };
            let plus = if before_negative && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            // Writing to a string cannot fail.
            let _ = write!(out, "{blank}{plus}{value} {unit}{plural}");
            before_negative = value < 0;
        }
    }
    let empty = out.len() == start;
    if interval.micros == 0 && !empty {
        return;
    }
    if !empty {
        out.push(' ');
    }
    if interval.micros < 0 {
        out.push('-');
    } else if before_negative {
        out.push('+');
    }
    let (hours, rest) = (interval.micros / HOUR, interval.micros % HOUR);
    // Writing to a string cannot fail.
    let _ = write!(out, "{:02}:", hours.unsigned_abs());
    let rest = rest.abs();
    push_two(rest / MINUTE, out);
    out.push(':');
    push_two(rest / SECOND % 60, out);
    write_fraction(rest % SECOND, out);
}
