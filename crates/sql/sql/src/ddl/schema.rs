//! CREATE SCHEMA, ALTER SCHEMA.

use super::owned;
use super::role::named;
use crate::alter::name::{fold, no_schema, parts};
use crate::alter::rename;
use crate::catalog::Namespace;
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{AlterAction, CreateSchema, ObjectName};

/// Runs CREATE SCHEMA.
pub(super) fn create(change: &mut Change<'_>, create: &CreateSchema, notices: &mut Vec<SqlError>) -> Result<()> {
    let owner = match &create.owner {
        Some(owner) => Some(named(change, owner)?),
        None => None,
    };
    let name = match (&create.name, &owner) {
        (Some(name), _) => parts(name).join("."),
        (None, owner) => owner.as_ref().map(|owner| owner.name.clone()).unwrap_or_default(),
    };
    if change.names().namespace(&name)?.is_some() {
        let message = format!("schema \"{name}\" already exists");
        if !create.if_not_exists {
            return Err(SqlError::new(state::DUPLICATE_SCHEMA, message));
        }
        notices.push(SqlError::new(state::DUPLICATE_SCHEMA, format!("{message}, skipping")));
        return Ok(());
    }
    check_name(&name)?;
    let oid = change.fresh_oid()?;
    change.insert_namespace(&Namespace { oid, name, comment: None })?;
    match owner {
        Some(owner) => change.set_owner(oid, owner.oid),
        None => change.own(oid),
    }
}

/// Applies one action of ALTER SCHEMA.
pub(super) fn alter(change: &mut Change<'_>, name: &ObjectName, action: &AlterAction) -> Result<()> {
    let name = parts(name).join(".");
    let old = change.names().namespace(&name)?.ok_or_else(|| no_schema(&name))?;
    match action {
        AlterAction::Owner(role) => owned::set_owner(change, old.oid, role),
        AlterAction::Rename(new) => {
            let new = fold(new);
            if change.names().namespace(&new)?.is_some() {
                let message = format!("schema \"{new}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_SCHEMA, message));
            }
            check_name(&new)?;
            rename::schema(change, old, &new)
        }
        _ => Err(SqlError::unsupported("this form of ALTER SCHEMA")),
    }
}

/// Names that begin like those of the system are its own.
///
/// # Errors
/// 42939
fn check_name(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        return Err(SqlError::new(state::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
            .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}
