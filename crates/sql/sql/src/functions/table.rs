//! Notation for tables of functions: short names of types, and constructors of their rows.

pub(crate) use super::{Body, Function, Resolved, Volatility};
pub(crate) use crate::context::{Names, System};
pub(crate) use crate::error::{Result, SqlError, state};
pub(crate) use crate::types::functions::{Arguments, pseudo::ANY};
pub(crate) use crate::types::{Array, Datum, Scalar, Type};

macro_rules! short_names {
    ($($name:ident),* $(,)?) => {
        $(pub(super) const $name: Type = Type::$name;)*
    };
}
short_names!(BOOL, INT4, INT8, FLOAT8, TEXT, NAME, INTERVAL, REGCLASS, RECORD, VOID);

/// `name[]`
pub(super) const NAME_ARRAY: Type = Type::array_of(Scalar::Name);

/// A strict, stable function of one value that reads the catalog.
pub(crate) const fn names(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut Names<'_>, &[Datum]) -> Result<Datum>,
) -> Function {
    row(name, arguments, result, Volatility::Stable, Body::Names(body))
}

/// A strict, stable function of one value of the session, the sequences or the server.
pub(crate) const fn system(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut System<'_>, &[Datum]) -> Result<Datum>,
) -> Function {
    row(name, arguments, result, Volatility::Stable, Body::System(body))
}

/// A strict, immutable function of one value.
pub(crate) const fn pure(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&[Datum]) -> Result<Datum>,
) -> Function {
    row(name, arguments, result, Volatility::Immutable, Body::Pure(body))
}

/// A strict, stable function that returns a set.
pub(crate) const fn set(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut System<'_>, &[Datum]) -> Result<Vec<Datum>>,
) -> Function {
    row(name, arguments, result, Volatility::Stable, Body::Set(body))
}

const fn row(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    volatility: Volatility,
    body: Body,
) -> Function {
    let returns_set = matches!(body, Body::Set(_));
    Function { name, arguments, variadic: None, result, strict: true, volatility, returns_set, body }
}
