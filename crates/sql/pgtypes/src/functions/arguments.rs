//! Typed access to a function's arguments.

use super::table::*;
use crate::memory::check_piece;

/// Arguments by place and type.
///
/// Each method fails with XX000 for a datum of another type: a mistake of the binder.
pub trait Arguments {
    /// `boolean`.
    fn boolean(&self, at: usize) -> Result<bool>;
    /// `smallint`.
    fn int2(&self, at: usize) -> Result<i16>;
    /// `integer`.
    fn int4(&self, at: usize) -> Result<i32>;
    /// `bigint`.
    fn int8(&self, at: usize) -> Result<i64>;
    /// `real`.
    fn float4(&self, at: usize) -> Result<f32>;
    /// `double precision`.
    fn float8(&self, at: usize) -> Result<f64>;
    /// `numeric`.
    fn numeric(&self, at: usize) -> Result<&Numeric>;
    /// Text of any kind.
    fn text(&self, at: usize) -> Result<&str>;
    /// `bytea`.
    fn bytes(&self, at: usize) -> Result<&[u8]>;
    /// `date`.
    fn date(&self, at: usize) -> Result<i32>;
    /// `time`.
    fn time(&self, at: usize) -> Result<i64>;
    /// `timestamp` or `timestamptz`.
    fn timestamp(&self, at: usize) -> Result<i64>;
    /// `interval`.
    fn interval(&self, at: usize) -> Result<&Interval>;
    /// Array.
    fn array(&self, at: usize) -> Result<&Array>;
    /// `oid`.
    fn oid(&self, at: usize) -> Result<u32>;
    /// Text; `None` if it is NULL or was not given.
    fn optional_text(&self, at: usize) -> Result<Option<&str>>;
}

fn unexpected(at: usize, found: Option<&Datum>) -> Error {
    Error::new(state::INTERNAL_ERROR, format!("unexpected value for argument {}: {found:?}", at + 1))
}

macro_rules! take {
    ($arguments:expr, $at:expr, $($pattern:pat => $value:expr),+) => {
        match $arguments.get($at) {
            $(Some($pattern) => Ok($value),)+
            other => Err(unexpected($at, other)),
        }
    };
}

impl Arguments for [Datum] {
    fn boolean(&self, at: usize) -> Result<bool> {
        take!(self, at, Datum::Bool(value) => *value)
    }

    fn int2(&self, at: usize) -> Result<i16> {
        take!(self, at, Datum::Int2(value) => *value)
    }

    fn int4(&self, at: usize) -> Result<i32> {
        take!(self, at, Datum::Int4(value) => *value)
    }

    fn int8(&self, at: usize) -> Result<i64> {
        take!(self, at, Datum::Int8(value) => *value)
    }

    fn float4(&self, at: usize) -> Result<f32> {
        take!(self, at, Datum::Float4(value) => *value)
    }

    fn float8(&self, at: usize) -> Result<f64> {
        take!(self, at, Datum::Float8(value) => *value)
    }

    fn numeric(&self, at: usize) -> Result<&Numeric> {
        take!(self, at, Datum::Numeric(value) => value)
    }

    fn text(&self, at: usize) -> Result<&str> {
        take!(self, at, Datum::Text(value) => value.as_str())
    }

    fn bytes(&self, at: usize) -> Result<&[u8]> {
        take!(self, at, Datum::Bytea(value) => value)
    }

    fn date(&self, at: usize) -> Result<i32> {
        take!(self, at, Datum::Date(value) => *value)
    }

    fn time(&self, at: usize) -> Result<i64> {
        take!(self, at, Datum::Time(value) => *value)
    }

    fn timestamp(&self, at: usize) -> Result<i64> {
        take!(self, at, Datum::Timestamp(value) => *value, Datum::Timestamptz(value) => *value)
    }

    fn interval(&self, at: usize) -> Result<&Interval> {
        take!(self, at, Datum::Interval(value) => value)
    }

    fn array(&self, at: usize) -> Result<&Array> {
        take!(self, at, Datum::Array(value) => value)
    }

    fn oid(&self, at: usize) -> Result<u32> {
        take!(self, at, Datum::Oid(value) => *value)
    }

    fn optional_text(&self, at: usize) -> Result<Option<&str>> {
        match self.get(at) {
            None | Some(Datum::Null) => Ok(None),
            _ => self.text(at).map(Some),
        }
    }
}

/// The longest text or bytes that a function makes: PostgreSQL's own limit.
pub(super) const LONGEST_VALUE: usize = (1 << 30) - 1;

/// 54000 for a value longer than [`LONGEST_VALUE`], 53200 for one that the statement has no memory for.
pub(super) fn check_length(bytes: usize) -> Result<()> {
    if bytes > LONGEST_VALUE {
        return Err(Error::new(state::PROGRAM_LIMIT_EXCEEDED, "requested length too large"));
    }
    check_piece(bytes)
}

/// 22023, `invalid_parameter_value`.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(state::INVALID_PARAMETER_VALUE, message)
}

/// 22012
pub(super) fn division_by_zero() -> Error {
    Error::new(state::DIVISION_BY_ZERO, "division by zero")
}

/// 22003 with the name of the type.
pub(super) fn out_of_range(type_name: &str) -> Error {
    Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

/// A count as integer.
pub(super) fn count(count: usize) -> Result<Datum> {
    i32::try_from(count).map(Datum::Int4).map_err(|_| out_of_range("integer"))
}
