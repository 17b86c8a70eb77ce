//! ADD CONSTRAINT, DROP CONSTRAINT.

use super::{check_not_null, no_constraint, store, verify_check, verify_not_null};
use crate::catalog::{Relation, Table};
use crate::context::Change;
use crate::ddl::constraint::{Wish, add_check, add_foreign_key, add_key};
use crate::ddl::create_table::insert_index_entry;
use crate::ddl::drop::drop_referring;
use crate::ddl::foreign_key;
use crate::ddl::name::Given;
use crate::ddl::rows::{fill_index, rewrite};
use crate::error::{Result, SqlError, state};
use syntax::ast::TableConstraint;

/// ADD CONSTRAINT.
pub(super) fn add(change: &mut Change<'_>, mut table: Table, constraint: &TableConstraint) -> Result<()> {
    add_wish(change, &mut table, Wish::of(constraint)?)
}

/// Adds a constraint to a table, and verifies it on the rows that are there.
///
/// # Errors
/// 23502, 23503, 23505, 23514.
pub(super) fn add_wish(change: &mut Change<'_>, table: &mut Table, wish: Wish<'_>) -> Result<()> {
    match wish {
        Wish::Key { name, columns, primary } => {
            let old = table.clone();
            let at = add_key(change, table, &mut Given::default(), name.as_deref(), &columns, primary)?;
            let index = table.indexes[at].clone();
            if primary {
                verify_not_null(&mut change.exec, &old, &index.columns)?;
                rewrite(change, &old, table, |_, row| Ok(row))?;
            } else {
                table.indexes[at].storage = Some(change.create_index_storage(table.oid)?);
                let index = table.indexes[at].clone();
                fill_index(&mut change.exec, table, &index)?;
            }
            insert_index_entry(change, table, index.oid, &index.name)?;
            store(change, table)
        }
        Wish::Check { name, condition } => {
            add_check(change, table, name.as_deref(), condition)?;
            if let Some(check) = table.checks.last() {
                verify_check(&mut change.exec, table, check)?;
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

/// DROP CONSTRAINT.
pub(super) fn drop(
    change: &mut Change<'_>,
    mut table: Table,
    name: &str,
    if_exists: bool,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    if let Some(at) = table.checks.iter().position(|check| check.name == name) {
        table.checks.remove(at);
        return store(change, &table);
    }
    if let Some(at) = table.foreign_keys.iter().position(|key| key.name == name) {
        drop_foreign_key(change, &mut table, at)?;
        return store(change, &table);
    }
    if let Some(at) = table.indexes.iter().position(|index| index.constraint && index.name == name) {
        let index = table.indexes[at].oid;
        let what = format!("constraint {name} on table {}", table.name);
        drop_referring(change, &table, index, &what, cascade, notices)?;
        return drop_key(change, table.oid, index);
    }
    let error = no_constraint(&table, name);
    if if_exists {
        let message = format!("{}, skipping", error.message());
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
        return Ok(());
    }
    Err(error)
}

/// Removes a foreign key from the definition.
pub(super) fn drop_foreign_key(change: &mut Change<'_>, table: &mut Table, at: usize) -> Result<()> {
    let key = table.foreign_keys.remove(at);
    let remaining = table.foreign_keys.clone();
    foreign_key::detach(change, table, &key, &remaining)
}

/// Removes an index, of a constraint or not. Without its primary key a table's rows are numbered.
pub(super) fn drop_key(change: &mut Change<'_>, table: u32, index: u32) -> Result<()> {
    if let Some(entry @ Relation::Index(_)) = change.names().relation_by_oid(index)? {
        change.remove(&entry)?;
    }
    let old = super::load(&mut change.names(), table)?;
    let Some(at) = old.indexes.iter().position(|other| other.oid == index) else { return Ok(()) };
    if !old.indexes[at].primary {
        return crate::ddl::drop::remove_index(change, table, index);
    }
    let mut new = old.clone();
    new.indexes.remove(at);
    rewrite(change, &old, &mut new, |_, row| Ok(row))?;
    store(change, &new)
}

/// Constraints that were written beside a new column whose rows are filled already.
pub(super) fn add_beside(change: &mut Change<'_>, table: &mut Table, wishes: Vec<Wish<'_>>) -> Result<()> {
    wishes.into_iter().try_for_each(|wish| add_wish(change, table, wish))
}

/// NOT NULL of one column over a row, for rows that are being made.
pub(super) fn check_new_row(table: &Table, at: usize, row: &[crate::types::Datum]) -> Result<()> {
    if table.columns[at].not_null { check_not_null(table, &[at], row) } else { Ok(()) }
}
