//! Values as text: PostgreSQL's input and output functions.
//!
//! `number.rs` has integers and floats, `bytes.rs` bytea, uuid and the other plain types, `array.rs` arrays, `record.rs` rows,
//! `json.rs` json, `modifier.rs` lengths and precisions; dates and times are in `datetime`, numeric is in `numeric`.

mod array;
mod bytes;
mod json;
mod modifier;
mod number;
mod record;
#[cfg(test)]
mod tests;
mod tid;

pub(super) use bytes::char_byte;
pub use modifier::apply_modifier;
pub(super) use number::{parse_float4, parse_float8};
pub(super) use record::check_rules;

use super::datetime::text as times;
use super::{Datum, IntervalStyle, Modifier, Numeric, Scalar, Styles, Type};
use crate::error::{Error, Result, state};
use std::sync::Arc;

pub(super) fn invalid_syntax(data_type: &str, text: &str) -> Error {
    Error::new(state::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type {data_type}: \"{text}\""))
}

/// Reads a value from text and applies the modifier as an assignment does. The reg* types are read as numbers: their names
/// are the catalog's business.
///
/// # Errors
/// 22P02, 22003, 22007, 22008 as the type's input function raises them.
pub fn parse(text: &str, data_type: Type, modifier: Modifier, styles: &Styles) -> Result<Datum> {
    if let Some(element) = data_type.element() {
        return if data_type.is_array {
            array::parse_array(text, element, modifier, styles)
        } else {
            array::parse_vector(text, element, styles)
        };
    }
    let value = match data_type.scalar {
        Scalar::Bool => Datum::Bool(bytes::parse_bool(text)?),
        Scalar::Int2 => Datum::Int2(number::parse_int(text, "smallint")?),
        Scalar::Int4 => Datum::Int4(number::parse_int(text, "integer")?),
        Scalar::Int8 => Datum::Int8(number::parse_int(text, "bigint")?),
        Scalar::Float4 => Datum::Float4(parse_float4(text)?),
        Scalar::Float8 => Datum::Float8(parse_float8(text)?),
        Scalar::Numeric => Datum::Numeric(Numeric::parse(text)?),
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Unknown | Scalar::PgNodeTree | Scalar::AclItem => {
            Datum::Text(text.into())
        }
        Scalar::Name => Datum::Text(bytes::truncate_name(text).into()),
        Scalar::Char => bytes::parse_char(text),
        Scalar::Bytea => Datum::Bytea(bytes::parse_bytea(text)?.into()),
        Scalar::Date => Datum::Date(times::parse_date(text, styles)?),
        Scalar::Time => Datum::Time(times::parse_time(text, styles)?),
        Scalar::Timestamp => Datum::Timestamp(times::parse_timestamp(text, styles)?),
        Scalar::Timestamptz => Datum::Timestamptz(times::parse_timestamptz(text, styles)?),
        Scalar::Interval => Datum::Interval(Arc::new(times::parse_interval(text, modifier, styles)?)),
        Scalar::Uuid => Datum::Uuid(Arc::new(bytes::parse_uuid(text)?)),
        Scalar::Json => json::parse_json(text)?,
        Scalar::Jsonb => json::parse_jsonb(text)?,
        scalar if scalar.is_oid() => Datum::Oid(number::parse_oid(text, data_type)?),
        Scalar::Tid => Datum::Int8(tid::parse(text)?),
        Scalar::Enum(oid) => Datum::Enum(super::defined::label(oid, text)?),
        Scalar::Composite(oid) => record::parse(text, oid, styles)?,
        Scalar::Void => Datum::Text("".into()),
        _ => {
            return Err(Error::new(
                state::FEATURE_NOT_SUPPORTED,
                "input of anonymous composite types is not implemented",
            ));
        }
    };
    if modifier == Modifier::NONE { Ok(value) } else { apply_modifier(value, data_type, modifier, false) }
}

/// Appends a value's text; nothing for NULL. The reg* types are written as numbers.
pub fn format(value: &Datum, data_type: Type, styles: &Styles, out: &mut String) {
    match value {
        Datum::Null => {}
        Datum::Bool(value) => out.push(if *value { 't' } else { 'f' }),
        Datum::Int2(value) => number::write_int(i64::from(*value), out),
        Datum::Int4(value) => number::write_int(i64::from(*value), out),
        Datum::Int8(value) if data_type == Type::TID => tid::write(*value, out),
        Datum::Int8(value) => number::write_int(*value, out),
        Datum::Oid(value) => number::write_int(i64::from(*value), out),
        Datum::Float4(value) => number::write_float4(*value, out),
        Datum::Float8(value) => number::write_float8(*value, out),
        Datum::Numeric(value) => push_display(value, out),
        Datum::Text(value) => out.push_str(value),
        Datum::Bytea(value) if styles.bytea_escaped => bytes::write_escaped(value, out),
        Datum::Bytea(value) => bytes::write_bytea(value, out),
        Datum::Date(value) => times::write_date(*value, styles, out),
        Datum::Time(value) => times::write_time(*value, out),
        Datum::Timestamp(value) => times::write_timestamp(*value, styles, out),
        Datum::Timestamptz(value) => times::write_timestamptz(*value, styles, out),
        Datum::Interval(value) => match styles.intervals {
            IntervalStyle::Postgres => times::write_interval(value, out),
            IntervalStyle::Verbose => times::write_verbose_interval(value, out),
            IntervalStyle::Sql => times::write_sql_interval(value, out),
            IntervalStyle::Iso8601 => times::write_iso_interval(value, out),
        },
        Datum::Uuid(value) => bytes::write_uuid(value, out),
        Datum::Array(value) if data_type.is_array || data_type.element().is_none() => {
            array::write_array(value, styles, out);
        }
        Datum::Array(value) => array::write_vector(value, styles, out),
        Datum::Enum(label) => out.push_str(&label.name),
        Datum::Record(record) => record::write(record, styles, out),
    }
}

fn push_display(value: &impl std::fmt::Display, out: &mut String) {
    use std::fmt::Write;
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

/// A value's text.
pub fn to_string(value: &Datum, data_type: Type, styles: &Styles) -> String {
    let mut out = String::new();
    format(value, data_type, styles, &mut out);
    out
}
