//! Evaluation of expressions.
//!
//! `operand` avoids copies of values that the row already contains; `compare.rs` has comparisons and three-valued logic,
//! `array.rs` arrays, `subquery.rs` queries inside expressions.

mod array;
mod compare;
mod subquery;

use super::scope::Run;
use crate::context::{row_bytes, value_bytes};
use crate::error::{Result, SqlError, state};
use crate::functions::{Body, Resolved, Series};
use crate::plan::{DomainRules, Expr, ExprKind};
use crate::types::cast::cast;
use crate::types::functions as values;
use crate::types::{Datum, Record, equal_typed};
use std::borrow::Cow;
use std::sync::Arc;

/// The values of a set.
pub(super) enum Values {
    /// All computed at once.
    Made(std::vec::IntoIter<Datum>),
    /// Computed one by one.
    Series(Series),
}

impl Values {
    /// The next one.
    pub fn next(&mut self) -> Result<Option<Datum>> {
        match self {
            Values::Made(values) => Ok(values.next()),
            Values::Series(next) => Ok(next()?),
        }
    }

    /// Bytes of the values that are already computed.
    pub fn bytes(&self) -> usize {
        match self {
            Values::Made(values) => row_bytes(values.as_slice()),
            Values::Series(_) => 0,
        }
    }
}

impl<'s> Run<'_, 's> {
    /// Evaluates an expression over a row.
    pub fn evaluate(&mut self, expression: &Expr, row: &[Datum]) -> Result<Datum> {
        match &expression.kind {
            ExprKind::Constant(value) => Ok(value.clone()),
            ExprKind::Column(column) => Ok(column_of(row, *column)?.clone()),
            ExprKind::Parameter(number) => Ok(self.parameter(*number)?.clone()),
            ExprKind::Outer { depth, column } => Ok(self.outer(*depth, *column)?.clone()),
            _ => self.nested(|run| run.compute(expression, row)),
        }
    }

    /// Evaluates like [`Run::evaluate`], by reference where the value exists already.
    pub fn operand<'v>(&mut self, expression: &'v Expr, row: &'v [Datum]) -> Result<Cow<'v, Datum>>
    where
        's: 'v,
    {
        match &expression.kind {
            ExprKind::Constant(value) => Ok(Cow::Borrowed(value)),
            ExprKind::Column(column) => Ok(Cow::Borrowed(column_of(row, *column)?)),
            ExprKind::Parameter(number) => Ok(Cow::Borrowed(self.parameter(*number)?)),
            _ => Ok(Cow::Owned(self.evaluate(expression, row)?)),
        }
    }

    /// Returns whether a condition is true: neither false nor unknown.
    pub fn holds(&mut self, condition: &Expr, row: &[Datum]) -> Result<bool> {
        Ok(self.truth(condition, row)? == Some(true))
    }

    /// Evaluates like [`Run::holds`]; an absent condition is true.
    pub fn passes(&mut self, condition: Option<&Expr>, row: &[Datum]) -> Result<bool> {
        condition.map_or(Ok(true), |condition| self.holds(condition, row))
    }

    /// Evaluates a boolean expression.
    pub fn truth(&mut self, condition: &Expr, row: &[Datum]) -> Result<Option<bool>> {
        match &condition.kind {
            ExprKind::And(all) => self.nested(|run| run.connect(all, false, row)),
            ExprKind::Or(any) => self.nested(|run| run.connect(any, true, row)),
            ExprKind::Compare(comparison, left, right) => {
                self.nested(|run| run.comparison(*comparison, left, right, row))
            }
            _ => match self.evaluate(condition, row)? {
                Datum::Null => Ok(None),
                Datum::Bool(truth) => Ok(Some(truth)),
                _ => Err(SqlError::new(state::INTERNAL_ERROR, "a condition is not of type boolean")),
            },
        }
    }

    /// Evaluates several expressions.
    pub fn evaluate_all(&mut self, expressions: &[Expr], row: &[Datum]) -> Result<Vec<Datum>> {
        expressions.iter().map(|expression| self.evaluate(expression, row)).collect()
    }

    fn compute(&mut self, expression: &Expr, row: &[Datum]) -> Result<Datum> {
        match &expression.kind {
            ExprKind::Call(function, arguments) => self.call_over(function, arguments, row),
            ExprKind::Cast { input, explicit } => self.cast(expression, input, *explicit, row),
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Compare(..) => Ok(truth_value(self.truth(expression, row)?)),
            ExprKind::Not(input) => Ok(truth_value(self.truth(input, row)?.map(|truth| !truth))),
            ExprKind::IsNull(input) => self.is_null(input, row),
            ExprKind::IsSame(left, right) => {
                let (left_value, right_value) = (self.operand(left, row)?, self.operand(right, row)?);
                Ok(Datum::Bool(equal_typed(left.data_type, &left_value, &right_value)))
            }
            ExprKind::IsTruth(input, wanted) => Ok(Datum::Bool(self.truth(input, row)? == *wanted)),
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref(), row),
            ExprKind::Coalesce(all) => self.coalesce(all, row),
            ExprKind::NullIf(left, right) => self.null_if(left, right, row),
            ExprKind::Extreme { greatest, of } => self.extreme(*greatest, of, row),
            ExprKind::InList(value, list) => Ok(truth_value(self.in_list(value, list, row)?)),
            ExprKind::Quantified { operator, left, array, all } => {
                Ok(truth_value(self.quantified(operator, left, array, *all, row)?))
            }
            ExprKind::Array(elements) => self.array(expression, elements, row),
            ExprKind::Subscript(array, subscript) => self.subscript(expression, array, subscript, row),
            ExprKind::Slice(array, from, to) => self.slice(array, from.as_deref(), to.as_deref(), row),
            ExprKind::Row(fields, shape) => {
                let fields = self.evaluate_all(fields, row)?;
                Ok(Datum::Record(Arc::new(Record { fields, shape: Some(shape.clone()) })))
            }
            ExprKind::Field(record, field) => self.field(record, *field, row),
            ExprKind::Subquery(subquery) => self.subquery(expression, subquery, row),
            ExprKind::Domain(input, rules) => self.in_domain(input, rules, row),
            ExprKind::Constant(_) | ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Outer { .. } => {
                self.evaluate(expression, row)
            }
        }
    }

    /// The value of an expression, if it is one of a domain.
    fn in_domain(&mut self, input: &Expr, rules: &DomainRules, row: &[Datum]) -> Result<Datum> {
        let value = [self.evaluate(input, row)?];
        let (schema, name) = &rules.domain;
        if rules.not_null && value[0].is_null() {
            let message = format!("domain {} does not allow null values", rules.shown);
            return Err(SqlError::new(state::NOT_NULL_VIOLATION, message).schema(schema).data_type(name));
        }
        for (constraint, condition) in &rules.checks {
            if matches!(self.evaluate(condition, &value)?, Datum::Bool(false)) {
                let message = format!("value for domain {} violates check constraint \"{constraint}\"", rules.shown);
                let error = SqlError::new(state::CHECK_VIOLATION, message);
                return Err(error.schema(schema).data_type(name).constraint(constraint));
            }
        }
        let [value] = value;
        Ok(value)
    }

    fn parameter(&self, number: usize) -> Result<&'s Datum> {
        let parameters: &'s [Datum] = self.exec.parameters;
        parameters.get(number).ok_or_else(|| {
            SqlError::new(state::UNDEFINED_PARAMETER, format!("there is no parameter ${}", number.saturating_add(1)))
        })
    }

    fn outer(&self, depth: usize, column: usize) -> Result<&Datum> {
        let rows = &self.scope.outer;
        let row = rows.len().checked_sub(depth).and_then(|at| rows.get(at));
        row.and_then(|row| row.get(column)).ok_or_else(|| no_column(column))
    }

    fn call_over(&mut self, function: &Resolved, arguments: &[Expr], row: &[Datum]) -> Result<Datum> {
        match arguments {
            [one] => {
                let values = [self.evaluate(one, row)?];
                self.call(function, &values)
            }
            [left, right] => {
                let values = [self.evaluate(left, row)?, self.evaluate(right, row)?];
                self.call(function, &values)
            }
            _ => {
                let values = self.evaluate_all(arguments, row)?;
                self.call(function, &values)
            }
        }
    }

    /// Calls a function that returns one value.
    pub fn call(&mut self, resolved: &Resolved, arguments: &[Datum]) -> Result<Datum> {
        if resolved.function.strict && arguments.iter().any(is_null) {
            return Ok(Datum::Null);
        }
        let value = match resolved.function.body {
            Body::Values(values::Body::Pure(function)) => function(arguments)?,
            Body::Values(values::Body::Session(function)) => function(self.exec.env(), arguments)?,
            Body::Values(values::Body::Typed(function)) => function(self.exec.env(), &resolved.arguments, arguments)?,
            Body::Pure(function) => function(arguments)?,
            Body::Names(function) => function(&mut self.exec.names(), arguments)?,
            Body::System(function) => function(&mut self.exec.system(), arguments)?,
            Body::Set(_) | Body::Values(values::Body::Set(_) | values::Body::TypedSet(_) | values::Body::Series(_)) => {
                let message = "set-valued function called in context that cannot accept a set";
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
        };
        self.exec.memory.note(value_bytes(&value))?;
        Ok(value)
    }

    /// Calls a function for its set of values. A function with one value returns a set of one.
    pub fn call_set(&mut self, resolved: &Resolved, arguments: &[Datum]) -> Result<Values> {
        let returns_nothing = resolved.function.strict && arguments.iter().any(is_null);
        let made = match resolved.function.body {
            _ if returns_nothing && resolved.function.returns_set => Vec::new(),
            Body::Set(function) => function(&mut self.exec.system(), arguments)?,
            Body::Values(values::Body::Set(function)) => function(self.exec.env(), arguments)?,
            Body::Values(values::Body::TypedSet(function)) => {
                function(self.exec.env(), &resolved.arguments, arguments)?
            }
            Body::Values(values::Body::Series(function)) => {
                return Ok(Values::Series(function(self.exec.env(), arguments)?));
            }
            _ => vec![self.call(resolved, arguments)?],
        };
        Ok(Values::Made(made.into_iter()))
    }

    fn cast(&mut self, expression: &Expr, input: &Expr, explicit: bool, row: &[Datum]) -> Result<Datum> {
        let value = self.operand(input, row)?;
        if is_null(&value) {
            return Ok(Datum::Null);
        }
        let styles = self.exec.env().styles();
        Ok(cast(&value, input.data_type, expression.data_type, expression.modifier, explicit, &styles)?)
    }

    fn is_null(&mut self, input: &Expr, row: &[Datum]) -> Result<Datum> {
        let value = self.operand(input, row)?;
        Ok(Datum::Bool(match &*value {
            Datum::Null => true,
            Datum::Record(fields) => fields.iter().all(is_null),
            _ => false,
        }))
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>, row: &[Datum]) -> Result<Datum> {
        for (condition, result) in branches {
            if self.holds(condition, row)? {
                return self.evaluate(result, row);
            }
        }
        otherwise.map_or(Ok(Datum::Null), |result| self.evaluate(result, row))
    }

    fn coalesce(&mut self, all: &[Expr], row: &[Datum]) -> Result<Datum> {
        for expression in all {
            let value = self.evaluate(expression, row)?;
            if !is_null(&value) {
                return Ok(value);
            }
        }
        Ok(Datum::Null)
    }

    fn field(&mut self, record: &Expr, field: usize, row: &[Datum]) -> Result<Datum> {
        match &*self.operand(record, row)? {
            Datum::Record(fields) => fields.get(field).cloned().ok_or_else(|| no_column(field)),
            _ => Ok(Datum::Null),
        }
    }
}

/// Returns whether a value is NULL.
pub(super) fn is_null(value: &Datum) -> bool {
    matches!(value, Datum::Null)
}

/// Converts a three-valued truth to a value.
fn truth_value(truth: Option<bool>) -> Datum {
    truth.map_or(Datum::Null, Datum::Bool)
}

fn column_of(row: &[Datum], column: usize) -> Result<&Datum> {
    row.get(column).ok_or_else(|| no_column(column))
}

fn no_column(column: usize) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("a row has no column {column}"))
}
