//! Dates, times and intervals made from their fields.

use super::civil::{DAY, HOUR, MINUTE, checked_date, checked_timestamp, days_from_civil, days_in_month};
use super::interval::interval_out_of_range;
use crate::Interval;
use crate::error::{Error, Result, state};

fn field_out_of_range(what: &str, shown: String) -> Error {
    Error::new(state::DATETIME_FIELD_OVERFLOW, format!("{what} field value out of range: {shown}"))
}

/// `make_date(year, month, day)`; a negative year is before Christ.
///
/// # Errors
/// 22008
pub fn make_date(year: i32, month: i32, day: i32) -> Result<i32> {
    let shown = || format!("{year}-{month:02}-{day:02}");
    day_number(year, month, day).ok_or_else(|| field_out_of_range("date", shown())).and_then(|days| {
        checked_date(days)
            .ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, format!("date out of range: {}", shown())))
    })
}

fn day_number(year: i32, month: i32, day: i32) -> Option<i64> {
    let year = match year {
        0 => return None,
        1.. => i64::from(year),
        _ => i64::from(year) + 1,
    };
    let month = u8::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let day = u8::try_from(day).ok().filter(|day| (1..=days_in_month(year, month)).contains(day))?;
    Some(days_from_civil(year, month, day))
}

/// `make_time(hour, minute, second)`
///
/// # Errors
/// 22008
pub fn make_time(hour: i32, minute: i32, second: f64) -> Result<i64> {
    time_of_day(hour, minute, second)
        .ok_or_else(|| field_out_of_range("time", format!("{hour}:{minute:02}:{}", two_digits(second))))
}

fn two_digits(second: f64) -> String {
    if (0.0..10.0).contains(&second) { format!("0{second}") } else { format!("{second}") }
}

fn time_of_day(hour: i32, minute: i32, second: f64) -> Option<i64> {
    let plausible = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    if !plausible {
        return None;
    }
    let micros = (second * 1e6).round_ties_even() as i64;
    let time = i64::from(hour) * HOUR + i64::from(minute) * MINUTE + micros;
    (time <= DAY).then_some(time)
}

/// `make_timestamp(...)`; make_timestamptz converts its result by a zone.
///
/// # Errors
/// 22008
pub fn make_timestamp(year: i32, month: i32, day: i32, hour: i32, minute: i32, second: f64) -> Result<i64> {
    let days = day_number(year, month, day)
        .ok_or_else(|| field_out_of_range("date", format!("{year}-{month:02}-{day:02}")))?;
    let time = make_time(hour, minute, second)?;
    checked_timestamp(i128::from(days) * i128::from(DAY) + i128::from(time)).ok_or_else(|| {
        let shown = format!("{year}-{month:02}-{day:02} {hour}:{minute:02}:{}", two_digits(second));
        Error::new(state::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: {shown}"))
    })
}

/// `make_interval(...)`
///
/// # Errors
/// 22008
pub fn make_interval(
    years: i32,
    months: i32,
    weeks: i32,
    days: i32,
    hours: i32,
    minutes: i32,
    seconds: f64,
) -> Result<Interval> {
    let months = i64::from(years) * 12 + i64::from(months);
    let days = i64::from(weeks) * 7 + i64::from(days);
    let micros = (seconds * 1e6).round_ties_even();
    if micros.is_nan() || micros.abs() >= 9e18 {
        return Err(interval_out_of_range());
    }
    let time = i128::from(hours) * i128::from(HOUR) + i128::from(minutes) * i128::from(MINUTE) + micros as i128;
    Ok(Interval {
        months: months.try_into().map_err(|_| interval_out_of_range())?,
        days: days.try_into().map_err(|_| interval_out_of_range())?,
        micros: time.try_into().map_err(|_| interval_out_of_range())?,
    })
}

/// `to_timestamp(seconds since 1970)`
///
/// # Errors
/// 22008
pub fn timestamp_from_epoch(seconds: f64) -> Result<i64> {
    if seconds.is_nan() {
        return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { i64::MAX } else { i64::MIN });
    }
    let micros = (seconds * 1e6).round_ties_even();
    // Casts of floats saturate; what saturates is out of range.
    checked_timestamp(micros as i128)
        .ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{seconds}\"")))
}
