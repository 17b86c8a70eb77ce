//! PostgreSQL 15's results of `'text'::type::type` (time zone UTC), recorded in `cases.txt`: `from|to|text|output`, or `!code
//! message` for an error.

use super::*;
use crate::written::tests::written as named;

fn answer(from: &str, to: &str, input: &str) -> Result<String> {
    let styles = Styles::default();
    let ((from, from_modifier), (to, to_modifier)) = (named(from), named(to));
    let value = cast(&input.into(), Type::UNKNOWN, from, from_modifier, true, &styles)?;
    let value = cast(&value, from, to, to_modifier, true, &styles)?;
    Ok(to_string(&value, to, &styles))
}

#[test]
fn values_become_what_postgresql_makes_of_them() {
    let mut wrong = Vec::new();
    for case in include_str!("cases.txt").lines() {
        let [from, to, input, expected] = case.split('|').collect::<Vec<_>>()[..] else { panic!("{case}") };
        let answer = answer(from, to, input).unwrap_or_else(|error| format!("!{} {}", error.code(), error.message()));
        if answer != expected {
            wrong.push(format!("{from} to {to} {input:?}: {answer}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn contexts_are_those_of_pg_cast() {
    use CastContext::{Assignment, Explicit, Implicit};
    let cases = [
        (Type::INT4, Type::INT8, Some(Implicit)),
        (Type::INT8, Type::INT4, Some(Assignment)),
        (Type::INT4, Type::BOOL, Some(Explicit)),
        (Type::INT8, Type::BOOL, None),
        (Type::INT4, Type::TEXT, Some(Assignment)),
        (Type::TEXT, Type::INT4, Some(Explicit)),
        (Type::UNKNOWN, Type::DATE, Some(Implicit)),
        (Type::VARCHAR, Type::TEXT, Some(Implicit)),
        (Type::NUMERIC, Type::FLOAT8, Some(Implicit)),
        (Type::FLOAT8, Type::NUMERIC, Some(Assignment)),
        (Type::DATE, Type::TIMESTAMPTZ, Some(Implicit)),
        (Type::DATE, Type::INT4, None),
        (Type::array_of(Scalar::Int4), Type::array_of(Scalar::Int8), Some(Implicit)),
        (Type::array_of(Scalar::Int4), Type::TEXT, Some(Assignment)),
        (Type::TEXT, Type::array_of(Scalar::Int4), Some(Explicit)),
        (Type::OID, Type::REGCLASS, Some(Implicit)),
        (Type::TEXT, Type::REGCLASS, Some(Implicit)),
        (Type::VOID, Type::TEXT, None),
        (Type::RECORD, Type::TEXT, Some(Assignment)),
    ];
    for (from, to, expected) in cases {
        assert_eq!(context(from, to), expected, "{from} to {to}");
    }
}

#[test]
fn names_of_registered_things_need_the_catalog() {
    assert!(needs_catalog(Type::TEXT, Type::REGCLASS) && needs_catalog(Type::REGTYPE, Type::TEXT));
    assert!(needs_catalog(Type::UNKNOWN, Type::REGTYPE));
    assert!(needs_catalog(Type::TEXT, Type::array_of(Scalar::Regtype)));
    assert!(needs_catalog(Type::array_of(Scalar::Regtype), Type::array_of(Scalar::Varchar)));
    assert!(!needs_catalog(Type::REGCLASS, Type::OID) && !needs_catalog(Type::INT4, Type::REGCLASS));
}

#[test]
fn null_stays_null() {
    let styles = Styles::default();
    let value = cast(&Datum::Null, Type::INT4, Type::TEXT, Modifier::NONE, true, &styles).unwrap();
    assert!(value.is_null());
}
