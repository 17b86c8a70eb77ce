//! Literals.

use crate::bind::Binder;
use crate::bind::position::NOWHERE;
use crate::error::{Result, SqlError, state};
use crate::plan::Expr;
use crate::types::{Datum, Modifier, Type, text};
use syntax::ast::Location;
use syntax::ast::{self, Expr as Syntax, Value, ValueWithSpan};

impl Binder<'_, '_> {
    /// A literal.
    pub(super) fn literal(&mut self, literal: &ValueWithSpan) -> Result<Expr> {
        let at = literal.span.start;
        match &literal.value {
            Value::Number(digits, _) => self.number(digits, at),
            Value::Boolean(value) => Ok(Expr::constant(Datum::Bool(*value), Type::BOOL)),
            Value::Null => Ok(Expr::constant(Datum::Null, Type::UNKNOWN)),
            Value::Placeholder(placeholder) => self.parameter(placeholder, at),
            value => match string(value) {
                Some(text) => Ok(Expr::constant(Datum::Text(text.into()), Type::UNKNOWN)),
                None => Err(self.error_at(SqlError::unsupported(format_args!("the literal {value}")), at)),
            },
        }
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
            .map_err(|error| self.error_at(error, at))?;
        Ok(Expr::constant(value, Type::NUMERIC))
    }

    /// `date '2020-02-02'`
    pub(super) fn typed_literal(&mut self, typed: &ast::TypedString) -> Result<Expr> {
        let (data_type, modifier) = crate::parse::data_type(&typed.data_type)?;
        let at = typed.value.span.start;
        let Some(text) = string(&typed.value.value) else {
            let message = format!("syntax error at or near \"{}\"", typed.value.value);
            return Err(self.error_at(SqlError::new(state::SYNTAX_ERROR, message), at));
        };
        let literal = Expr::constant(Datum::Text(text.into()), Type::UNKNOWN);
        self.explicit_cast(literal, data_type, modifier, at)
    }

    /// `interval '1 day'`, `interval '1' day`, `interval '1-2' year to month`
    pub(super) fn interval(&mut self, interval: &ast::Interval) -> Result<Expr> {
        let (text, at) = match &*interval.value {
            Syntax::Value(value) => (string(&value.value), value.span.start),
            _ => (None, NOWHERE),
        };
        let Some(text) = text else {
            return Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{}\"", interval.value)));
        };
        let text = match (&interval.leading_field, &interval.last_field) {
            (Some(field), None) if text.trim().parse::<f64>().is_ok() => format!("{} {field}", text.trim()),
            _ => text.to_owned(),
        };
        let literal = Expr::constant(Datum::Text(text.into()), Type::UNKNOWN);
        self.explicit_cast(literal, Type::INTERVAL, Modifier::NONE, at)
    }
}

/// The text of a string literal.
pub(in crate::bind) fn string(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => Some(text),
        Value::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}
