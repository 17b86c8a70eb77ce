//! Dates, times and intervals: arithmetic and conversions. Everything is checked; 22008 is out of range.
//!
//! Dates are days, timestamps microseconds since 1970-01-01; infinities are the extreme values of their integers.

use super::{Interval, Numeric};
use crate::error::Result;
use jiff::tz::TimeZone;

macro_rules! declare {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// 22008, 22023 or 0A000.
        #[allow(unused_variables)]
        pub fn $name($($argument: $kind),*) -> $result {
            todo!()
        })*
    };
}

declare! {
    /// The time zone of this name, abbreviation or offset (22023 `time zone "x" not recognized`).
    zone_named(name: &str) -> Result<TimeZone>;
    /// The fixed zone of an interval (AT TIME ZONE interval '...').
    zone_of_interval(offset: &Interval) -> Result<TimeZone>;
    /// `date + days`
    date_add_days(date: i32, days: i32) -> Result<i32>;
    /// `date - days`
    date_sub_days(date: i32, days: i32) -> Result<i32>;
    /// `date - date`, in days
    date_diff(left: i32, right: i32) -> Result<i32>;
    /// Midnight of a date.
    date_to_timestamp(date: i32) -> Result<i64>;
    /// Midnight of a date in a zone.
    date_to_timestamptz(date: i32, zone: &TimeZone) -> Result<i64>;
    /// The date of a timestamp.
    timestamp_to_date(timestamp: i64) -> Result<i32>;
    /// The time of day of a timestamp; `None` for an infinity.
    timestamp_to_time(timestamp: i64) -> Option<i64>;
    /// Local time to UTC.
    timestamp_to_timestamptz(timestamp: i64, zone: &TimeZone) -> Result<i64>;
    /// UTC to local time.
    timestamptz_to_timestamp(timestamp: i64, zone: &TimeZone) -> Result<i64>;
    /// `timestamp + interval`
    timestamp_add(timestamp: i64, interval: &Interval) -> Result<i64>;
    /// `timestamp - interval`
    timestamp_sub(timestamp: i64, interval: &Interval) -> Result<i64>;
    /// `timestamptz + interval`: months and days move in local time.
    timestamptz_add(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64>;
    /// `timestamptz - interval`
    timestamptz_sub(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64>;
    /// `timestamp - timestamp` (of both kinds), as days and hours
    timestamp_diff(left: i64, right: i64) -> Result<Interval>;
    /// `age(left, right)`: years, months, days, time. For timestamptz, convert both to local time first.
    age(left: i64, right: i64) -> Result<Interval>;
    /// `time + interval`, around the clock
    time_add(time: i64, interval: &Interval) -> i64;
    /// `time - interval`, around the clock
    time_sub(time: i64, interval: &Interval) -> i64;
    /// `time - time`
    time_diff(left: i64, right: i64) -> Interval;
    /// The time of day of an interval (cast interval -> time).
    interval_to_time(interval: &Interval) -> i64;
    /// `interval + interval`
    interval_add(left: &Interval, right: &Interval) -> Result<Interval>;
    /// `interval - interval`
    interval_sub(left: &Interval, right: &Interval) -> Result<Interval>;
    /// `-interval`
    interval_neg(interval: &Interval) -> Result<Interval>;
    /// `interval * factor`
    interval_mul(interval: &Interval, factor: f64) -> Result<Interval>;
    /// `interval / divisor`
    interval_div(interval: &Interval, divisor: f64) -> Result<Interval>;
    /// `justify_hours(interval)`
    justify_hours(interval: &Interval) -> Result<Interval>;
    /// `justify_days(interval)`
    justify_days(interval: &Interval) -> Result<Interval>;
    /// `justify_interval(interval)`
    justify_interval(interval: &Interval) -> Result<Interval>;
    /// `date_trunc(unit, timestamp)`
    truncate_timestamp(unit: &str, timestamp: i64) -> Result<i64>;
    /// `date_trunc(unit, timestamptz [, zone])`
    truncate_timestamptz(unit: &str, timestamp: i64, zone: &TimeZone) -> Result<i64>;
    /// `date_trunc(unit, interval)`
    truncate_interval(unit: &str, interval: &Interval) -> Result<Interval>;
    /// `date_bin(stride, timestamp, origin)`
    date_bin(stride: &Interval, timestamp: i64, origin: i64) -> Result<i64>;
    /// `extract(unit from timestamp)`; `None` is NULL (most units of an infinity). `date_part` is its float.
    extract_timestamp(unit: &str, timestamp: i64) -> Result<Option<Numeric>>;
    /// `extract(unit from timestamptz)`
    extract_timestamptz(unit: &str, timestamp: i64, zone: &TimeZone) -> Result<Option<Numeric>>;
    /// `extract(unit from date)`
    extract_date(unit: &str, date: i32) -> Result<Option<Numeric>>;
    /// `extract(unit from time)`
    extract_time(unit: &str, time: i64) -> Result<Option<Numeric>>;
    /// `extract(unit from interval)`
    extract_interval(unit: &str, interval: &Interval) -> Result<Option<Numeric>>;
    /// `make_date(year, month, day)`
    make_date(year: i32, month: i32, day: i32) -> Result<i32>;
    /// `make_time(hour, minute, second)`
    make_time(hour: i32, minute: i32, second: f64) -> Result<i64>;
    /// `make_timestamp(...)`; make_timestamptz converts its result by a zone.
    make_timestamp(year: i32, month: i32, day: i32, hour: i32, minute: i32, second: f64) -> Result<i64>;
    /// `make_interval(...)`
    make_interval(years: i32, months: i32, weeks: i32, days: i32, hours: i32, minutes: i32, seconds: f64) -> Result<Interval>;
    /// `to_timestamp(seconds since 1970)`
    timestamp_from_epoch(seconds: f64) -> Result<i64>;
    /// Year (astronomical: 0 is 1 BC), month and day of a day number.
    civil_from_days(days: i64) -> (i64, u8, u8);
    /// The day number of year, month and day.
    days_from_civil(year: i64, month: u8, day: u8) -> i64;
}
