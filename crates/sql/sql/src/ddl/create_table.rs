//! CREATE TABLE.

use super::column::{self, NewColumn};
use super::constraint::{add_foreign_key, new_key};
use super::like::Source;
use crate::alter::column::{define_expressions, keep_generated};
use crate::alter::constraint::{NewKey, add_check, add_key};
use crate::alter::name::{NewNames, creation_schema, fold, split};
use crate::alter::on_commit;
use crate::alter::table::{empty, exists, insert, insert_owned, make_storage};
use crate::catalog::{Index, Sequence, Table};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{ColumnSource, Constraint, ConstraintKind, CreateTable};

/// Runs CREATE TABLE.
pub(super) fn run(change: &mut Change<'_>, statement: &CreateTable, notices: &mut Vec<SqlError>) -> Result<()> {
    let (schema, name) = split(&statement.name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, statement.temporary)?;
    if exists(&mut change.names(), &schema, &name, statement.if_not_exists, notices)? {
        return Ok(());
    }
    let mut table = empty(change, schema, name)?;
    on_commit::define(change, &mut table, statement.on_commit)?;
    create(change, table, statement)
}

fn create(change: &mut Change<'_>, mut table: Table, statement: &CreateTable) -> Result<()> {
    let mut given = NewNames::default();
    given.take(&table.name)?;
    let mut sequences = Vec::new();
    let mut sources = Vec::new();
    for written in &statement.columns {
        let new = match written {
            ColumnSource::Column(written) => vec![column::define(change, &table, written)?],
            ColumnSource::Like(like) => {
                let source = Source::of(&mut change.names(), like).map_err(|error| error.at(like.position))?;
                let columns = source.columns(change, &table)?;
                sources.push(source);
                columns
            }
        };
        for new in new {
            if let Some(sequence) = place(&mut table, &mut given, new)? {
                sequences.push(sequence);
            }
        }
    }
    let beside = statement.columns.iter().flat_map(|column| match column {
        ColumnSource::Column(column) => &column.constraints[..],
        ColumnSource::Like(_) => &[],
    });
    let constraints: Vec<&Constraint> = beside.chain(&statement.constraints).collect();
    keep_generated(change, &mut table, 0)?;
    define_expressions(&mut change.exec, &mut table, 0)?;
    add_keys_and_checks(change, &mut table, &mut given, &constraints)?;
    for source in sources {
        source.constraints(change, &mut table, &mut given)?;
    }
    make_storage(change, &mut table)?;
    for (sequence, at) in sequences {
        insert_owned(change, &table, at, sequence)?;
    }
    for constraint in constraints {
        if let ConstraintKind::Foreign(key) = &constraint.kind {
            add_foreign_key(change, &mut table, constraint.name.as_ref().map(fold), key)?;
        }
    }
    insert(change, table)
}

/// Adds a column to the definition. Returns its sequence with its position.
fn place(table: &mut Table, given: &mut NewNames, new: NewColumn) -> Result<Option<(Sequence, usize)>> {
    let NewColumn { column, sequence } = new;
    column::check_name(table, &column.name)?;
    if table.column(&column.name).is_some() {
        let message = format!("column \"{}\" specified more than once", column.name);
        return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
    }
    if let Some(sequence) = &sequence {
        given.take(&sequence.name)?;
    }
    table.columns.push(column);
    Ok(sequence.map(|sequence| (sequence, table.columns.len() - 1)))
}

/// Keys before checks before foreign keys, which may refer to the keys.
fn add_keys_and_checks(
    change: &mut Change<'_>,
    table: &mut Table,
    given: &mut NewNames,
    constraints: &[&Constraint],
) -> Result<()> {
    // The primary key first: its name is not to be taken by another's automatic one.
    for wants_primary in [true, false] {
        for constraint in constraints {
            let name = constraint.name.as_ref().map(fold);
            if let ConstraintKind::Key(key) = &constraint.kind
                && key.primary == wants_primary
            {
                let key = new_key(key);
                if key.primary || !is_repeated(table, name.as_deref(), &key) {
                    add_key(change, table, given, name.as_deref(), &key)?;
                }
            }
        }
    }
    for constraint in constraints {
        let ConstraintKind::Check(condition) = &constraint.kind else { continue };
        let name = constraint.name.as_ref().map(fold);
        if let Some(name) = &name
            && table.checks.iter().any(|check| check.name == *name)
        {
            let message = format!("check constraint \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
        }
        add_check(change, table, name.as_deref(), condition.to_string())?;
    }
    Ok(())
}

/// Returns whether an unnamed UNIQUE equals another key of the statement.
fn is_repeated(table: &Table, name: Option<&str>, key: &NewKey) -> bool {
    let of = |names: &[String]| names.iter().map(|name| table.column(name)).collect::<Option<Vec<usize>>>();
    let (Some(columns), Some(included)) = (of(&key.columns), of(&key.included)) else { return false };
    let same = |index: &Index| {
        let timing = (index.deferrable, index.initially_deferred) == (key.deferrable, key.initially_deferred);
        let nulls = index.nulls_not_distinct == key.nulls_not_distinct;
        index.columns == columns && index.included == included && nulls && timing
    };
    name.is_none() && table.indexes.iter().any(same)
}
