//! DELETE.

use super::write::{Intent, Preparation, Write};
use super::{Changed, returning, source, stream};
use crate::context::Context;
use crate::error::Result;
use crate::plan::Delete;

/// Runs DELETE.
///
/// # Errors
/// 23503, those of expressions, the engine's.
pub fn delete(context: &mut Context<'_>, statement: &Delete) -> Result<Changed> {
    if stream::can_delete(statement) {
        return stream::delete(context, statement);
    }
    prepare(context, statement, &mut Preparation::default())?.run(context)
}

/// The rows that will go.
pub(super) fn prepare<'s>(
    context: &mut Context<'_>,
    statement: &'s Delete,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    let table = &statement.table;
    let width = table.columns.len();
    context.transaction.set_reads_wait(true);
    let (mut writes, mut returned) = (vec![], vec![]);
    for (key, mut row) in source::targets(context, table, &statement.source)? {
        if !preparation.claim(context, table, &key)? {
            continue;
        }
        returned.extend(returning::row(context, preparation, statement.returning.as_ref(), &row)?);
        row.truncate(width);
        writes.push(Write::Remove { key, old: row });
    }
    Ok(Intent { table, checks: None, writes, returned })
}
