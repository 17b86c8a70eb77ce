//! Arithmetic of numeric, with PostgreSQL 15's display scales.
//!
//! A finite numeric is an integer and a display scale (digits after the point): 1.50 is 150 with scale 2. `arithmetic.rs`
//! adds, multiplies, divides and rounds; `functions.rs` has roots, exponentials and logarithms; `text.rs` reads and writes.

mod arithmetic;
mod functions;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use text::is_space;

use super::Numeric;
use crate::error::{Error, Result, state};
use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Digits before the point, at most.
const MAX_WHOLE_DIGITS: i64 = 131_072;
/// Digits after the point, at most.
pub(super) const MAX_SCALE: u32 = 16_383;
/// Digits after the point that division and the functions give, at most.
const MAX_DISPLAY_SCALE: i64 = 1000;
/// Significant digits that division and the functions give, at least.
const MIN_SIGNIFICANT_DIGITS: i64 = 16;

/// A number, taken apart: its digits and its display scale; or what it is instead.
enum Parts<'n> {
    Finite(Cow<'n, BigInt>, u32),
    NaN,
    /// An infinity: whether it is the positive one.
    Infinite(bool),
}

fn overflow() -> Error {
    Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

fn division_by_zero() -> Error {
    Error::new(state::DIVISION_BY_ZERO, "division by zero")
}

/// A power of ten.
fn ten_to(exponent: u32) -> BigInt {
    match exponent {
        0..=18 => BigInt::from(10u64.pow(exponent)),
        _ => BigInt::from(10).pow(exponent),
    }
}

/// Number of decimal digits; 0 of zero.
fn digit_count(digits: &BigInt) -> i64 {
    if let Some(small) = digits.to_i64() {
        return small.unsigned_abs().checked_ilog10().map_or(0, |log| i64::from(log) + 1);
    }
    let least = ((digits.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
    // The estimate may be one too small, by truncation; and by the error of a float, one too large.
    let least = least.saturating_sub(1);
    let magnitude = digits.magnitude();
    let mut count = least;
    let mut power = ten_to(least);
    while *magnitude >= *power.magnitude() {
        power *= 10;
        count += 1;
    }
    i64::from(count)
}

/// The quotient, rounded half away from zero.
fn divide_rounding(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    if let (Some(a), Some(b)) = (dividend.to_i64(), divisor.to_i64())
        && let (Some(quotient), Some(rest)) = (a.checked_div(b), a.checked_rem(b))
    {
        let away = rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs();
        let step = i128::from(if (a < 0) == (b < 0) { 1 } else { -1 });
        return BigInt::from(i128::from(quotient) + if away { step } else { 0 });
    }
    let quotient = dividend / divisor;
    let rest = dividend - &quotient * divisor;
    if rest.magnitude() * 2u32 < *divisor.magnitude() {
        quotient
    } else if (dividend.sign() == Sign::Minus) == (divisor.sign() == Sign::Minus) {
        quotient + 1
    } else {
        quotient - 1
    }
}

/// Moves digits from one scale to another; fewer digits round half away from zero.
fn rescale(digits: &BigInt, from: i64, to: i64) -> BigInt {
    match to - from {
        0 => digits.clone(),
        more @ 1.. => digits * ten_to(more as u32),
        less if -less > digit_count(digits) => BigInt::ZERO,
        less => divide_rounding(digits, &ten_to(-less as u32)),
    }
}

impl Numeric {
    /// The number `digits / 10^scale`, shown with `scale` digits after the point.
    pub fn new(digits: BigInt, scale: u32) -> Numeric {
        Numeric::Finite(Arc::new(BigDecimal::new(digits, i64::from(scale))))
    }

    /// Returns [`Numeric::new`] if the result is within the limits of the type.
    ///
    /// # Errors
    /// 22003 beyond the limits.
    pub fn checked(digits: BigInt, scale: u32) -> Result<Numeric> {
        // Three bits and a third are a digit: most numbers need no exact count.
        let surely_fits = digits.bits() < 3 * MAX_WHOLE_DIGITS as u64;
        if scale > MAX_SCALE || (!surely_fits && digit_count(&digits) - i64::from(scale) > MAX_WHOLE_DIGITS) {
            return Err(overflow());
        }
        Ok(Numeric::new(digits, scale))
    }

    /// The number `digits / 10^places`, cut to `scale` digits after the point. `places` may be negative.
    pub(super) fn from_places(digits: BigInt, places: i64, scale: u32) -> Result<Numeric> {
        if digit_count(&digits) - places > MAX_WHOLE_DIGITS {
            return Err(overflow());
        }
        let missing = i64::from(scale) - places;
        let digits = match missing {
            0.. => digits * ten_to(missing as u32),
            _ if -missing > digit_count(&digits) => BigInt::ZERO,
            _ => digits / ten_to(-missing as u32),
        };
        Numeric::checked(digits, scale)
    }

    /// Zero.
    pub fn zero() -> Numeric {
        Numeric::new(BigInt::ZERO, 0)
    }

    /// The digits and the display scale of a finite number.
    pub fn digits_and_scale(&self) -> Option<(Cow<'_, BigInt>, u32)> {
        match self.parts() {
            Parts::Finite(digits, scale) => Some((digits, scale)),
            Parts::NaN | Parts::Infinite(_) => None,
        }
    }

    fn parts(&self) -> Parts<'_> {
        match self {
            Numeric::Finite(number) => {
                let (digits, scale) = number.as_bigint_and_scale();
                match u32::try_from(scale) {
                    Ok(scale) => Parts::Finite(digits, scale),
                    // Made outside of this room: a scale below zero means zeros before the point.
                    Err(_) => Parts::Finite(Cow::Owned(rescale(&digits, scale, 0)), 0),
                }
            }
            Numeric::NaN => Parts::NaN,
            Numeric::Infinity => Parts::Infinite(true),
            Numeric::NegativeInfinity => Parts::Infinite(false),
        }
    }

    fn infinity(positive: bool) -> Numeric {
        if positive { Numeric::Infinity } else { Numeric::NegativeInfinity }
    }

    /// Returns whether the value is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Numeric::NaN)
    }

    /// Returns whether the value is neither NaN nor an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Finite(_))
    }

    /// Returns whether the value is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self, Numeric::Finite(number) if number.is_zero())
    }

    /// -1, 0 or 1; 1 for NaN, the greatest of all.
    pub fn signum(&self) -> i32 {
        match self {
            Numeric::Finite(number) => match number.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
            Numeric::NaN | Numeric::Infinity => 1,
            Numeric::NegativeInfinity => -1,
        }
    }

    /// The display scale: digits after the point; `None` if not finite.
    pub fn scale(&self) -> Option<u32> {
        self.digits_and_scale().map(|(_, scale)| scale)
    }

    /// The smallest scale that keeps the value; `None` if not finite.
    pub fn min_scale(&self) -> Option<u32> {
        self.trim_scale().scale()
    }

    /// Digits before the point; below zero for a small fraction, 0 of what is not finite.
    pub(super) fn whole_digits(&self) -> i64 {
        self.digits_and_scale().map_or(0, |(digits, scale)| digit_count(&digits) - i64::from(scale))
    }

    /// Without zeros at the end.
    pub fn trim_scale(&self) -> Numeric {
        match self.digits_and_scale() {
            Some((digits, scale)) => {
                let (digits, scale) = trimmed(digits.into_owned(), i64::from(scale), 0);
                Numeric::new(digits, scale as u32)
            }
            None => self.clone(),
        }
    }

    /// Compares two values: NaN is greatest and equal to itself.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        let order = |numeric: &Numeric| match numeric {
            Numeric::NegativeInfinity => 0,
            Numeric::Finite(_) => 1,
            Numeric::Infinity => 2,
            Numeric::NaN => 3,
        };
        match (self.digits_and_scale(), other.digits_and_scale()) {
            (Some(left), Some(right)) => compare_finite(left, right),
            _ => order(self).cmp(&order(other)),
        }
    }

    /// Hashes the value: 1.0 as 1.00.
    pub(super) fn hash_value(&self, hasher: &mut impl Hasher) {
        match self.digits_and_scale() {
            Some((digits, scale)) => {
                trimmed(digits.into_owned(), i64::from(scale), i64::MIN).hash(hasher);
            }
            None => std::mem::discriminant(self).hash(hasher),
        }
    }

    /// The integer after rounding half away from zero; `None` if it does not fit (NaN and the infinities too).
    pub fn to_i64(&self) -> Option<i64> {
        self.rounded()?.to_i64()
    }

    /// Like [`Numeric::to_i64`], with 128 bits.
    pub fn to_i128(&self) -> Option<i128> {
        self.rounded()?.to_i128()
    }

    fn rounded(&self) -> Option<BigInt> {
        self.digits_and_scale().map(|(digits, scale)| rescale(&digits, i64::from(scale), 0))
    }

    /// The nearest float; too big ones become infinite.
    pub fn to_f64(&self) -> f64 {
        match self.parts() {
            Parts::NaN => f64::NAN,
            Parts::Infinite(positive) => {
                if positive {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }
            Parts::Finite(digits, scale) => match digits.to_i64() {
                // Both are exact, so that the quotient is rounded once.
                Some(small) if small.unsigned_abs() < 1 << 53 && scale <= 22 => small as f64 / 10f64.powi(scale as i32),
                // Rust's parser rounds correctly and returns infinity on overflow.
                _ => format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN),
            },
        }
    }

    /// From a float, with 15 significant digits.
    pub fn from_f64(value: f64) -> Numeric {
        Numeric::from_float(value, format_args!("{value:.14e}"))
    }

    /// From a float, with 6 significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        Numeric::from_float(f64::from(value), format_args!("{value:.5e}"))
    }

    fn from_float(value: f64, scientific: std::fmt::Arguments<'_>) -> Numeric {
        if value.is_nan() {
            return Numeric::NaN;
        }
        if value.is_infinite() {
            return Numeric::infinity(value > 0.0);
        }
        let text = scientific.to_string();
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = mantissa.replace('.', "");
        let fraction = digits.trim_start_matches('-').len() as i64 - 1;
        let scale = fraction - exponent.parse::<i64>().unwrap_or(0);
        let (digits, scale) = trimmed(digits.parse().unwrap_or_default(), scale, 0);
        match u32::try_from(scale) {
            Ok(scale) => Numeric::new(digits, scale),
            Err(_) => Numeric::new(rescale(&digits, scale, 0), 0),
        }
    }
}

/// Cuts zeros at the end while the scale is above `least`; zero has no digits to keep.
fn trimmed(digits: BigInt, scale: i64, least: i64) -> (BigInt, i64) {
    if digits.is_zero() {
        return (digits, 0);
    }
    let (mut digits, mut scale) = (digits, scale);
    // Large steps first, so that a number of many zeros is not divided once for each.
    for step in [4096u32, 512, 64, 16, 4, 1] {
        // A power of ten with more bits than the number has divides it never, and takes long to make.
        if 3 * u64::from(step) > digits.bits() {
            continue;
        }
        let divisor = ten_to(step);
        while scale.saturating_sub(i64::from(step)) >= least && digits.bits() >= divisor.bits() {
            let quotient = &digits / &divisor;
            if &quotient * &divisor != digits {
                break;
            }
            (digits, scale) = (quotient, scale - i64::from(step));
        }
    }
    (digits, scale)
}

fn compare_finite(left: (Cow<'_, BigInt>, u32), right: (Cow<'_, BigInt>, u32)) -> Ordering {
    let ((a, a_scale), (b, b_scale)) = (left, right);
    if a_scale == b_scale {
        return a.cmp(&b);
    }
    let signs = a.sign().cmp(&b.sign());
    if signs != Ordering::Equal || a.is_zero() {
        return signs;
    }
    let magnitude = |digits: &BigInt, scale: u32| digit_count(digits) - i64::from(scale);
    let magnitudes = magnitude(&a, a_scale).cmp(&magnitude(&b, b_scale));
    if magnitudes != Ordering::Equal {
        return if a.is_negative() { magnitudes.reverse() } else { magnitudes };
    }
    if a_scale < b_scale {
        (a.as_ref() * ten_to(b_scale - a_scale)).cmp(&b)
    } else {
        a.as_ref().cmp(&(b.as_ref() * ten_to(a_scale - b_scale)))
    }
}

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        Numeric::new(BigInt::from(value), 0)
    }
}

impl From<i32> for Numeric {
    fn from(value: i32) -> Numeric {
        Numeric::new(BigInt::from(value), 0)
    }
}

impl From<i128> for Numeric {
    fn from(value: i128) -> Numeric {
        Numeric::new(BigInt::from(value), 0)
    }
}
