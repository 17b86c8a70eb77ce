//! Statements that write each row as soon as it is read, so that their memory does not grow with the number of rows.
//!
//! A statement must not see what it has written itself. One that reads all its rows first (`write.rs`) never does. Here that
//! follows from what it reads:
//! - an INSERT reads other tables only;
//! - an UPDATE or DELETE reads its table by one scan, and otherwise not at all. A scan goes through its index in one direction
//!   and never returns to an earlier position; a row that was removed, or changed in place, is behind it. So an UPDATE may
//!   change neither the row's key nor a column of the index that is scanned, nor one that it computes with (else the row could
//!   come again: the "Halloween problem").
//!
//! Foreign keys are checked at the end of the statement, as always: their actions change rows after everything is read.

use super::update::change;
use super::write::{Preparation, Write};
use super::{Changed, KeyChecks, returning, rules, source};
use crate::catalog::{Oid, Table};
use crate::context::Exec;
use crate::error::Result;
use crate::exec::Cursor;
use crate::plan::{Assignment, Delete, Expr, IndexRules, Insert, Path, Plan, Returning, Scan, Update};
use crate::types::Row;
use std::sync::Arc;

/// Returns whether an INSERT can write as it reads.
pub(super) fn can_insert(statement: &Insert) -> bool {
    let table = statement.table.oid;
    statement.on_conflict.is_none()
        && scans(&statement.source, table) == 0
        && !returning_reads(statement.returning.as_ref(), table)
}

/// Returns whether an UPDATE can write as it reads.
pub(super) fn can_update(statement: &Update) -> bool {
    let Update { table, source, assignments, generated, returning, .. } = statement;
    let changes = |columns: &[usize]| {
        let computed = generated.iter().map(|(column, _)| *column);
        assignments.iter().flat_map(Assignment::columns).chain(computed).any(|column| columns.contains(&column))
    };
    let Some(scan) = sole_scan(source, table.oid) else { return false };
    let is_reached_again = match &scan.path {
        Path::All => false,
        Path::Index { index, .. } | Path::Alternatives { index, .. } | Path::AnyOf { index, .. } => {
            let computes = |index| statement.rules.of(index).is_some_and(|rule| changes(&rule.columns));
            table.indexes.get(*index).is_none_or(|index| changes(&index.columns) || computes(index))
        }
    };
    let moves = table.row_key().is_some_and(|index| changes(&index.columns));
    let reads = assignments.iter().flat_map(Assignment::expressions).any(|value| reads(value, table.oid));
    !is_reached_again && !moves && !reads && !returning_reads(returning.as_ref(), table.oid)
}

/// Returns whether a DELETE can write as it reads.
pub(super) fn can_delete(statement: &Delete) -> bool {
    let table = statement.table.oid;
    sole_scan(&statement.source, table).is_some() && !returning_reads(statement.returning.as_ref(), table)
}

/// The scan of the table that gives the plan's rows, if it alone does, and the plan reads the table nowhere else.
fn sole_scan(plan: &Plan, table: Oid) -> Option<&Scan> {
    let mut at = plan;
    loop {
        at = match at {
            Plan::Scan(scan) => return (scan.table.oid == table && scans(plan, table) == 1).then_some(scan),
            Plan::Filter { input, .. } | Plan::Project { input, .. } | Plan::Lock { input, .. } => input,
            _ => return None,
        };
    }
}

/// Number of times that a plan reads a table.
fn scans(plan: &Plan, table: Oid) -> usize {
    let mut count = 0;
    plan.walk(&mut |plan| {
        if let Plan::Scan(scan) = plan {
            count += usize::from(scan.table.oid == table);
        }
    });
    count
}

fn reads(expression: &Expr, table: Oid) -> bool {
    expression.any(|part| part.subquery().is_some_and(|subquery| scans(&subquery.plan, table) > 0))
}

fn returning_reads(returning: Option<&Returning>, table: Oid) -> bool {
    returning.is_some_and(|returning| returning.columns.iter().any(|column| reads(column, table)))
}

/// Inserts the source's rows.
pub(super) fn insert(exec: &mut Exec<'_>, statement: &Insert) -> Result<Changed> {
    let Insert { table, rules, generated, checks, returning, .. } = statement;
    each(exec, (table, rules), (&statement.source, false), Some(checks), |exec, mut row, preparation, returned| {
        rules::generate(exec, generated, &mut row)?;
        returned.extend(returning::inserted(exec, preparation, returning.as_ref(), &row, false)?);
        Ok(Write::Insert(row))
    })
}

/// Updates the source's rows.
pub(super) fn update(exec: &mut Exec<'_>, statement: &Update) -> Result<Changed> {
    each(
        exec,
        (&statement.table, &statement.rules),
        (&statement.source, true),
        Some(&statement.checks),
        |exec, row, preparation, returned| {
            let key = source::key_of(&statement.table, &row)?;
            change(exec, statement, key, row, preparation, returned)
        },
    )
}

/// Deletes the source's rows.
pub(super) fn delete(exec: &mut Exec<'_>, statement: &Delete) -> Result<Changed> {
    let Delete { table, rules, returning, .. } = statement;
    each(exec, (table, rules), (&statement.source, true), None, |exec, mut row, preparation, returned| {
        let key = source::key_of(table, &row)?;
        returned.extend(returning::row(exec, preparation, returning.as_ref(), &row)?);
        row.truncate(table.columns.len());
        Ok(Write::Remove { key, old: row })
    })
}

/// Writes what `make` makes of each row.
fn each(
    exec: &mut Exec<'_>,
    target: (&Arc<Table>, &IndexRules),
    (source, source_waits): (&Arc<Plan>, bool),
    checks: Option<&[Expr]>,
    mut make: impl FnMut(&mut Exec<'_>, Row, &mut Preparation, &mut Vec<Row>) -> Result<Write>,
) -> Result<Changed> {
    let (mut changed, mut key_checks) = (Changed::default(), KeyChecks::default());
    let mut preparation = Preparation::default();
    let mut cursor = Cursor::new(source.clone());
    loop {
        // It only reads the source of an INSERT; it waits for rows that it is going to change, and for conflicting rows.
        exec.transaction.set_reads_wait(source_waits);
        let next = cursor.next(exec)?;
        exec.transaction.set_reads_wait(true);
        let Some(row) = next else { break };
        let write = make(exec, row, &mut preparation, &mut changed.returned)?;
        changed.count(write.apply(exec, target, checks, &mut key_checks)?, exec)?;
    }
    key_checks.finish(exec)?;
    Ok(changed)
}
