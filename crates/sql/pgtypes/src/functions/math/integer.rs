//! Integers.

use super::super::arguments::{Arguments, division_by_zero, out_of_range};
use super::super::table::*;
use bigdecimal::num_bigint::BigInt;

/// An operator of two integers by a checked operation of Rust's.
macro_rules! checked {
    ($symbol:literal, $declared:expr, $get:ident, $operation:ident, $name:literal) => {
        pure($symbol, &[$declared, $declared], $declared, |a| {
            let value = a.$get(0)?.$operation(a.$get(1)?);
            value.map(Datum::from).ok_or_else(|| out_of_range($name))
        })
    };
}

macro_rules! bitwise {
    ($symbol:literal, $declared:expr, $get:ident, $operator:tt) => {
        pure($symbol, &[$declared, $declared], $declared, |a| Ok(Datum::from(a.$get(0)? $operator a.$get(1)?)))
    };
}

/// A function of one integer that fails for the least one.
macro_rules! unary {
    ($symbol:literal, $declared:expr, $get:ident, $operation:ident, $name:literal) => {
        pure($symbol, &[$declared], $declared, |a| {
            a.$get(0)?.$operation().map(Datum::from).ok_or_else(|| out_of_range($name))
        })
    };
}

/// Division: by zero has its own error.
macro_rules! divide {
    ($declared:expr, $get:ident, $name:literal) => {
        pure("/", &[$declared, $declared], $declared, |a| match a.$get(1)? {
            0 => Err(division_by_zero()),
            divisor => a.$get(0)?.checked_div(divisor).map(Datum::from).ok_or_else(|| out_of_range($name)),
        })
    };
}

/// The remainder. The remainder of the least integer by -1 is 0.
macro_rules! remainder {
    ($symbol:literal, $declared:expr, $get:ident) => {
        pure($symbol, &[$declared, $declared], $declared, |a| match a.$get(1)? {
            0 => Err(division_by_zero()),
            divisor => Ok(Datum::from(a.$get(0)?.wrapping_rem(divisor))),
        })
    };
}

/// The operators of one integer type. Shifts count modulo the width, as the processor's do.
macro_rules! integer_functions {
    ($table:ident, $declared:expr, $get:ident, $name:literal) => {
        pub(super) static $table: [Function; 16] = [
            checked!("+", $declared, $get, checked_add, $name),
            checked!("-", $declared, $get, checked_sub, $name),
            checked!("*", $declared, $get, checked_mul, $name),
            divide!($declared, $get, $name),
            remainder!("%", $declared, $get),
            remainder!("mod", $declared, $get),
    bitwise!("&", $declared, $get, &),
    bitwise!("|", $declared, $get, |),
    bitwise!("#", $declared, $get, ^),
            pure("~", &[$declared], $declared, |a| Ok(Datum::from(!a.$get(0)?))),
            pure("+", &[$declared], $declared, |a| Ok(Datum::from(a.$get(0)?))),
            unary!("-", $declared, $get, checked_neg, $name),
            unary!("abs", $declared, $get, checked_abs, $name),
            unary!("@", $declared, $get, checked_abs, $name),
            pure("<<", &[$declared, INT4], $declared, |a| Ok(Datum::from(a.$get(0)?.wrapping_shl(a.int4(1)? as u32)))),
            pure(">>", &[$declared, INT4], $declared, |a| Ok(Datum::from(a.$get(0)?.wrapping_shr(a.int4(1)? as u32)))),
        ];
    };
}
integer_functions!(SMALL, INT2, int2, "smallint");
integer_functions!(PLAIN, INT4, int4, "integer");
integer_functions!(BIG, INT8, int8, "bigint");

/// The functions of integers.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("gcd", &[INT4, INT4], INT4, |a| {
        let divisor = greatest_divisor(i64::from(a.int4(0)?), i64::from(a.int4(1)?));
        divisor.and_then(|value| i32::try_from(value).ok()).map(Datum::Int4).ok_or_else(|| out_of_range("integer"))
    }),
    pure("gcd", &[INT8, INT8], INT8, |a| {
        greatest_divisor(a.int8(0)?, a.int8(1)?).map(Datum::Int8).ok_or_else(|| out_of_range("bigint"))
    }),
    pure("lcm", &[INT4, INT4], INT4, |a| {
        let multiple = least_multiple(i64::from(a.int4(0)?), i64::from(a.int4(1)?));
        multiple.and_then(|value| i32::try_from(value).ok()).map(Datum::Int4).ok_or_else(|| out_of_range("integer"))
    }),
    pure("lcm", &[INT8, INT8], INT8, |a| {
        least_multiple(a.int8(0)?, a.int8(1)?).map(Datum::Int8).ok_or_else(|| out_of_range("bigint"))
    }),
    pure("factorial", &[INT8], NUMERIC, |a| factorial(a.int8(0)?)),
    pure("to_hex", &[INT4], TEXT, |a| Ok(format!("{:x}", a.int4(0)?).into())),
    pure("to_hex", &[INT8], TEXT, |a| Ok(format!("{:x}", a.int8(0)?).into())),
];

fn greatest_divisor(left: i64, right: i64) -> Option<i64> {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    i64::try_from(left).ok()
}

fn least_multiple(left: i64, right: i64) -> Option<i64> {
    if left == 0 || right == 0 {
        return Some(0);
    }
    (left / greatest_divisor(left, right)?).checked_mul(right)?.checked_abs()
}

/// PostgreSQL computes up to 32177!, the last that numeric holds.
fn factorial(of: i64) -> Result<Datum> {
    if of < 0 {
        return Err(Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "factorial of a negative number is undefined"));
    }
    if of > 32_177 {
        return Err(Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format"));
    }
    let product = (2..=of).fold(BigInt::from(1), |product, factor| product * factor);
    Ok(Datum::Numeric(Numeric::new(product, 0)))
}
