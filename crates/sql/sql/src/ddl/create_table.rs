//! CREATE TABLE.

use super::column::{self, check_expressions};
use super::constraint::{self, Wish};
use super::name::{Given, creation_schema, split};
use crate::catalog::{IndexEntry, KeyForm, Relation, Sequence, Storage, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::{self, ColumnDef, CreateTable, TableConstraint};

/// Runs CREATE TABLE.
pub(super) fn run(change: &mut Change<'_>, statement: &CreateTable, notices: &mut Vec<SqlError>) -> Result<String> {
    refuse(statement)?;
    let (schema, name) = split(&statement.name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, statement.temporary)?;
    if exists(&mut change.names(), &schema, &name, statement.if_not_exists, notices)? {
        return Ok(if statement.query.is_some() { "CREATE TABLE AS" } else { "CREATE TABLE" }.to_owned());
    }
    if let Some(query) = &statement.query {
        return super::table_as::run(change, schema, name, &statement.columns, query);
    }
    create(change, schema, name, &statement.columns, &statement.constraints)?;
    Ok("CREATE TABLE".to_owned())
}

/// Whether the name is taken, and that is fine.
///
/// # Errors
/// 42P07 if it is not.
pub(super) fn exists(
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
        return Err(crate::catalog::name_taken(name));
    }
    let message = format!("relation \"{name}\" already exists, skipping");
    notices.push(SqlError::new(state::DUPLICATE_TABLE, message));
    Ok(true)
}

fn refuse(statement: &CreateTable) -> Result<()> {
    let refused = [
        (statement.inherits.is_some(), "INHERITS"),
        (statement.partition_by.is_some() || statement.partition_of.is_some(), "partitioning"),
        (statement.like.is_some(), "LIKE in CREATE TABLE"),
        (statement.or_replace, "CREATE OR REPLACE TABLE"),
        (matches!(statement.on_commit, Some(ast::OnCommit::DeleteRows | ast::OnCommit::Drop)), "ON COMMIT"),
    ];
    match refused.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(SqlError::unsupported(what)),
        None => Ok(()),
    }
}

/// A table without anything, before its storage is known.
pub(super) fn empty(change: &mut Change<'_>, schema: String, name: String) -> Result<Table> {
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
    })
}

fn create(
    change: &mut Change<'_>,
    schema: String,
    name: String,
    columns: &[ColumnDef],
    constraints: &[TableConstraint],
) -> Result<()> {
    let mut table = empty(change, schema, name)?;
    let mut given = Given::default();
    given.take(&table.name)?;
    let (mut wishes, mut sequences) = (Vec::new(), Vec::new());
    for written in columns {
        let new = column::define(change, &table, written)?;
        if table.column(&new.column.name).is_some() {
            let message = format!("column \"{}\" specified more than once", new.column.name);
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        if let Some(sequence) = new.sequence {
            given.take(&sequence.name)?;
            sequences.push((sequence, table.columns.len()));
        }
        table.columns.push(new.column);
        wishes.extend(new.wishes);
    }
    for constraint in constraints {
        wishes.push(Wish::of(constraint)?);
    }
    check_expressions(&mut change.exec, &table, 0)?;
    add_keys_and_checks(change, &mut table, &mut given, &wishes)?;
    make_storage(change, &mut table)?;
    for (sequence, at) in sequences {
        insert_owned(change, &table, at, sequence)?;
    }
    for wish in wishes {
        if let Wish::Foreign { name, columns, key } = wish {
            constraint::add_foreign_key(change, &mut table, name, &columns, key)?;
        }
    }
    insert(change, table)
}

/// Keys before checks before foreign keys, which may refer to the keys.
fn add_keys_and_checks(
    change: &mut Change<'_>,
    table: &mut Table,
    given: &mut Given,
    wishes: &[Wish<'_>],
) -> Result<()> {
    // The primary key first: its name is not to be taken by another's automatic one.
    for wants_primary in [true, false] {
        for wish in wishes {
            if let Wish::Key { name, columns, primary } = wish
                && *primary == wants_primary
                && (*primary || !is_repeated(table, name.as_deref(), columns))
            {
                constraint::add_key(change, table, given, name.as_deref(), columns, *primary)?;
            }
        }
    }
    for wish in wishes {
        if let Wish::Check { name, condition } = wish {
            if let Some(name) = name
                && table.checks.iter().any(|check| check.name == *name)
            {
                let message = format!("check constraint \"{name}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
            }
            constraint::add_check(change, table, name.as_deref(), condition)?;
        }
    }
    Ok(())
}

/// Whether a nameless UNIQUE says only what another key of the statement says.
fn is_repeated(table: &Table, name: Option<&str>, columns: &[String]) -> bool {
    let positions: Option<Vec<usize>> = columns.iter().map(|column| table.column(column)).collect();
    name.is_none() && positions.is_some_and(|positions| table.indexes.iter().any(|index| index.columns == positions))
}

/// Makes the engine tables of a table that has none.
pub(super) fn make_storage(change: &mut Change<'_>, table: &mut Table) -> Result<()> {
    let key = constraint::key_form(table);
    table.storage = change.create_row_storage(table.oid, &table.columns, key)?;
    for index in table.indexes.iter_mut().filter(|index| !index.primary || index.storage.is_some()) {
        index.storage = Some(change.create_index_storage(table.oid)?);
    }
    Ok(())
}

/// Enters the sequence that a column of the table owns.
pub(super) fn insert_owned(change: &mut Change<'_>, table: &Table, at: usize, sequence: Sequence) -> Result<()> {
    let number = u16::try_from(at + 1).unwrap_or(u16::MAX);
    let sequence = Sequence { owned_by: Some((table.oid, number)), ..sequence };
    change.insert(Relation::Sequence(Arc::new(sequence)))
}

/// Enters a table and its indexes.
pub(super) fn insert(change: &mut Change<'_>, table: Table) -> Result<()> {
    super::alter_table::column::note_sequences(change, &table)?;
    for index in &table.indexes {
        insert_index_entry(change, &table, index.oid, &index.name)?;
    }
    change.insert(Relation::Table(Arc::new(table)))
}

/// Enters the name of an index.
pub(super) fn insert_index_entry(change: &mut Change<'_>, table: &Table, oid: u32, name: &str) -> Result<()> {
    let entry = IndexEntry { oid, schema: table.schema.clone(), name: name.to_owned(), table: table.oid };
    change.insert(Relation::Index(entry))
}
