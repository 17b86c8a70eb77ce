//! INSERT.

use super::write::{Intent, Preparation, Write};
use super::{Changed, conflict, returning, rules, source, stream};
use crate::context::Context;
use crate::error::Result;
use crate::plan::Insert;
use crate::types::Row;

/// Runs INSERT.
///
/// # Errors
/// 23502, 23503, 23505, 23514, those of expressions, the engine's.
pub fn insert(context: &mut Context<'_>, statement: &Insert) -> Result<Changed> {
    if stream::can_insert(statement) {
        return stream::insert(context, statement);
    }
    prepare(context, statement, &mut Preparation::default())?.run(context)
}

/// The rows that will come, and with ON CONFLICT DO UPDATE those that change.
pub(super) fn prepare<'s>(
    context: &mut Context<'_>,
    statement: &'s Insert,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    // Its source it only reads; what it meets in its own table it waits for.
    context.transaction.set_reads_wait(false);
    let mut new = source::rows(context, &statement.source)?;
    context.transaction.set_reads_wait(true);
    for row in &mut new {
        rules::generate(context, &statement.generated, row)?;
    }
    match &statement.on_conflict {
        Some(on_conflict) => conflict::prepare(context, statement, on_conflict, new, preparation),
        None => plain(context, statement, new, preparation),
    }
}

fn plain<'s>(
    context: &mut Context<'_>,
    statement: &'s Insert,
    new: Vec<Row>,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    let mut returned = vec![];
    for row in &new {
        returned.extend(returning::row(context, preparation, statement.returning.as_ref(), row)?);
    }
    let writes = new.into_iter().map(Write::Insert).collect();
    Ok(Intent { table: &statement.table, checks: Some(&statement.checks), writes, returned })
}
