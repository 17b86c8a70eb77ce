//! Dates, times and intervals.

use super::arguments::Arguments;
use super::table::*;
use crate::datetime::{self as dt};
use jiff::tz::TimeZone;

/// The operators.
pub(super) static OPERATORS: &[Function] = &[
    pure("+", &[DATE, INT4], DATE, |a| dt::date_add_days(a.date(0)?, a.int4(1)?).map(Datum::Date)),
    pure("+", &[INT4, DATE], DATE, |a| dt::date_add_days(a.date(1)?, a.int4(0)?).map(Datum::Date)),
    pure("-", &[DATE, INT4], DATE, |a| dt::date_sub_days(a.date(0)?, a.int4(1)?).map(Datum::Date)),
    pure("-", &[DATE, DATE], INT4, |a| dt::date_diff(a.date(0)?, a.date(1)?).map(Datum::Int4)),
    pure("+", &[DATE, INTERVAL], TIMESTAMP, |a| date_moved(a.date(0)?, a.interval(1)?, dt::timestamp_add)),
    pure("+", &[INTERVAL, DATE], TIMESTAMP, |a| date_moved(a.date(1)?, a.interval(0)?, dt::timestamp_add)),
    pure("-", &[DATE, INTERVAL], TIMESTAMP, |a| date_moved(a.date(0)?, a.interval(1)?, dt::timestamp_sub)),
    pure("+", &[DATE, TIME], TIMESTAMP, |a| date_at(a.date(0)?, a.time(1)?)),
    pure("+", &[TIME, DATE], TIMESTAMP, |a| date_at(a.date(1)?, a.time(0)?)),
    pure("+", &[TIMESTAMP, INTERVAL], TIMESTAMP, |a| {
        dt::timestamp_add(a.timestamp(0)?, a.interval(1)?).map(Datum::Timestamp)
    }),
    pure("+", &[INTERVAL, TIMESTAMP], TIMESTAMP, |a| {
        dt::timestamp_add(a.timestamp(1)?, a.interval(0)?).map(Datum::Timestamp)
    }),
    pure("-", &[TIMESTAMP, INTERVAL], TIMESTAMP, |a| {
        dt::timestamp_sub(a.timestamp(0)?, a.interval(1)?).map(Datum::Timestamp)
    }),
    pure("-", &[TIMESTAMP, TIMESTAMP], INTERVAL, |a| {
        dt::timestamp_diff(a.timestamp(0)?, a.timestamp(1)?).map(Into::into)
    }),
    session("+", &[TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, |env, a| {
        dt::timestamptz_add(a.timestamp(0)?, a.interval(1)?, &zone(env)).map(Datum::Timestamptz)
    }),
    session("+", &[INTERVAL, TIMESTAMPTZ], TIMESTAMPTZ, |env, a| {
        dt::timestamptz_add(a.timestamp(1)?, a.interval(0)?, &zone(env)).map(Datum::Timestamptz)
    }),
    session("-", &[TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, |env, a| {
        dt::timestamptz_sub(a.timestamp(0)?, a.interval(1)?, &zone(env)).map(Datum::Timestamptz)
    }),
    pure("-", &[TIMESTAMPTZ, TIMESTAMPTZ], INTERVAL, |a| {
        dt::timestamp_diff(a.timestamp(0)?, a.timestamp(1)?).map(Into::into)
    }),
    pure("+", &[TIME, INTERVAL], TIME, |a| Ok(Datum::Time(dt::time_add(a.time(0)?, a.interval(1)?)))),
    pure("+", &[INTERVAL, TIME], TIME, |a| Ok(Datum::Time(dt::time_add(a.time(1)?, a.interval(0)?)))),
    pure("-", &[TIME, INTERVAL], TIME, |a| Ok(Datum::Time(dt::time_sub(a.time(0)?, a.interval(1)?)))),
    pure("-", &[TIME, TIME], INTERVAL, |a| Ok(dt::time_diff(a.time(0)?, a.time(1)?).into())),
    pure("+", &[INTERVAL, INTERVAL], INTERVAL, |a| dt::interval_add(a.interval(0)?, a.interval(1)?).map(Into::into)),
    pure("-", &[INTERVAL, INTERVAL], INTERVAL, |a| dt::interval_sub(a.interval(0)?, a.interval(1)?).map(Into::into)),
    pure("-", &[INTERVAL], INTERVAL, |a| dt::interval_neg(a.interval(0)?).map(Into::into)),
    pure("*", &[INTERVAL, FLOAT8], INTERVAL, |a| dt::interval_mul(a.interval(0)?, a.float8(1)?).map(Into::into)),
    pure("*", &[FLOAT8, INTERVAL], INTERVAL, |a| dt::interval_mul(a.interval(1)?, a.float8(0)?).map(Into::into)),
    pure("/", &[INTERVAL, FLOAT8], INTERVAL, |a| dt::interval_div(a.interval(0)?, a.float8(1)?).map(Into::into)),
];

/// The functions of the values themselves.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("age", &[TIMESTAMP, TIMESTAMP], INTERVAL, |a| dt::age(a.timestamp(0)?, a.timestamp(1)?).map(Into::into)),
    session("age", &[TIMESTAMPTZ, TIMESTAMPTZ], INTERVAL, |env, a| {
        let zone = zone(env);
        let local = |at| dt::timestamptz_to_timestamp(a.timestamp(at)?, &zone);
        dt::age(local(0)?, local(1)?).map(Into::into)
    }),
    session("age", &[TIMESTAMP], INTERVAL, |env, a| dt::age(today(env)?, a.timestamp(0)?).map(Into::into)),
    session("age", &[TIMESTAMPTZ], INTERVAL, |env, a| {
        let local = dt::timestamptz_to_timestamp(a.timestamp(0)?, &zone(env))?;
        dt::age(today(env)?, local).map(Into::into)
    }),
    pure("extract", &[TEXT, TIMESTAMP], NUMERIC, |a| Ok(dt::extract_timestamp(a.text(0)?, a.timestamp(1)?)?.into())),
    session("extract", &[TEXT, TIMESTAMPTZ], NUMERIC, |env, a| {
        Ok(dt::extract_timestamptz(a.text(0)?, a.timestamp(1)?, &zone(env))?.into())
    }),
    pure("extract", &[TEXT, DATE], NUMERIC, |a| Ok(dt::extract_date(a.text(0)?, a.date(1)?)?.into())),
    pure("extract", &[TEXT, TIME], NUMERIC, |a| Ok(dt::extract_time(a.text(0)?, a.time(1)?)?.into())),
    pure("extract", &[TEXT, INTERVAL], NUMERIC, |a| Ok(dt::extract_interval(a.text(0)?, a.interval(1)?)?.into())),
    pure("date_part", &[TEXT, TIMESTAMP], FLOAT8, |a| Ok(float(dt::extract_timestamp(a.text(0)?, a.timestamp(1)?)?))),
    session("date_part", &[TEXT, TIMESTAMPTZ], FLOAT8, |env, a| {
        Ok(float(dt::extract_timestamptz(a.text(0)?, a.timestamp(1)?, &zone(env))?))
    }),
    // As a timestamp: midnight has hours.
    pure("date_part", &[TEXT, DATE], FLOAT8, |a| {
        Ok(float(dt::extract_timestamp(a.text(0)?, dt::date_to_timestamp(a.date(1)?)?)?))
    }),
    pure("date_part", &[TEXT, TIME], FLOAT8, |a| Ok(float(dt::extract_time(a.text(0)?, a.time(1)?)?))),
    pure("date_part", &[TEXT, INTERVAL], FLOAT8, |a| Ok(float(dt::extract_interval(a.text(0)?, a.interval(1)?)?))),
    pure("date_trunc", &[TEXT, TIMESTAMP], TIMESTAMP, |a| {
        dt::truncate_timestamp(a.text(0)?, a.timestamp(1)?).map(Datum::Timestamp)
    }),
    session("date_trunc", &[TEXT, TIMESTAMPTZ], TIMESTAMPTZ, |env, a| {
        dt::truncate_timestamptz(a.text(0)?, a.timestamp(1)?, &zone(env)).map(Datum::Timestamptz)
    }),
    pure("date_trunc", &[TEXT, TIMESTAMPTZ, TEXT], TIMESTAMPTZ, |a| {
        let zone = dt::zone_named(a.text(2)?)?;
        dt::truncate_timestamptz(a.text(0)?, a.timestamp(1)?, &zone).map(Datum::Timestamptz)
    }),
    pure("date_trunc", &[TEXT, INTERVAL], INTERVAL, |a| {
        dt::truncate_interval(a.text(0)?, a.interval(1)?).map(Into::into)
    }),
    pure("date_bin", &[INTERVAL, TIMESTAMP, TIMESTAMP], TIMESTAMP, |a| {
        dt::date_bin(a.interval(0)?, a.timestamp(1)?, a.timestamp(2)?).map(Datum::Timestamp)
    }),
    pure("date_bin", &[INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ], TIMESTAMPTZ, |a| {
        dt::date_bin(a.interval(0)?, a.timestamp(1)?, a.timestamp(2)?).map(Datum::Timestamptz)
    }),
    pure("make_date", &[INT4, INT4, INT4], DATE, |a| {
        dt::make_date(a.int4(0)?, a.int4(1)?, a.int4(2)?).map(Datum::Date)
    }),
    pure("make_time", &[INT4, INT4, FLOAT8], TIME, |a| {
        dt::make_time(a.int4(0)?, a.int4(1)?, a.float8(2)?).map(Datum::Time)
    }),
    pure("make_timestamp", &[INT4, INT4, INT4, INT4, INT4, FLOAT8], TIMESTAMP, |a| {
        made_timestamp(a).map(Datum::Timestamp)
    }),
    session("make_timestamptz", &[INT4, INT4, INT4, INT4, INT4, FLOAT8], TIMESTAMPTZ, |env, a| {
        dt::timestamp_to_timestamptz(made_timestamp(a)?, &zone(env)).map(Datum::Timestamptz)
    }),
    pure("make_timestamptz", &[INT4, INT4, INT4, INT4, INT4, FLOAT8, TEXT], TIMESTAMPTZ, |a| {
        dt::timestamp_to_timestamptz(made_timestamp(a)?, &dt::zone_named(a.text(6)?)?).map(Datum::Timestamptz)
    }),
    pure("make_interval", &[], INTERVAL, made_interval),
    pure("make_interval", &[INT4], INTERVAL, made_interval),
    pure("make_interval", &[INT4, INT4], INTERVAL, made_interval),
    pure("make_interval", &[INT4, INT4, INT4], INTERVAL, made_interval),
    pure("make_interval", &[INT4, INT4, INT4, INT4], INTERVAL, made_interval),
    pure("make_interval", &[INT4, INT4, INT4, INT4, INT4], INTERVAL, made_interval),
    pure("make_interval", &[INT4, INT4, INT4, INT4, INT4, INT4], INTERVAL, made_interval),
    pure("make_interval", &[INT4, INT4, INT4, INT4, INT4, INT4, FLOAT8], INTERVAL, made_interval),
    pure("justify_hours", &[INTERVAL], INTERVAL, |a| dt::justify_hours(a.interval(0)?).map(Into::into)),
    pure("justify_days", &[INTERVAL], INTERVAL, |a| dt::justify_days(a.interval(0)?).map(Into::into)),
    pure("justify_interval", &[INTERVAL], INTERVAL, |a| dt::justify_interval(a.interval(0)?).map(Into::into)),
    pure("isfinite", &[DATE], BOOL, |a| Ok((!matches!(a.date(0)?, i32::MIN | i32::MAX)).into())),
    pure("isfinite", &[TIMESTAMP], BOOL, |a| Ok((!is_infinite(a.timestamp(0)?)).into())),
    pure("isfinite", &[TIMESTAMPTZ], BOOL, |a| Ok((!is_infinite(a.timestamp(0)?)).into())),
    pure("isfinite", &[INTERVAL], BOOL, |_| Ok(true.into())),
    pure("timezone", &[TEXT, TIMESTAMP], TIMESTAMPTZ, |a| {
        dt::timestamp_to_timestamptz(a.timestamp(1)?, &dt::zone_named(a.text(0)?)?).map(Datum::Timestamptz)
    }),
    pure("timezone", &[TEXT, TIMESTAMPTZ], TIMESTAMP, |a| {
        dt::timestamptz_to_timestamp(a.timestamp(1)?, &dt::zone_named(a.text(0)?)?).map(Datum::Timestamp)
    }),
    pure("timezone", &[INTERVAL, TIMESTAMP], TIMESTAMPTZ, |a| {
        dt::timestamp_to_timestamptz(a.timestamp(1)?, &dt::zone_of_interval(a.interval(0)?)?).map(Datum::Timestamptz)
    }),
    pure("timezone", &[INTERVAL, TIMESTAMPTZ], TIMESTAMP, |a| {
        dt::timestamptz_to_timestamp(a.timestamp(1)?, &dt::zone_of_interval(a.interval(0)?)?).map(Datum::Timestamp)
    }),
    pure("to_timestamp", &[FLOAT8], TIMESTAMPTZ, |a| dt::timestamp_from_epoch(a.float8(0)?).map(Datum::Timestamptz)),
];

/// The functions of the time that it is.
pub(super) static CLOCKS: &[Function] = &[
    session("now", &[], TIMESTAMPTZ, |env, _| Ok(Datum::Timestamptz(env.transaction_time()))),
    session("transaction_timestamp", &[], TIMESTAMPTZ, |env, _| Ok(Datum::Timestamptz(env.transaction_time()))),
    session("current_timestamp", &[], TIMESTAMPTZ, |env, _| Ok(Datum::Timestamptz(env.transaction_time()))),
    session("current_timestamp", &[INT4], TIMESTAMPTZ, |env, a| {
        Ok(Datum::Timestamptz(rounded(env.transaction_time(), a.int4(0)?)))
    }),
    session("statement_timestamp", &[], TIMESTAMPTZ, |env, _| Ok(Datum::Timestamptz(env.statement_time()))),
    session("clock_timestamp", &[], TIMESTAMPTZ, |env, _| Ok(Datum::Timestamptz(env.clock_time()))).volatile(),
    session("localtimestamp", &[], TIMESTAMP, |env, _| local_time(env).map(Datum::Timestamp)),
    session("localtimestamp", &[INT4], TIMESTAMP, |env, a| Ok(Datum::Timestamp(rounded(local_time(env)?, a.int4(0)?)))),
    session("current_date", &[], DATE, |env, _| dt::timestamp_to_date(local_time(env)?).map(Datum::Date)),
    session("localtime", &[], TIME, |env, _| time_of_day(local_time(env)?)),
    session("localtime", &[INT4], TIME, |env, a| time_of_day(rounded(local_time(env)?, a.int4(0)?))),
    session("current_time", &[], TIME, |env, _| time_of_day(local_time(env)?)),
    session("current_time", &[INT4], TIME, |env, a| time_of_day(rounded(local_time(env)?, a.int4(0)?))),
];

fn zone(env: &dyn Env) -> TimeZone {
    env.styles().zone
}

fn is_infinite(timestamp: i64) -> bool {
    matches!(timestamp, i64::MIN | i64::MAX)
}

fn float(value: Option<Numeric>) -> Datum {
    value.map(|value| value.to_f64()).into()
}

fn date_moved(date: i32, by: &Interval, step: fn(i64, &Interval) -> Result<i64>) -> Result<Datum> {
    step(dt::date_to_timestamp(date)?, by).map(Datum::Timestamp)
}

fn date_at(date: i32, time: i64) -> Result<Datum> {
    let midnight = dt::date_to_timestamp(date)?;
    if is_infinite(midnight) {
        return Ok(Datum::Timestamp(midnight));
    }
    let interval = Interval { micros: time, ..Interval::default() };
    dt::timestamp_add(midnight, &interval).map(Datum::Timestamp)
}

fn made_timestamp(a: &[Datum]) -> Result<i64> {
    dt::make_timestamp(a.int4(0)?, a.int4(1)?, a.int4(2)?, a.int4(3)?, a.int4(4)?, a.float8(5)?)
}

/// Years, months, weeks, days, hours, minutes, seconds; those that were not given are zero.
fn made_interval(a: &[Datum]) -> Result<Datum> {
    let part = |at: usize| if at < a.len() { a.int4(at) } else { Ok(0) };
    let seconds = if a.len() > 6 { a.float8(6)? } else { 0.0 };
    dt::make_interval(part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?, seconds).map(Into::into)
}

/// Now, in the session's time zone.
fn local_time(env: &dyn Env) -> Result<i64> {
    dt::timestamptz_to_timestamp(env.transaction_time(), &zone(env))
}

/// The midnight that began today, in the session's time zone.
fn today(env: &dyn Env) -> Result<i64> {
    dt::date_to_timestamp(dt::timestamp_to_date(local_time(env)?)?)
}

fn time_of_day(timestamp: i64) -> Result<Datum> {
    Ok(dt::timestamp_to_time(timestamp).map_or(Datum::Null, Datum::Time))
}

/// To so many digits of a second.
fn rounded(timestamp: i64, digits: i32) -> i64 {
    let step = 10_i64.pow(6 - digits.clamp(0, 6).unsigned_abs());
    let rest = timestamp.rem_euclid(step);
    if rest * 2 >= step { timestamp.saturating_add(step - rest) } else { timestamp - rest }
}
