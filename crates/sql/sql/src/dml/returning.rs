//! RETURNING.

use super::write::Preparation;
use crate::context::{Exec, row_bytes};
use crate::error::Result;
use crate::plan::Returning;
use crate::types::{Datum, Row};

/// RETURNING's row over `row`, if the statement has RETURNING. It sees the state at the statement's start, too.
pub(super) fn row(
    exec: &mut Exec<'_>,
    preparation: &mut Preparation,
    returning: Option<&Returning>,
    row: &[Datum],
) -> Result<Option<Row>> {
    let Some(returning) = returning else { return Ok(None) };
    let mut returned = Row::with_capacity(returning.columns.len());
    for column in &returning.columns {
        returned.push(preparation.evaluator.evaluate(exec, column, row)?);
    }
    exec.memory.take(row_bytes(&returned))?;
    Ok(Some(returned))
}
