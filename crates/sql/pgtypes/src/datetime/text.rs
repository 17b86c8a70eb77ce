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
use crate::{DateOrder, DateStyle, Interval, Styles};
use jiff::tz::TimeZone;
use std::fmt::Write;

/// Two digits.
fn push_two(value: i64, out: &mut String) {
    out.push(char::from(b'0' + (value / 10 % 10) as u8));
    out.push(char::from(b'0' + (value % 10) as u8));
}

/// Appends a date: `2020-01-31`, `0044-03-15 BC`.
pub(crate) fn write_date(date: i32, styles: &Styles, out: &mut String) {
    match date {
        i32::MIN => out.push_str("-infinity"),
        i32::MAX => out.push_str("infinity"),
        _ => {
            let (year, month, day) = civil_from_days(i64::from(date));
            write_day((year, month, day), styles, out);
            if year <= 0 {
                out.push_str(" BC");
            }
        }
    }
}

/// Appends a year without the era.
fn write_year(year: i64, out: &mut String) {
    let shown = if year > 0 { year } else { 1 - year };
    if shown < 10_000 {
        push_two(shown / 100, out);
        push_two(shown % 100, out);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "{shown}");
    }
}

/// Appends year, month and day, without the era.
fn write_day((year, month, day): (i64, u8, u8), styles: &Styles, out: &mut String) {
    let (month, day) = (i64::from(month), i64::from(day));
    let separator = match styles.dates {
        DateStyle::Iso => {
            write_year(year, out);
            out.push('-');
            push_two(month, out);
            out.push('-');
            push_two(day, out);
            return;
        }
        DateStyle::Sql => '/',
        DateStyle::Postgres => '-',
        DateStyle::German => '.',
    };
    let day_first = styles.dates == DateStyle::German || styles.order == DateOrder::Dmy;
    let (first, second) = if day_first { (day, month) } else { (month, day) };
    push_two(first, out);
    out.push(separator);
    push_two(second, out);
    out.push(separator);
    write_year(year, out);
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
pub(crate) fn write_timestamp(micros: i64, styles: &Styles, out: &mut String) {
    write_moment(micros, None, styles, out);
}

/// Appends a timestamp in local time, with the offset from UTC or the zone's abbreviation.
pub(crate) fn write_timestamptz(micros: i64, styles: &Styles, out: &mut String) {
    write_moment(micros, Some(&styles.zone), styles, out);
}

fn write_moment(micros: i64, zone: Option<&TimeZone>, styles: &Styles, out: &mut String) {
    if is_infinite(micros) {
        out.push_str(if micros < 0 { "-infinity" } else { "infinity" });
        return;
    }
    let offset = zone.map(|zone| offset_at(micros, zone));
    let (days, time) = split(micros.saturating_add(offset.unwrap_or(0) * SECOND));
    let (year, month, day) = civil_from_days(days);
    if styles.dates == DateStyle::Postgres {
        write_words(days, (month, day), styles.order, out);
        write_time(time, out);
        out.push(' ');
        write_year(year, out);
    } else {
        write_day((year, month, day), styles, out);
        out.push(' ');
        write_time(time, out);
    }
    match (zone, offset) {
        (Some(_), Some(offset)) if styles.dates == DateStyle::Iso => write_offset(offset, out),
        (Some(zone), _) => {
            out.push(' ');
            write_abbreviation(micros, zone, out);
        }
        _ => {}
    }
    if year <= 0 {
        out.push_str(" BC");
    }
}

/// Appends `Wed Dec 17 `, or `Wed 17 Dec `.
fn write_words(days: i64, (month, day): (u8, u8), order: DateOrder, out: &mut String) {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (weekday, month) = (DAYS[days.rem_euclid(7) as usize], MONTHS[usize::from(month - 1)]);
    // Writing to a string cannot fail.
    let _ = match order {
        DateOrder::Dmy => write!(out, "{weekday} {day:02} {month} "),
        DateOrder::Mdy | DateOrder::Ymd => write!(out, "{weekday} {month} {day:02} "),
    };
}

/// Appends the abbreviation that a zone has at a time.
fn write_abbreviation(micros: i64, zone: &TimeZone, out: &mut String) {
    match jiff::Timestamp::from_microsecond(micros) {
        Ok(at) => out.push_str(zone.to_offset_info(at).abbreviation()),
        Err(_) => write_offset(offset_at(micros, zone), out),
    }
}

/// Appends an interval in IntervalStyle `postgres_verbose`: `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`.
pub(crate) fn write_verbose_interval(interval: &Interval, out: &mut String) {
    let (mut is_zero, mut is_before) = (true, false);
    out.push('@');
    let rest = interval.micros % HOUR;
    let parts = [
        (i64::from(interval.months / 12), "year"),
        (i64::from(interval.months % 12), "mon"),
        (i64::from(interval.days), "day"),
        (interval.micros / HOUR, "hour"),
        (rest / MINUTE, "min"),
    ];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        // The first field decides whether all are before.
        is_before = if is_zero { value < 0 } else { is_before };
        let value = if is_before { -value } else { value };
        // Writing to a string cannot fail.
        let _ = write!(out, " {value} {unit}{}", if value == 1 { "" } else { "s" });
        is_zero = false;
    }
    let seconds = rest % MINUTE;
    if seconds != 0 {
        is_before = if is_zero { seconds < 0 } else { is_before };
        let sign = if (seconds < 0) != is_before { "-" } else { "" };
        let shown = seconds.abs();
        // Writing to a string cannot fail.
        let _ = write!(out, " {sign}{}", shown / SECOND);
        write_fraction(shown % SECOND, out);
        out.push_str(if shown == SECOND { " sec" } else { " secs" });
        is_zero = false;
    }
    if is_zero {
        out.push_str(" 0");
    }
    if is_before {
        out.push_str(" ago");
    }
}

/// Appends an interval in IntervalStyle `sql_standard`: `1-2`, `3 4:05:06`; with signs if it is not of one of these forms.
pub(crate) fn write_sql_interval(interval: &Interval, out: &mut String) {
    let Interval { months, days, micros } = *interval;
    let has_negative = months < 0 || days < 0 || micros < 0;
    let has_positive = months > 0 || days > 0 || micros > 0;
    let is_plain = !(has_negative && has_positive) && !(months != 0 && (days != 0 || micros != 0));
    let clock = |out: &mut String| {
        let micros = micros.unsigned_abs() as i64;
        // Writing to a string cannot fail.
        let _ = write!(out, "{}:", micros / HOUR);
        push_two(micros / MINUTE % 60, out);
        out.push(':');
        push_two(micros / SECOND % 60, out);
        write_fraction(micros % SECOND, out);
    };
    if !has_negative && !has_positive {
        return out.push('0');
    }
    let (years, rest, days_shown) = (months / 12, months % 12, days.unsigned_abs());
    let (years, rest) = (years.unsigned_abs(), rest.unsigned_abs());
    if !is_plain {
        let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
        let (month_sign, day_sign, clock_sign) = (sign(months < 0), sign(days < 0), sign(micros < 0));
        // Writing to a string cannot fail.
        let _ = write!(out, "{month_sign}{years}-{rest} {day_sign}{days_shown} {clock_sign}");
        return clock(out);
    }
    if has_negative {
        out.push('-');
    }
    if months != 0 {
        // Writing to a string cannot fail.
        let _ = write!(out, "{years}-{rest}");
        return;
    }
    if days != 0 {
        // Writing to a string cannot fail.
        let _ = write!(out, "{days_shown} ");
    }
    clock(out);
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
