//! Constraints as CREATE TABLE and ALTER TABLE write them.

use super::foreign_key;
use crate::alter::constraint::{NewKey, constraint_taken};
use crate::alter::name::{self, fold};
use crate::catalog::Table;
use crate::context::Change;
use crate::error::Result;
use syntax::ast;

/// A key as it is written, with its names folded.
pub(super) fn new_key(key: &ast::Key) -> NewKey {
    NewKey {
        columns: key.columns.iter().map(fold).collect(),
        primary: key.primary,
        nulls_not_distinct: key.nulls_not_distinct,
        included: key.included.iter().map(fold).collect(),
        deferrable: key.deferrable,
        initially_deferred: key.initially_deferred,
    }
}

/// Adds a FOREIGN KEY to the definition, and makes the referenced table know it.
///
/// # Errors
/// 42710, and as [`foreign_key::resolve`].
pub(super) fn add_foreign_key(
    change: &mut Change<'_>,
    table: &mut Table,
    name: Option<String>,
    key: &ast::ForeignKey,
) -> Result<()> {
    let columns: Vec<String> = key.columns.iter().map(fold).collect();
    let name = match name {
        Some(name) if name::has_constraint(table, &name) => return Err(constraint_taken(table, &name)),
        Some(name) => name,
        None => name::constraint(table, &name::joined(columns.iter().map(String::as_str)), "fkey"),
    };
    let resolved = foreign_key::resolve(change, table, name, &columns, key)?;
    crate::alter::foreign_key::add(change, table, resolved)
}
