//! Foreign keys that are checked at COMMIT.

use super::{Constraint, ForeignKeys, too_much};
use crate::catalog::{ForeignKey, Oid, Relation};
use crate::context::{Exec, Names};
use crate::env::{Check, Side};
use crate::error::{Result, SqlError, state};
use crate::types::Row;
use std::sync::Arc;

/// Defers a check.
pub(super) fn keep(exec: &mut Exec<'_>, constraint: &Constraint, values: Row, side: Side) -> Result<()> {
    let check = Check { child: constraint.child.oid, constraint: constraint.key().oid, side, values };
    if exec.defer_check(check)? { Ok(()) } else { Err(too_much(exec)) }
}

/// Checks what was deferred to the end of the transaction, and forgets it.
///
/// # Errors
/// 23503.
pub fn check_deferred(exec: &mut Exec<'_>) -> Result<()> {
    let deferred = std::mem::take(exec.deferred());
    exec.transaction.set_reads_wait(true);
    run(exec, deferred.checks)
}

/// SET CONSTRAINTS: foreign keys of these names (none: all) are checked at COMMIT, or at once; then deferred checks run now.
///
/// # Errors
/// 42704 for an unknown name, 42809 for a constraint that is not deferrable, 23503.
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

/// The deferrable foreign keys of these names.
fn named(catalog: &mut Names<'_>, names: &[String]) -> Result<Vec<Oid>> {
    if names.is_empty() {
        return Ok(vec![]);
    }
    let relations = catalog.relations()?;
    let keys = relations.iter().flat_map(|relation| match relation {
        Relation::Table(table) => &table.foreign_keys[..],
        _ => &[],
    });
    let keys: Vec<&ForeignKey> = keys.collect();
    let mut oids = vec![];
    for name in names {
        let found = oids.len();
        for key in keys.iter().filter(|key| key.name == *name) {
            if !key.deferrable {
                let message = format!("constraint \"{name}\" is not deferrable");
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            oids.push(key.oid);
        }
        if oids.len() == found {
            return Err(SqlError::new(state::UNDEFINED_OBJECT, format!("constraint \"{name}\" does not exist")));
        }
    }
    Ok(oids)
}

fn run(exec: &mut Exec<'_>, checks: Vec<Arc<Check>>) -> Result<()> {
    let mut foreign_keys = ForeignKeys { stale: true, ..ForeignKeys::default() };
    for check in checks {
        exec.check_cancel()?;
        // A table or constraint that was dropped in the meantime has nothing left to check.
        let Some(Relation::Table(child)) = exec.names().relation_by_oid(check.child)? else { continue };
        let Some(at) = child.foreign_keys.iter().position(|key| key.oid == check.constraint) else { continue };
        let constraint = Constraint { child, at };
        match check.side {
            Side::Reference => foreign_keys.check_reference(exec, &constraint, &check.values)?,
            Side::Departure => foreign_keys.check_departure(exec, &constraint, &check.values)?,
        }
    }
    Ok(())
}
