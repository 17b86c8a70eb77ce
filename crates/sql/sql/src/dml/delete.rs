//! DELETE.

use super::write::{Intent, Preparation, Write};
use super::{Changed, returning, source, stream};
use crate::context::Exec;
use crate::error::Result;
use crate::plan::Delete;

/// Runs DELETE.
///
/// # Errors
/// 23503, errors of expressions, errors of the engine.
pub fn delete(exec: &mut Exec<'_>, statement: &Delete) -> Result<Changed> {
    if stream::can_delete(statement) {
        return stream::delete(exec, statement);
    }
    prepare(exec, statement, &mut Preparation::default())?.run(exec)
}

/// Prepares the deletions.
pub(super) fn prepare<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Delete,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    let table = &statement.table;
    let width = table.columns.len();
    exec.transaction.set_reads_wait(true);
    let (mut writes, mut returned) = (vec![], vec![]);
    for (key, mut row) in source::targets(exec, table, &statement.source)? {
        if !preparation.claim(exec, table, &key)? {
            continue;
        }
        returned.extend(returning::row(exec, preparation, statement.returning.as_ref(), &row)?);
        row.truncate(width);
        writes.push(Write::Remove { key, old: row });
    }
    Ok(Intent { table, rules: &statement.rules, checks: None, writes, returned })
}
