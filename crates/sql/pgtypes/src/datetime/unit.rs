//! Units of time: fields that EXTRACT returns and to which `date_trunc` truncates.

use super::civil::{
    DAY, HOUR, MINUTE, SECOND, checked_timestamp, civil_from_days, days_from_civil, is_infinite, offset_at, split,
    timestamp_out_of_range,
};
use super::timestamp_to_timestamptz;
use crate::error::{Error, Result, state};
use crate::{Interval, Numeric};
use bigdecimal::num_bigint::BigInt;
use jiff::tz::TimeZone;

/// A unit of time, or another property of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    IsoDayOfWeek,
    DayOfWeek,
    DayOfYear,
    Epoch,
    Julian,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl Unit {
    fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "us" | "usec" | "usecs" | "useconds" | "microsecond" | "microseconds" => Unit::Microsecond,
            "ms" | "msec" | "msecs" | "mseconds" | "millisecond" | "milliseconds" => Unit::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "qtr" | "quarter" => Unit::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
            "isoyear" => Unit::IsoYear,
            "isodow" => Unit::IsoDayOfWeek,
            "dow" => Unit::DayOfWeek,
            "doy" => Unit::DayOfYear,
            "epoch" => Unit::Epoch,
            "j" | "jd" | "julian" => Unit::Julian,
            "timezone" => Unit::Timezone,
            "timezone_hour" | "timezone_h" => Unit::TimezoneHour,
            "timezone_minute" | "timezone_m" => Unit::TimezoneMinute,
            _ => return None,
        })
    }

    /// Returns whether the unit only grows with time. Of an infinite moment such a unit is infinite; the others have no value.
    fn grows(self) -> bool {
        matches!(
            self,
            Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium | Unit::IsoYear | Unit::Epoch | Unit::Julian
        )
    }

    fn is_of_zone(self) -> bool {
        matches!(self, Unit::Timezone | Unit::TimezoneHour | Unit::TimezoneMinute)
    }
}

const TIMESTAMP: &str = "timestamp without time zone";
const TIMESTAMPTZ: &str = "timestamp with time zone";
const DATE: &str = "date";
const TIME: &str = "time without time zone";
const INTERVAL: &str = "interval";

fn recognize(unit: &str, data_type: &str) -> Result<Unit> {
    Unit::named(&unit.to_lowercase()).ok_or_else(|| not_recognized(unit, data_type))
}

fn not_recognized(unit: &str, data_type: &str) -> Error {
    Error::new(
        state::INVALID_PARAMETER_VALUE,
        format!("unit \"{}\" not recognized for type {data_type}", unit.to_lowercase()),
    )
}

fn not_supported(unit: &str, data_type: &str) -> Error {
    Error::new(
        state::FEATURE_NOT_SUPPORTED,
        format!("unit \"{}\" not supported for type {data_type}", unit.to_lowercase()),
    )
}

fn whole(value: i64) -> Option<Numeric> {
    Some(Numeric::from(value))
}

fn decimal(digits: impl Into<BigInt>, scale: u32) -> Option<Numeric> {
    Some(Numeric::new(digits.into(), scale))
}

/// Returns the value of a unit of an infinite moment, if it has one.
fn of_infinity(unit: Unit, negative: bool) -> Option<Numeric> {
    unit.grows().then_some(if negative { Numeric::NegativeInfinity } else { Numeric::Infinity })
}

/// `extract(unit from timestamp)`; `None` is NULL (most units of an infinity). `date_part` is its float.
///
/// # Errors
/// 22023, 0A000
pub fn extract_timestamp(unit: &str, timestamp: i64) -> Result<Option<Numeric>> {
    let found = recognize(unit, TIMESTAMP)?;
    if is_infinite(timestamp) {
        return Ok(of_infinity(found, timestamp < 0));
    }
    if found.is_of_zone() {
        return Err(not_supported(unit, TIMESTAMP));
    }
    local_part(found, timestamp, timestamp)
}

/// `extract(unit from timestamptz)`
///
/// # Errors
/// 22023
pub fn extract_timestamptz(unit: &str, timestamp: i64, zone: &TimeZone) -> Result<Option<Numeric>> {
    let found = recognize(unit, TIMESTAMPTZ)?;
    if is_infinite(timestamp) {
        return Ok(of_infinity(found, timestamp < 0));
    }
    let offset = offset_at(timestamp, zone);
    match found {
        Unit::Timezone => Ok(whole(offset)),
        Unit::TimezoneHour => Ok(whole(offset / 3600)),
        Unit::TimezoneMinute => Ok(whole(offset % 3600 / 60)),
        _ => local_part(found, timestamp.saturating_add(offset * SECOND), timestamp),
    }
}

/// A part of a local time; `utc` is what the epoch counts.
fn local_part(unit: Unit, local: i64, utc: i64) -> Result<Option<Numeric>> {
    let (days, time) = split(local);
    match unit {
        Unit::Epoch => Ok(decimal(utc, 6)),
        Unit::Julian => {
            let fraction = Numeric::from(time).div(&Numeric::from(DAY))?;
            Ok(Some(Numeric::from(days + JULIAN_EPOCH).add(&fraction)?))
        }
        _ => Ok(time_part(unit, time).or_else(|| day_part(unit, days))),
    }
}

/// The Julian day of 1970-01-01.
const JULIAN_EPOCH: i64 = 2_440_588;

fn time_part(unit: Unit, time: i64) -> Option<Numeric> {
    match unit {
        Unit::Microsecond => whole(time % MINUTE),
        Unit::Millisecond => decimal(time % MINUTE, 3),
        Unit::Second => decimal(time % MINUTE, 6),
        Unit::Minute => whole(time / MINUTE % 60),
        Unit::Hour => whole(time / HOUR),
        _ => None,
    }
}

fn day_part(unit: Unit, days: i64) -> Option<Numeric> {
    let (year, month, day) = civil_from_days(days);
    whole(match unit {
        Unit::Day => i64::from(day),
        Unit::Month => i64::from(month),
        Unit::Quarter => (i64::from(month) - 1) / 3 + 1,
        Unit::Week => iso_week(days).1,
        // There is no year 0.
        Unit::Year => year - i64::from(year <= 0),
        Unit::IsoYear => {
            let year = iso_week(days).0;
            year - i64::from(year <= 0)
        }
        Unit::Decade => year.div_euclid(10),
        Unit::Century => era(year, 100),
        Unit::Millennium => era(year, 1000),
        Unit::DayOfWeek => (days + 4).rem_euclid(7),
        Unit::IsoDayOfWeek => (days + 3).rem_euclid(7) + 1,
        Unit::DayOfYear => days - days_from_civil(year, 1, 1) + 1,
        Unit::Julian => days + JULIAN_EPOCH,
        Unit::Epoch => days * (DAY / SECOND),
        _ => return None,
    })
}

/// Century or millennium of a year. They start with the year 1, and number 0 does not exist.
fn era(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - year) / length) }
}

/// Returns the ISO year and week of a day: they are those of the Thursday in its week.
fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let (year, _, _) = civil_from_days(thursday);
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// `extract(unit from date)`
///
/// # Errors
/// 22023, 0A000
pub fn extract_date(unit: &str, date: i32) -> Result<Option<Numeric>> {
    let found = recognize(unit, DATE)?;
    let of_day = day_part(found, 0).ok_or_else(|| not_supported(unit, DATE))?;
    match date {
        i32::MIN | i32::MAX => Ok(of_infinity(found, date < 0)),
        0 => Ok(Some(of_day)),
        _ => Ok(day_part(found, i64::from(date))),
    }
}

/// `extract(unit from time)`
///
/// # Errors
/// 22023, 0A000
pub fn extract_time(unit: &str, time: i64) -> Result<Option<Numeric>> {
    let found = recognize(unit, TIME)?;
    let part = if found == Unit::Epoch { decimal(time, 6) } else { time_part(found, time) };
    part.map(Some).ok_or_else(|| not_supported(unit, TIME))
}

/// `extract(unit from interval)`
///
/// # Errors
/// 22023, 0A000
pub fn extract_interval(unit: &str, interval: &Interval) -> Result<Option<Numeric>> {
    let found = recognize(unit, INTERVAL)?;
    let (years, months) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    Ok(match found {
        Unit::Hour => whole(interval.micros / HOUR),
        Unit::Day => whole(i64::from(interval.days)),
        Unit::Month => whole(months),
        Unit::Quarter => whole(months / 3 + 1),
        Unit::Year => whole(years),
        Unit::Decade => whole(years / 10),
        Unit::Century => whole(years / 100),
        Unit::Millennium => whole(years / 1000),
        Unit::Epoch => {
            // A year has 365.25 days.
            let days = i128::from(years) * 1461 * 6 + (i128::from(months) * 30 + i128::from(interval.days)) * 24;
            decimal(days * i128::from(HOUR) + i128::from(interval.micros), 6)
        }
        _ => Some(time_part(found, interval.micros).ok_or_else(|| not_supported(unit, INTERVAL))?),
    })
}

/// `date_trunc(unit, timestamp)`
///
/// # Errors
/// 22023, 0A000, 22008
pub fn truncate_timestamp(unit: &str, timestamp: i64) -> Result<i64> {
    // An infinity is what it is, whatever the unit.
    if is_infinite(timestamp) { Ok(timestamp) } else { truncate(truncating(unit, TIMESTAMP)?, timestamp) }
}

/// `date_trunc(unit, timestamptz [, zone])`
///
/// # Errors
/// 22023, 0A000, 22008
pub fn truncate_timestamptz(unit: &str, timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let found = truncating(unit, TIMESTAMPTZ)?;
    let offset = offset_at(timestamp, zone) * SECOND;
    let truncated = truncate(found, timestamp.saturating_add(offset))?;
    match found {
        // Within a day the offset stays, so that an hour that comes twice is not left.
        Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour => {
            checked_timestamp(i128::from(truncated) - i128::from(offset)).ok_or_else(timestamp_out_of_range)
        }
        _ => timestamp_to_timestamptz(truncated, zone),
    }
}

fn truncating(unit: &str, data_type: &str) -> Result<Unit> {
    match recognize(unit, data_type)? {
        found if found.is_of_zone() => Err(not_supported(unit, data_type)),
        Unit::IsoYear | Unit::IsoDayOfWeek | Unit::DayOfWeek | Unit::DayOfYear | Unit::Epoch | Unit::Julian => {
            Err(not_recognized(unit, data_type))
        }
        found => Ok(found),
    }
}

fn truncate(unit: Unit, local: i64) -> Result<i64> {
    let (days, _) = split(local);
    let (year, month, _) = civil_from_days(days);
    let day = match unit {
        Unit::Microsecond => return Ok(local),
        Unit::Millisecond => return Ok(local - local.rem_euclid(1000)),
        Unit::Second => return Ok(local - local.rem_euclid(SECOND)),
        Unit::Minute => return Ok(local - local.rem_euclid(MINUTE)),
        Unit::Hour => return Ok(local - local.rem_euclid(HOUR)),
        Unit::Week => days - (days + 3).rem_euclid(7),
        Unit::Month => days_from_civil(year, month, 1),
        Unit::Quarter => days_from_civil(year, (month - 1) / 3 * 3 + 1, 1),
        Unit::Year => days_from_civil(year, 1, 1),
        Unit::Decade => days_from_civil(year.div_euclid(10) * 10, 1, 1),
        Unit::Century => days_from_civil((year - 1).div_euclid(100) * 100 + 1, 1, 1),
        Unit::Millennium => days_from_civil((year - 1).div_euclid(1000) * 1000 + 1, 1, 1),
        _ => days,
    };
    checked_timestamp(i128::from(day) * i128::from(DAY)).ok_or_else(timestamp_out_of_range)
}

/// `date_trunc(unit, interval)`
///
/// # Errors
/// 22023, 0A000
pub fn truncate_interval(unit: &str, interval: &Interval) -> Result<Interval> {
    let years =
        |length: i32| Interval { months: interval.months / (12 * length) * (12 * length), ..Interval::default() };
    let months = |length: i32| Interval { months: interval.months / length * length, ..Interval::default() };
    let time = |length: i64| Interval { micros: interval.micros - interval.micros % length, ..*interval };
    Ok(match truncating(unit, INTERVAL)? {
        Unit::Millennium => years(1000),
        Unit::Century => years(100),
        Unit::Decade => years(10),
        Unit::Year => years(1),
        Unit::Quarter => months(3),
        Unit::Month => months(1),
        Unit::Day => Interval { micros: 0, ..*interval },
        Unit::Hour => time(HOUR),
        Unit::Minute => time(MINUTE),
        Unit::Second => time(SECOND),
        Unit::Millisecond => time(1000),
        Unit::Microsecond => *interval,
        Unit::Week => return Err(not_supported(unit, INTERVAL).detail("Months usually have fractional weeks.")),
        _ => return Err(not_supported(unit, INTERVAL)),
    })
}
