//! Lengths, precisions and scales of columns.

use crate::datetime::round_micros;
use crate::error::{Error, Result, state};
use crate::{Array, Datum, Interval, Modifier, Numeric, Scalar, Type};
use smol_str::SmolStr;
use std::sync::Arc;

/// Makes a value fit its column's modifier: lengths, precisions, scales. An explicit cast cuts what is too long.
///
/// # Errors
/// 22001 for a text that is too long, 22003 for a numeric that does not fit.
pub fn apply_modifier(value: Datum, data_type: Type, modifier: Modifier, explicit: bool) -> Result<Datum> {
    if modifier == Modifier::NONE {
        return Ok(value);
    }
    Ok(match value {
        Datum::Text(text) => match (data_type.scalar, modifier.length()) {
            (Scalar::Varchar, Some(length)) => Datum::Text(fit(text, length, "character varying", explicit)?),
            (Scalar::Bpchar, Some(length)) => Datum::Text(pad(fit(text, length, "character", explicit)?, length)),
            _ => Datum::Text(text),
        },
        Datum::Numeric(number) => match modifier.precision_and_scale() {
            Some((precision, scale)) => Datum::Numeric(fit_numeric(number, precision, scale)?),
            None => Datum::Numeric(number),
        },
        Datum::Array(array) => apply_to_elements(&array, modifier, explicit)?,
        Datum::Interval(interval) => Datum::Interval(Arc::new(fit_interval(*interval, modifier))),
        other => match modifier.second_digits(data_type.scalar) {
            Some(digits) => round_time(other, digits)?,
            None => other,
        },
    })
}

/// Blanks beyond the length are cut; other characters only if the cast is explicit.
fn fit(text: SmolStr, length: usize, data_type: &str, explicit: bool) -> Result<SmolStr> {
    if text.len() <= length {
        return Ok(text);
    }
    let Some((end, _)) = text.char_indices().nth(length) else { return Ok(text) };
    if !explicit && text[end..].bytes().any(|c| c != b' ') {
        return Err(Error::new(
            state::STRING_DATA_RIGHT_TRUNCATION,
            format!("value too long for type {data_type}({length})"),
        ));
    }
    Ok(text[..end].into())
}

fn pad(text: SmolStr, length: usize) -> SmolStr {
    let characters = if text.is_ascii() { text.len() } else { text.chars().count() };
    match length.checked_sub(characters) {
        None | Some(0) => text,
        Some(missing) => {
            let mut padded = String::with_capacity(text.len() + missing);
            padded.push_str(&text);
            padded.extend(std::iter::repeat_n(' ', missing));
            padded.into()
        }
    }
}

fn fit_numeric(number: Numeric, precision: i32, scale: i32) -> Result<Numeric> {
    let overflow =
        |detail: String| Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail);
    let field = format_args!("A field with precision {precision}, scale {scale}").to_string();
    match number {
        Numeric::NaN => return Ok(number),
        Numeric::Infinity | Numeric::NegativeInfinity => {
            return Err(overflow(format!("{field} cannot hold an infinite value.")));
        }
        Numeric::Finite(_) => {}
    }
    let rounded = number.round(scale)?;
    let whole = precision - scale;
    if rounded.whole_digits() > i64::from(whole) {
        let limit = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
        return Err(overflow(format!("{field} must round to an absolute value less than {limit}.")));
    }
    Ok(rounded)
}

fn apply_to_elements(array: &Array, modifier: Modifier, explicit: bool) -> Result<Datum> {
    let element = Type::of(array.element);
    let elements = array
        .elements
        .iter()
        .map(|value| apply_modifier(value.clone(), element, modifier, explicit))
        .collect::<Result<_>>()?;
    Ok(Datum::Array(Arc::new(Array { element: array.element, lower_bound: array.lower_bound, elements })))
}

fn fit_interval(mut interval: Interval, modifier: Modifier) -> Interval {
    let (fields, digits) = modifier.interval_fields();
    if let Some(fields) = fields {
        fields.keep(&mut interval);
    }
    if let Some(digits) = digits {
        interval.micros = round_micros(interval.micros, digits).unwrap_or(interval.micros);
    }
    interval
}

fn round_time(value: Datum, digits: u8) -> Result<Datum> {
    let finite = |micros: i64| micros != i64::MIN && micros != i64::MAX;
    let round = |micros: i64| {
        round_micros(micros, digits).ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
    };
    Ok(match value {
        Datum::Time(micros) => Datum::Time(round(micros)?),
        Datum::Timestamp(micros) if finite(micros) => Datum::Timestamp(round(micros)?),
        Datum::Timestamptz(micros) if finite(micros) => Datum::Timestamptz(round(micros)?),
        other => other,
    })
}
