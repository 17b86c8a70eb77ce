//! Roots, exponentials and logarithms, as integers with a fixed number of decimal places: exact to well beyond the displayed
//! digits, whose number follows PostgreSQL's rule.

use super::arithmetic::leading_digit;
use super::{
    MAX_DISPLAY_SCALE, MIN_SIGNIFICANT_DIGITS, Parts, digit_count, divide_rounding, division_by_zero, overflow,
    rescale, ten_to,
};
use crate::Numeric;
use crate::error::{Error, Result};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{One, Signed, ToPrimitive, Zero};

/// Digits beyond those that are shown.
const GUARD: i64 = 12;
/// The largest exponent of e, as PostgreSQL limits it.
const MAX_EXPONENT: f64 = 6000.0;
const LOG10_E: f64 = std::f64::consts::LOG10_E;

const INVALID_ARGUMENT_FOR_LOGARITHM: &str = "2201E";
const INVALID_ARGUMENT_FOR_POWER: &str = "2201F";

fn clamp_scale(scale: i64, inputs: &[u32]) -> i64 {
    inputs.iter().fold(scale, |scale, input| scale.max(i64::from(*input))).clamp(0, MAX_DISPLAY_SCALE)
}

impl Numeric {
    /// `sqrt(self)`
    ///
    /// # Errors
    /// 2201F for a negative number.
    pub fn sqrt(&self) -> Result<Numeric> {
        if self.signum() < 0 {
            return Err(Error::new(INVALID_ARGUMENT_FOR_POWER, "cannot take square root of a negative number"));
        }
        let Some((digits, scale)) = self.digits_and_scale() else { return Ok(self.clone()) };
        let (weight, _) = leading_digit(&digits, scale);
        let result_scale = clamp_scale(MIN_SIGNIFICANT_DIGITS - ((weight + 1) * 2 - 1), &[scale]);
        let root = rescale(&digits, i64::from(scale), 2 * (result_scale + GUARD)).sqrt();
        Numeric::checked(rescale(&root, result_scale + GUARD, result_scale), result_scale as u32)
    }

    /// `exp(self)`
    ///
    /// # Errors
    /// 22003.
    pub fn exp(&self) -> Result<Numeric> {
        let (digits, scale) = match self.parts() {
            Parts::Finite(digits, scale) => (digits, scale),
            Parts::Infinite(false) => return Ok(Numeric::zero()),
            Parts::NaN | Parts::Infinite(true) => return Ok(self.clone()),
        };
        let value = self.to_f64();
        let weight = (value * LOG10_E).clamp(-2000.0, 2000.0) as i64;
        let result_scale = clamp_scale(MIN_SIGNIFICANT_DIGITS - weight, &[scale]);
        if value.abs() >= MAX_EXPONENT {
            return if value > 0.0 { Err(overflow()) } else { Ok(Numeric::new(BigInt::ZERO, result_scale as u32)) };
        }
        Numeric::checked(exponential(&digits, i64::from(scale), result_scale), result_scale as u32)
    }

    /// `ln(self)`
    ///
    /// # Errors
    /// 2201E for zero and negative numbers.
    pub fn ln(&self) -> Result<Numeric> {
        self.check_logarithm()?;
        let Some((digits, scale)) = self.digits_and_scale() else { return Ok(self.clone()) };
        let result_scale = clamp_scale(MIN_SIGNIFICANT_DIGITS - logarithm_weight(&digits, scale), &[scale]);
        Numeric::checked(logarithm(&digits, i64::from(scale), result_scale), result_scale as u32)
    }

    /// `log(base, self)`
    ///
    /// # Errors
    /// 2201E, 22012.
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        if self.is_nan() || base.is_nan() {
            return Ok(Numeric::NaN);
        }
        // PostgreSQL looks at the base first; with an infinity, at what is negative first.
        let infinite = !self.is_finite() || !base.is_finite();
        let (first, second) = if infinite && self.signum() < 0 { (self, base) } else { (base, self) };
        first.check_logarithm()?;
        second.check_logarithm()?;
        let (Some((digits, scale)), Some((base_digits, base_scale))) =
            (self.digits_and_scale(), base.digits_and_scale())
        else {
            return Ok(match (self.is_finite(), base.is_finite()) {
                (false, false) => Numeric::NaN,
                (true, _) => Numeric::zero(),
                (false, true) => Numeric::Infinity,
            });
        };
        let (own_weight, base_weight) = (logarithm_weight(&digits, scale), logarithm_weight(&base_digits, base_scale));
        let result_scale = clamp_scale(MIN_SIGNIFICANT_DIGITS - (own_weight - base_weight), &[scale, base_scale]);
        // Each logarithm with enough digits for all of the quotient's.
        let working = result_scale + own_weight.abs() + 2 * base_weight.abs() + GUARD;
        let dividend = logarithm(&digits, i64::from(scale), working);
        let divisor = logarithm(&base_digits, i64::from(base_scale), working);
        if divisor.is_zero() {
            return Err(division_by_zero());
        }
        let digits = divide_rounding(&(dividend * ten_to(result_scale as u32)), &divisor);
        Numeric::checked(digits, result_scale as u32)
    }

    fn check_logarithm(&self) -> Result<()> {
        match self.signum() {
            1 => Ok(()),
            0 => Err(Error::new(INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of zero")),
            _ => Err(Error::new(INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of a negative number")),
        }
    }

    /// `power(self, exponent)`
    ///
    /// # Errors
    /// 2201F, 22003.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.special_power(exponent)? {
            return Ok(special);
        }
        if exponent.is_integral()
            && let Some(small) = exponent.to_i64().and_then(|whole| i32::try_from(whole).ok())
        {
            return self.integral_power(small);
        }
        if self.is_zero() {
            return Ok(Numeric::new(BigInt::ZERO, MIN_SIGNIFICANT_DIGITS as u32));
        }
        let result = self.abs().real_power(exponent)?;
        let odd = self.signum() < 0 && !exponent.rem(&Numeric::from(2))?.is_zero();
        Ok(if odd { result.neg() } else { result })
    }

    /// NaN, infinities and what has no power.
    fn special_power(&self, exponent: &Numeric) -> Result<Option<Numeric>> {
        let one = || Some(Numeric::from(1));
        let equals_one = |number: &Numeric| number.compare(&Numeric::from(1)).is_eq();
        if self.is_nan() || exponent.is_nan() {
            let known = exponent.is_zero() || (exponent.is_nan() && equals_one(self));
            return Ok(if known { one() } else { Some(Numeric::NaN) });
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(Error::new(INVALID_ARGUMENT_FOR_POWER, "zero raised to a negative power is undefined"));
        }
        if self.signum() < 0 && exponent.is_finite() && !exponent.is_integral() {
            return Err(Error::new(
                INVALID_ARGUMENT_FOR_POWER,
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        if self.is_finite() && exponent.is_finite() {
            return Ok(None);
        }
        if equals_one(self) || exponent.is_zero() {
            return Ok(one());
        }
        if self.is_zero() {
            return Ok(Some(Numeric::zero()));
        }
        if !exponent.is_finite() {
            return Ok(Some(match (self.abs().compare(&Numeric::from(1)), exponent.signum() > 0) {
                (std::cmp::Ordering::Equal, _) => Numeric::from(1),
                (std::cmp::Ordering::Greater, true) | (std::cmp::Ordering::Less, false) => Numeric::Infinity,
                _ => Numeric::zero(),
            }));
        }
        if exponent.signum() < 0 {
            return Ok(Some(Numeric::zero()));
        }
        let odd = self.signum() < 0 && !exponent.rem(&Numeric::from(2))?.is_zero();
        Ok(Some(Numeric::infinity(!odd)))
    }

    /// By repeated squaring, exact as long as that is cheap, then in enough digits.
    fn integral_power(&self, exponent: i32) -> Result<Numeric> {
        let Some((digits, scale)) = self.digits_and_scale() else { return Ok(self.clone()) };
        let result_scale = clamp_scale(MIN_SIGNIFICANT_DIGITS, &[scale]);
        let finish =
            |digits: BigInt, scale: i64| Numeric::checked(rescale(&digits, scale, result_scale), result_scale as u32);
        if exponent == 0 {
            return finish(BigInt::one(), 0);
        }
        if digits.is_zero() {
            return finish(BigInt::ZERO, 0);
        }
        // The decimal weight of the result decides whether it fits, and how many digits count.
        let magnitude = digit_count(&digits) - i64::from(scale);
        let log10 = decimal_logarithm(&digits, scale) * f64::from(exponent);
        if log10 > 131_073.0 {
            return Err(overflow());
        }
        if log10 < -(result_scale as f64) - 2.0 {
            return finish(BigInt::ZERO, 0);
        }
        let significant = (log10.max(0.0) as i64 + result_scale + 20 + magnitude.abs()).min(140_000);
        let mut result = Floating { digits: BigInt::one(), scale: 0 };
        let mut square = Floating { digits: digits.into_owned(), scale: i64::from(scale) };
        let mut rest = exponent.unsigned_abs();
        loop {
            if rest & 1 == 1 {
                result = result.times(&square, significant);
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
            square = square.times(&square, significant);
        }
        if exponent > 0 {
            return finish(result.digits, result.scale);
        }
        // 1 / (digits / 10^scale), at the result's scale.
        let shift = result_scale + result.scale;
        let inverse = match u32::try_from(shift) {
            Ok(shift) => divide_rounding(&ten_to(shift), &result.digits),
            Err(_) => BigInt::ZERO,
        };
        Numeric::checked(inverse, result_scale as u32)
    }

    /// `exp(exponent * ln(self))`, of a positive number.
    fn real_power(&self, exponent: &Numeric) -> Result<Numeric> {
        let (Some((digits, scale)), Some((power_digits, power_scale))) =
            (self.digits_and_scale(), exponent.digits_and_scale())
        else {
            return Ok(Numeric::NaN);
        };
        let ln_weight = logarithm_weight(&digits, scale);
        let rough_scale = (8 - ln_weight).max(0);
        let rough_ln = Numeric::new(logarithm(&digits, i64::from(scale), rough_scale), rough_scale as u32);
        let rough = rough_ln.mul(exponent)?.round(rough_scale as i32)?.to_f64();
        if rough.abs() > MAX_EXPONENT * 1.003_333 {
            let zero = Numeric::new(BigInt::ZERO, MAX_DISPLAY_SCALE as u32);
            return if rough > 0.0 { Err(overflow()) } else { Ok(zero) };
        }
        let weight = (rough * LOG10_E) as i64;
        let result_scale = clamp_scale(MIN_SIGNIFICANT_DIGITS - weight, &[scale, power_scale]);
        let power_magnitude = (digit_count(&power_digits) - i64::from(power_scale)).max(0);
        let working = result_scale + weight.abs() + power_magnitude + GUARD;
        let product = logarithm(&digits, i64::from(scale), working) * power_digits.as_ref();
        let result = exponential(&product, working + i64::from(power_scale), result_scale);
        Numeric::checked(result, result_scale as u32)
    }
}

/// `digits / 10^scale` of a bounded number of digits.
struct Floating {
    digits: BigInt,
    scale: i64,
}

impl Floating {
    fn times(&self, other: &Floating, significant: i64) -> Floating {
        let (digits, scale) = (&self.digits * &other.digits, self.scale + other.scale);
        match digit_count(&digits) - significant {
            excess @ 1.. => Floating { digits: rescale(&digits, scale, scale - excess), scale: scale - excess },
            _ => Floating { digits, scale },
        }
    }
}

/// An estimate of the decimal logarithm of the absolute value.
fn decimal_logarithm(digits: &BigInt, scale: u32) -> f64 {
    let count = digit_count(digits);
    let kept = rescale(&digits.abs(), 0, (17 - count).min(0));
    kept.to_f64().unwrap_or(1.0).log10() + (count - 17).max(0) as f64 - f64::from(scale)
}

/// The decimal weight of the natural logarithm, estimated. Source: PostgreSQL's `estimate_ln_dweight`.
fn logarithm_weight(digits: &BigInt, scale: u32) -> i64 {
    let value = Numeric::new(digits.clone(), scale);
    let tenths = |tenths: i64| Numeric::new(BigInt::from(tenths), 1);
    if value.compare(&tenths(9)).is_ge() && value.compare(&tenths(11)).is_le() {
        let difference: BigInt = digits - ten_to(scale);
        let (weight, first) = leading_digit(&difference, scale);
        return if first == 0 { 0 } else { weight * 4 + i64::from(first.ilog10()) };
    }
    let ln = decimal_logarithm(digits, scale) * std::f64::consts::LN_10;
    ln.abs().log10() as i64
}

/// e to the power of `digits / 10^scale`, rounded to `result_scale` places. The exponent is within ±6020.
fn exponential(digits: &BigInt, scale: i64, result_scale: i64) -> BigInt {
    let whole = rescale(digits, scale, 0).to_i64().unwrap_or(0).abs() + 1;
    // Digits before the point of e^|x|; halvings of the argument, each of which costs a bit when undone.
    let magnitude = (whole as f64 * LOG10_E) as i64 + 1;
    let halvings = 64 - whole.leading_zeros() + 8;
    let places = result_scale + 2 * magnitude + i64::from(halvings) + GUARD;
    let one = ten_to(places as u32);
    let argument: BigInt = rescale(&digits.abs(), scale, places) >> halvings;
    let (mut sum, mut term) = (&one + &argument, argument.clone());
    for divisor in 2u32.. {
        term = &term * &argument / &one / divisor;
        if term.is_zero() {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &one;
    }
    if digits.is_negative() {
        sum = &one * &one / sum;
    }
    rescale(&sum, places, result_scale)
}

/// The natural logarithm of `digits / 10^scale`, which is positive, rounded to `result_scale` places.
fn logarithm(digits: &BigInt, scale: i64, result_scale: i64) -> BigInt {
    let places = result_scale + GUARD + 8;
    // A mantissa from 1 to 10 (values slightly below and above 1 unchanged, so that nothing cancels), times a power of ten.
    let exponent = match digit_count(digits) - scale {
        0 | 1 => 0,
        magnitude => magnitude - 1,
    };
    let mantissa = rescale(digits, scale + exponent, places + 8);
    let mut result = reduced_logarithm(rescale(&mantissa, places + 8, places), places);
    if exponent != 0 {
        result += reduced_logarithm(ten_to((places + 1) as u32), places) * exponent;
    }
    rescale(&result, places, result_scale)
}

/// The natural logarithm of a number near 1, in fixed point: square roots bring it close to 1, then
/// `ln x = 2 artanh((x-1)/(x+1))`.
fn reduced_logarithm(value: BigInt, places: i64) -> BigInt {
    let one = ten_to(places as u32);
    let near = &one / 50;
    let (mut value, mut doublings) = (value, 1u32);
    while (&value - &one).abs() > near && doublings < 32 {
        value = (&value * &one).sqrt();
        doublings += 1;
    }
    let ratio = (&value - &one) * &one / (&value + &one);
    let square = &ratio * &ratio / &one;
    let (mut sum, mut power) = (ratio.clone(), ratio);
    for divisor in (3u32..).step_by(2) {
        power = power * &square / &one;
        if power.is_zero() {
            break;
        }
        sum += &power / divisor;
    }
    sum << doublings
}
