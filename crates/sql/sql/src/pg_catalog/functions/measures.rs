//! Lengths and precisions of types, by their identifiers and modifiers, as `information_schema` shows them.
//!
//! Source: PostgreSQL 15, `information_schema.sql`.

use super::{argument_int, argument_oid, argument_text};
use crate::error::Result;
use crate::types::{Datum, Modifier, Scalar, Type};

/// The scalar type, and the modifier; -1 is none.
fn measured(arguments: &[Datum]) -> (Option<Scalar>, i32) {
    let found = Type::from_oid(argument_oid(arguments, 0)).filter(|found| !found.is_array);
    let modifier = argument_int(arguments, 1).and_then(|modifier| i32::try_from(modifier).ok()).unwrap_or(-1);
    (found.map(|found| found.scalar), modifier)
}

fn answer(number: Option<i32>) -> Result<Datum> {
    Ok(number.map_or(Datum::Null, Datum::Int4))
}

pub(super) fn char_max_length(arguments: &[Datum]) -> Result<Datum> {
    answer(match measured(arguments) {
        (Some(Scalar::Bpchar | Scalar::Varchar), modifier) if modifier != -1 => Some(modifier.wrapping_sub(4)),
        _ => None,
    })
}

/// A character takes at most four bytes.
pub(super) fn char_octet_length(arguments: &[Datum]) -> Result<Datum> {
    answer(match measured(arguments) {
        (Some(Scalar::Text | Scalar::Bpchar | Scalar::Varchar), -1) => Some(1 << 30),
        (Some(Scalar::Bpchar | Scalar::Varchar), modifier) => Some(modifier.wrapping_sub(4).wrapping_mul(4)),
        _ => None,
    })
}

pub(super) fn numeric_precision(arguments: &[Datum]) -> Result<Datum> {
    answer(match measured(arguments) {
        (Some(Scalar::Int2), _) => Some(16),
        (Some(Scalar::Int4), _) => Some(32),
        (Some(Scalar::Int8), _) => Some(64),
        (Some(Scalar::Float4), _) => Some(24),
        (Some(Scalar::Float8), _) => Some(53),
        (Some(Scalar::Numeric), modifier) if modifier != -1 => Some(modifier.wrapping_sub(4) >> 16 & 0xffff),
        _ => None,
    })
}

pub(super) fn numeric_precision_radix(arguments: &[Datum]) -> Result<Datum> {
    answer(match measured(arguments).0 {
        Some(Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Float4 | Scalar::Float8) => Some(2),
        Some(Scalar::Numeric) => Some(10),
        _ => None,
    })
}

pub(super) fn numeric_scale(arguments: &[Datum]) -> Result<Datum> {
    answer(match measured(arguments) {
        (Some(Scalar::Int2 | Scalar::Int4 | Scalar::Int8), _) => Some(0),
        (Some(Scalar::Numeric), modifier) if modifier != -1 => Some(modifier.wrapping_sub(4) & 0xffff),
        _ => None,
    })
}

pub(super) fn datetime_precision(arguments: &[Datum]) -> Result<Datum> {
    answer(match measured(arguments) {
        (Some(Scalar::Date), _) => Some(0),
        (Some(Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz), modifier) => {
            Some(if modifier < 0 { 6 } else { modifier })
        }
        (Some(Scalar::Interval), modifier) => {
            Some(if modifier < 0 || modifier & 0xffff == 0xffff { 6 } else { modifier & 0xffff })
        }
        _ => None,
    })
}

/// The fields of an interval in upper case, as `DAY TO SECOND(3)`.
pub(super) fn interval_type(arguments: &[Datum]) -> Result<Datum> {
    let (Some(Scalar::Interval), modifier) = measured(arguments) else { return Ok(Datum::Null) };
    let name = Type::INTERVAL.format(Modifier(modifier));
    let fields = name.trim_start_matches("interval").trim_start_matches(|c: char| "()0123456789".contains(c));
    Ok(Datum::Text(fields.trim_start().to_uppercase().into()))
}

/// A name, and an identifier behind it, together no longer than a name can be.
pub(super) fn name_with_oid(arguments: &[Datum]) -> Result<Datum> {
    let suffix = format!("_{}", argument_oid(arguments, 1));
    let name = argument_text(arguments, 0);
    let mut end = name.len().min(63 - suffix.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    Ok(Datum::Text(format!("{}{suffix}", &name[..end]).into()))
}
