//! RETURNING.

use super::write::Preparation;
use crate::context::{Exec, row_bytes};
use crate::error::Result;
use crate::functions::system_column::LOCKED;
use crate::plan::Returning;
use crate::types::{Datum, Row};

/// RETURNING's row of INSERT over the row as it is now; `found` if it was there before.
pub(super) fn inserted(
    exec: &mut Exec<'_>,
    preparation: &mut Preparation,
    returning: Option<&Returning>,
    now: &[Datum],
    found: bool,
) -> Result<Option<Row>> {
    match returning {
        Some(Returning { with_xmax: true, .. }) => {
            let mut extended = now.to_vec();
            extended.push(if found { LOCKED } else { Datum::Oid(0) });
            row(exec, preparation, returning, &extended)
        }
        _ => row(exec, preparation, returning, now),
    }
}

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
