//! CREATE and DROP EXTENSION. What an extension brings is built in, whether it was created or not: its row says that it was.

use crate::alter::name::{fold, parts};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{CreateExtension, Drop};

/// Runs CREATE EXTENSION. What is there in part warns.
///
/// # Errors
/// 42710, 0A000, errors of the engine.
pub(super) fn create(change: &mut Change<'_>, create: &CreateExtension, notices: &mut Vec<SqlError>) -> Result<()> {
    let name = fold(&create.name);
    if !matches!(name.as_str(), "plpgsql" | "uuid-ossp" | "pgcrypto") {
        let message = format!("extension \"{name}\" is not available");
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
            .hint("Built in are uuid-ossp, and gen_random_uuid() of pgcrypto."));
    }
    if name == "plpgsql" || change.names().extensions()?.iter().any(|(known, _)| *known == name) {
        let message = format!("extension \"{name}\" already exists");
        if !create.if_not_exists {
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
        }
        notices.push(SqlError::new(state::DUPLICATE_OBJECT, format!("{message}, skipping")));
        return Ok(());
    }
    if name == "pgcrypto" {
        let message = "of extension \"pgcrypto\" only gen_random_uuid() is built in";
        notices.push(SqlError::new(state::WARNING, message));
    }
    let oid = change.fresh_oid()?;
    change.put_extension(&name, oid)
}

/// Runs DROP EXTENSION. Nothing depends on it: its functions stay.
///
/// # Errors
/// 42704, errors of the engine.
pub(super) fn drop(change: &mut Change<'_>, statement: &Drop, notices: &mut Vec<SqlError>) -> Result<()> {
    for name in &statement.names {
        let name = parts(name).join(".");
        if !change.remove_extension(&name)? {
            super::drop::skip_absent("extension", &name, statement.if_exists, notices)?;
        }
    }
    Ok(())
}
