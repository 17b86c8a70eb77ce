//! The rows that a statement changes, read before anything is written.

use crate::catalog::Table;
use crate::context::{Exec, row_bytes};
use crate::error::{Result, SqlError, state};
use crate::exec::Cursor;
use crate::plan::Plan;
use crate::types::{Datum, Row};
use model::Key;
use pgtypes::memory::push;
use std::collections::HashSet;
use std::sync::Arc;

/// All rows of a plan, counted against the statement's memory.
pub(super) fn rows(exec: &mut Exec<'_>, plan: &Arc<Plan>) -> Result<Vec<Row>> {
    let mut cursor = Cursor::new(plan.clone());
    let mut rows = vec![];
    while let Some(row) = cursor.next(exec)? {
        exec.memory.take(row_bytes(&row))?;
        push(&mut rows, row)?;
    }
    Ok(rows)
}

/// The rows of a table that UPDATE or DELETE found, each once: the first of those with its key.
pub(super) fn targets(exec: &mut Exec<'_>, table: &Table, plan: &Arc<Plan>) -> Result<Vec<(Key, Row)>> {
    let mut seen = HashSet::new();
    let mut targets = vec![];
    for row in rows(exec, plan)? {
        let key = key_of(table, &row)?;
        exec.memory.take(2 * size_of::<Key>())?;
        if seen.insert(key.clone()) {
            push(&mut targets, (key, row))?;
        }
    }
    Ok(targets)
}

/// The key of a row that UPDATE or DELETE found, which is after the table's columns.
pub(super) fn key_of(table: &Table, row: &[Datum]) -> Result<Key> {
    match row.get(table.columns.len()) {
        Some(Datum::Bytea(key)) => Ok(Key::from_bytes(key)),
        _ => Err(SqlError::new(state::INTERNAL_ERROR, "a row to be changed has no key")),
    }
}
