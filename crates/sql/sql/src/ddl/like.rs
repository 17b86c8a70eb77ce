//! LIKE in CREATE TABLE: copies of another relation's columns, and of what is defined on them.
//!
//! Columns come first, each where LIKE stands; checks and indexes follow the new table's own, so that those have the first
//! choice of names.

use super::column::NewColumn;
use super::sequence;
use super::table_as::{bound, columns_of};
use crate::alter::constraint::{NewKey, add_check, add_key};
use crate::alter::index::column_names;
use crate::alter::name::{NewNames, joined, no_relation, no_schema, quoted, split};
use crate::catalog::{self, Column, EXPRESSION, Index, Relation, Sequence, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::{Includes, Like, SequenceOptions};

/// The relation that LIKE copies, without its dropped columns.
pub(super) struct Source {
    columns: Vec<Column>,
    /// The table, if it is one: what is defined on the columns.
    table: Option<Arc<Table>>,
    includes: Includes,
}

impl Source {
    /// Looks up the relation that LIKE names.
    ///
    /// # Errors
    /// 42P01, 3F000, 42809.
    pub(super) fn of(names: &mut Names<'_>, like: &Like) -> Result<Source> {
        let (schema, name) = split(&like.source)?;
        let (columns, table) = match names.relation(schema.as_deref(), &name)? {
            Some(Relation::Table(table)) => {
                (table.live_columns().map(|(_, column)| column.clone()).collect(), Some(table))
            }
            Some(Relation::View(view)) => (view.columns.clone(), None),
            Some(Relation::Index(_)) => return Err(is_invalid(&name, "indexes")),
            Some(Relation::Sequence(_)) => return Err(is_invalid(&name, "sequences")),
            None => (of_system(names, schema.as_deref(), &name)?, None),
        };
        Ok(Source { columns, table, includes: like.includes })
    }

    /// Copies the columns into a new table, `table`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn columns(&self, change: &mut Change<'_>, table: &Table) -> Result<Vec<NewColumn>> {
        self.columns.iter().map(|column| self.column(change, table, column)).collect()
    }

    fn column(&self, change: &mut Change<'_>, table: &Table, column: &Column) -> Result<NewColumn> {
        let includes = self.includes;
        let sequence = match column.identity {
            Some(_) if includes.identity => sequence_like(change, table, column)?,
            _ => None,
        };
        let column = Column {
            not_null: column.not_null,
            domain: column.domain,
            default: column.default.clone().filter(|_| includes.defaults),
            generated: column.generated.clone().filter(|_| includes.generated),
            identity: column.identity.filter(|_| includes.identity),
            sequence: sequence.as_ref().map(|sequence| sequence.oid),
            comment: column.comment.clone().filter(|_| includes.comments),
            ..Column::plain(column.name.clone(), column.data_type, column.modifier)
        };
        Ok(NewColumn { column, sequence })
    }

    /// Copies checks and indexes into the new table, which has its columns and its own constraints.
    ///
    /// # Errors
    /// 42710 for the name of a check that is taken, 42P16 for a second primary key.
    pub(super) fn constraints(&self, change: &mut Change<'_>, table: &mut Table, given: &mut NewNames) -> Result<()> {
        let Some(source) = &self.table else { return Ok(()) };
        for check in source.checks.iter().filter(|_| self.includes.constraints) {
            add_check(change, table, Some(&check.name), check.expression.clone())?;
            if let Some(copy) = table.checks.last_mut().filter(|_| self.includes.comments) {
                copy.comment.clone_from(&check.comment);
            }
        }
        let mut indexes: Vec<&Index> = source.indexes.iter().filter(|_| self.includes.indexes).collect();
        indexes.sort_by_key(|index| index.oid);
        for index in indexes {
            let at = match index.constraint {
                true => add_key(change, table, given, None, &key(source, index))?,
                false => add_index(change, table, given, source, index)?,
            };
            if self.includes.comments {
                table.indexes[at].comment.clone_from(&index.comment);
            }
        }
        Ok(())
    }
}

/// 42809
fn is_invalid(name: &str, kind: &str) -> SqlError {
    SqlError::new(state::WRONG_OBJECT_TYPE, format!("relation \"{name}\" is invalid in LIKE clause"))
        .detail(format!("This operation is not supported for {kind}."))
}

/// The columns of a relation of the system.
fn of_system(names: &mut Names<'_>, schema: Option<&str>, name: &str) -> Result<Vec<Column>> {
    let built_in = catalog::built_in();
    if (built_in.table)(schema, name).is_none() && (built_in.view)(schema, name).is_none() {
        return match schema {
            Some(schema) if names.searched_namespace(schema)?.is_none() => Err(no_schema(schema)),
            _ => Err(no_relation(schema, name)),
        };
    }
    let schema = quoted(schema.unwrap_or("pg_catalog"));
    let Some(parsed) = syntax::statement(&format!("SELECT * FROM {schema}.{}", quoted(name)))? else {
        return Err(no_relation(None, name));
    };
    match &parsed.command {
        syntax::Command::Rows(statement) => columns_of(&bound(names, statement)?, &[]),
        _ => Err(no_relation(None, name)),
    }
}

/// A sequence for the copy of an identity column, with the options of the original's. It starts anew.
fn sequence_like(change: &mut Change<'_>, table: &Table, column: &Column) -> Result<Option<Sequence>> {
    let Some(original) = column.sequence else { return Ok(None) };
    let Some(Relation::Sequence(original)) = change.names().relation_by_oid(original)? else { return Ok(None) };
    let (schema, name) = sequence::name_for(change, table, &column.name, &SequenceOptions::default())?;
    let oid = change.fresh_oid()?;
    let restart = original.start;
    let original = Arc::unwrap_or_clone(original);
    Ok(Some(Sequence { oid, schema, name, owned_by: None, state: 0, restart, comment: None, ..original }))
}

/// A key of the source as the new table defines it.
fn key(source: &Table, index: &Index) -> NewKey {
    let names = |columns: &[usize]| columns.iter().map(|at| source.columns[*at].name.clone()).collect();
    NewKey {
        columns: names(&index.columns),
        primary: index.primary,
        nulls_not_distinct: index.nulls_not_distinct,
        included: names(&index.included),
        deferrable: index.deferrable,
        initially_deferred: index.initially_deferred,
    }
}

/// Copies an index that is of no constraint. Its expressions name columns, which are called the same. Returns its position.
fn add_index(
    change: &mut Change<'_>,
    table: &mut Table,
    given: &mut NewNames,
    source: &Table,
    index: &Index,
) -> Result<usize> {
    let moved = |columns: &[usize]| -> Vec<usize> {
        let to = |at: usize| source.columns.get(at).and_then(|column| table.column(&column.name));
        columns.iter().map(|at| to(*at).unwrap_or(EXPRESSION)).collect()
    };
    let joined = joined(column_names(source, index).iter().map(String::as_str));
    let copy = Index {
        oid: change.fresh_oid()?,
        name: given.relation(&mut change.names(), &table.schema, &table.name, &joined, "idx")?,
        columns: moved(&index.columns),
        included: moved(&index.included),
        declared: None,
        storage: None,
        comment: None,
        ..index.clone()
    };
    table.indexes.push(copy);
    Ok(table.indexes.len() - 1)
}
