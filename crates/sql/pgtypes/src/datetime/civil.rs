//! The proleptic Gregorian calendar, and local time.

use crate::error::{Error, Result, state};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Microseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub(crate) const MINUTE: i64 = 60 * SECOND;
/// Microseconds of an hour.
pub(crate) const HOUR: i64 = 60 * MINUTE;
/// Microseconds of a day.
pub(crate) const DAY: i64 = 24 * HOUR;

/// 4713-11-24 BC, where Julian days start.
const FIRST_DAY: i64 = -2_440_588;
/// 5874897-12-31
const LAST_DAY: i64 = 2_145_042_905;
/// 400 years, after which the calendar repeats, weekdays too.
const CYCLE_DAYS: i64 = 146_097;

/// Year (astronomical: 0 is 1 BC), month and day of a day number.
pub fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(CYCLE_DAYS), shifted.rem_euclid(CYCLE_DAYS));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as u8, day as u8)
}

/// The day number of year, month (1 to 12) and day.
pub fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let month = i64::from(month);
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * CYCLE_DAYS + of_era - 719_468
}

/// Number of days of a month.
pub(crate) fn days_in_month(year: i64, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

pub(crate) fn timestamp_out_of_range() -> Error {
    Error::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

pub(crate) fn date_out_of_range() -> Error {
    Error::new(state::DATETIME_FIELD_OVERFLOW, "date out of range")
}

/// The day number as a date, if it is within PostgreSQL's range.
pub(crate) fn checked_date(days: i64) -> Option<i32> {
    (FIRST_DAY..=LAST_DAY).contains(&days).then_some(days as i32)
}

/// A finite timestamp in range: from 4713 BC on, as in PostgreSQL.
///
/// Deviation: PostgreSQL counts from 2000 and ends with the year 294276; microseconds from 1970 end in January 294247.
pub(crate) fn checked_timestamp(micros: i128) -> Option<i64> {
    let range = i128::from(FIRST_DAY) * i128::from(DAY)..i128::from(i64::MAX);
    range.contains(&micros).then_some(micros as i64)
}

/// Returns whether a timestamp is an infinity.
pub(crate) fn is_infinite(micros: i64) -> bool {
    micros == i64::MIN || micros == i64::MAX
}

/// Days and the rest of a finite timestamp.
pub(crate) fn split(micros: i64) -> (i64, i64) {
    (micros.div_euclid(DAY), micros.rem_euclid(DAY))
}

/// Moves a timestamp by whole cycles into the years that the time zone database covers.
fn fold(micros: i64) -> i64 {
    let (days, rest) = split(micros);
    let (year, _, _) = civil_from_days(days);
    let cycles = if year > 9000 {
        -((year - 9000) / 400 + 1)
    } else if year < -4000 {
        (-4000 - year) / 400 + 1
    } else {
        0
    };
    (days + cycles * CYCLE_DAYS) * DAY + rest
}

/// Seconds that local time is ahead of UTC at an instant.
pub(crate) fn offset_at(utc_micros: i64, zone: &TimeZone) -> i64 {
    match Timestamp::from_microsecond(fold(utc_micros)) {
        Ok(instant) => i64::from(zone.to_offset(instant).seconds()),
        Err(_) => 0,
    }
}

/// Seconds that local time is ahead of UTC at a local time. One that is skipped counts as before the change, one that comes
/// twice as after it.
pub(crate) fn offset_of_local(local_micros: i64, zone: &TimeZone) -> i64 {
    let folded = fold(local_micros);
    let Ok(local) = DateTime::constant(1970, 1, 1, 0, 0, 0, 0).checked_add(SignedDuration::from_micros(folded)) else {
        return 0;
    };
    match zone.to_ambiguous_timestamp(local).later() {
        Ok(instant) => (folded - instant.as_microsecond()).div_euclid(SECOND),
        Err(_) => 0,
    }
}

/// Local time to UTC.
///
/// # Errors
/// 22008
pub fn timestamp_to_timestamptz(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let utc = i128::from(timestamp) - i128::from(offset_of_local(timestamp, zone) * SECOND);
    checked_timestamp(utc).ok_or_else(timestamp_out_of_range)
}

/// UTC to local time.
///
/// # Errors
/// 22008
pub fn timestamptz_to_timestamp(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(timestamp) {
        return Ok(timestamp);
    }
    let local = i128::from(timestamp) + i128::from(offset_at(timestamp, zone) * SECOND);
    checked_timestamp(local).ok_or_else(timestamp_out_of_range)
}

/// Rounds to this many digits after the point of a second, half away from zero.
pub(crate) fn round_micros(micros: i64, digits: u8) -> Option<i64> {
    let unit = 10i64.pow(6u32.saturating_sub(u32::from(digits)));
    let moved = micros.checked_add(if micros < 0 { -(unit / 2) } else { unit / 2 })?;
    Some(moved / unit * unit)
}
