//! Comparisons and three-valued logic.

use super::super::scope::Run;
use super::is_null;
use crate::error::{Result, SqlError, state};
use crate::functions::Resolved;
use crate::plan::{Comparison, Expr};
use crate::types::{Datum, Type, compare_typed};
use std::cmp::Ordering;

impl Run<'_, '_> {
    /// AND (`decisive` is false) or OR (true): an operand equal to `decisive` decides; otherwise an unknown operand makes the
    /// result unknown.
    pub(super) fn connect(&mut self, operands: &[Expr], decisive: bool, row: &[Datum]) -> Result<Option<bool>> {
        let mut known = true;
        for operand in operands {
            match self.truth(operand, row)? {
                Some(truth) if truth == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(known.then_some(!decisive))
    }

    pub(super) fn comparison(
        &mut self,
        comparison: Comparison,
        left: &Expr,
        right: &Expr,
        row: &[Datum],
    ) -> Result<Option<bool>> {
        let left_value = self.operand(left, row)?;
        if is_null(&left_value) {
            return Ok(None);
        }
        let right_value = self.operand(right, row)?;
        if is_null(&right_value) {
            return Ok(None);
        }
        Ok(Some(comparison.accepts(compare_typed(left.data_type, &left_value, &right_value))))
    }

    pub(super) fn null_if(&mut self, left: &Expr, right: &Expr, row: &[Datum]) -> Result<Datum> {
        let value = self.evaluate(left, row)?;
        let other = self.evaluate(right, row)?;
        let equal = order(left.data_type, &value, &other) == Some(Ordering::Equal);
        Ok(if equal { Datum::Null } else { value })
    }

    pub(super) fn extreme(&mut self, greatest: bool, of: &[Expr], row: &[Datum]) -> Result<Datum> {
        let mut best = Datum::Null;
        for expression in of {
            let value = self.evaluate(expression, row)?;
            let better = match order(expression.data_type, &value, &best) {
                Some(ordering) => ordering == if greatest { Ordering::Greater } else { Ordering::Less },
                None => is_null(&best),
            };
            if better {
                best = value;
            }
        }
        Ok(best)
    }

    pub(super) fn in_list(&mut self, value: &Expr, list: &[Expr], row: &[Datum]) -> Result<Option<bool>> {
        let left = self.operand(value, row)?;
        if is_null(&left) {
            return Ok(if list.is_empty() { Some(false) } else { None });
        }
        let mut known = true;
        for element in list {
            let right = self.operand(element, row)?;
            match order(value.data_type, &left, &right) {
                Some(Ordering::Equal) => return Ok(Some(true)),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(known.then_some(false))
    }

    /// `left op ANY (array)`, or ALL.
    pub(super) fn quantified(
        &mut self,
        operator: &Resolved,
        left: &Expr,
        array: &Expr,
        all: bool,
        row: &[Datum],
    ) -> Result<Option<bool>> {
        let left = self.evaluate(left, row)?;
        let array = self.operand(array, row)?;
        let Datum::Array(array) = &*array else { return Ok(None) };
        let mut elements = Vec::new();
        flatten(&array.elements, &mut elements);
        let decisive = !all;
        let mut known = true;
        for element in elements {
            match truth_of(self.call(operator, &[left.clone(), element.clone()])?)? {
                Some(truth) if truth == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(known.then_some(!decisive))
    }
}

/// Compares two values of a type; `None` if one is NULL.
fn order(data_type: Type, left: &Datum, right: &Datum) -> Option<Ordering> {
    (!is_null(left) && !is_null(right)).then(|| compare_typed(data_type, left, right))
}

/// Returns the truth value of an operator's result.
pub(super) fn truth_of(value: Datum) -> Result<Option<bool>> {
    match value {
        Datum::Bool(truth) => Ok(Some(truth)),
        Datum::Null => Ok(None),
        _ => Err(SqlError::new(state::DATATYPE_MISMATCH, "op ANY/ALL (array) requires operator to yield boolean")),
    }
}

fn flatten<'a>(elements: &'a [Datum], out: &mut Vec<&'a Datum>) {
    for element in elements {
        match element {
            Datum::Array(inner) => flatten(&inner.elements, out),
            scalar => out.push(scalar),
        }
    }
}
