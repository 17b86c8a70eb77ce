//! Arithmetic of intervals.

use super::civil::DAY;
use crate::Interval;
use crate::error::{Error, Result, state};

const DAYS_PER_MONTH: i32 = 30;

pub(super) fn interval_out_of_range() -> Error {
    Error::new(state::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

fn parts(months: Option<i32>, days: Option<i32>, micros: Option<i64>) -> Result<Interval> {
    match (months, days, micros) {
        (Some(months), Some(days), Some(micros)) => Ok(Interval { months, days, micros }),
        _ => Err(interval_out_of_range()),
    }
}

/// `interval + interval`
///
/// # Errors
/// 22008
pub fn interval_add(left: &Interval, right: &Interval) -> Result<Interval> {
    parts(
        left.months.checked_add(right.months),
        left.days.checked_add(right.days),
        left.micros.checked_add(right.micros),
    )
}

/// `interval - interval`
///
/// # Errors
/// 22008
pub fn interval_sub(left: &Interval, right: &Interval) -> Result<Interval> {
    parts(
        left.months.checked_sub(right.months),
        left.days.checked_sub(right.days),
        left.micros.checked_sub(right.micros),
    )
}

/// `-interval`
///
/// # Errors
/// 22008
pub fn interval_neg(interval: &Interval) -> Result<Interval> {
    parts(interval.months.checked_neg(), interval.days.checked_neg(), interval.micros.checked_neg())
}

/// `interval * factor`: fractions of months go to days, fractions of days to the time.
///
/// # Errors
/// 22008
pub fn interval_mul(interval: &Interval, factor: f64) -> Result<Interval> {
    scale(interval, |value| value * factor)
}

/// `interval / divisor`
///
/// # Errors
/// 22012, 22008
pub fn interval_div(interval: &Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(Error::new(state::DIVISION_BY_ZERO, "division by zero"));
    }
    scale(interval, |value| value / divisor)
}

/// Source: PostgreSQL's `interval_mul`, whose rounding this follows.
fn scale(interval: &Interval, by: impl Fn(f64) -> f64) -> Result<Interval> {
    let (exact_months, exact_days) = (by(f64::from(interval.months)), by(f64::from(interval.days)));
    let (months, days) = (to_i32(exact_months)?, to_i32(exact_days)?);
    // What is left of the months, in days, and of both, in seconds; noise of the floats is cut to microseconds.
    let from_months = round_to_micros((exact_months - f64::from(months)) * f64::from(DAYS_PER_MONTH));
    let mut extra_days = from_months.trunc();
    let mut seconds = round_to_micros((exact_days - f64::from(days) + from_months - extra_days) * 86_400.0);
    if seconds.abs() >= 86_400.0 {
        let whole = (seconds / 86_400.0).trunc();
        (extra_days, seconds) = (extra_days + whole, seconds - whole * 86_400.0);
    }
    let days = to_i32(f64::from(days) + extra_days)?;
    let micros = (by(interval.micros as f64) + seconds * 1e6).round_ties_even();
    if !(-9.223_372_036_854_775e18..9.223_372_036_854_775e18).contains(&micros) {
        return Err(interval_out_of_range());
    }
    Ok(Interval { months, days, micros: micros as i64 })
}

fn round_to_micros(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

fn to_i32(value: f64) -> Result<i32> {
    if value.is_nan() || value > f64::from(i32::MAX) || value < f64::from(i32::MIN) {
        return Err(interval_out_of_range());
    }
    Ok(value as i32)
}

/// `justify_hours(interval)`: 24 hours become a day.
///
/// # Errors
/// 22008
pub fn justify_hours(interval: &Interval) -> Result<Interval> {
    let days = i64::from(interval.days) + interval.micros / DAY;
    let (days, micros) = same_sign(days, interval.micros % DAY, DAY);
    parts(Some(interval.months), i32::try_from(days).ok(), Some(micros))
}

/// `justify_days(interval)`: 30 days become a month.
///
/// # Errors
/// 22008
pub fn justify_days(interval: &Interval) -> Result<Interval> {
    let months = i64::from(interval.months) + i64::from(interval.days / DAYS_PER_MONTH);
    let (months, days) = same_sign(months, i64::from(interval.days % DAYS_PER_MONTH), i64::from(DAYS_PER_MONTH));
    parts(i32::try_from(months).ok(), i32::try_from(days).ok(), Some(interval.micros))
}

/// `justify_interval(interval)`: both, and one sign for all.
///
/// # Errors
/// 22008
pub fn justify_interval(interval: &Interval) -> Result<Interval> {
    let days = i64::from(interval.days) + interval.micros / DAY;
    let micros = interval.micros % DAY;
    let month = i64::from(DAYS_PER_MONTH);
    let months = i64::from(interval.months) + days / month;
    let (months, days) = {
        let days = days % month;
        let borrow = (months > 0 && (days < 0 || (days == 0 && micros < 0))) as i64
            - (months < 0 && (days > 0 || (days == 0 && micros > 0))) as i64;
        (months - borrow, days + borrow * month)
    };
    let (days, micros) = same_sign(days, micros, DAY);
    parts(i32::try_from(months).ok(), i32::try_from(days).ok(), Some(micros))
}

/// Moves one unit between two numbers, if their signs differ.
fn same_sign(large: i64, small: i64, unit: i64) -> (i64, i64) {
    if large > 0 && small < 0 {
        (large - 1, small + unit)
    } else if large < 0 && small > 0 {
        (large + 1, small - unit)
    } else {
        (large, small)
    }
}
