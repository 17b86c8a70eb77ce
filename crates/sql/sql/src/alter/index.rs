//! Indexes.

use super::defined_type::kept;
use super::expression;
use super::rows::fill_index;
use super::table::{insert_index_entry, store};
use crate::bind::{self, Definition, row_columns};
use crate::catalog::{self, EXPRESSION, Index, Oid, Relation, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, equal};
use crate::types::{Modifier, Type};
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

/// The text that the catalog keeps of an expression or a predicate of an index: PostgreSQL's printed form, where that means the same.
/// Its types and casts are written out, and messages show it.
///
/// # Errors
/// 42P17 if it is not immutable.
pub(crate) fn stored(
    names: &mut Names<'_>,
    of: Definition,
    table: &Table,
    text: String,
    bound: &Expr,
) -> Result<String> {
    if !bind::is_immutable(bound) {
        let message = format!("functions in {} must be marked IMMUTABLE", of.singular());
        return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    }
    let printed = (catalog::built_in().print)(names, &text, table);
    let text = match bind::expression(names, &printed, &row_columns(table), None) {
        Ok(again) if equal(&again, bound) => printed,
        _ => text,
    };
    let syntax = syntax::expression(&text)?;
    let kept = kept(names, &syntax, &row_columns(table))?;
    // Where no type is named by its identifier, PostgreSQL's own form stays, which messages show.
    Ok(if kept == syntax.to_string() { text } else { kept })
}

/// What the indexes compute, as [`stored`] keeps it, after a column has changed its type or its name.
///
/// # Errors
/// Errors of the expressions over the new types; 42P17.
pub(crate) fn print_again(names: &mut Names<'_>, table: &mut Table) -> Result<()> {
    let mut indexes = std::mem::take(&mut table.indexes);
    let columns = row_columns(table);
    let mut again = |of: Definition, text: &mut String, wanted| -> Result<()> {
        let bound = bind::expression_of(names, of, text, &columns, wanted)?;
        *text = stored(names, of, table, std::mem::take(text), &bound)?;
        Ok(())
    };
    for index in &mut indexes {
        for text in &mut index.expressions {
            again(Definition::IndexExpression, text, None)?;
        }
        if let Some(text) = &mut index.predicate {
            again(Definition::IndexPredicate, text, Some((Type::BOOL, Modifier::NONE)))?;
        }
    }
    table.indexes = indexes;
    Ok(())
}

/// The names of an index's columns, the included ones among them: the columns', or made of the expressions, each once.
///
/// Source: PostgreSQL 15, `ChooseIndexColumnNames`.
pub(crate) fn column_names(table: &Table, index: &Index) -> Vec<String> {
    let mut expressions = index.expressions.iter();
    let mut names: Vec<String> = vec![];
    for &column in index.columns.iter().chain(&index.included) {
        let name = match column {
            EXPRESSION => expressions.next().and_then(|text| syntax::expression(text).ok()).map(|expression| {
                let name = bind::column_name(&expression);
                if name == "?column?" { "expr".to_owned() } else { name }
            }),
            column => table.columns.get(column).map(|column| column.name.clone()),
        };
        let name = name.unwrap_or_else(|| "expr".to_owned());
        let numbered = (1_u64..).map(|number| format!("{name}{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// Returns whether an index reads a column: as one of its own, or to compute its entries.
///
/// # Errors
/// 42601 for a damaged definition.
pub(crate) fn reads_column(table: &Table, index: &Index, at: usize) -> Result<bool> {
    if index.columns.contains(&at) || index.included.contains(&at) {
        return Ok(true);
    }
    let name = &table.columns[at].name;
    for text in index.expressions.iter().chain(&index.predicate) {
        if expression::columns(text)?.contains(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Renames a column in what an index computes.
///
/// # Errors
/// 42601 for a damaged definition.
pub(crate) fn rename_column(index: &mut Index, old: &str, new: &str) -> Result<()> {
    for text in index.expressions.iter_mut().chain(&mut index.predicate) {
        *text = expression::rename_column(text, old, new)?;
    }
    Ok(())
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
