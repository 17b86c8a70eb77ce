//! ADD CONSTRAINT, DROP CONSTRAINT.

use super::{check_not_null, no_constraint, store, verify_check, verify_not_null};
use crate::catalog::{Relation, Table, create_index_storage, remove_relation};
use crate::context::Context;
use crate::ddl::constraint::{Wish, add_check, add_foreign_key, add_key};
use crate::ddl::create_table::insert_index_entry;
use crate::ddl::drop::drop_referring;
use crate::ddl::foreign_key;
use crate::ddl::name::Given;
use crate::ddl::rows::{fill_index, rewrite};
use crate::error::{Result, SqlError, state};
use syntax::ast::TableConstraint;

/// ADD CONSTRAINT.
pub(super) fn add(context: &mut Context<'_>, mut table: Table, constraint: &TableConstraint) -> Result<()> {
    add_wish(context, &mut table, Wish::of(constraint)?)
}

/// Adds a constraint to a table, and verifies it on the rows that are there.
///
/// # Errors
/// 23502, 23503, 23505, 23514.
pub(super) fn add_wish(context: &mut Context<'_>, table: &mut Table, wish: Wish<'_>) -> Result<()> {
    match wish {
        Wish::Key { name, columns, primary } => {
            let old = table.clone();
            let at = add_key(context, table, &mut Given::default(), name.as_deref(), &columns, primary)?;
            let index = table.indexes[at].clone();
            if primary {
                verify_not_null(context, &old, &index.columns)?;
                rewrite(context, &old, table, |_, row| Ok(row))?;
            } else {
                table.indexes[at].storage = Some(create_index_storage(context, table.oid)?);
                let index = table.indexes[at].clone();
                fill_index(context, table, &index)?;
            }
            insert_index_entry(context, table, index.oid, &index.name)?;
            store(context, table)
        }
        Wish::Check { name, condition } => {
            add_check(context, table, name.as_deref(), condition)?;
            if let Some(check) = table.checks.last() {
                verify_check(context, table, check)?;
            }
            store(context, table)
        }
        Wish::Foreign { name, columns, key } => {
            add_foreign_key(context, table, name, &columns, key)?;
            store(context, table)?;
            match table.foreign_keys.last() {
                Some(key) => foreign_key::verify(context, table, key),
                None => Ok(()),
            }
        }
    }
}

/// DROP CONSTRAINT.
pub(super) fn drop(
    context: &mut Context<'_>,
    mut table: Table,
    name: &str,
    if_exists: bool,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    if let Some(at) = table.checks.iter().position(|check| check.name == name) {
        table.checks.remove(at);
        return store(context, &table);
    }
    if let Some(at) = table.foreign_keys.iter().position(|key| key.name == name) {
        drop_foreign_key(context, &mut table, at)?;
        return store(context, &table);
    }
    if let Some(at) = table.indexes.iter().position(|index| index.constraint && index.name == name) {
        let index = table.indexes[at].oid;
        let what = format!("constraint {name} on table {}", table.name);
        drop_referring(context, &table, index, &what, cascade, notices)?;
        return drop_key(context, table.oid, index);
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
pub(super) fn drop_foreign_key(context: &mut Context<'_>, table: &mut Table, at: usize) -> Result<()> {
    let key = table.foreign_keys.remove(at);
    let remaining = table.foreign_keys.clone();
    foreign_key::detach(context, table, &key, &remaining)
}

/// Removes an index, of a constraint or not. Without its primary key a table's rows are numbered.
pub(super) fn drop_key(context: &mut Context<'_>, table: u32, index: u32) -> Result<()> {
    if let Some(entry @ Relation::Index(_)) = context.relation_by_oid(index)? {
        remove_relation(context, &entry)?;
    }
    let old = super::load(context, table)?;
    let Some(at) = old.indexes.iter().position(|other| other.oid == index) else { return Ok(()) };
    if !old.indexes[at].primary {
        return crate::ddl::drop::remove_index(context, table, index);
    }
    let mut new = old.clone();
    new.indexes.remove(at);
    rewrite(context, &old, &mut new, |_, row| Ok(row))?;
    store(context, &new)
}

/// Constraints that were written beside a new column whose rows are filled already.
pub(super) fn add_beside(context: &mut Context<'_>, table: &mut Table, wishes: Vec<Wish<'_>>) -> Result<()> {
    wishes.into_iter().try_for_each(|wish| add_wish(context, table, wish))
}

/// NOT NULL of one column over a row, for rows that are being made.
pub(super) fn check_new_row(table: &Table, at: usize, row: &[crate::types::Datum]) -> Result<()> {
    if table.columns[at].not_null { check_not_null(table, &[at], row) } else { Ok(()) }
}
