//! DELETE.

use super::{Changed, ForeignKeys, returning, rows, source};
use crate::context::Context;
use crate::error::Result;
use crate::plan::Delete;

/// Runs DELETE.
///
/// # Errors
/// 23503, those of expressions, the engine's.
pub fn delete(context: &mut Context<'_>, statement: &Delete) -> Result<Changed> {
    let mut changed = Changed::default();
    let targets = source::targets(context, &statement.table, &statement.source)?;
    // RETURNING sees the state at the statement's start, too.
    for (_, row) in &targets {
        changed.returned.extend(returning::row(context, statement.returning.as_ref(), row)?);
    }
    let width = statement.table.columns.len();
    let mut foreign_keys = ForeignKeys::default();
    for (key, row) in &targets {
        let old = &row[..width];
        if rows::remove(context, &statement.table, key, old)? {
            foreign_keys.deleted(context, &statement.table, old)?;
            changed.rows += 1;
        }
        if changed.rows.is_multiple_of(256) {
            context.check_cancel()?;
        }
    }
    foreign_keys.finish(context)?;
    Ok(changed)
}
