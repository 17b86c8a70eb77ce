//! Arrays in expressions.

use super::super::scope::Run;
use super::is_null;
use crate::error::{Result, SqlError, state};
use crate::plan::Expr;
use crate::types::{Array, Datum};
use std::sync::Arc;

impl Run<'_, '_> {
    /// `ARRAY[...]`
    pub(super) fn array(&mut self, expression: &Expr, elements: &[Expr], row: &[Datum]) -> Result<Datum> {
        let mut values = self.evaluate_all(elements, row)?;
        if elements.first().is_some_and(|element| element.data_type.is_array) {
            check_dimensions(&values)?;
            values.first().map_or(Ok(()), |value| Array::check_dimensions(shape(value).len() + 1))?;
            // An array of empty arrays has no dimensions: it is empty.
            values.retain(|value| !shape(value).contains(&0));
        }
        Ok(array_of(expression, values))
    }

    /// `array[subscript]`: NULL outside the bounds, and if the array has more dimensions.
    pub(super) fn subscript(
        &mut self,
        expression: &Expr,
        array: &Expr,
        subscript: &Expr,
        row: &[Datum],
    ) -> Result<Datum> {
        let array = self.operand(array, row)?;
        let subscript = self.evaluate(subscript, row)?;
        let (Datum::Array(array), Some(subscript)) = (&*array, subscript.as_i64()) else { return Ok(Datum::Null) };
        let at = usize::try_from(subscript - i64::from(array.lower_bound)).ok();
        Ok(match at.and_then(|at| array.elements.get(at)) {
            Some(Datum::Array(_)) if !expression.data_type.is_array => Datum::Null,
            Some(element) => element.clone(),
            None => Datum::Null,
        })
    }

    /// `array[from:to]`: the existing part of the slice, numbered from 1.
    pub(super) fn slice(
        &mut self,
        array: &Expr,
        from: Option<&Expr>,
        to: Option<&Expr>,
        row: &[Datum],
    ) -> Result<Datum> {
        let array = self.operand(array, row)?;
        let Datum::Array(array) = &*array else { return Ok(Datum::Null) };
        let first = i64::from(array.lower_bound);
        let end = first + array.elements.len() as i64;
        let Some(from) = self.array_bound(from, first, row)? else { return Ok(Datum::Null) };
        let Some(to) = self.array_bound(to, end - 1, row)? else { return Ok(Datum::Null) };
        let (from, to) = (from.max(first), to.min(end - 1));
        let elements =
            if from > to { &[][..] } else { &array.elements[(from - first) as usize..=(to - first) as usize] };
        Ok(Datum::Array(Arc::new(Array { element: array.element, lower_bound: 1, elements: elements.to_vec() })))
    }

    fn array_bound(&mut self, bound: Option<&Expr>, otherwise: i64, row: &[Datum]) -> Result<Option<i64>> {
        match bound {
            Some(bound) => Ok(self.evaluate(bound, row)?.as_i64()),
            None => Ok(Some(otherwise)),
        }
    }
}

/// A value of an array expression.
pub(super) fn array_of(expression: &Expr, elements: Vec<Datum>) -> Datum {
    Datum::Array(Arc::new(Array { element: expression.data_type.scalar, lower_bound: 1, elements }))
}

/// The length of an array in each dimension.
fn shape(value: &Datum) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut inner = Some(value);
    while let Some(Datum::Array(array)) = inner {
        lengths.push(array.elements.len());
        inner = array.elements.first();
    }
    lengths
}

fn check_dimensions(values: &[Datum]) -> Result<()> {
    let same = values.windows(2).all(|pair| shape(&pair[0]) == shape(&pair[1]));
    if same && !values.iter().any(is_null) || values.iter().all(is_null) {
        return Ok(());
    }
    Err(SqlError::new(
        state::ARRAY_SUBSCRIPT_ERROR,
        "multidimensional arrays must have array expressions with matching dimensions",
    ))
}
