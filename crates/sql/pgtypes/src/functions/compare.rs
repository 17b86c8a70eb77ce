//! Comparisons: the types that compare with each other, and the functions for it.

use super::candidate::Signature;
use super::table::*;
use crate::compare_typed;
use std::cmp::Ordering;

/// Two types with a comparison, and the type on which it is done.
pub(super) struct Form {
    operands: &'static [Type],
    /// The type on which they compare.
    pub(super) common: Type,
}

impl Signature for Form {
    fn arguments(&self) -> &'static [Type] {
        self.operands
    }
}

macro_rules! form {
    ($left:expr, $right:expr => $common:expr) => {
        Form { operands: &[$left, $right], common: $common }
    };
    ($same:expr) => {
        form!($same, $same => $same)
    };
}

/// The comparisons that PostgreSQL has.
pub(super) static FORMS: &[Form] = &[
    form!(BOOL),
    form!(INT2),
    form!(INT4),
    form!(INT8),
    form!(INT2, INT4 => INT4),
    form!(INT4, INT2 => INT4),
    form!(INT2, INT8 => INT8),
    form!(INT8, INT2 => INT8),
    form!(INT4, INT8 => INT8),
    form!(INT8, INT4 => INT8),
    form!(FLOAT4),
    form!(FLOAT8),
    form!(FLOAT4, FLOAT8 => FLOAT8),
    form!(FLOAT8, FLOAT4 => FLOAT8),
    form!(NUMERIC),
    form!(TEXT),
    form!(BPCHAR),
    form!(NAME),
    form!(NAME, TEXT => TEXT),
    form!(TEXT, NAME => TEXT),
    form!(CHAR),
    form!(BYTEA),
    form!(DATE),
    form!(TIMESTAMP),
    form!(TIMESTAMPTZ),
    form!(DATE, TIMESTAMP => TIMESTAMP),
    form!(TIMESTAMP, DATE => TIMESTAMP),
    form!(DATE, TIMESTAMPTZ => TIMESTAMPTZ),
    form!(TIMESTAMPTZ, DATE => TIMESTAMPTZ),
    form!(TIMESTAMP, TIMESTAMPTZ => TIMESTAMPTZ),
    form!(TIMESTAMPTZ, TIMESTAMP => TIMESTAMPTZ),
    form!(TIME),
    form!(INTERVAL),
    form!(UUID),
    form!(JSONB),
    form!(OID),
    form!(XID),
    form!(XID, INT4 => XID),
    form!(TID),
    form!(Type::of(Scalar::OidVector)),
    form!(RECORD),
    form!(ANYARRAY),
    form!(ANYENUM),
];

macro_rules! comparison {
    ($symbol:literal, $holds:expr) => {
        pure_typed($symbol, &[ANYELEMENT, ANYELEMENT], BOOL, |_, types, values| {
            let holds: fn(Ordering) -> bool = $holds;
            Ok(Datum::Bool(holds(compare_typed(types[0], &values[0], &values[1]))))
        })
    };
}

/// A comparison of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Functions of the comparisons, in the order of [`Comparison`].
pub(super) static FUNCTIONS: [Function; 6] = [
    comparison!("=", Ordering::is_eq),
    comparison!("<>", Ordering::is_ne),
    comparison!("<", Ordering::is_lt),
    comparison!("<=", Ordering::is_le),
    comparison!(">", Ordering::is_gt),
    comparison!(">=", Ordering::is_ge),
];
