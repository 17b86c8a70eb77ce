//! UPDATE.

use super::{Changed, ForeignKeys, returning, rows, rules, source};
use crate::context::{Context, row_bytes};
use crate::error::Result;
use crate::exec::evaluate;
use crate::plan::Update;
use crate::types::Row;
use model::Key;

/// A row before and after.
struct Change {
    key: Key,
    old: Row,
    new: Row,
}

/// Runs UPDATE.
///
/// # Errors
/// As [`super::insert`].
pub fn update(context: &mut Context<'_>, statement: &Update) -> Result<Changed> {
    let mut changed = Changed::default();
    let mut changes = vec![];
    for (key, row) in source::targets(context, &statement.table, &statement.source)? {
        changes.push(prepare(context, statement, key, row, &mut changed)?);
    }
    let mut foreign_keys = ForeignKeys::default();
    for Change { key, old, new } in changes {
        rules::check(context, &statement.table, &statement.checks, &new)?;
        rows::replace(context, &statement.table, &key, &old, &new)?;
        foreign_keys.updated(context, &statement.table, &old, &new)?;
        changed.rows += 1;
        if changed.rows.is_multiple_of(256) {
            context.check_cancel()?;
        }
    }
    foreign_keys.finish(context)?;
    Ok(changed)
}

/// The row after the update, and RETURNING's row: both are computed from the state at the statement's start.
fn prepare(
    context: &mut Context<'_>,
    statement: &Update,
    key: Key,
    mut row: Row,
    changed: &mut Changed,
) -> Result<Change> {
    let width = statement.table.columns.len();
    let mut new: Row = row[..width].to_vec();
    for (column, expression) in &statement.assignments {
        new[*column] = evaluate(context, expression, &row)?;
    }
    rules::generate(context, &statement.generated, &mut new)?;
    context.memory.take(row_bytes(&new))?;
    let old: Row = row[..width].to_vec();
    if statement.returning.is_some() {
        row[..width].clone_from_slice(&new);
        changed.returned.extend(returning::row(context, statement.returning.as_ref(), &row)?);
    }
    Ok(Change { key, old, new })
}
