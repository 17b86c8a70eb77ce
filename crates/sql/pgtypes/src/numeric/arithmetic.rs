//! Sums, products, quotients and rounding.

use super::{
    MAX_DISPLAY_SCALE, MAX_SCALE, MIN_SIGNIFICANT_DIGITS, Parts, digit_count, divide_rounding, division_by_zero,
    overflow, rescale, ten_to,
};
use crate::Numeric;
use crate::error::Result;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};
use std::borrow::Cow;

impl Numeric {
    /// `self + other`
    ///
    /// # Errors
    /// 22003 as everywhere here: `value overflows numeric format`.
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        match (self.parts(), other.parts()) {
            (Parts::Finite(a, a_scale), Parts::Finite(b, b_scale)) => {
                let (a, b, scale) = aligned(a, a_scale, b, b_scale);
                Numeric::checked(a.as_ref() + b.as_ref(), scale)
            }
            (Parts::NaN, _) | (_, Parts::NaN) => Ok(Numeric::NaN),
            (Parts::Infinite(a), Parts::Infinite(b)) if a != b => Ok(Numeric::NaN),
            (Parts::Infinite(positive), _) | (_, Parts::Infinite(positive)) => Ok(Numeric::infinity(positive)),
        }
    }

    /// `self - other`
    ///
    /// # Errors
    /// 22003.
    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        self.add(&other.neg())
    }

    /// `self * other`
    ///
    /// # Errors
    /// 22003.
    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        match (self.parts(), other.parts()) {
            (Parts::Finite(a, a_scale), Parts::Finite(b, b_scale)) => {
                let (digits, scale) = (a.as_ref() * b.as_ref(), a_scale + b_scale);
                match scale.min(MAX_SCALE) {
                    fits if fits == scale => Numeric::checked(digits, scale),
                    fits => Numeric::checked(rescale(&digits, i64::from(scale), i64::from(fits)), fits),
                }
            }
            (Parts::NaN, _) | (_, Parts::NaN) => Ok(Numeric::NaN),
            _ if self.is_zero() || other.is_zero() => Ok(Numeric::NaN),
            _ => Ok(Numeric::infinity(self.signum() == other.signum())),
        }
    }

    /// `self / other`
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        self.quotient(other, |a, a_scale, b, b_scale| {
            let scale = quotient_scale(a, a_scale, b, b_scale);
            let shift = scale + i64::from(b_scale) - i64::from(a_scale);
            let digits = if shift >= 0 {
                divide_rounding(&(a * ten_to(shift as u32)), b)
            } else {
                divide_rounding(a, &(b * ten_to(-shift as u32)))
            };
            Numeric::checked(digits, scale as u32)
        })
    }

    /// `div(self, other)`: the quotient's integer part.
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        self.quotient(other, |a, a_scale, b, b_scale| {
            let (a, b, _) = aligned(Cow::Borrowed(a), a_scale, Cow::Borrowed(b), b_scale);
            Numeric::checked(a.as_ref() / b.as_ref(), 0)
        })
    }

    /// Division with its special cases; `finite` divides numbers, the divisor not zero.
    fn quotient(
        &self,
        other: &Numeric,
        finite: impl FnOnce(&BigInt, u32, &BigInt, u32) -> Result<Numeric>,
    ) -> Result<Numeric> {
        match (self.parts(), other.parts()) {
            (Parts::NaN, _) | (_, Parts::NaN) => Ok(Numeric::NaN),
            (_, Parts::Finite(b, _)) if b.is_zero() => Err(division_by_zero()),
            (Parts::Finite(a, a_scale), Parts::Finite(b, b_scale)) => finite(&a, a_scale, &b, b_scale),
            (Parts::Infinite(_), Parts::Infinite(_)) => Ok(Numeric::NaN),
            (Parts::Infinite(_), _) => Ok(Numeric::infinity(self.signum() == other.signum())),
            (_, Parts::Infinite(_)) => Ok(Numeric::zero()),
        }
    }

    /// `self % other`, with the sign of `self`.
    ///
    /// # Errors
    /// 22012.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        match (self.parts(), other.parts()) {
            (Parts::NaN, _) | (_, Parts::NaN) => Ok(Numeric::NaN),
            (_, Parts::Finite(b, _)) if b.is_zero() => Err(division_by_zero()),
            (Parts::Finite(a, a_scale), Parts::Finite(b, b_scale)) => {
                let (a, b, scale) = aligned(a, a_scale, b, b_scale);
                Numeric::checked(a.as_ref() % b.as_ref(), scale)
            }
            (Parts::Infinite(_), _) => Ok(Numeric::NaN),
            (_, Parts::Infinite(_)) => Ok(self.clone()),
        }
    }

    /// `-self`
    pub fn neg(&self) -> Numeric {
        match self.parts() {
            Parts::Finite(digits, scale) => Numeric::new(-digits.into_owned(), scale),
            Parts::NaN => Numeric::NaN,
            Parts::Infinite(positive) => Numeric::infinity(!positive),
        }
    }

    /// `abs(self)`
    pub fn abs(&self) -> Numeric {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }

    /// `sign(self)`
    pub fn sign(&self) -> Numeric {
        if self.is_nan() { Numeric::NaN } else { Numeric::from(self.signum()) }
    }

    /// `round(self, digits)`: half away from zero.
    ///
    /// # Errors
    /// 22003.
    pub fn round(&self, digits: i32) -> Result<Numeric> {
        self.at_scale(digits, rescale)
    }

    /// `trunc(self, digits)`
    pub fn trunc(&self, digits: i32) -> Numeric {
        let cut = |digits: &BigInt, from: i64, to: i64| match to - from {
            more @ 0.. => rescale(digits, 0, more),
            less if -less > digit_count(digits) => BigInt::ZERO,
            less => digits / ten_to(-less as u32),
        };
        self.at_scale(digits, cut).unwrap_or_else(|_| self.clone())
    }

    /// Changes the scale; below zero, digits before the point become zeros.
    fn at_scale(&self, wanted: i32, change: impl Fn(&BigInt, i64, i64) -> BigInt) -> Result<Numeric> {
        let Some((digits, scale)) = self.digits_and_scale() else { return Ok(self.clone()) };
        // PostgreSQL's limits of what round() and trunc() take.
        let wanted = i64::from(wanted).clamp(-2000, 2000);
        let changed = change(&digits, i64::from(scale), wanted);
        match u32::try_from(wanted) {
            Ok(scale) => Numeric::checked(changed, scale),
            Err(_) => Numeric::checked(changed * ten_to(-wanted as u32), 0),
        }
    }

    /// `ceil(self)`
    pub fn ceil(&self) -> Numeric {
        self.neg().floor().neg()
    }

    /// `floor(self)`
    pub fn floor(&self) -> Numeric {
        let Some((digits, scale)) = self.digits_and_scale() else { return self.clone() };
        let power = ten_to(scale);
        let whole = digits.as_ref() / &power;
        let below = digits.is_negative() && &whole * &power != *digits;
        Numeric::new(if below { whole - 1 } else { whole }, 0)
    }

    /// Returns whether all digits after the point are zero.
    pub(super) fn is_integral(&self) -> bool {
        self.min_scale() == Some(0)
    }

    /// The greatest common divisor.
    ///
    /// # Errors
    /// 22003.
    pub fn gcd(&self, other: &Numeric) -> Result<Numeric> {
        let (Parts::Finite(a, a_scale), Parts::Finite(b, b_scale)) = (self.parts(), other.parts()) else {
            return Ok(Numeric::NaN);
        };
        let (a, b, scale) = aligned(a, a_scale, b, b_scale);
        let (mut a, mut b) = (a.into_owned().abs(), b.into_owned().abs());
        while !b.is_zero() {
            let rest = a % &b;
            (a, b) = (b, rest);
        }
        Numeric::checked(a, scale)
    }

    /// The least common multiple.
    ///
    /// # Errors
    /// 22003.
    pub fn lcm(&self, other: &Numeric) -> Result<Numeric> {
        let divisor = self.gcd(other)?;
        if divisor.is_zero() {
            return Ok(divisor);
        }
        let Some(scale) = divisor.scale() else { return Ok(Numeric::NaN) };
        let multiple = self.div_trunc(&divisor)?.mul(other)?.abs();
        multiple.round(i32::try_from(scale).map_err(|_| overflow())?)
    }
}

/// Both numbers at the larger scale.
fn aligned<'n>(
    a: Cow<'n, BigInt>,
    a_scale: u32,
    b: Cow<'n, BigInt>,
    b_scale: u32,
) -> (Cow<'n, BigInt>, Cow<'n, BigInt>, u32) {
    match a_scale.cmp(&b_scale) {
        std::cmp::Ordering::Equal => (a, b, a_scale),
        std::cmp::Ordering::Less => (Cow::Owned(a.as_ref() * ten_to(b_scale - a_scale)), b, b_scale),
        std::cmp::Ordering::Greater => (a, Cow::Owned(b.as_ref() * ten_to(a_scale - b_scale)), a_scale),
    }
}

/// PostgreSQL keeps numbers to the base of 10,000. The power of that base of the first digit, and the digit.
pub(super) fn leading_digit(digits: &BigInt, scale: u32) -> (i64, i64) {
    if digits.is_zero() {
        return (0, 0);
    }
    let weight = (digit_count(digits) - 1 - i64::from(scale)).div_euclid(4);
    let shift = i64::from(scale) + 4 * weight;
    let first = if shift >= 0 { digits / ten_to(shift as u32) } else { digits * ten_to(-shift as u32) };
    (weight, first.abs().to_i64().unwrap_or(0))
}

/// At least 16 significant digits, and at least the scale of either number. Source: PostgreSQL's `select_div_scale`.
fn quotient_scale(a: &BigInt, a_scale: u32, b: &BigInt, b_scale: u32) -> i64 {
    let ((a_weight, a_first), (b_weight, b_first)) = (leading_digit(a, a_scale), leading_digit(b, b_scale));
    let weight = a_weight - b_weight - i64::from(a_first <= b_first);
    let scale = MIN_SIGNIFICANT_DIGITS - weight * 4;
    scale.max(i64::from(a_scale)).max(i64::from(b_scale)).clamp(0, MAX_DISPLAY_SCALE)
}
