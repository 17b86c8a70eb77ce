//! Tables: their definitions, storage and owned sequences.

use super::composite::relation_of_rows;
use super::name::no_relation;
use super::rows::leave_all;
use super::{expression, sequence};
use crate::catalog::{IndexEntry, KeyForm, Oid, Relation, Sequence, Storage, Table};
use crate::context::{Change, Names, name_taken};
use crate::error::{Result, SqlError, state};
use crate::types::{Scalar, Type};
use std::sync::Arc;

/// Returns whether the name is taken and IF NOT EXISTS accepts that.
///
/// # Errors
/// 42P07 if the name is taken otherwise.
pub(crate) fn exists(
    names: &mut Names<'_>,
    schema: &str,
    name: &str,
    if_not_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<bool> {
    if names.relation_in(schema, name)?.is_none() {
        return Ok(false);
    }
    if !if_not_exists {
        return Err(name_taken(name));
    }
    let message = format!("relation \"{name}\" already exists, skipping");
    notices.push(SqlError::new(state::DUPLICATE_TABLE, message));
    Ok(true)
}

/// An empty definition, before the table's storage is known.
pub(crate) fn empty(change: &mut Change<'_>, schema: String, name: String) -> Result<Table> {
    let is_temporary = change.names().temporary_schema().as_ref() == Some(&schema);
    Ok(Table {
        oid: change.fresh_oid()?,
        schema,
        name,
        version: 0,
        columns: Vec::new(),
        storage: Storage { table: u32::MAX, key: KeyForm::RowNumber },
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        comment: None,
        temporary: is_temporary,
        triggers_disabled: false,
        on_commit: None,
    })
}

/// Creates the engine tables of a new table.
pub(crate) fn make_storage(change: &mut Change<'_>, table: &mut Table) -> Result<()> {
    let key = key_form(table);
    table.storage = change.create_row_storage(table.oid, &table.columns, key)?;
    for index in table.indexes.iter_mut().filter(|index| !index.is_row_key() || index.storage.is_some()) {
        index.storage = Some(change.create_index_storage(table.oid)?);
    }
    Ok(())
}

/// Enters the sequence that a column of the table owns.
pub(crate) fn insert_owned(change: &mut Change<'_>, table: &Table, at: usize, sequence: Sequence) -> Result<()> {
    let number = u16::try_from(at + 1).unwrap_or(u16::MAX);
    let sequence = Sequence { owned_by: Some((table.oid, number)), ..sequence };
    change.insert(Relation::Sequence(Arc::new(sequence)))
}

/// Enters a table and its indexes.
pub(crate) fn insert(change: &mut Change<'_>, table: Table) -> Result<()> {
    note_dependencies(change, &table)?;
    for index in &table.indexes {
        insert_index_entry(change, &table, index.oid, &index.name)?;
    }
    change.insert(Relation::Table(Arc::new(table)))
}

/// Enters the name of an index.
pub(crate) fn insert_index_entry(change: &mut Change<'_>, table: &Table, oid: u32, name: &str) -> Result<()> {
    let entry = IndexEntry { oid, schema: table.schema.clone(), name: name.to_owned(), table: table.oid };
    change.insert(Relation::Index(entry))
}

/// The form of the keys of a table's rows.
pub(crate) fn key_form(table: &Table) -> KeyForm {
    let Some(primary) = table.row_key() else { return KeyForm::RowNumber };
    let types: Vec<Type> =
        primary.columns.iter().filter_map(|at| table.columns.get(*at)).map(|column| column.data_type).collect();
    match types[..] {
        [Type { scalar: Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Date, is_array: false }] => KeyForm::Eight,
        _ => KeyForm::Columns,
    }
}

/// The table as it is now.
pub(crate) fn load(names: &mut Names<'_>, oid: Oid) -> Result<Table> {
    match names.relation_by_oid(oid)? {
        Some(Relation::Table(table)) => Ok(Arc::unwrap_or_clone(table)),
        _ => Err(no_relation(None, &oid.to_string())),
    }
}

/// Enters the changed definition.
pub(crate) fn store(change: &mut Change<'_>, table: &Table) -> Result<()> {
    change.replace(Relation::Table(Arc::new(table.clone())))
}

/// Records which sequences the defaults of a table call, and of which relations' rows its columns are, so that dropping one finds
/// its dependents.
pub(crate) fn note_dependencies(change: &mut Change<'_>, table: &Table) -> Result<()> {
    change.forget_dependencies(table.oid)?;
    for (_, column) in table.live_columns() {
        change.depend(table.oid, relation_of_rows(column.data_type))?;
        if let Some(default) = &column.default {
            let called = expression::sequences(&mut change.names(), default)?;
            change.depend(table.oid, called)?;
        }
    }
    Ok(())
}

/// Gives a table new, empty storage. `restarts` restarts its sequences.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn truncate(change: &mut Change<'_>, mut table: Table, restarts: bool) -> Result<()> {
    leave_all(change, &table);
    make_storage(change, &mut table)?;
    if restarts {
        for oid in table.columns.iter().filter_map(|column| column.sequence) {
            if let Some(Relation::Sequence(sequence)) = change.names().relation_by_oid(oid)? {
                let start = sequence.start;
                sequence::restart(change, Arc::unwrap_or_clone(sequence), start)?;
            }
        }
    }
    change.replace(Relation::Table(Arc::new(table)))
}
