//! CREATE SCHEMA.

use crate::alter::name::{fold, parts};
use crate::catalog::Namespace;
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::SchemaName;

/// Runs CREATE SCHEMA.
pub(super) fn create(
    change: &mut Change<'_>,
    name: &SchemaName,
    if_not_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let name = match name {
        SchemaName::Simple(name) => parts(name)?.join("."),
        SchemaName::UnnamedAuthorization(role) => {
            super::accepted::check_role(&fold(role))?;
            fold(role)
        }
        SchemaName::NamedAuthorization(name, role) => {
            super::accepted::check_role(&fold(role))?;
            parts(name)?.join(".")
        }
    };
    if change.names().namespace(&name)?.is_some() {
        let message = format!("schema \"{name}\" already exists");
        if !if_not_exists {
            return Err(SqlError::new(state::DUPLICATE_SCHEMA, message));
        }
        notices.push(SqlError::new(state::DUPLICATE_SCHEMA, format!("{message}, skipping")));
        return Ok(());
    }
    check_name(&name)?;
    let oid = change.fresh_oid()?;
    change.insert_namespace(&Namespace { oid, name, comment: None })
}

/// Names that begin like those of the system are its own.
///
/// # Errors
/// 42939
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        return Err(SqlError::new(state::RESERVED_NAME, format!("unacceptable schema name \"{name}\""))
            .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    Ok(())
}
