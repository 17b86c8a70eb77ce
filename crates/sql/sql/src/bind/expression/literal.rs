//! Literals.

use crate::bind::Binder;
use crate::error::Result;
use crate::plan::Expr;
use crate::types::{Datum, Modifier, Type, text};
use syntax::ast::{DataType, Interval, Literal, Location, Value};

impl Binder<'_, '_> {
    /// A literal.
    pub(in crate::bind) fn literal(&mut self, literal: &Literal) -> Result<Expr> {
        let at = literal.span.start;
        match &literal.value {
            Value::Number(digits) => self.number(digits, at),
            Value::String(text) => Ok(Self::untyped(text)),
            Value::Boolean(value) => Ok(Expr::constant(Datum::Bool(*value), Type::BOOL)),
            Value::Null => Ok(Expr::constant(Datum::Null, Type::UNKNOWN)),
            Value::Parameter(parameter) => self.parameters.reference(parameter, at),
        }
    }

    fn untyped(text: &str) -> Expr {
        Expr::constant(Datum::Text(text.into()), Type::UNKNOWN)
    }

    /// A number: the smallest of integer, bigint and numeric that holds it.
    pub(super) fn number(&mut self, digits: &str, at: Location) -> Result<Expr> {
        if let Ok(value) = digits.parse::<i32>() {
            return Ok(Expr::constant(Datum::Int4(value), Type::INT4));
        }
        if let Ok(value) = digits.parse::<i64>() {
            return Ok(Expr::constant(Datum::Int8(value), Type::INT8));
        }
        let value = text::parse(digits, Type::NUMERIC, Modifier::NONE, &self.styles())
            .map_err(|error| self.text.error_at(error, at))?;
        Ok(Expr::constant(value, Type::NUMERIC))
    }

    /// `date '2020-02-02'`
    pub(super) fn typed_literal(&mut self, data_type: &DataType, text: &Literal) -> Result<Expr> {
        let named = self.named_type(data_type)?;
        let at = text.span.start;
        let literal = self.literal(text)?;
        self.cast_to(literal, &named, at)
    }

    /// `interval '1 day'`, `interval '1' day`, `interval '1-2' year to month`
    pub(super) fn interval(&mut self, interval: &Interval) -> Result<Expr> {
        let at = interval.text.span.start;
        let literal = match (&interval.text.value, &interval.leading, &interval.last) {
            (Value::String(text), Some(unit), None) if text.trim().parse::<f64>().is_ok() => {
                Self::untyped(&format!("{} {unit}", text.trim()))
            }
            _ => self.literal(&interval.text)?,
        };
        self.explicit_cast(literal, Type::INTERVAL, Modifier::NONE, at)
    }
}
