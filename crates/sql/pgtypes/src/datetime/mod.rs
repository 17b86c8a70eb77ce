//! Dates, times and intervals: arithmetic and conversions. Everything is checked; 22008 is out of range.
//!
//! Dates are days, timestamps microseconds since 1970-01-01; infinities are the extreme values of their integers.
//! `civil.rs` has the calendar and local time, `zone.rs` names of time zones, `arithmetic.rs` sums and differences of dates and
//! times, `interval.rs` arithmetic of intervals, `unit.rs` extract and date_trunc, `make.rs` values from their fields, `text`
//! their text form.

mod arithmetic;
mod civil;
mod interval;
mod make;
#[cfg(test)]
mod tests;
pub(super) mod text;
mod unit;
mod zone;

pub use arithmetic::*;
pub use civil::{civil_from_days, days_from_civil, timestamp_to_timestamptz, timestamptz_to_timestamp};
pub use interval::*;
pub use make::*;
pub use unit::*;
pub use zone::{zone_named, zone_of_interval};

pub(super) use civil::{checked_date, checked_timestamp, round_micros};
