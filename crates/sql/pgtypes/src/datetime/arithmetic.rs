//! Sums and differences of dates, times and timestamps.

use super::civil::{
    DAY, checked_date, checked_timestamp, civil_from_days, date_out_of_range, days_from_civil, days_in_month,
    is_infinite, split, timestamp_out_of_range,
};
use super::{interval_neg, justify_hours, timestamp_to_timestamptz, timestamptz_to_timestamp};
use crate::Interval;
use crate::error::{Error, Result, state};
use jiff::tz::TimeZone;

fn is_infinite_date(date: i32) -> bool {
    date == i32::MIN || date == i32::MAX
}

/// `date + days`
///
/// # Errors
/// 22008
pub fn date_add_days(date: i32, days: i32) -> Result<i32> {
    if is_infinite_date(date) {
        return Ok(date);
    }
    checked_date(i64::from(date) + i64::from(days)).ok_or_else(date_out_of_range)
}

/// `date - days`
///
/// # Errors
/// 22008
pub fn date_sub_days(date: i32, days: i32) -> Result<i32> {
    if is_infinite_date(date) {
        return Ok(date);
    }
    checked_date(i64::from(date) - i64::from(days)).ok_or_else(date_out_of_range)
}

/// `date - date`, in days
///
/// # Errors
/// 22008 for infinite dates
pub fn date_diff(left: i32, right: i32) -> Result<i32> {
    if is_infinite_date(left) || is_infinite_date(right) {
        return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite dates"));
    }
    left.checked_sub(right).ok_or_else(date_out_of_range)
}

/// Midnight of a date.
///
/// # Errors
/// 22008
pub fn date_to_timestamp(date: i32) -> Result<i64> {
    match date {
        i32::MIN => Ok(i64::MIN),
        i32::MAX => Ok(i64::MAX),
        _ => checked_timestamp(i128::from(date) * i128::from(DAY))
            .ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")),
    }
}

/// Midnight of a date in a zone.
///
/// # Errors
/// 22008
pub fn date_to_timestamptz(date: i32, zone: &TimeZone) -> Result<i64> {
    timestamp_to_timestamptz(date_to_timestamp(date)?, zone)
}

/// The date of a timestamp.
///
/// # Errors
/// 22008
pub fn timestamp_to_date(timestamp: i64) -> Result<i32> {
    match timestamp {
        i64::MIN => Ok(i32::MIN),
        i64::MAX => Ok(i32::MAX),
        _ => checked_date(split(timestamp).0).ok_or_else(date_out_of_range),
    }
}

/// The time of day of a timestamp; `None` for an infinity.
pub fn timestamp_to_time(timestamp: i64) -> Option<i64> {
    (!is_infinite(timestamp)).then(|| split(timestamp).1)
}

/// `timestamp + interval`: months first, in which the day is at most the month's last; then days, then time.
///
/// # Errors
/// 22008
pub fn timestamp_add(timestamp: i64, interval: &Interval) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let moved = add_months_and_days(timestamp, interval)?;
    checked_timestamp(i128::from(moved) + i128::from(interval.micros)).ok_or_else(timestamp_out_of_range)
}

fn add_months_and_days(timestamp: i64, interval: &Interval) -> Result<i64> {
    if interval.months == 0 && interval.days == 0 {
        return Ok(timestamp);
    }
    let (mut days, time) = split(timestamp);
    if interval.months != 0 {
        let (year, month, day) = civil_from_days(days);
        let months = year * 12 + i64::from(month) - 1 + i64::from(interval.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u8 + 1);
        days = days_from_civil(year, month, day.min(days_in_month(year, month)));
    }
    let days = i128::from(days) + i128::from(interval.days);
    checked_timestamp(days * i128::from(DAY) + i128::from(time)).ok_or_else(timestamp_out_of_range)
}

/// `timestamp - interval`
///
/// # Errors
/// 22008
pub fn timestamp_sub(timestamp: i64, interval: &Interval) -> Result<i64> {
    timestamp_add(timestamp, &interval_neg(interval)?)
}

/// `timestamptz + interval`: months and days move in local time.
///
/// # Errors
/// 22008
pub fn timestamptz_add(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let mut moved = timestamp;
    // Months and days go one after the other, each through local time, as PostgreSQL has it.
    for step in [Interval { days: 0, micros: 0, ..*interval }, Interval { months: 0, micros: 0, ..*interval }] {
        if step != Interval::default() {
            let local = timestamptz_to_timestamp(moved, zone)?;
            moved = timestamp_to_timestamptz(add_months_and_days(local, &step)?, zone)?;
        }
    }
    checked_timestamp(i128::from(moved) + i128::from(interval.micros)).ok_or_else(timestamp_out_of_range)
}

/// `timestamptz - interval`
///
/// # Errors
/// 22008
pub fn timestamptz_sub(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    timestamptz_add(timestamp, &interval_neg(interval)?, zone)
}

/// `timestamp - timestamp` (of both kinds), as days and hours
///
/// # Errors
/// 22008 for infinities
pub fn timestamp_diff(left: i64, right: i64) -> Result<Interval> {
    if is_infinite(left) || is_infinite(right) {
        return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite timestamps"));
    }
    let micros =
        left.checked_sub(right).ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, "interval out of range"))?;
    justify_hours(&Interval { micros, ..Interval::default() })
}

/// A civil time. Its fields may be negative while a difference is normalized.
struct Fields {
    months: i64,
    days: i64,
    micros: i64,
}

/// `age(left, right)`: years, months, days, time. For timestamptz, convert both to local time first.
///
/// Deviation: PostgreSQL 15 computes with an infinity as if it were a moment; here it is out of range.
///
/// # Errors
/// 22008 for infinities
pub fn age(left: i64, right: i64) -> Result<Interval> {
    if is_infinite(left) || is_infinite(right) {
        return Err(timestamp_out_of_range());
    }
    let fields = |timestamp: i64| {
        let (days, micros) = split(timestamp);
        let (year, month, day) = civil_from_days(days);
        Fields { months: year * 12 + i64::from(month), days: i64::from(day), micros }
    };
    let (a, b) = (fields(left), fields(right));
    // Of the earlier from the later; turned around at the end.
    let (later, earlier, sign) = if left >= right { (a, b, 1) } else { (b, a, -1) };
    let mut result = Fields {
        months: later.months - earlier.months,
        days: later.days - earlier.days,
        micros: later.micros - earlier.micros,
    };
    if result.micros < 0 {
        (result.micros, result.days) = (result.micros + DAY, result.days - 1);
    }
    if result.days < 0 {
        // A month is borrowed: the one in which the earlier moment lies. Months count from 1 of the year 0.
        let month = earlier.months - 1;
        let length = days_in_month(month.div_euclid(12), (month.rem_euclid(12) + 1) as u8);
        (result.days, result.months) = (result.days + i64::from(length), result.months - 1);
    }
    Ok(Interval {
        months: (sign * result.months) as i32,
        days: (sign * result.days) as i32,
        micros: sign * result.micros,
    })
}

/// `time + interval`, around the clock
pub fn time_add(time: i64, interval: &Interval) -> i64 {
    (time + interval.micros % DAY).rem_euclid(DAY)
}

/// `time - interval`, around the clock
pub fn time_sub(time: i64, interval: &Interval) -> i64 {
    (time - interval.micros % DAY).rem_euclid(DAY)
}

/// `time - time`
pub fn time_diff(left: i64, right: i64) -> Interval {
    Interval { micros: left.saturating_sub(right), ..Interval::default() }
}

/// The time of day of an interval (cast interval -> time).
pub fn interval_to_time(interval: &Interval) -> i64 {
    interval.micros.rem_euclid(DAY)
}

/// `date_bin(stride, timestamp, origin)`
///
/// # Errors
/// 0A000 for strides of months, 22008 for strides that are not positive.
pub fn date_bin(stride: &Interval, timestamp: i64, origin: i64) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    if is_infinite(origin) {
        return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, "origin out of range"));
    }
    if stride.months != 0 {
        return Err(Error::new(
            state::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let width = i128::from(stride.days) * i128::from(DAY) + i128::from(stride.micros);
    if width <= 0 {
        return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, "stride must be greater than zero"));
    }
    let difference = i128::from(timestamp) - i128::from(origin);
    let start = i128::from(origin) + difference.div_euclid(width) * width;
    checked_timestamp(start).ok_or_else(timestamp_out_of_range)
}
