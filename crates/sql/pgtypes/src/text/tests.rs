//! PostgreSQL 15's results of `'text'::type` (time zone UTC), recorded in `cases.txt`: `type|text|output`, or `!code message`
//! for an error.

use super::*;
use crate::cast::cast;
use crate::written::tests::written as named;
use jiff::tz::TimeZone;
use proptest::prelude::*;

#[test]
fn texts_are_read_and_written_as_postgresql_does() {
    let styles = Styles::default();
    let mut wrong = Vec::new();
    for case in include_str!("cases.txt").lines() {
        let (name, rest) = case.split_once('|').unwrap();
        let (input, expected) = rest.split_once('|').unwrap();
        let (data_type, modifier) = named(name);
        let answer = match cast(&Datum::from(input), Type::UNKNOWN, data_type, modifier, true, &styles) {
            Ok(value) => to_string(&value, data_type, &styles),
            Err(error) => format!("!{} {}", error.code(), error.message()),
        };
        if answer != expected {
            wrong.push(format!("{name} {input:?}: {answer}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn moments_of_a_session_are_those_of_its_zone() {
    let zone = TimeZone::get("America/New_York").unwrap();
    let styles = Styles { zone, now_micros: 1_577_847_600_000_000, ..Styles::default() };
    let cases = [
        (Type::TIMESTAMPTZ, "2020-07-01 12:00", "2020-07-01 12:00:00-04"),
        (Type::TIMESTAMPTZ, "2020-01-01 12:00", "2020-01-01 12:00:00-05"),
        (Type::TIMESTAMPTZ, "2020-03-08 02:30", "2020-03-08 03:30:00-04"),
        (Type::TIMESTAMPTZ, "2020-11-01 01:30", "2020-11-01 01:30:00-05"),
        (Type::TIMESTAMPTZ, "now", "2019-12-31 22:00:00-05"),
        (Type::TIMESTAMP, "now", "2019-12-31 22:00:00"),
        (Type::DATE, "today", "2019-12-31"),
        (Type::DATE, "tomorrow", "2020-01-01"),
        (Type::TIMESTAMP, "yesterday 04:05", "2019-12-30 04:05:00"),
        (Type::TIMESTAMPTZ, "12020-07-01 12:00", "12020-07-01 12:00:00-04"),
    ];
    for (data_type, input, expected) in cases {
        let value = parse(input, data_type, Modifier::NONE, &styles).unwrap();
        assert_eq!(to_string(&value, data_type, &styles), expected, "{input}");
    }
}

#[test]
fn assignment_refuses_what_a_cast_cuts() {
    let varchar = Modifier::of_length(3);
    let error = parse("abcd", Type::VARCHAR, varchar, &Styles::default()).unwrap_err();
    assert_eq!((error.code(), error.message()), ("22001", "value too long for type character varying(3)"));
    let error = parse("abcd", Type::BPCHAR, varchar, &Styles::default()).unwrap_err();
    assert_eq!(error.message(), "value too long for type character(3)");
    let kept = parse("abc   ", Type::VARCHAR, varchar, &Styles::default()).unwrap();
    assert_eq!(kept.as_text(), Some("abc"));
    let error = parse("123.456", Type::NUMERIC, Modifier::of_numeric(4, 2), &Styles::default()).unwrap_err();
    assert_eq!(error.message(), "numeric field overflow");
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("A field with precision 4, scale 2 must round to an absolute value less than 10^2.")
    );
}

#[test]
fn records_are_written_with_quotes_where_needed() {
    let record = Datum::from(vec![1.into(), Datum::Null, "a b".into(), "".into(), "x\"y".into(), true.into()]);
    assert_eq!(to_string(&record, Type::RECORD, &Styles::default()), r#"(1,,"a b","","x""y",t)"#);
}

#[test]
fn a_deep_jsonb_is_refused() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(parse(&deep, Type::JSONB, Modifier::NONE, &Styles::default()).is_err());
}

proptest! {
    #[test]
    fn no_text_panics(text in "[0-9a-zA-Z:/ .,+{}\"\\\\\\[\\]=_-]{0,24}|\\PC{0,12}") {
        for data_type in Type::all() {
            if let Ok(value) = parse(&text, data_type, Modifier::NONE, &Styles::default()) {
                to_string(&value, data_type, &Styles::default());
            }
        }
    }

    #[test]
    fn floats_come_back(value: f64) {
        let text = to_string(&value.into(), Type::FLOAT8, &Styles::default());
        let back = parse_float8(&text).unwrap();
        prop_assert!(back == value || (back.is_nan() && value.is_nan()));
    }

    #[test]
    fn timestamps_come_back(micros in -210_000_000_000_000_000i64..9_000_000_000_000_000_000) {
        let text = to_string(&Datum::Timestamptz(micros), Type::TIMESTAMPTZ, &Styles::default());
        let back = parse(&text, Type::TIMESTAMPTZ, Modifier::NONE, &Styles::default()).unwrap();
        prop_assert!(matches!(back, Datum::Timestamptz(back) if back == micros), "{} {:?}", text, back);
    }

    #[test]
    fn intervals_come_back(months: i32, days: i32, micros: i64) {
        let interval = crate::Interval { months, days, micros };
        let text = to_string(&interval.into(), Type::INTERVAL, &Styles::default());
        let back = parse(&text, Type::INTERVAL, Modifier::NONE, &Styles::default()).unwrap();
        prop_assert_eq!(back.as_interval(), Some(&interval), "{}", text);
    }
}
