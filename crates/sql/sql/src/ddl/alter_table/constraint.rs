//! ADD CONSTRAINT.

use crate::alter::name::fold;
use crate::alter::table::store;
use crate::alter::{constraint, foreign_key};
use crate::catalog::Table;
use crate::context::Change;
use crate::ddl::constraint::{add_foreign_key, new_key};
use crate::error::Result;
use syntax::ast::{Constraint, ConstraintKind};

/// Adds a constraint to a table, and verifies it over the existing rows unless it is NOT VALID.
///
/// # Errors
/// 23502, 23503, 23505, 23514.
pub(super) fn add(change: &mut Change<'_>, table: &mut Table, written: &Constraint) -> Result<()> {
    let name = written.name.as_ref().map(fold);
    match &written.kind {
        ConstraintKind::Key(key) => constraint::add_key_to_rows(change, table, name.as_deref(), &new_key(key)),
        ConstraintKind::Check(condition) => {
            constraint::add_check(change, table, name.as_deref(), condition.to_string())?;
            if let Some(check) = table.checks.last_mut() {
                check.not_valid = written.not_valid;
            }
            if let Some(check) = table.checks.last().filter(|check| !check.not_valid) {
                constraint::verify_check(&mut change.exec, table, check)?;
            }
            store(change, table)
        }
        ConstraintKind::Foreign(key) => {
            add_foreign_key(change, table, name, key)?;
            if let Some(key) = table.foreign_keys.last_mut() {
                key.not_valid = written.not_valid;
            }
            store(change, table)?;
            match table.foreign_keys.last().filter(|key| !key.not_valid) {
                Some(key) => foreign_key::verify(&mut change.exec, table, key),
                None => Ok(()),
            }
        }
    }
}
