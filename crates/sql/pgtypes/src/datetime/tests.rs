//! PostgreSQL 15's results (time zone UTC), recorded in `cases.txt`: `operation|operand|operand|result`, or `!code message` for
//! an error.

use super::*;
use crate::error::Result;
use crate::{Datum, Interval, Modifier, Numeric, Styles, Type, text::parse, text::to_string};
use proptest::prelude::*;

fn read(text: &str, data_type: Type) -> Datum {
    parse(text, data_type, Modifier::NONE, &Styles::default()).unwrap()
}

fn timestamp(text: &str) -> i64 {
    match read(text, Type::TIMESTAMPTZ) {
        Datum::Timestamptz(micros) => micros,
        other => panic!("{other:?}"),
    }
}

fn interval(text: &str) -> Interval {
    *read(text, Type::INTERVAL).as_interval().unwrap()
}

fn show(value: Datum, data_type: Type) -> String {
    to_string(&value, data_type, &Styles::default())
}

fn compute(operation: &str, a: &str, b: &str) -> Result<String> {
    let span = |interval: Interval| show(interval.into(), Type::INTERVAL);
    let local = |micros: i64| show(Datum::Timestamp(micros), Type::TIMESTAMP);
    let utc = |micros: i64| show(Datum::Timestamptz(micros), Type::TIMESTAMPTZ);
    let number = |number: Option<Numeric>| number.map(|number| number.to_string()).unwrap_or_default();
    Ok(match operation {
        "timestamp+interval" => local(timestamp_add(timestamp(a), &interval(b))?),
        "timestamp-interval" => local(timestamp_sub(timestamp(a), &interval(b))?),
        "timestamp-timestamp" => span(timestamp_diff(timestamp(a), timestamp(b))?),
        "age" => span(age(timestamp(a), timestamp(b))?),
        "extract" => number(extract_timestamp(a, timestamp(b))?),
        "dextract" => match read(b, Type::DATE) {
            Datum::Date(date) => number(extract_date(a, date)?),
            other => panic!("{other:?}"),
        },
        "iextract" => number(extract_interval(a, &interval(b))?),
        "trunc" => local(truncate_timestamp(a, timestamp(b))?),
        "itrunc" => span(truncate_interval(a, &interval(b))?),
        "interval*" => span(interval_mul(&interval(a), b.parse().unwrap())?),
        "interval/" => span(interval_div(&interval(a), b.parse().unwrap())?),
        "interval+" => span(interval_add(&interval(a), &interval(b))?),
        "justify_hours" => span(justify_hours(&interval(a))?),
        "justify_days" => span(justify_days(&interval(a))?),
        "justify_interval" => span(justify_interval(&interval(a))?),
        "atzone" => local(timestamptz_to_timestamp(timestamp(b), &zone_named(a)?)?),
        "zoneat" => utc(timestamp_to_timestamptz(timestamp(b), &zone_named(a)?)?),
        _ => match operation.strip_prefix("ztrunc ") {
            Some(unit) => utc(truncate_timestamptz(unit, timestamp(b), &zone_named(a)?)?),
            None => panic!("unknown operation {operation}"),
        },
    })
}

#[test]
fn arithmetic_is_that_of_postgresql() {
    let mut wrong = Vec::new();
    for case in include_str!("cases.txt").lines() {
        let [operation, a, b, expected] = case.split('|').collect::<Vec<_>>()[..] else { panic!("{case}") };
        let answer = compute(operation, a, b).unwrap_or_else(|error| format!("!{} {}", error.code(), error.message()));
        if answer != expected {
            wrong.push(format!("{operation} {a:?} {b:?}: {answer}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn dates_move_within_their_range() {
    assert_eq!(date_add_days(0, 31).unwrap(), 31);
    assert_eq!(date_add_days(i32::MAX, -5).unwrap(), i32::MAX);
    assert_eq!(date_add_days(0, i32::MAX).unwrap_err().message(), "date out of range");
    assert_eq!(date_diff(10, 3).unwrap(), 7);
    assert_eq!(date_diff(i32::MIN, 3).unwrap_err().message(), "cannot subtract infinite dates");
}

#[test]
fn moments_are_made_of_parts() {
    assert_eq!(make_date(2020, 2, 29).unwrap(), 18_321);
    assert_eq!(make_date(2021, 2, 29).unwrap_err().message(), "date field value out of range: 2021-02-29");
    assert_eq!(make_date(0, 1, 1).unwrap_err().message(), "date field value out of range: 0-01-01");
    assert_eq!(make_time(8, 15, 23.5).unwrap(), 29_723_500_000);
    assert_eq!(make_time(25, 0, 0.0).unwrap_err().message(), "time field value out of range: 25:00:00");
    assert!(make_time(-1, -1, 1.7e308).is_err());
    assert_eq!(make_timestamp(1970, 1, 2, 0, 0, 1.0).unwrap(), 86_401_000_000);
    assert_eq!(timestamp_from_epoch(1.5).unwrap(), 1_500_000);
    assert!(timestamp_from_epoch(1e300).is_err());
    let made = make_interval(1, 2, 3, 4, 5, 6, 7.5).unwrap();
    assert_eq!(made, Interval { months: 14, days: 25, micros: 18_367_500_000 });
}

proptest! {
    #[test]
    fn civil_days_come_back(days in -3_000_000i64..2_145_042_905) {
        let (year, month, day) = civil_from_days(days);
        prop_assert_eq!(days_from_civil(year, month, day), days);
        prop_assert!(day >= 1 && day <= super::civil::days_in_month(year, month));
    }

    #[test]
    fn nothing_overflows(micros: i64, months: i32, days: i32, other: i64, factor: f64) {
        let zone = zone_named("America/New_York").unwrap();
        let span = Interval { months, days, micros: other };
        let Some(moment) = checked_timestamp(i128::from(micros)) else { return Ok(()) };
        let _ = timestamp_add(moment, &span);
        let _ = timestamptz_sub(moment, &span, &zone);
        let _ = (interval_mul(&span, factor), interval_div(&span, factor), justify_interval(&span));
        for unit in ["week", "century", "julian", "hour", "timezone"] {
            let _ = (extract_timestamptz(unit, moment, &zone), truncate_timestamptz(unit, moment, &zone));
            let _ = (extract_interval(unit, &span), truncate_interval(unit, &span));
        }
        let _ = (timestamp_to_timestamptz(moment, &zone), timestamptz_to_timestamp(moment, &zone));
        if let Some(second) = checked_timestamp(i128::from(other)) {
            let _ = (age(moment, second), timestamp_diff(moment, second), date_bin(&span, moment, second));
        }
    }
}
