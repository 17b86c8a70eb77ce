//! UPDATE.

use super::write::{Intent, Preparation, Write};
use super::{Changed, returning, rules, source, stream};
use crate::context::{Exec, row_bytes};
use crate::error::Result;
use crate::plan::Update;
use crate::types::Row;
use model::Key;

/// Runs UPDATE.
///
/// # Errors
/// Errors of [`super::insert`].
pub fn update(exec: &mut Exec<'_>, statement: &Update) -> Result<Changed> {
    if stream::can_update(statement) {
        return stream::update(exec, statement);
    }
    prepare(exec, statement, &mut Preparation::default())?.run(exec)
}

/// Prepares the updates.
pub(super) fn prepare<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Update,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    let table = &statement.table;
    exec.transaction.set_reads_wait(true);
    let (mut writes, mut returned) = (vec![], vec![]);
    for (key, row) in source::targets(exec, table, &statement.source)? {
        if preparation.claim(exec, table, &key)? {
            let write = change(exec, statement, key, row, preparation, &mut returned)?;
            if let Write::Replace { new, .. } = &write {
                exec.memory.take(row_bytes(new))?;
            }
            writes.push(write);
        }
    }
    Ok(Intent { table, rules: &statement.rules, checks: Some(&statement.checks), writes, returned })
}

/// The row after the update, and RETURNING's row.
pub(super) fn change(
    exec: &mut Exec<'_>,
    statement: &Update,
    key: Key,
    mut row: Row,
    preparation: &mut Preparation,
    returned: &mut Vec<Row>,
) -> Result<Write> {
    let width = statement.table.columns.len();
    let mut new: Row = row[..width].to_vec();
    preparation.assign(exec, &statement.assignments, &row, &mut new)?;
    rules::generate(exec, &statement.generated, &mut new)?;
    let old: Row = row[..width].to_vec();
    if statement.returning.is_some() {
        row[..width].clone_from_slice(&new);
        returned.extend(returning::row(exec, preparation, statement.returning.as_ref(), &row)?);
    }
    Ok(Write::Replace { key, old, new })
}
