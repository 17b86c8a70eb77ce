//! CREATE TABLE.

use super::column;
use super::constraint::{Wish, add_foreign_key};
use crate::alter::column::check_expressions;
use crate::alter::constraint::{add_check, add_key};
use crate::alter::name::{Given, creation_schema, split};
use crate::alter::table::{empty, exists, insert, insert_owned, make_storage};
use crate::catalog::Table;
use crate::context::Change;
use crate::error::{Result, SqlError, state};
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
            add_foreign_key(change, &mut table, name, &columns, key)?;
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
                add_key(change, table, given, name.as_deref(), columns, *primary)?;
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
            add_check(change, table, name.as_deref(), condition.to_string())?;
        }
    }
    Ok(())
}

/// Whether a nameless UNIQUE says only what another key of the statement says.
fn is_repeated(table: &Table, name: Option<&str>, columns: &[String]) -> bool {
    let positions: Option<Vec<usize>> = columns.iter().map(|column| table.column(column)).collect();
    name.is_none() && positions.is_some_and(|positions| table.indexes.iter().any(|index| index.columns == positions))
}
