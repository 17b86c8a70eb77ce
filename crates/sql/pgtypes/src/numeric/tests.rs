//! PostgreSQL 15's results, recorded in `cases.txt`: `operation operands|result`, or `!code message` for an error.

use super::*;
use crate::{Datum, Modifier, Styles, Type, text};

fn number(word: &str) -> Numeric {
    Numeric::parse(word).unwrap()
}

fn compute(words: &[&str]) -> Result<Numeric> {
    match *words {
        [a, operator, b] if "+-*/%".contains(operator) => {
            let (a, b) = (number(a), number(b));
            match operator {
                "+" => a.add(&b),
                "-" => a.sub(&b),
                "*" => a.mul(&b),
                "/" => a.div(&b),
                _ => a.rem(&b),
            }
        }
        [function, a] => {
            let a = number(a);
            match function {
                "sqrt" => a.sqrt(),
                "exp" => a.exp(),
                "ln" => a.ln(),
                "ceil" => Ok(a.ceil()),
                "floor" => Ok(a.floor()),
                "sign" => Ok(a.sign()),
                "abs" => Ok(a.abs()),
                "trim_scale" => Ok(a.trim_scale()),
                _ => panic!("unknown function {function}"),
            }
        }
        ["round", a, digits] => number(a).round(digits.parse().unwrap()),
        ["trunc", a, digits] => Ok(number(a).trunc(digits.parse().unwrap())),
        [function, a, b] => {
            let (a, b) = (number(a), number(b));
            match function {
                "power" => a.power(&b),
                "log" => b.log(&a),
                "div" => a.div_trunc(&b),
                "gcd" => a.gcd(&b),
                "lcm" => a.lcm(&b),
                _ => panic!("unknown function {function}"),
            }
        }
        _ => panic!("no case: {words:?}"),
    }
}

#[test]
fn arithmetic_is_that_of_postgresql() {
    let mut wrong = Vec::new();
    for case in include_str!("cases.txt").lines() {
        let (operation, expected) = case.split_once('|').unwrap();
        let words: Vec<&str> = operation.split(' ').collect();
        let answer = match compute(&words) {
            Ok(value) => value.to_string(),
            Err(error) => format!("!{} {}", error.code(), error.message()),
        };
        if answer != expected {
            wrong.push(format!("{operation}: {answer}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn numbers_compare_by_value() {
    let ordered = [
        "-Infinity",
        "-1e100",
        "-10",
        "-9.99",
        "-0.001",
        "0",
        "0.0010001",
        "1",
        "1.5",
        "10",
        "1e100",
        "Infinity",
        "NaN",
    ];
    for (at, a) in ordered.iter().enumerate() {
        for (other, b) in ordered.iter().enumerate() {
            assert_eq!(number(a).compare(&number(b)), at.cmp(&other), "{a} {b}");
        }
    }
    assert!(number("1.50").compare(&number("1.5")).is_eq());
    assert!(number("0.000").compare(&number("0")).is_eq());
}

#[test]
fn floats_become_numbers_of_15_digits() {
    let cases = [
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (1.0 / 3.0, "0.333333333333333"),
        (1.5e-7, "0.00000015"),
        (-2.0, "-2"),
        (0.0, "0"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
        (123_456_789.0, "123456789"),
    ];
    for (float, expected) in cases {
        assert_eq!(Numeric::from_f64(float).to_string(), expected);
    }
    assert_eq!(Numeric::from_f32(0.1).to_string(), "0.1");
    assert_eq!(Numeric::from_f32(1_234_567.0).to_string(), "1234570");
}

#[test]
fn integers_round_half_away_from_zero() {
    for (text, expected) in [
        ("2.5", Some(3)),
        ("-2.5", Some(-3)),
        ("0.49", Some(0)),
        ("1e30", None),
        ("NaN", None),
        ("9223372036854775807.4", Some(i64::MAX)),
        ("9223372036854775807.5", None),
    ] {
        assert_eq!(number(text).to_i64(), expected, "{text}");
    }
}

#[test]
fn absurd_sizes_are_refused_at_once() {
    for text in ["1e131072", "1e999999999", "1e-16384", "1e99999999999999999999"] {
        assert_eq!(Numeric::parse(text).unwrap_err().code(), "22003", "{text}");
    }
    let huge = number("1e131071");
    assert_eq!(huge.mul(&huge).unwrap_err().message(), "value overflows numeric format");
    assert!(huge.add(&huge).is_ok());
    assert!(number("9").power(&number("999999999")).is_err());
    assert!(
        text::parse("1e131071", Type::NUMERIC, Modifier::NONE, &Styles::default())
            .is_ok_and(|value| matches!(value, Datum::Numeric(_)))
    );
}

/// Zeros at the end are cut in steps of several sizes; numbers that differ in them only have one hash.
#[test]
fn all_zeros_at_the_end_are_cut() {
    use std::hash::Hasher;
    let hash = |text: &str| {
        let mut hasher = std::hash::DefaultHasher::new();
        Numeric::parse(text).expect("a number").hash_value(&mut hasher);
        hasher.finish()
    };
    for zeros in [0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097, 9000] {
        for digits in ["7", "-123456789012345678901234567890123456789", "9007199254740993"] {
            let padded = format!("{digits}.{}", "0".repeat(zeros));
            let cut = Numeric::parse(&padded).expect("a number").trim_scale().to_string();
            assert_eq!(cut, digits, "{zeros} zeros");
            assert_eq!(hash(&padded), hash(digits), "{digits} and {zeros} zeros");
        }
    }
    assert_ne!(hash("70"), hash("7"));
}
