//! Notation for tables of functions: short names of types, and constructors of their rows.

pub(super) use super::pseudo::*;
pub(super) use super::signature::TypedSet;
pub(super) use super::{Body, Function, Series, Volatility};
pub(crate) use crate::env::Env;
pub(crate) use crate::error::{Error, Result, state};
pub(crate) use crate::{Array, Datum, Interval, Numeric, Scalar, Type};

macro_rules! short_names {
    ($($name:ident),* $(,)?) => {
        $(pub(super) const $name: Type = Type::$name;)*
    };
}
short_names!(
    BOOL,
    INT2,
    INT4,
    INT8,
    FLOAT4,
    FLOAT8,
    NUMERIC,
    TEXT,
    VARCHAR,
    BPCHAR,
    NAME,
    CHAR,
    BYTEA,
    DATE,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    INTERVAL,
    UUID,
    JSON,
    JSONB,
    OID,
    REGTYPE,
    RECORD,
    VOID,
    TID,
    XID,
    UNKNOWN,
);

/// `text[]`
pub(super) const TEXT_ARRAY: Type = Type::array_of(Scalar::Text);
/// `integer[]`
pub(super) const INT4_ARRAY: Type = Type::array_of(Scalar::Int4);

/// A function of one value.
pub(super) type PureBody = fn(&[Datum]) -> Result<Datum>;

/// A strict, immutable function of its arguments alone.
pub(super) const fn pure(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&[Datum]) -> Result<Datum>,
) -> Function {
    Function::new(name, arguments, result, Volatility::Immutable, Body::Pure(body))
}

/// A strict, stable function that looks at the session's styles or clock.
pub(super) const fn session(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&dyn Env, &[Datum]) -> Result<Datum>,
) -> Function {
    Function::new(name, arguments, result, Volatility::Stable, Body::Session(body))
}

/// A strict, immutable function of its arguments and their types alone.
pub(super) const fn pure_typed(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&dyn Env, &[Type], &[Datum]) -> Result<Datum>,
) -> Function {
    Function::new(name, arguments, result, Volatility::Immutable, Body::Typed(body))
}

/// A strict, stable function that looks at its arguments' types.
pub(super) const fn typed(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&dyn Env, &[Type], &[Datum]) -> Result<Datum>,
) -> Function {
    Function::new(name, arguments, result, Volatility::Stable, Body::Typed(body))
}

/// A strict, immutable function that returns a set.
pub(super) const fn set(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&dyn Env, &[Datum]) -> Result<Vec<Datum>>,
) -> Function {
    Function::new(name, arguments, result, Volatility::Immutable, Body::Set(body))
}

/// A set of values by the types of the arguments.
pub(super) const fn typed_set(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: TypedSet,
) -> Function {
    Function::new(name, arguments, result, Volatility::Stable, Body::TypedSet(body))
}

/// A strict, immutable function that returns a set, of which each value is made when it is asked for.
pub(super) const fn series(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&dyn Env, &[Datum]) -> Result<Series>,
) -> Function {
    Function::new(name, arguments, result, Volatility::Immutable, Body::Series(body))
}
