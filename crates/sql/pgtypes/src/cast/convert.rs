//! Conversions of the casts that have a function of their own.

use crate::compare::without_blanks;
use crate::datetime::{
    date_to_timestamp, date_to_timestamptz, interval_to_time, timestamp_to_date, timestamp_to_time,
    timestamp_to_timestamptz, timestamptz_to_timestamp,
};
use crate::error::{Error, Result, state};
use crate::text::{char_byte, parse, parse_float4, parse_float8};
use crate::{Datum, Interval, Modifier, Numeric, Scalar, Styles, Type};
use std::sync::Arc;

pub(super) fn convert(value: &Datum, from: Scalar, to: Scalar, styles: &Styles) -> Result<Datum> {
    match value {
        Datum::Int2(value) => integer(i64::from(*value), to),
        Datum::Int4(value) => integer(i64::from(*value), to),
        Datum::Int8(value) if is_oid(to) => {
            Ok(Datum::Oid(u32::try_from(*value).map_err(|_| out_of_range(Scalar::Oid))?))
        }
        Datum::Int8(value) => integer(*value, to),
        // An oid and an integer have the same bits.
        Datum::Oid(value) if to == Scalar::Int4 => Ok(Datum::Int4(*value as i32)),
        Datum::Oid(value) => integer(i64::from(*value), to),
        Datum::Float4(value) => float(f64::from(*value), to, || Numeric::from_f32(*value)),
        Datum::Float8(value) => float(*value, to, || Numeric::from_f64(*value)),
        Datum::Numeric(value) => numeric(value, to),
        Datum::Bool(value) => Ok(match to {
            Scalar::Int4 => Datum::Int4(i32::from(*value)),
            _ => Datum::Text(if *value { "true" } else { "false" }.into()),
        }),
        Datum::Text(text) => texts(text, from, to, styles),
        _ => moments(value, to, styles),
    }
}

fn out_of_range(to: Scalar) -> Error {
    // PostgreSQL's message has OID in capitals, and the names of the other types.
    let name = if is_oid(to) { "OID".to_owned() } else { Type::of(to).name() };
    Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

fn is_oid(scalar: Scalar) -> bool {
    scalar == Scalar::Oid || scalar.is_reg()
}

fn no_conversion(to: Scalar) -> Error {
    Error::new(state::INTERNAL_ERROR, format!("no conversion to {}", Type::of(to)))
}

fn integer(value: i64, to: Scalar) -> Result<Datum> {
    let wrong = |_| out_of_range(to);
    Ok(match to {
        Scalar::Int2 => Datum::Int2(value.try_into().map_err(wrong)?),
        Scalar::Int4 => Datum::Int4(value.try_into().map_err(wrong)?),
        Scalar::Int8 => Datum::Int8(value),
        Scalar::Float4 => Datum::Float4(value as f32),
        Scalar::Float8 => Datum::Float8(value as f64),
        Scalar::Numeric => Datum::Numeric(Numeric::from(value)),
        Scalar::Bool => Datum::Bool(value != 0),
        Scalar::Char => match i8::try_from(value) {
            Ok(byte) => parse(&char_text(byte as u8), Type::CHAR, Modifier::NONE, &Styles::default())?,
            Err(_) => {
                return Err(Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range"));
            }
        },
        _ => Datum::Oid(oid(value).ok_or_else(|| out_of_range(to))?),
    })
}

/// A negative integer has the bits of a large oid.
fn oid(value: i64) -> Option<u32> {
    u32::try_from(value).ok().or_else(|| i32::try_from(value).ok().map(|value| value as u32))
}

/// A byte as the input function of `"char"` reads it.
fn char_text(byte: u8) -> String {
    if byte == 0 { String::new() } else { format!("\\{byte:03o}") }
}

fn float(value: f64, to: Scalar, as_numeric: impl Fn() -> Numeric) -> Result<Datum> {
    // Half to even, as C's rint; the limits are exact as floats.
    let rounded = value.round_ties_even();
    let within = |least: f64, end: f64| if rounded >= least && rounded < end { Ok(()) } else { Err(out_of_range(to)) };
    Ok(match to {
        Scalar::Int2 => {
            within(-32_768.0, 32_768.0)?;
            Datum::Int2(rounded as i16)
        }
        Scalar::Int4 => {
            within(-2_147_483_648.0, 2_147_483_648.0)?;
            Datum::Int4(rounded as i32)
        }
        Scalar::Int8 => {
            within(-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0)?;
            Datum::Int8(rounded as i64)
        }
        Scalar::Float4 => Datum::Float4(narrow(value)?),
        Scalar::Float8 => Datum::Float8(value),
        Scalar::Numeric => Datum::Numeric(as_numeric()),
        _ => return Err(no_conversion(to)),
    })
}

fn narrow(value: f64) -> Result<f32> {
    let narrow = value as f32;
    if narrow.is_infinite() && value.is_finite() {
        return Err(Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow"));
    }
    if narrow == 0.0 && value != 0.0 {
        return Err(Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow"));
    }
    Ok(narrow)
}

fn numeric(value: &Numeric, to: Scalar) -> Result<Datum> {
    let special = |to: Scalar| {
        let what = if value.is_nan() { "NaN" } else { "infinity" };
        Error::new(state::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to {}", Type::of(to)))
    };
    match to {
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 if !value.is_finite() => Err(special(to)),
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 => integer(value.to_i64().ok_or_else(|| out_of_range(to))?, to),
        // Through the text: it rounds once, and its parser detects values out of range.
        Scalar::Float4 => Ok(Datum::Float4(parse_float4(&value.to_string())?)),
        Scalar::Float8 => match value.to_f64() {
            fits if fits.is_finite() && (fits != 0.0 || value.is_zero()) => Ok(Datum::Float8(fits)),
            _ => Ok(Datum::Float8(parse_float8(&value.to_string())?)),
        },
        _ => Err(no_conversion(to)),
    }
}

fn texts(text: &str, from: Scalar, to: Scalar, styles: &Styles) -> Result<Datum> {
    if from == Scalar::Jsonb {
        return jsonb(text, to, styles);
    }
    let text = if from == Scalar::Bpchar { without_blanks(text) } else { text };
    match to {
        Scalar::Int4 if from == Scalar::Char => Ok(Datum::Int4(i32::from(char_byte(text) as i8))),
        _ => parse(text, Type::of(to), Modifier::NONE, styles),
    }
}

/// A jsonb that is a boolean or a number.
fn jsonb(text: &str, to: Scalar, styles: &Styles) -> Result<Datum> {
    let kind = match text.as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "numeric",
    };
    match (kind, to) {
        ("boolean", Scalar::Bool) => Ok(Datum::Bool(text == "true")),
        ("numeric", Scalar::Numeric) => Ok(Datum::Numeric(Numeric::parse(text)?)),
        ("numeric", _) if to != Scalar::Bool => {
            convert(&Datum::Numeric(Numeric::parse(text)?), Scalar::Numeric, to, styles)
        }
        _ => Err(Error::new(
            state::INVALID_PARAMETER_VALUE,
            format!("cannot cast jsonb {kind} to type {}", Type::of(to)),
        )),
    }
}

fn moments(value: &Datum, to: Scalar, styles: &Styles) -> Result<Datum> {
    Ok(match (value, to) {
        (Datum::Date(date), Scalar::Timestamp) => Datum::Timestamp(date_to_timestamp(*date)?),
        (Datum::Date(date), Scalar::Timestamptz) => Datum::Timestamptz(date_to_timestamptz(*date, &styles.zone)?),
        (Datum::Timestamp(local), _) => from_local(*local, to, styles)?,
        (Datum::Timestamptz(utc), Scalar::Timestamp) => Datum::Timestamp(timestamptz_to_timestamp(*utc, &styles.zone)?),
        (Datum::Timestamptz(utc), _) => from_local(timestamptz_to_timestamp(*utc, &styles.zone)?, to, styles)?,
        (Datum::Time(micros), Scalar::Interval) => {
            Datum::Interval(Arc::new(Interval { micros: *micros, ..Interval::default() }))
        }
        (Datum::Interval(interval), Scalar::Time) => Datum::Time(interval_to_time(interval)),
        _ => return Err(no_conversion(to)),
    })
}

fn from_local(local: i64, to: Scalar, styles: &Styles) -> Result<Datum> {
    match to {
        Scalar::Date => Ok(Datum::Date(timestamp_to_date(local)?)),
        Scalar::Time => Ok(timestamp_to_time(local).map_or(Datum::Null, Datum::Time)),
        Scalar::Timestamptz => Ok(Datum::Timestamptz(timestamp_to_timestamptz(local, &styles.zone)?)),
        _ => Err(no_conversion(to)),
    }
}
