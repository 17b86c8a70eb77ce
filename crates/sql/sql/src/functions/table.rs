//! How the tables of functions are written: short names of types, and constructors of their rows.

pub(super) use super::pseudo::*;
pub(super) use super::{Body, Function, Series, Volatility};
pub(crate) use crate::context::Context;
pub(crate) use crate::error::{Result, SqlError, state};
pub(crate) use crate::types::{Array, Datum, Interval, Numeric, Scalar, Type};

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
    REGCLASS,
    REGTYPE,
    RECORD,
    VOID,
    UNKNOWN,
);

/// `xid`
pub(super) const XID: Type = Type::of(Scalar::Xid);
/// `text[]`
pub(super) const TEXT_ARRAY: Type = Type::array_of(Scalar::Text);
/// `name[]`
pub(super) const NAME_ARRAY: Type = Type::array_of(Scalar::Name);
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
    row(name, arguments, result, Volatility::Immutable, Body::Pure(body))
}

/// A strict, stable function that looks at the session, the catalog or the sequences.
pub(super) const fn session(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut Context<'_>, &[Datum]) -> Result<Datum>,
) -> Function {
    row(name, arguments, result, Volatility::Stable, Body::Session(body))
}

/// A strict, stable function that looks at its arguments' types.
pub(super) const fn typed(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut Context<'_>, &[Type], &[Datum]) -> Result<Datum>,
) -> Function {
    row(name, arguments, result, Volatility::Stable, Body::Typed(body))
}

/// A strict, immutable function that returns a set.
pub(super) const fn set(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut Context<'_>, &[Datum]) -> Result<Vec<Datum>>,
) -> Function {
    row(name, arguments, result, Volatility::Immutable, Body::Set(body))
}

/// A strict, immutable function that returns a set, of which each value is made when it is asked for.
pub(super) const fn series(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    body: fn(&mut Context<'_>, &[Datum]) -> Result<Series>,
) -> Function {
    row(name, arguments, result, Volatility::Immutable, Body::Series(body))
}

const fn row(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    volatility: Volatility,
    body: Body,
) -> Function {
    Function { name, arguments, variadic: None, result, strict: true, volatility, body }
}

impl Function {
    /// Called with NULL arguments too.
    pub(super) const fn called_on_null(mut self) -> Function {
        self.strict = false;
        self
    }

    /// Stable.
    pub(super) const fn stable(mut self) -> Function {
        self.volatility = Volatility::Stable;
        self
    }

    /// Volatile.
    pub(super) const fn volatile(mut self) -> Function {
        self.volatility = Volatility::Volatile;
        self
    }

    /// Takes any number of further arguments.
    pub(super) const fn variadic(mut self, of: Type) -> Function {
        self.variadic = Some(of);
        self
    }
}
