//! MERGE.

use super::write::{Intent, Preparation, Write};
use super::{Changed, rules, source};
use crate::context::{Exec, row_bytes};
use crate::error::{Result, SqlError, state};
use crate::plan::{Merge, MergeAction, MergeClause};
use crate::types::{Datum, Row};
use model::Key;
use std::collections::HashSet;

/// Runs MERGE.
///
/// # Errors
/// 21000 for a row that two rows of the source change; errors of [`super::insert`].
pub fn merge(exec: &mut Exec<'_>, statement: &Merge) -> Result<Changed> {
    prepare(exec, statement, &mut Preparation::default())?.run(exec)
}

/// Prepares what each row of the source leads to. That no row belongs to one was read, as the rows were.
pub(super) fn prepare<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Merge,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    exec.transaction.set_reads_wait(true);
    let (mut writes, mut changed) = (vec![], HashSet::new());
    for row in source::rows(exec, &statement.source)? {
        let key = match row.get(statement.key()) {
            Some(Datum::Bytea(key)) => Some(Key::from_bytes(key)),
            Some(Datum::Null) => None,
            _ => return Err(SqlError::new(state::INTERNAL_ERROR, "a row to be merged has no key")),
        };
        let Some(clause) = clause_for(exec, statement, key.is_some(), &row, preparation)? else { continue };
        if let Some(write) = write(exec, statement, clause, key.as_ref(), &row, preparation)? {
            if let Some(key) = key {
                exec.memory.take(size_of::<Key>())?;
                if !changed.insert(key.clone()) {
                    return Err(second_time());
                }
                if !preparation.claim(exec, &statement.table, &key)? {
                    continue;
                }
            }
            writes.push(write);
        }
    }
    Ok(Intent { table: &statement.table, rules: &statement.rules, checks: None, writes, returned: vec![] })
}

/// The first clause that applies to a row.
fn clause_for<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Merge,
    matched: bool,
    row: &[Datum],
    preparation: &mut Preparation,
) -> Result<Option<&'s MergeClause>> {
    for clause in statement.clauses.iter().filter(|clause| clause.matched == matched) {
        let applies = match &clause.condition {
            None => true,
            Some(condition) => {
                matches!(preparation.evaluator.evaluate(exec, condition, row)?, Datum::Bool(true))
            }
        };
        if applies {
            return Ok(Some(clause));
        }
    }
    Ok(None)
}

/// What a clause does with a row.
fn write(
    exec: &mut Exec<'_>,
    statement: &Merge,
    clause: &MergeClause,
    key: Option<&Key>,
    row: &[Datum],
    preparation: &mut Preparation,
) -> Result<Option<Write>> {
    let old = || -> Row { row[statement.first..statement.key()].to_vec() };
    let write = match (&clause.action, key) {
        (MergeAction::Delete, Some(key)) => Write::Remove { key: key.clone(), old: old() },
        (MergeAction::Update(assignments), Some(key)) => {
            let mut new = old();
            preparation.assign(exec, assignments, row, &mut new)?;
            rules::generate(exec, &statement.generated, &mut new)?;
            rules::check(exec, &statement.table, &statement.checks, &new)?;
            Write::Replace { key: key.clone(), old: old(), new }
        }
        (MergeAction::Insert(values), None) => {
            let mut new = Row::with_capacity(values.len());
            for value in values {
                new.push(preparation.evaluator.evaluate(exec, value, row)?);
            }
            rules::generate(exec, &statement.generated, &mut new)?;
            rules::check(exec, &statement.table, &statement.checks, &new)?;
            Write::Insert(new)
        }
        _ => return Ok(None),
    };
    let (Write::Insert(now) | Write::Replace { new: now, .. } | Write::Remove { old: now, .. }) = &write;
    exec.memory.take(row_bytes(now))?;
    Ok(Some(write))
}

fn second_time() -> SqlError {
    SqlError::new(state::CARDINALITY_VIOLATION, "MERGE command cannot affect row a second time")
        .hint("Ensure that not more than one source row matches any one target row.")
}
