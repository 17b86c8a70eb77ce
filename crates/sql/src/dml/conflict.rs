//! INSERT ... ON CONFLICT.

use super::{Changed, ForeignKeys, returning, rows, rules};
use crate::catalog::Table;
use crate::context::Context;
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::plan::{ConflictUpdate, Insert, OnConflict};
use crate::types::{Datum, Row};
use model::Key;
use std::collections::HashSet;

/// Inserts the rows that meet no other; the rest are passed over, or update those that they meet.
pub(super) fn insert(
    context: &mut Context<'_>,
    statement: &Insert,
    on_conflict: &OnConflict,
    new: Vec<Row>,
    foreign_keys: &mut ForeignKeys,
) -> Result<Changed> {
    let mut changed = Changed::default();
    let mut touched = HashSet::new();
    for row in new {
        rules::check(context, &statement.table, &statement.checks, &row)?;
        let met = meets(context, &statement.table, &on_conflict.arbiters, &row)?;
        let now = match (met, &on_conflict.update) {
            (None, _) => {
                let key = rows::write_new(context, &statement.table, &row)?;
                if on_conflict.update.is_some() {
                    context.memory.take(size_of::<Key>())?;
                    touched.insert(key);
                }
                foreign_keys.inserted(context, &statement.table, &row)?;
                Some(row)
            }
            (Some(_), None) => None,
            (Some(key), Some(update)) => update_met(context, statement, update, &key, row, &mut touched, foreign_keys)?,
        };
        if let Some(row) = now {
            changed.rows += 1;
            changed.returned.extend(returning::row(context, statement.returning.as_ref(), &row)?);
        }
    }
    Ok(changed)
}

/// The key of a row that has the new row's values in one of the arbiters. Reading their entries protects the gaps, so
/// that what is not there now will not be there before this transaction's own.
fn meets(context: &mut Context<'_>, table: &Table, arbiters: &[usize], row: &[Datum]) -> Result<Option<Key>> {
    for (at, index) in table.indexes.iter().enumerate() {
        if !index.unique || !(arbiters.is_empty() || arbiters.contains(&at)) {
            continue;
        }
        let values: Vec<&Datum> = index.columns.iter().map(|&column| &row[column]).collect();
        if let Some(key) = rows::find_unique(context, table, index, &values)? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// DO UPDATE of the row under `key`; the row as it is now, unless WHERE excludes it.
fn update_met(
    context: &mut Context<'_>,
    statement: &Insert,
    update: &ConflictUpdate,
    key: &Key,
    excluded: Row,
    touched: &mut HashSet<Key>,
    foreign_keys: &mut ForeignKeys,
) -> Result<Option<Row>> {
    let table = &statement.table;
    if touched.contains(key) {
        return Err(SqlError::new(
            state::CARDINALITY_VIOLATION,
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
        )
        .hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        ));
    }
    let Some(old) = rows::read_for_update(context, table, key)? else {
        let message = format!("an index of table \"{}\" has an entry without its row", table.name);
        return Err(SqlError::new(state::DATA_CORRUPTED, message));
    };
    let both: Row = old.iter().cloned().chain(excluded).collect();
    if let Some(condition) = &update.condition
        && !matches!(evaluate(context, condition, &both)?, Datum::Bool(true))
    {
        return Ok(None);
    }
    let mut new = old.clone();
    for (column, expression) in &update.assignments {
        new[*column] = evaluate(context, expression, &both)?;
    }
    rules::generate(context, &statement.generated, &mut new)?;
    rules::check(context, table, &statement.checks, &new)?;
    touched.insert(rows::replace(context, table, key, &old, &new)?);
    foreign_keys.updated(context, table, &old, &new)?;
    Ok(Some(new))
}
