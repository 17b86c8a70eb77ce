//! Values, dates, and predicates with their three truths.

use proptest::prelude::*;
use seriatim_model::{Comparison, Predicate, RowBuf, Value, ValueRef};
use std::cmp::Ordering;

#[test]
fn dates_print_and_parse() {
    for (days, text) in [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (59, "1970-03-01"),
        (11_016, "2000-02-29"),
        (19_782, "2024-02-29"),
        (-719_528, "0000-01-01"),
        (2_932_896, "9999-12-31"),
    ] {
        assert_eq!(Value::Date(days).to_string(), text);
        assert_eq!(Value::parse_date(text), Some(Value::Date(days)), "{text}");
    }
}

#[test]
fn what_is_no_date_is_not_parsed() {
    for text in [
        "",
        "1970",
        "1970-1-1",
        "1970-01-01-01",
        "1970-13-01",
        "1970-00-01",
        "1900-02-29",
        "2023-02-30",
        "2023-04-31",
        "2023-01-00",
        "+970-01-01",
        "1970-01-0x",
        "１970-01-01",
        "1970-01--1",
        "1970-+1-01",
    ] {
        assert_eq!(Value::parse_date(text), None, "{text}");
    }
}

#[test]
fn values_print_as_in_sql() {
    let micros = 86_400_000_000i64;
    for (value, text) in [
        (Value::Null, "NULL"),
        (Value::Bool(true), "true"),
        (Value::Int(-5), "-5"),
        (Value::Float(1.5), "1.5"),
        (Value::from("a"), "'a'"),
        (Value::from(&[0u8, 0xab][..]), "\\x00ab"),
        (Value::Timestamp(0), "1970-01-01 00:00:00"),
        (Value::Timestamp(micros + 3_723_000_000), "1970-01-02 01:02:03"),
        (Value::Timestamp(-1), "1969-12-31 23:59:59.999999"),
        (Value::Timestamp(20), "1970-01-01 00:00:00.000020"),
    ] {
        assert_eq!(value.to_string(), text);
    }
}

#[test]
fn only_values_of_one_type_compare() {
    let all = [
        ValueRef::Null,
        ValueRef::Bool(true),
        ValueRef::Int(1),
        ValueRef::Float(1.0),
        ValueRef::Text("1"),
        ValueRef::Bytes(b"1"),
        ValueRef::Date(1),
        ValueRef::Timestamp(1),
    ];
    for (i, left) in all.into_iter().enumerate() {
        for (j, right) in all.into_iter().enumerate() {
            assert_eq!(left.compare(right), (i == j && i > 0).then_some(Ordering::Equal), "{left} and {right}");
        }
    }
    let float = |left, right| ValueRef::Float(left).compare(ValueRef::Float(right));
    assert_eq!(float(f64::NAN, f64::NAN), Some(Ordering::Equal));
    assert_eq!(float(f64::NAN, f64::INFINITY), Some(Ordering::Greater));
    assert_eq!(float(f64::INFINITY, f64::NAN), Some(Ordering::Less));
    assert_eq!(float(-0.0, 0.0), Some(Ordering::Equal));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// Every date that prints with four digits of a year parses back; the day after is the next in the calendar.
    #[test]
    fn dates_come_back(days in -719_528i32..2_932_896) {
        let date = Value::Date(days);
        let text = date.to_string();
        prop_assert_eq!(Value::parse_date(&text), Some(date));
        prop_assert!(text < Value::Date(days + 1).to_string(), "{} and the day after", text);
    }

    #[test]
    fn no_date_or_timestamp_is_too_far_to_print(days: i32, micros: i64) {
        prop_assert!(!Value::Date(days).to_string().is_empty() && !Value::Timestamp(micros).to_string().is_empty());
    }

    #[test]
    fn parsing_never_panics(text: String, like in "[0-9+-]{4}-[0-9+-]{2}-[0-9+-]{2}") {
        let _ = (Value::parse_date(&text), Value::parse_date(&like));
    }
}

/// A row of an integer, a text, and a NULL of each.
fn row() -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(5), ValueRef::Text("abc"), ValueRef::Null, ValueRef::Null])
}

const TRUE: Predicate = Predicate::True;

fn falsehood() -> Predicate {
    Predicate::Not(Box::new(TRUE))
}

fn unknown() -> Predicate {
    Predicate::Compare(2, Comparison::Equal, Value::Int(5))
}

/// False, unknown, true; index 0, 1, 2.
fn truths() -> [(Predicate, Option<bool>); 3] {
    [(falsehood(), Some(false)), (unknown(), None), (TRUE, Some(true))]
}

#[test]
fn and_or_and_not_are_three_valued() {
    for (i, (left, _)) in truths().into_iter().enumerate() {
        for (j, (right, _)) in truths().into_iter().enumerate() {
            let pair = vec![left.clone(), right.clone()];
            let truth = |at: usize| truths()[at].1;
            assert_eq!(Predicate::And(pair.clone()).evaluate(row().row()), truth(i.min(j)), "{left} AND {right}");
            assert_eq!(Predicate::Or(pair).evaluate(row().row()), truth(i.max(j)), "{left} OR {right}");
        }
        assert_eq!(Predicate::Not(Box::new(left)).evaluate(row().row()), truths()[2 - i].1);
    }
    assert_eq!(Predicate::And(vec![]).evaluate(row().row()), Some(true));
    assert_eq!(Predicate::Or(vec![]).evaluate(row().row()), Some(false));
}

#[test]
fn only_true_rows_pass() {
    for (predicate, truth) in truths() {
        assert_eq!(predicate.matches(row().row()), truth == Some(true));
    }
}

#[test]
fn comparisons_compare() {
    use Comparison::*;
    let expected = [
        (Equal, [false, true, false]),
        (NotEqual, [true, false, true]),
        (Less, [false, false, true]),
        (LessOrEqual, [false, true, true]),
        (Greater, [true, false, false]),
        (GreaterOrEqual, [true, true, false]),
    ];
    for (comparison, truths) in expected {
        for (constant, truth) in [4i64, 5, 6].into_iter().zip(truths) {
            let predicate = Predicate::Compare(0, comparison, constant.into());
            assert_eq!(predicate.evaluate(row().row()), Some(truth), "5 {comparison} {constant}");
        }
        let with_null = [(0, Value::Null), (2, Value::Int(5)), (2, Value::Null), (0, Value::from("5"))];
        for (column, constant) in with_null {
            assert_eq!(Predicate::Compare(column, comparison, constant).evaluate(row().row()), None);
        }
    }
}

#[test]
fn prefixes_and_nulls() {
    let starts = |column, prefix: &str| Predicate::StartsWith(column, prefix.into()).evaluate(row().row());
    assert_eq!((starts(1, ""), starts(1, "ab"), starts(1, "b")), (Some(true), Some(true), Some(false)));
    assert_eq!((starts(3, "a"), starts(0, "5")), (None, None), "NULL, and what is no text");
    assert_eq!(Predicate::IsNull(0).evaluate(row().row()), Some(false));
    assert_eq!(Predicate::IsNull(2).evaluate(row().row()), Some(true));
}

#[test]
fn predicates_print() {
    let predicate = Predicate::And(vec![
        Predicate::Compare(0, Comparison::GreaterOrEqual, Value::Int(5)),
        Predicate::Or(vec![Predicate::IsNull(2), Predicate::StartsWith(1, "ab".into())]),
        Predicate::Not(Box::new(Predicate::Compare(1, Comparison::NotEqual, Value::from("x")))),
        Predicate::True,
    ]);
    assert_eq!(predicate.to_string(), "(#0 >= 5 AND (#2 IS NULL OR #1 LIKE 'ab%') AND NOT #1 <> 'x' AND true)");
}
