//! Floating-point numbers: a result beyond the range is an error; it is infinite only if an argument is.

use super::super::arguments::{Arguments, division_by_zero};
use super::super::table::*;

/// The function of a float, with the checks of PostgreSQL's.
macro_rules! real {
    ($name:literal, $body:expr) => {
        pure($name, &[FLOAT8], FLOAT8, |a| {
            let body: fn(f64) -> Result<f64> = $body;
            body(a.float8(0)?).map(Datum::Float8)
        })
    };
}

/// Like [`real`], for a function that never fails.
macro_rules! total {
    ($name:literal, $body:expr) => {
        pure($name, &[FLOAT8], FLOAT8, |a| {
            let body: fn(f64) -> f64 = $body;
            Ok(Datum::Float8(body(a.float8(0)?)))
        })
    };
}

/// The four operators of two floats, computed as the wider of both. The operators of a single and a double also serve `real *
/// integer`, where the selection among candidates prefers them to the operators of two singles.
macro_rules! binary {
    ($table:ident, $left:expr, $get_left:ident, $right:expr, $get_right:ident, $result:expr, $wide:ty) => {
        pub(super) static $table: [Function; 4] = [
            pure("+", &[$left, $right], $result, |a| {
                let (left, right) = (<$wide>::from(a.$get_left(0)?), <$wide>::from(a.$get_right(1)?));
                in_range(left + right, left.is_infinite() || right.is_infinite(), true)
            }),
            pure("-", &[$left, $right], $result, |a| {
                let (left, right) = (<$wide>::from(a.$get_left(0)?), <$wide>::from(a.$get_right(1)?));
                in_range(left - right, left.is_infinite() || right.is_infinite(), true)
            }),
            pure("*", &[$left, $right], $result, |a| {
                let (left, right) = (<$wide>::from(a.$get_left(0)?), <$wide>::from(a.$get_right(1)?));
                in_range(left * right, left.is_infinite() || right.is_infinite(), left == 0.0 || right == 0.0)
            }),
            pure("/", &[$left, $right], $result, |a| {
                let (left, right) = (<$wide>::from(a.$get_left(0)?), <$wide>::from(a.$get_right(1)?));
                if right == 0.0 && !left.is_nan() {
                    return Err(division_by_zero());
                }
                in_range(left / right, left.is_infinite(), left == 0.0 || right.is_infinite())
            }),
        ];
    };
}
binary!(SINGLE, FLOAT4, float4, FLOAT4, float4, FLOAT4, f32);
binary!(DOUBLE, FLOAT8, float8, FLOAT8, float8, FLOAT8, f64);
binary!(SINGLE_DOUBLE, FLOAT4, float4, FLOAT8, float8, FLOAT8, f64);
binary!(DOUBLE_SINGLE, FLOAT8, float8, FLOAT4, float4, FLOAT8, f64);

macro_rules! unary {
    ($table:ident, $declared:expr, $get:ident) => {
        pub(super) static $table: [Function; 4] = [
            pure("-", &[$declared], $declared, |a| Ok(Datum::from(-a.$get(0)?))),
            pure("+", &[$declared], $declared, |a| Ok(Datum::from(a.$get(0)?))),
            pure("@", &[$declared], $declared, |a| Ok(Datum::from(a.$get(0)?.abs()))),
            pure("abs", &[$declared], $declared, |a| Ok(Datum::from(a.$get(0)?.abs()))),
        ];
    };
}
unary!(SINGLE_SIGNS, FLOAT4, float4);
unary!(DOUBLE_SIGNS, FLOAT8, float8);

/// The functions of floats.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("^", &[FLOAT8, FLOAT8], FLOAT8, power),
    pure("power", &[FLOAT8, FLOAT8], FLOAT8, power),
    pure("pow", &[FLOAT8, FLOAT8], FLOAT8, power),
    real!("|/", square_root),
    real!("sqrt", square_root),
    total!("||/", f64::cbrt),
    total!("cbrt", f64::cbrt),
    total!("ceil", f64::ceil),
    total!("ceiling", f64::ceil),
    total!("floor", f64::floor),
    total!("round", f64::round_ties_even),
    total!("trunc", f64::trunc),
    total!("sign", |x| if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }),
    real!("exp", |x| match x {
        x if x.is_infinite() => Ok(x.exp()),
        x => checked(x.exp(), false, false),
    }),
    real!("ln", |x| logarithm(x, f64::ln)),
    real!("log", |x| logarithm(x, f64::log10)),
    real!("log10", |x| logarithm(x, f64::log10)),
    total!("degrees", f64::to_degrees),
    total!("radians", f64::to_radians),
    pure("pi", &[], FLOAT8, |_| Ok(Datum::Float8(std::f64::consts::PI))),
    real!("sin", |x| finite(x, f64::sin)),
    real!("cos", |x| finite(x, f64::cos)),
    real!("tan", |x| finite(x, f64::tan)),
    real!("cot", |x| finite(x, |x| 1.0 / x.tan())),
    real!("asin", |x| within_one(x, f64::asin)),
    real!("acos", |x| within_one(x, f64::acos)),
    total!("atan", f64::atan),
    pure("atan2", &[FLOAT8, FLOAT8], FLOAT8, |a| Ok(Datum::Float8(a.float8(0)?.atan2(a.float8(1)?)))),
    total!("sinh", f64::sinh),
    total!("cosh", f64::cosh),
    total!("tanh", f64::tanh),
    total!("asinh", f64::asinh),
    real!("acosh", |x| if x < 1.0 { Err(input_out_of_range()) } else { Ok(x.acosh()) }),
    real!("atanh", |x| within_one(x, f64::atanh)),
    real!("sind", |x| finite(x, |x| degrees(x, f64::sin))),
    real!("cosd", |x| finite(x, |x| degrees(x + 90.0, f64::sin))),
    real!("tand", |x| finite(x, |x| degrees(x, f64::sin) / degrees(x + 90.0, f64::sin))),
    pure("width_bucket", &[FLOAT8, FLOAT8, FLOAT8, INT4], INT4, |a| {
        bucket(a.float8(0)?, a.float8(1)?, a.float8(2)?, a.int4(3)?)
    }),
];

/// A number type with checked results.
trait Float: Copy + Into<Datum> {
    fn is_infinite(self) -> bool;
    fn is_zero(self) -> bool;
}

impl Float for f32 {
    fn is_infinite(self) -> bool {
        f32::is_infinite(self)
    }

    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl Float for f64 {
    fn is_infinite(self) -> bool {
        f64::is_infinite(self)
    }

    fn is_zero(self) -> bool {
        self == 0.0
    }
}

fn in_range<F: Float>(value: F, may_be_infinite: bool, may_be_zero: bool) -> Result<Datum> {
    checked(value, may_be_infinite, may_be_zero).map(Into::into)
}

/// 22003 for an infinity or a zero that the arguments do not explain.
#[allow(private_bounds)]
pub(in super::super) fn checked<F: Float>(value: F, may_be_infinite: bool, may_be_zero: bool) -> Result<F> {
    let error = |what| Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {what}"));
    if value.is_infinite() && !may_be_infinite {
        return Err(error("overflow"));
    }
    if value.is_zero() && !may_be_zero {
        return Err(error("underflow"));
    }
    Ok(value)
}

fn square_root(of: f64) -> Result<f64> {
    if of < 0.0 {
        return Err(Error::new("2201F", "cannot take square root of a negative number"));
    }
    Ok(of.sqrt())
}

fn logarithm(of: f64, function: fn(f64) -> f64) -> Result<f64> {
    if of == 0.0 {
        return Err(Error::new("2201E", "cannot take logarithm of zero"));
    }
    if of < 0.0 {
        return Err(Error::new("2201E", "cannot take logarithm of a negative number"));
    }
    Ok(function(of))
}

fn power(a: &[Datum]) -> Result<Datum> {
    let (base, exponent) = (a.float8(0)?, a.float8(1)?);
    if base == 0.0 && exponent < 0.0 {
        return Err(Error::new("2201F", "zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.floor() != exponent {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(Error::new("2201F", message));
    }
    let infinite = base.is_infinite() || exponent.is_infinite();
    in_range(base.powf(exponent), infinite, infinite || base == 0.0)
}

fn input_out_of_range() -> Error {
    Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn finite(x: f64, function: fn(f64) -> f64) -> Result<f64> {
    if x.is_infinite() { Err(input_out_of_range()) } else { Ok(function(x)) }
}

fn within_one(x: f64, function: fn(f64) -> f64) -> Result<f64> {
    if x.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(function(x)) }
}

/// The sine of an angle in degrees, exact at multiples of 30 and 90.
fn degrees(x: f64, sine: fn(f64) -> f64) -> f64 {
    let x = x % 360.0;
    match x.abs() {
        0.0 | 180.0 => 0.0,
        30.0 | 150.0 => 0.5_f64.copysign(x),
        90.0 => 1.0_f64.copysign(x),
        210.0 | 330.0 => -0.5_f64.copysign(x),
        270.0 => -1.0_f64.copysign(x),
        _ => sine(x.to_radians()),
    }
}

fn bucket(value: f64, low: f64, high: f64, count: i32) -> Result<Datum> {
    let error = |message: &str| Error::new("2201G", message);
    if count <= 0 {
        return Err(error("count must be greater than zero"));
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(error("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(error("lower bound cannot equal upper bound"));
    }
    let (from, width, value) = if low < high { (low, high - low, value) } else { (-low, low - high, -value) };
    let bucket = if value < from {
        0
    } else if value >= from + width {
        count.checked_add(1).ok_or_else(|| super::super::arguments::out_of_range("integer"))?
    } else {
        ((f64::from(count) * ((value - from) / width)) as i32).min(count - 1) + 1
    };
    Ok(Datum::Int4(bucket))
}
