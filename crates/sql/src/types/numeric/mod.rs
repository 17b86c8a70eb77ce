//! Arithmetic of numeric, with PostgreSQL 15's display scales.

use super::Numeric;
use crate::error::Result;
use bigdecimal::num_bigint::BigInt;
use std::cmp::Ordering;
use std::fmt;

#[allow(unused_variables)]
impl Numeric {
    /// The number `digits / 10^scale`, shown with `scale` digits after the point.
    pub fn new(digits: BigInt, scale: u32) -> Numeric {
        todo!()
    }

    /// Zero.
    pub fn zero() -> Numeric {
        todo!()
    }

    /// From a float, with 15 significant digits.
    pub fn from_f64(value: f64) -> Numeric {
        todo!()
    }

    /// From a float, with 6 significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        todo!()
    }

    /// From text, as the input function reads it.
    ///
    /// # Errors
    /// 22P02, 22003.
    pub fn parse(text: &str) -> Result<Numeric> {
        todo!()
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        todo!()
    }

    /// Whether it is neither NaN nor an infinity.
    pub fn is_finite(&self) -> bool {
        todo!()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        todo!()
    }

    /// -1, 0 or 1; 1 for NaN's sake is never asked (use [`Numeric::sign`]).
    pub fn signum(&self) -> i32 {
        todo!()
    }

    /// The display scale: digits after the point; `None` if not finite.
    pub fn scale(&self) -> Option<u32> {
        todo!()
    }

    /// The smallest scale that keeps the value; `None` if not finite.
    pub fn min_scale(&self) -> Option<u32> {
        todo!()
    }

    /// Without zeros at the end.
    pub fn trim_scale(&self) -> Numeric {
        todo!()
    }

    /// How it compares: NaN is greatest and equal to itself.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        todo!()
    }

    /// `self + other`
    ///
    /// # Errors
    /// 22003 as everywhere here: `value overflows numeric format`.
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `self - other`
    ///
    /// # Errors
    /// 22003.
    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `self * other`
    ///
    /// # Errors
    /// 22003.
    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `self / other`
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `div(self, other)`: the quotient's integer part.
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `self % other`, with the sign of `self`.
    ///
    /// # Errors
    /// 22012.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `-self`
    pub fn neg(&self) -> Numeric {
        todo!()
    }

    /// `abs(self)`
    pub fn abs(&self) -> Numeric {
        todo!()
    }

    /// `sign(self)`
    pub fn sign(&self) -> Numeric {
        todo!()
    }

    /// `round(self, digits)`: half away from zero.
    ///
    /// # Errors
    /// 22003.
    pub fn round(&self, digits: i32) -> Result<Numeric> {
        todo!()
    }

    /// `trunc(self, digits)`
    pub fn trunc(&self, digits: i32) -> Numeric {
        todo!()
    }

    /// `ceil(self)`
    pub fn ceil(&self) -> Numeric {
        todo!()
    }

    /// `floor(self)`
    pub fn floor(&self) -> Numeric {
        todo!()
    }

    /// `sqrt(self)`
    ///
    /// # Errors
    /// 2201F for a negative number.
    pub fn sqrt(&self) -> Result<Numeric> {
        todo!()
    }

    /// `exp(self)`
    ///
    /// # Errors
    /// 22003.
    pub fn exp(&self) -> Result<Numeric> {
        todo!()
    }

    /// `ln(self)`
    ///
    /// # Errors
    /// 2201E for zero and negative numbers.
    pub fn ln(&self) -> Result<Numeric> {
        todo!()
    }

    /// `log(base, self)`
    ///
    /// # Errors
    /// 2201E, 22012.
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// `power(self, exponent)`
    ///
    /// # Errors
    /// 2201F, 22003.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        todo!()
    }

    /// The nearest float; too big ones become infinite.
    pub fn to_f64(&self) -> f64 {
        todo!()
    }

    /// The integer after rounding half away from zero; `None` if it does not fit (NaN and the infinities too).
    pub fn to_i64(&self) -> Option<i64> {
        todo!()
    }

    /// As [`Numeric::to_i64`].
    pub fn to_i128(&self) -> Option<i128> {
        todo!()
    }
}

impl From<i64> for Numeric {
    fn from(value: i64) -> Numeric {
        Numeric::from(i128::from(value))
    }
}

impl From<i32> for Numeric {
    fn from(value: i32) -> Numeric {
        Numeric::from(i128::from(value))
    }
}

impl From<i128> for Numeric {
    fn from(value: i128) -> Numeric {
        Numeric::new(BigInt::from(value), 0)
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Numeric::Finite(_) => todo!(),
            Numeric::NaN => f.write_str("NaN"),
            Numeric::Infinity => f.write_str("Infinity"),
            Numeric::NegativeInfinity => f.write_str("-Infinity"),
        }
    }
}
