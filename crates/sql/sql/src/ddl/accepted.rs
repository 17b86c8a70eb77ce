//! Statements that programs and dumps contain and that need little or no work here (privileges, VACUUM, ANALYZE): every role may do
//! everything, memory is reclaimed without a statement, and there are no statistics.

use super::role::named;
use crate::alter::name::{fold, no_relation, split};
use crate::catalog::{self, Relation, Table};
use crate::context::{Change, Exec, Names};
use crate::error::{Result, SqlError, state};
use std::time::Duration;
use syntax::ast::{Lock, Maintenance, ObjectName, Privileges};

/// GRANT and REVOKE: the relations and roles must be there. Nothing checks privileges.
///
/// # Errors
/// 42P01, 42704
pub(super) fn privileges(change: &mut Change<'_>, privileges: &Privileges, notices: &mut Vec<SqlError>) -> Result<()> {
    privileges.relations.iter().try_for_each(|name| must_exist(&mut change.names(), name))?;
    for role in &privileges.roles {
        named(change, role)?;
    }
    let command = if privileges.is_grant { "GRANT" } else { "REVOKE" };
    let message = format!("{command} has no effect: every role may do everything");
    notices.push(SqlError::new(state::WARNING, message));
    Ok(())
}

/// VACUUM, ANALYZE, REINDEX, CLUSTER: the relations must be there.
///
/// # Errors
/// 42P01, 42704
pub(super) fn maintenance(names: &mut Names<'_>, maintenance: &Maintenance, notices: &mut Vec<SqlError>) -> Result<()> {
    maintenance.names.iter().try_for_each(|name| must_exist(names, name))?;
    let (Some(index), Some(name)) = (&maintenance.index, maintenance.names.first()) else { return Ok(()) };
    let (schema, name) = split(name)?;
    match names.relation(schema.as_deref(), &name)? {
        Some(Relation::Table(table)) => check_order(&table, &fold(index), notices),
        _ => Ok(()),
    }
}

/// CLUSTER by an index: rows are in the order of the primary key, and in no other.
///
/// # Errors
/// 42704
pub(super) fn check_order(table: &Table, index: &str, notices: &mut Vec<SqlError>) -> Result<()> {
    let Some(found) = table.indexes.iter().find(|found| found.name == index) else {
        let message = format!("index \"{index}\" for table \"{}\" does not exist", table.name);
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    if !found.is_row_key() {
        let message = format!("CLUSTER by \"{index}\" has no effect: rows are stored in the order of the primary key");
        notices.push(SqlError::new(state::WARNING, message));
    }
    Ok(())
}

/// A relation that a statement names, and does nothing to.
///
/// # Errors
/// 42P01
fn must_exist(names: &mut Names<'_>, name: &ObjectName) -> Result<()> {
    let (schema, name) = split(name)?;
    if names.relation(schema.as_deref(), &name)?.is_none()
        && (catalog::built_in().table)(schema.as_deref(), &name).is_none()
    {
        return Err(no_relation(schema.as_deref(), &name));
    }
    Ok(())
}

/// The longest that others' commits hold a definition: NOWAIT is about those that are held for longer.
const COMMIT: Duration = Duration::from_millis(20);

/// LOCK TABLE: rewrites the definition, so that every user of the table is ordered before or after. The modes that statements over
/// rows take by themselves have no more to do than find the table.
///
/// # Errors
/// 42P01, 42809, errors of the engine.
pub(super) fn lock(change: &mut Change<'_>, lock: &Lock) -> Result<()> {
    for name in &lock.names {
        let (schema, name) = split(name)?;
        let unavailable = || {
            let message = format!("could not obtain lock on relation \"{name}\"");
            SqlError::new(state::LOCK_NOT_AVAILABLE, message)
        };
        let found = match lock.nowait {
            true => {
                let find = |exec: &mut Exec<'_>| exec.names().relation(schema.as_deref(), &name);
                change.exec.waiting_at_most(COMMIT, unavailable, find)
            }
            false => change.names().relation(schema.as_deref(), &name),
        };
        match found? {
            Some(Relation::Table(_) | Relation::View(_)) if lock.is_weak => {}
            Some(relation @ (Relation::Table(_) | Relation::View(_))) if lock.nowait => {
                change.waiting_at_most(Duration::ZERO, unavailable, |change| change.replace(relation))?;
            }
            Some(relation @ (Relation::Table(_) | Relation::View(_))) => change.replace(relation)?,
            Some(_) => {
                let message = format!("cannot lock relation \"{name}\"");
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            None => return Err(no_relation(schema.as_deref(), &name)),
        }
    }
    Ok(())
}
