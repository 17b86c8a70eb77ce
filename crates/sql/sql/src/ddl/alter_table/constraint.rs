//! ADD CONSTRAINT.

use crate::alter::table::store;
use crate::alter::{constraint, foreign_key};
use crate::catalog::Table;
use crate::context::Change;
use crate::ddl::constraint::{Wish, add_foreign_key};
use crate::error::Result;
use syntax::ast::TableConstraint;

/// ADD CONSTRAINT.
pub(super) fn add(change: &mut Change<'_>, mut table: Table, written: &TableConstraint) -> Result<()> {
    add_wish(change, &mut table, Wish::of(written)?)
}

/// Adds a constraint to a table, and verifies it on the rows that are there.
///
/// # Errors
/// 23502, 23503, 23505, 23514.
pub(super) fn add_wish(change: &mut Change<'_>, table: &mut Table, wish: Wish<'_>) -> Result<()> {
    match wish {
        Wish::Key { name, columns, primary } => {
            constraint::add_key_to_rows(change, table, name.as_deref(), &columns, primary)
        }
        Wish::Check { name, condition } => {
            constraint::add_check(change, table, name.as_deref(), condition.to_string())?;
            if let Some(check) = table.checks.last() {
                constraint::verify_check(&mut change.exec, table, check)?;
            }
            store(change, table)
        }
        Wish::Foreign { name, columns, key } => {
            add_foreign_key(change, table, name, &columns, key)?;
            store(change, table)?;
            match table.foreign_keys.last() {
                Some(key) => foreign_key::verify(&mut change.exec, table, key),
                None => Ok(()),
            }
        }
    }
}
