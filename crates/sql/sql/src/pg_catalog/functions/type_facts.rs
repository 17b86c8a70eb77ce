//! Lengths and precisions of types, as the views of `information_schema` show them: its functions `_pg_char_max_length` and so on.

use super::{INT4, OID, argument_int, argument_oid};
use crate::catalog::Oid;
use crate::functions::{Function, pure};
use crate::types::{Datum, Type};

/// A fact of a type's identifier and its modifier.
type Fact = fn(Oid, i64) -> Option<i64>;

macro_rules! facts {
    ($($name:literal => $fact:ident),* $(,)?) => {
        /// The functions.
        pub(super) const FUNCTIONS: &[Function] =
            &[$(pure($name, &[OID, INT4], INT4, |arguments| Ok(shown($fact, arguments)))),*];
    };
}

facts! {
    "_pg_char_max_length" => char_max_length,
    "_pg_char_octet_length" => char_octet_length,
    "_pg_numeric_precision" => numeric_precision,
    "_pg_numeric_precision_radix" => numeric_precision_radix,
    "_pg_numeric_scale" => numeric_scale,
    "_pg_datetime_precision" => datetime_precision,
}

fn shown(fact: Fact, arguments: &[Datum]) -> Datum {
    let modifier = argument_int(arguments, 1).unwrap_or(-1);
    let found = fact(argument_oid(arguments, 0), modifier).and_then(|fact| i32::try_from(fact).ok());
    found.map_or(Datum::Null, Datum::Int4)
}

/// PostgreSQL's identifiers of types that this server lacks.
const BIT: Oid = 1560;
const VARBIT: Oid = 1562;
const TIMETZ: Oid = 1266;

/// Bytes that a length in a modifier counts besides the characters or digits.
const HEADER: i64 = 4;

fn is(data_type: Oid, any: &[Type]) -> bool {
    any.iter().any(|known| known.oid() == data_type)
}

fn char_max_length(data_type: Oid, modifier: i64) -> Option<i64> {
    match modifier {
        -1 => None,
        _ if is(data_type, &[Type::BPCHAR, Type::VARCHAR]) => Some(modifier - HEADER),
        _ => [BIT, VARBIT].contains(&data_type).then_some(modifier),
    }
}

fn char_octet_length(data_type: Oid, modifier: i64) -> Option<i64> {
    const UNBOUNDED: i64 = 1 << 30;
    const BYTES_OF_CHARACTER: i64 = 4;
    match modifier {
        _ if !is(data_type, &[Type::TEXT, Type::BPCHAR, Type::VARCHAR]) => None,
        -1 => Some(UNBOUNDED),
        _ => Some(char_max_length(data_type, modifier)? * BYTES_OF_CHARACTER),
    }
}

fn numeric_precision(data_type: Oid, modifier: i64) -> Option<i64> {
    let bits = [(Type::INT2, 16), (Type::INT4, 32), (Type::INT8, 64), (Type::FLOAT4, 24), (Type::FLOAT8, 53)];
    if is(data_type, &[Type::NUMERIC]) {
        return (modifier != -1).then_some(((modifier - HEADER) >> 16) & 0xFFFF);
    }
    bits.iter().find(|(known, _)| known.oid() == data_type).map(|(_, bits)| *bits)
}

fn numeric_precision_radix(data_type: Oid, _: i64) -> Option<i64> {
    match data_type {
        _ if is(data_type, &[Type::INT2, Type::INT4, Type::INT8, Type::FLOAT4, Type::FLOAT8]) => Some(2),
        _ => is(data_type, &[Type::NUMERIC]).then_some(10),
    }
}

fn numeric_scale(data_type: Oid, modifier: i64) -> Option<i64> {
    match modifier {
        _ if is(data_type, &[Type::INT2, Type::INT4, Type::INT8]) => Some(0),
        -1 => None,
        _ => is(data_type, &[Type::NUMERIC]).then_some((modifier - HEADER) & 0xFFFF),
    }
}

fn datetime_precision(data_type: Oid, modifier: i64) -> Option<i64> {
    const DEFAULT: i64 = 6;
    /// The precision of an interval that has none, beside its fields.
    const FULL: i64 = 0xFFFF;
    let of_time = data_type == TIMETZ || is(data_type, &[Type::TIME, Type::TIMESTAMP, Type::TIMESTAMPTZ]);
    match modifier {
        _ if is(data_type, &[Type::DATE]) => Some(0),
        _ if of_time => Some(if modifier < 0 { DEFAULT } else { modifier }),
        _ if !is(data_type, &[Type::INTERVAL]) => None,
        _ if modifier < 0 || modifier & FULL == FULL => Some(DEFAULT),
        _ => Some(modifier & FULL),
    }
}
