//! INSERT.

use super::write::{Intent, Preparation, Write};
use super::{Changed, conflict, returning, rules, source, stream};
use crate::context::Exec;
use crate::error::Result;
use crate::plan::Insert;
use crate::types::Row;

/// Runs INSERT.
///
/// # Errors
/// 23502, 23503, 23505, 23514, errors of expressions, errors of the engine.
pub fn insert(exec: &mut Exec<'_>, statement: &Insert) -> Result<Changed> {
    if stream::can_insert(statement) {
        return stream::insert(exec, statement);
    }
    prepare(exec, statement, &mut Preparation::default())?.run(exec)
}

/// Prepares the inserts, and the updates of ON CONFLICT DO UPDATE.
pub(super) fn prepare<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Insert,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    // It only reads its source; it waits for conflicting rows of its own table.
    exec.transaction.set_reads_wait(false);
    let mut new = source::rows(exec, &statement.source)?;
    exec.transaction.set_reads_wait(true);
    for row in &mut new {
        rules::generate(exec, &statement.generated, row)?;
    }
    match &statement.on_conflict {
        Some(on_conflict) => conflict::prepare(exec, statement, on_conflict, new, preparation),
        None => plain(exec, statement, new, preparation),
    }
}

fn plain<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Insert,
    new: Vec<Row>,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    let mut returned = vec![];
    for row in &new {
        returned.extend(returning::inserted(exec, preparation, statement.returning.as_ref(), row, false)?);
    }
    let writes = new.into_iter().map(Write::Insert).collect();
    let Insert { table, rules, checks, .. } = statement;
    Ok(Intent { table, rules, checks: Some(checks), writes, returned })
}
