//! Keys that are checked at COMMIT.

use super::unique::{self, UniqueKey};
use super::{Constraint, KeyChecks, too_much};
use crate::catalog::{Oid, Relation, Table};
use crate::context::{Exec, Names};
use crate::env::{Check, Side};
use crate::error::{Result, SqlError, state};
use crate::types::Row;
use std::sync::Arc;

/// Defers a check of a table's constraint.
pub(super) fn keep(exec: &mut Exec<'_>, (table, constraint): (Oid, Oid), values: Row, side: Side) -> Result<()> {
    let check = Check { table, constraint, side, values };
    if exec.defer_check(check)? { Ok(()) } else { Err(too_much(exec)) }
}

/// Checks what was deferred to the end of the transaction, and forgets it.
///
/// # Errors
/// 23503, 23505.
pub fn check_deferred(exec: &mut Exec<'_>) -> Result<()> {
    let deferred = std::mem::take(exec.deferred());
    exec.transaction.set_reads_wait(true);
    run(exec, deferred.checks)
}

/// SET CONSTRAINTS: constraints of these names (none: all) are checked at COMMIT, or at once; then deferred checks run now.
///
/// # Errors
/// 42704 for an unknown name, 42809 for a constraint that is not deferrable, 23503, 23505.
pub fn set_constraints(exec: &mut Exec<'_>, names: &[String], deferred: bool) -> Result<()> {
    let oids = named(&mut exec.names(), names)?;
    let session = exec.deferred();
    if names.is_empty() {
        session.all = Some(deferred);
        session.named.clear();
    }
    session.named.extend(oids.iter().map(|oid| (*oid, deferred)));
    if deferred {
        return Ok(());
    }
    let waiting = std::mem::take(&mut session.checks);
    let (now, later) = waiting.into_iter().partition(|check| names.is_empty() || oids.contains(&check.constraint));
    session.checks = later;
    let checked = run(exec, now);
    exec.deferred().give_back();
    checked
}

/// The deferrable constraints of these names.
fn named(catalog: &mut Names<'_>, names: &[String]) -> Result<Vec<Oid>> {
    if names.is_empty() {
        return Ok(vec![]);
    }
    let relations = catalog.relations()?;
    let tables = relations.iter().filter_map(|relation| match relation {
        Relation::Table(table) => Some(&**table),
        _ => None,
    });
    let all: Vec<(&str, Oid, bool)> = tables.flat_map(constraints).collect();
    let mut oids = vec![];
    for name in names {
        let found = oids.len();
        for &(_, oid, deferrable) in all.iter().filter(|(other, ..)| other == name) {
            if !deferrable {
                let message = format!("constraint \"{name}\" is not deferrable");
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            oids.push(oid);
        }
        if oids.len() == found {
            return Err(SqlError::new(state::UNDEFINED_OBJECT, format!("constraint \"{name}\" does not exist")));
        }
    }
    Ok(oids)
}

/// The constraints of a table: their names, their identifiers, and whether they are deferrable.
fn constraints(table: &Table) -> impl Iterator<Item = (&str, Oid, bool)> {
    let foreign = table.foreign_keys.iter().map(|key| (&*key.name, key.oid, key.deferrable));
    let keys = table.indexes.iter().filter(|index| index.constraint);
    let keys = keys.map(|index| (&*index.name, index.oid, index.deferrable));
    foreign.chain(keys).chain(table.checks.iter().map(|check| (&*check.name, check.oid, false)))
}

fn run(exec: &mut Exec<'_>, checks: Vec<Arc<Check>>) -> Result<()> {
    let mut key_checks = KeyChecks { stale: true, ..KeyChecks::default() };
    for check in checks {
        exec.check_cancel()?;
        // A table or constraint that was dropped in the meantime has nothing left to check.
        let Some(Relation::Table(table)) = exec.names().relation_by_oid(check.table)? else { continue };
        if check.side == Side::Unique {
            let Some(key) = UniqueKey::find(table, check.constraint) else { continue };
            unique::check(exec, &key, &check.values)?;
            continue;
        }
        let Some(at) = table.foreign_keys.iter().position(|key| key.oid == check.constraint) else { continue };
        let constraint = Constraint { child: table, at };
        match check.side {
            Side::Departure => key_checks.check_departure(exec, &constraint, &check.values)?,
            _ => key_checks.check_reference(exec, &constraint, &check.values)?,
        }
    }
    Ok(())
}
