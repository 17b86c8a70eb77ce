//! CREATE INDEX.

use crate::alter::constraint::check_ordered;
use crate::alter::index;
use crate::alter::name::{NewNames, fold, joined, no_relation, split};
use crate::catalog::{Index, Relation, Table, name_taken};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::{CreateIndex, Ident, IndexColumn};

/// The most columns that an index can have.
const MOST_COLUMNS: usize = 32;

/// Runs CREATE INDEX.
pub(super) fn create(change: &mut Change<'_>, create: &CreateIndex, notices: &mut Vec<SqlError>) -> Result<()> {
    check_method(create.method.as_ref())?;
    let (schema, name) = split(&create.table)?;
    let table = match change.names().relation(schema.as_deref(), &name)? {
        Some(Relation::Table(table)) => Arc::unwrap_or_clone(table),
        Some(_) => {
            let message = format!("cannot create index on relation \"{name}\"");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        None => return Err(no_relation(schema.as_deref(), &name)),
    };
    let named = create.name.as_ref().map(fold);
    if let Some(name) = &named
        && change.names().relation_in(&table.schema, name)?.is_some()
    {
        if !create.if_not_exists {
            return Err(name_taken(name));
        }
        let message = format!("relation \"{name}\" already exists, skipping");
        notices.push(SqlError::new(state::DUPLICATE_TABLE, message));
        return Ok(());
    }
    let columns = columns(&table, &create.columns)?;
    let descending = create.columns.iter().map(|column| column.descending).collect();
    let name = match named {
        Some(name) => name,
        None => {
            let names = joined(columns.iter().filter_map(|at| table.columns.get(*at)).map(|column| &*column.name));
            NewNames::default().relation(&mut change.names(), &table.schema, &table.name, &names, "idx")?
        }
    };
    let new = Index {
        oid: change.fresh_oid()?,
        name,
        columns,
        descending,
        nulls_reversed: nulls_reversed(&create.columns),
        unique: create.unique,
        primary: false,
        constraint: false,
        declared: None,
        storage: None,
        comment: None,
        constraint_comment: None,
    };
    index::add(change, table, new)
}

fn check_method(method: Option<&Ident>) -> Result<()> {
    match method.map(fold).as_deref() {
        None | Some("btree" | "hash") => Ok(()),
        Some(known @ ("gin" | "gist" | "spgist" | "brin" | "bloom")) => {
            Err(SqlError::unsupported(format_args!("the access method {}", known.to_uppercase())))
        }
        Some(name) => {
            let message = format!("access method \"{name}\" does not exist");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    }
}

/// The positions of the columns.
fn columns(table: &Table, written: &[IndexColumn]) -> Result<Vec<usize>> {
    if written.len() > MOST_COLUMNS {
        let message = format!("cannot use more than {MOST_COLUMNS} columns in an index");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    let mut columns = Vec::with_capacity(written.len());
    for column in written {
        let name = fold(&column.name);
        let Some(at) = table.column(&name) else {
            return Err(SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")));
        };
        check_ordered(table.columns[at].data_type)?;
        columns.push(at);
    }
    Ok(columns)
}

/// The places of the columns whose NULLs are asked for on the other side than their direction puts them.
fn nulls_reversed(written: &[IndexColumn]) -> Vec<usize> {
    let is_reversed = |column: &IndexColumn| column.nulls_first.is_some_and(|first| first != column.descending);
    (0..).zip(written).filter(|(_, column)| is_reversed(column)).map(|(place, _)| place).collect()
}
