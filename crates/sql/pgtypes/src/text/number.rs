//! Integers, floats and object identifiers as text.

use super::invalid_syntax;
use crate::error::{Error, Result, state};
use crate::numeric::is_space;
use crate::{Scalar, Type};

/// Reads an integer: blanks, a sign, decimal digits, blanks.
pub(super) fn parse_int<T: TryFrom<i64>>(text: &str, data_type: &str) -> Result<T> {
    let out_of_range = || {
        Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type {data_type}"))
    };
    let trimmed = text.trim_matches(is_space);
    let (negative, digits) = match trimmed.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(invalid_syntax(data_type, text));
    }
    // Counted downwards: the least integer has no positive counterpart.
    let value = digits
        .iter()
        .try_fold(0i64, |value, digit| value.checked_mul(10)?.checked_sub(i64::from(digit - b'0')))
        .ok_or_else(out_of_range)?;
    let value = if negative { value } else { value.checked_neg().ok_or_else(out_of_range)? };
    T::try_from(value).map_err(|_| out_of_range())
}

/// Reads an object identifier; of the reg* types, one that is written as a number.
pub(super) fn parse_oid(text: &str, data_type: Type) -> Result<u32> {
    if text == "-" && data_type.scalar != Scalar::Oid && data_type.scalar != Scalar::Xid {
        return Ok(0);
    }
    let value: i64 = parse_int(text, "oid").map_err(|error| match error.code() {
        state::INVALID_TEXT_REPRESENTATION => invalid_syntax(&data_type.internal_name(), text),
        _ => error,
    })?;
    // As C's strtoul, a negative number wraps around.
    u32::try_from(value).or_else(|_| i32::try_from(value).map(|value| value as u32)).map_err(|_| {
        Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type oid"))
    })
}

fn float_out_of_range(text: &str, data_type: &str) -> Error {
    Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("\"{text}\" is out of range for type {data_type}"))
}

/// Reads a double precision.
pub(crate) fn parse_float8(text: &str) -> Result<f64> {
    let trimmed = text.trim_matches(is_space);
    if let Some(special) = special_float(trimmed) {
        return Ok(special);
    }
    let value: f64 = check_float(trimmed).parse().map_err(|_| invalid_syntax("double precision", text))?;
    if value.is_infinite() || (value == 0.0 && !is_zero(trimmed)) {
        return Err(float_out_of_range(trimmed, "double precision"));
    }
    Ok(value)
}

/// Reads a real.
pub(crate) fn parse_float4(text: &str) -> Result<f32> {
    let trimmed = text.trim_matches(is_space);
    if let Some(special) = special_float(trimmed) {
        return Ok(special as f32);
    }
    let value: f32 = check_float(trimmed).parse().map_err(|_| invalid_syntax("real", text))?;
    if value.is_infinite() || (value == 0.0 && !is_zero(trimmed)) {
        return Err(float_out_of_range(trimmed, "real"));
    }
    Ok(value)
}

fn special_float(text: &str) -> Option<f64> {
    let (sign, name) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    if is("nan") {
        Some(f64::NAN)
    } else if is("infinity") || is("inf") {
        Some(sign * f64::INFINITY)
    } else {
        None
    }
}

/// Limits a text to digits, signs, point and exponent: Rust's parser also accepts names, which must not reach it.
fn check_float(text: &str) -> &str {
    let numeric = text.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'+' | b'-' | b'.' | b'e' | b'E'));
    if numeric { text } else { "" }
}

/// Returns whether all digits before the exponent are zero: otherwise a result of zero is an underflow.
fn is_zero(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    !mantissa.bytes().any(|c| matches!(c, b'1'..=b'9'))
}

/// Appends an integer.
pub(super) fn write_int(value: i64, out: &mut String) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.push_str(std::str::from_utf8(&buffer[at..]).unwrap_or_default());
}

pub(super) fn write_float8(value: f64, out: &mut String) {
    match write_special(value, out) {
        true => {}
        false => write_shortest(&format!("{value:e}"), 15, out),
    }
}

pub(super) fn write_float4(value: f32, out: &mut String) {
    match write_special(f64::from(value), out) {
        true => {}
        false => write_shortest(&format!("{value:e}"), 6, out),
    }
}

fn write_special(value: f64, out: &mut String) -> bool {
    match value {
        _ if value.is_nan() => out.push_str("NaN"),
        f64::INFINITY => out.push_str("Infinity"),
        f64::NEG_INFINITY => out.push_str("-Infinity"),
        _ => return false,
    }
    true
}

/// The shortest digits that read back as the same float, as C's `%g` would lay them out: an exponent from 10^`precision`
/// on, and below 10^-4.
fn write_shortest(scientific: &str, precision: i32, out: &mut String) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    out.push_str(sign);
    if !(-4..precision).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(mantissa);
        super::push_display(&format_args!("e{sign}{:02}", exponent.unsigned_abs()), out);
        return;
    }
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    match exponent {
        ..0 => {
            out.push_str("0.");
            (1..-exponent).for_each(|_| out.push('0'));
            out.push_str(first);
            out.push_str(rest);
        }
        _ => {
            let whole = (exponent as usize).min(rest.len());
            out.push_str(first);
            out.push_str(&rest[..whole]);
            (whole..exponent as usize).for_each(|_| out.push('0'));
            if whole < rest.len() {
                out.push('.');
                out.push_str(&rest[whole..]);
            }
        }
    }
}
