//! Errors of violated constraints, in PostgreSQL's wording.

use super::indexed_row::Target;
use crate::catalog::{Check, ForeignKey, Index, Table};
use crate::error::{SqlError, state};
use crate::functions::quote_identifier;
use crate::plan::IndexKey;
use crate::types::{Datum, Env, Styles, Type, text};

/// Bytes of one value that a message shows.
const SHOWN: usize = 64;

/// NULL in a column that is NOT NULL.
pub(crate) fn not_null(env: &dyn Env, table: &Table, column: usize, row: &[Datum]) -> SqlError {
    let name = &table.columns[column].name;
    let message =
        format!("null value in column \"{name}\" of relation \"{}\" violates not-null constraint", table.name);
    SqlError::new(state::NOT_NULL_VIOLATION, message)
        .detail(failing_row(table, row, &env.styles()))
        .table(&table.schema, &table.name)
        .column(name)
}

/// A row for which a CHECK constraint is false.
pub(crate) fn check(env: &dyn Env, table: &Table, check: &Check, row: &[Datum]) -> SqlError {
    let message = format!("new row for relation \"{}\" violates check constraint \"{}\"", table.name, check.name);
    SqlError::new(state::CHECK_VIOLATION, message)
        .detail(failing_row(table, row, &env.styles()))
        .table(&table.schema, &table.name)
        .constraint(&check.name)
}

/// A row whose values exist in a unique index.
pub(super) fn duplicate(env: &dyn Env, (table, rules): Target<'_>, index: &Index, values: &[&Datum]) -> SqlError {
    let name = |key| match key {
        IndexKey::Column(column) => quote_identifier(&table.columns[column].name).into_owned(),
        IndexKey::Computed(number, _) => index.expression_as_key(number),
    };
    let names: Vec<String> = rules.keys(index).map(name).collect();
    let shown = shown_key(&names, rules.types(table, index).zip(values.iter().copied()), &env.styles());
    let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
    SqlError::new(state::UNIQUE_VIOLATION, message)
        .detail(format!("{shown} already exists."))
        .table(&table.schema, &table.name)
        .constraint(&index.name)
}

/// A row that refers to a missing one.
pub(super) fn not_present(
    env: &dyn Env,
    child: &Table,
    constraint: &ForeignKey,
    parent: &Table,
    values: &[Datum],
) -> SqlError {
    let values: Vec<&Datum> = values.iter().collect();
    let key = describe_key(child, &constraint.columns, &values, &env.styles());
    missing(child, constraint).detail(format!("{key} is not present in table \"{}\".", parent.name))
}

/// A row of which MATCH FULL finds some, but not all, referencing columns NULL.
pub(super) fn mixed_nulls(child: &Table, constraint: &ForeignKey) -> SqlError {
    missing(child, constraint).detail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

fn missing(child: &Table, constraint: &ForeignKey) -> SqlError {
    let message =
        format!("insert or update on table \"{}\" violates foreign key constraint \"{}\"", child.name, constraint.name);
    SqlError::new(state::FOREIGN_KEY_VIOLATION, message).table(&child.schema, &child.name).constraint(&constraint.name)
}

/// A row that was removed, or changed its key, while others refer to it.
pub(super) fn still_referenced(
    env: &dyn Env,
    child: &Table,
    constraint: &ForeignKey,
    parent: &Table,
    values: &[Datum],
) -> SqlError {
    let values: Vec<&Datum> = values.iter().collect();
    let key = describe_key(parent, &constraint.referenced_columns, &values, &env.styles());
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, constraint.name, child.name
    );
    SqlError::new(state::FOREIGN_KEY_VIOLATION, message)
        .detail(format!("{key} is still referenced from table \"{}\".", child.name))
        .table(&child.schema, &child.name)
        .constraint(&constraint.name)
}

/// `Key (a, b)=(1, 2)` of columns.
fn describe_key(table: &Table, columns: &[usize], values: &[&Datum], styles: &Styles) -> String {
    let names: Vec<String> = columns.iter().map(|&column| table.columns[column].name.clone()).collect();
    let types = columns.iter().map(|&column| table.columns[column].data_type);
    shown_key(&names, types.zip(values.iter().copied()), styles)
}

/// `Key (a, lower(b))=(1, x)`
fn shown_key<'v>(names: &[String], values: impl Iterator<Item = (Type, &'v Datum)>, styles: &Styles) -> String {
    let shown: Vec<String> = values.map(|(data_type, value)| show(data_type, value, styles)).collect();
    format!("Key ({})=({})", names.join(", "), shown.join(", "))
}

/// `Failing row contains (1, null).`
fn failing_row(table: &Table, row: &[Datum], styles: &Styles) -> String {
    let shown: Vec<String> = table
        .live_columns()
        .map(|(column, _)| {
            let mut text = show(table.columns[column].data_type, &row[column], styles);
            if text.len() > SHOWN {
                text.truncate(text.floor_char_boundary(SHOWN));
                text.push_str("...");
            }
            text
        })
        .collect();
    format!("Failing row contains ({}).", shown.join(", "))
}

fn show(data_type: Type, value: &Datum, styles: &Styles) -> String {
    match value {
        Datum::Null => "null".into(),
        value => text::to_string(value, data_type, styles),
    }
}
