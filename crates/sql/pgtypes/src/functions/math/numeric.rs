//! numeric.

use super::super::arguments::{Arguments, division_by_zero, out_of_range};
use super::super::table::*;
use crate::interrupt;
use bigdecimal::Signed;
use bigdecimal::num_bigint::BigInt;

macro_rules! binary {
    ($symbol:literal, $operation:ident) => {
        pure($symbol, &[NUMERIC, NUMERIC], NUMERIC, |a| a.numeric(0)?.$operation(a.numeric(1)?).map(Datum::Numeric))
    };
}

macro_rules! unary {
    ($name:literal, $operation:ident) => {
        pure($name, &[NUMERIC], NUMERIC, |a| Ok(Datum::Numeric(a.numeric(0)?.$operation())))
    };
}

macro_rules! fallible {
    ($name:literal, $operation:ident) => {
        pure($name, &[NUMERIC], NUMERIC, |a| a.numeric(0)?.$operation().map(Datum::Numeric))
    };
}

/// The functions and operators of numeric.
pub(super) static FUNCTIONS: &[Function] = &[
    binary!("+", add),
    binary!("-", sub),
    binary!("*", mul),
    binary!("/", div),
    binary!("%", rem),
    binary!("mod", rem),
    binary!("div", div_trunc),
    binary!("^", power),
    binary!("power", power),
    binary!("pow", power),
    unary!("-", neg),
    pure("+", &[NUMERIC], NUMERIC, |a| Ok(a[0].clone())),
    unary!("@", abs),
    unary!("abs", abs),
    unary!("sign", sign),
    unary!("ceil", ceil),
    unary!("ceiling", ceil),
    unary!("floor", floor),
    unary!("trim_scale", trim_scale),
    fallible!("sqrt", sqrt),
    fallible!("exp", exp),
    fallible!("ln", ln),
    pure("log", &[NUMERIC], NUMERIC, common_logarithm),
    pure("log10", &[NUMERIC], NUMERIC, common_logarithm),
    pure("log", &[NUMERIC, NUMERIC], NUMERIC, |a| a.numeric(1)?.log(a.numeric(0)?).map(Datum::Numeric)),
    pure("round", &[NUMERIC], NUMERIC, |a| a.numeric(0)?.round(0).map(Datum::Numeric)),
    pure("round", &[NUMERIC, INT4], NUMERIC, |a| a.numeric(0)?.round(a.int4(1)?).map(Datum::Numeric)),
    pure("trunc", &[NUMERIC], NUMERIC, |a| Ok(Datum::Numeric(a.numeric(0)?.trunc(0)))),
    pure("trunc", &[NUMERIC, INT4], NUMERIC, |a| Ok(Datum::Numeric(a.numeric(0)?.trunc(a.int4(1)?)))),
    pure("scale", &[NUMERIC], INT4, |a| Ok(digits(a.numeric(0)?.scale()))),
    pure("min_scale", &[NUMERIC], INT4, |a| Ok(digits(a.numeric(0)?.min_scale()))),
    pure("gcd", &[NUMERIC, NUMERIC], NUMERIC, |a| greatest_divisor(a.numeric(0)?, a.numeric(1)?).map(Datum::Numeric)),
    pure("lcm", &[NUMERIC, NUMERIC], NUMERIC, |a| least_multiple(a.numeric(0)?, a.numeric(1)?).map(Datum::Numeric)),
    pure("width_bucket", &[NUMERIC, NUMERIC, NUMERIC, INT4], INT4, bucket),
];

fn common_logarithm(a: &[Datum]) -> Result<Datum> {
    a.numeric(0)?.log(&Numeric::from(10)).map(Datum::Numeric)
}

fn digits(scale: Option<u32>) -> Datum {
    scale.and_then(|scale| i32::try_from(scale).ok()).into()
}

/// Euclid's algorithm over the numbers as multiples of the finer scale.
fn greatest_divisor(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    let (Numeric::Finite(left), Numeric::Finite(right)) = (left, right) else { return Ok(Numeric::NaN) };
    let scale = left.fractional_digit_count().max(right.fractional_digit_count()).max(0);
    let digits = |number: &bigdecimal::BigDecimal| number.with_scale(scale).into_bigint_and_exponent().0.abs();
    let (mut left, mut right) = (digits(left), digits(right));
    while right != BigInt::ZERO {
        interrupt::work(64 + (right.bits() / 16) as usize)?;
        let rest = left % &right;
        (left, right) = (right, rest);
    }
    Ok(Numeric::new(left, u32::try_from(scale).unwrap_or(0)))
}

fn least_multiple(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    let divisor = greatest_divisor(left, right)?;
    if divisor.is_zero() || divisor.is_nan() {
        return Ok(divisor);
    }
    let scale = divisor.scale().and_then(|scale| i32::try_from(scale).ok()).unwrap_or(0);
    left.div_trunc(&divisor)?.mul(right)?.abs().round(scale)
}

fn bucket(a: &[Datum]) -> Result<Datum> {
    let (value, low, high, count) = (a.numeric(0)?, a.numeric(1)?, a.numeric(2)?, a.int4(3)?);
    let error = |message: &str| Error::new("2201G", message);
    if count <= 0 {
        return Err(error("count must be greater than zero"));
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(error("lower and upper bounds must be finite"));
    }
    let rising = match low.compare(high) {
        std::cmp::Ordering::Equal => return Err(error("lower bound cannot equal upper bound")),
        order => order.is_lt(),
    };
    let beyond = |bound: &Numeric| if rising { value.compare(bound) } else { bound.compare(value) };
    if beyond(low).is_lt() {
        return Ok(Datum::Int4(0));
    }
    if beyond(high).is_ge() {
        return count.checked_add(1).map(Datum::Int4).ok_or_else(|| out_of_range("integer"));
    }
    let width = high.sub(low)?;
    if width.is_zero() {
        return Err(division_by_zero());
    }
    let place = value.sub(low)?.mul(&Numeric::from(count))?.div_trunc(&width)?;
    let place = place.to_i64().and_then(|place| i32::try_from(place).ok()).unwrap_or(count - 1);
    Ok(Datum::Int4(place.min(count - 1) + 1))
}
