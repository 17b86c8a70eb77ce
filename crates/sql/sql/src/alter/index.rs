//! Indexes.

use super::rows::fill_index;
use super::table::{insert_index_entry, store};
use crate::catalog::{Index, Oid, Relation, Table};
use crate::context::Change;
use crate::error::Result;
use std::sync::Arc;

/// Adds an index to a table: creates its storage, and fills it.
///
/// # Errors
/// 23505 if two rows have equal values in a unique index.
pub(crate) fn add(change: &mut Change<'_>, mut table: Table, index: Index) -> Result<()> {
    let index = Index { storage: Some(change.create_index_storage(table.oid)?), ..index };
    insert_index_entry(change, &table, index.oid, &index.name)?;
    fill_index(&mut change.exec, &table, &index)?;
    table.indexes.push(index);
    store(change, &table)
}

/// Removes an index from its table's definition.
pub(crate) fn remove(change: &mut Change<'_>, table: Oid, index: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(at) = table.indexes.iter().position(|other| other.oid == index)
        && let Some(storage) = table.indexes.remove(at).storage
    {
        change.leave_storage(table.oid, storage);
    }
    change.replace(Relation::Table(Arc::new(table)))
}
