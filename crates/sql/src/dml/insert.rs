//! INSERT.

use super::{Changed, ForeignKeys, conflict, returning, rows, rules, source};
use crate::context::Context;
use crate::error::Result;
use crate::plan::Insert;
use crate::types::Row;

/// Runs INSERT.
///
/// # Errors
/// 23502, 23503, 23505, 23514, those of expressions, the engine's.
pub fn insert(context: &mut Context<'_>, statement: &Insert) -> Result<Changed> {
    let mut new = source::rows(context, &statement.source)?;
    for row in &mut new {
        rules::generate(context, &statement.generated, row)?;
    }
    let mut foreign_keys = ForeignKeys::default();
    let changed = match &statement.on_conflict {
        Some(on_conflict) => conflict::insert(context, statement, on_conflict, new, &mut foreign_keys)?,
        None => insert_all(context, statement, new, &mut foreign_keys)?,
    };
    foreign_keys.finish(context)?;
    Ok(changed)
}

fn insert_all(
    context: &mut Context<'_>,
    statement: &Insert,
    new: Vec<Row>,
    foreign_keys: &mut ForeignKeys,
) -> Result<Changed> {
    let mut changed = Changed::default();
    // RETURNING sees the state at the statement's start, too.
    for row in &new {
        changed.returned.extend(returning::row(context, statement.returning.as_ref(), row)?);
    }
    for row in &new {
        rules::check(context, &statement.table, &statement.checks, row)?;
        rows::write_new(context, &statement.table, row)?;
        foreign_keys.inserted(context, &statement.table, row)?;
        changed.rows += 1;
        if changed.rows.is_multiple_of(256) {
            context.check_cancel()?;
        }
    }
    Ok(changed)
}
