//! Numeric as text.

use super::{MAX_SCALE, MAX_WHOLE_DIGITS, Parts, overflow, ten_to};
use crate::Numeric;
use crate::error::{Error, Result, state};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::ToPrimitive;
use std::fmt;

impl Numeric {
    /// From text, as the input function reads it.
    ///
    /// # Errors
    /// 22P02, 22003.
    pub fn parse(text: &str) -> Result<Numeric> {
        let wrong = || {
            Error::new(state::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type numeric: \"{text}\""))
        };
        let trimmed = text.trim_matches(is_space);
        match trimmed.as_bytes().first() {
            Some(b'0'..=b'9' | b'.') => finite(trimmed, wrong),
            Some(b'+' | b'-') if trimmed.as_bytes().get(1).is_some_and(|c| c.is_ascii_digit() || *c == b'.') => {
                finite(trimmed, wrong)
            }
            _ => special(trimmed).ok_or_else(wrong),
        }
    }
}

/// Returns whether C's `isspace` accepts a character.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn special(text: &str) -> Option<Numeric> {
    let (negative, name) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    if is("infinity") || is("inf") {
        Some(Numeric::infinity(!negative))
    } else if text.eq_ignore_ascii_case("nan") {
        Some(Numeric::NaN)
    } else {
        None
    }
}

fn finite(text: &str, wrong: impl Fn() -> Error) -> Result<Numeric> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (negative, mantissa) = match mantissa.as_bytes().first() {
        Some(b'-') => (true, &mantissa[1..]),
        Some(b'+') => (false, &mantissa[1..]),
        _ => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(wrong());
    }
    let exponent = exponent.map_or(Ok(0), |exponent| parse_exponent(exponent).ok_or_else(&wrong))?;
    if exponent.abs() >= i64::from(i32::MAX / 2) {
        return Err(overflow());
    }
    let scale = fraction.len() as i64 - exponent;
    let significant = significant_digits(whole, fraction);
    if scale > i64::from(MAX_SCALE) || (significant > 0 && significant - scale > MAX_WHOLE_DIGITS) {
        return Err(overflow());
    }
    let mut digits = parse_digits(whole, fraction).ok_or_else(wrong)?;
    if negative {
        digits = -digits;
    }
    match u32::try_from(scale) {
        Ok(scale) => Ok(Numeric::new(digits, scale)),
        Err(_) if significant == 0 => Ok(Numeric::zero()),
        Err(_) => Ok(Numeric::new(digits * ten_to(-scale as u32), 0)),
    }
}

/// Digits without the zeros in front.
fn significant_digits(whole: &str, fraction: &str) -> i64 {
    let whole = whole.trim_start_matches('0');
    let fraction = if whole.is_empty() { fraction.trim_start_matches('0') } else { fraction };
    (whole.len() + fraction.len()) as i64
}

fn parse_digits(whole: &str, fraction: &str) -> Option<BigInt> {
    if whole.len() + fraction.len() <= 18 {
        let value = whole.bytes().chain(fraction.bytes()).fold(0i64, |value, c| value * 10 + i64::from(c - b'0'));
        return Some(BigInt::from(value));
    }
    BigInt::parse_bytes([whole, fraction].concat().as_bytes(), 10)
}

/// `None` if it is no number; saturates.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let value = digits.parse::<i64>().unwrap_or(i64::MAX);
    Some(if negative { -value } else { value })
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Parts::NaN => f.write_str("NaN"),
            Parts::Infinite(positive) => f.write_str(if positive { "Infinity" } else { "-Infinity" }),
            Parts::Finite(digits, scale) => match digits.to_i64() {
                Some(small) if scale <= 18 => write_small(small, scale as usize, f),
                _ => write_large(&digits, scale as usize, f),
            },
        }
    }
}

/// Without allocating.
fn write_small(digits: i64, scale: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut buffer = [b'0'; 40];
    let mut at = buffer.len();
    let mut rest = digits.unsigned_abs();
    let mut written = 0;
    while rest > 0 || written <= scale {
        if written == scale && scale > 0 {
            at -= 1;
            buffer[at] = b'.';
        }
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        written += 1;
    }
    if digits < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    f.write_str(std::str::from_utf8(&buffer[at..]).unwrap_or_default())
}

fn write_large(digits: &BigInt, scale: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if digits.sign() == bigdecimal::num_bigint::Sign::Minus {
        f.write_str("-")?;
    }
    let text = digits.magnitude().to_string();
    match text.len().checked_sub(scale) {
        _ if scale == 0 => f.write_str(&text),
        Some(point @ 1..) => write!(f, "{}.{}", &text[..point], &text[point..]),
        _ => write!(f, "0.{text:0>scale$}"),
    }
}
