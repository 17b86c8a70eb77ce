//! Adds, drops and changes columns, and rewrites the rows where a change requires it.

use super::composite::{check_not_indexed, check_not_stored, drop_users};
use super::constraint::{check_new_row, drop_foreign_key, drop_key, verify_not_null};
use super::defined_type::kept;
use super::drop::{drop_column_users, drop_owned};
use super::expression;
use super::index::reads_column;
use super::rows::rewrite;
use super::table::{insert_owned, load, note_dependencies, store};
use crate::bind;
use crate::catalog::{Column, Identity, Oid, Sequence, Table};
use crate::context::{Change, Exec};
use crate::dml::rules::{Default, row_columns};
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::types::{Datum, Modifier, Type, defined};
use tables::SUPERUSER;

/// Adds a column, with the sequence that it owns. The rows are rewritten, since an engine table keeps the columns that it was
/// created with.
///
/// # Errors
/// Errors of the column's expressions; 23502 if a row would have NULL in a NOT NULL column.
pub(crate) fn add(change: &mut Change<'_>, old: &Table, column: Column, sequence: Option<Sequence>) -> Result<Table> {
    let at = old.columns.len();
    if column.default.is_some() || column.generated.is_some() || column.identity.is_some() {
        check_rows_not_stored(change, old.oid)?;
    }
    let mut table = old.clone();
    table.columns.push(column);
    if let Some(sequence) = sequence {
        add_owned(change, &table, at, sequence)?;
    }
    keep_generated(change, &mut table, at)?;
    define_expressions(&mut change.exec, &mut table, at)?;
    fill_new_column(change, old, &mut table, at)?;
    note_dependencies(change, &table)?;
    store(change, &table)?;
    Ok(table)
}

/// Refuses a change of a table's rows where rows may be stored in columns of others.
///
/// # Errors
/// 0A000
pub(crate) fn check_rows_not_stored(change: &mut Change<'_>, oid: Oid) -> Result<()> {
    match change.names().defined_type(defined::row_of(oid))? {
        Some(rows) => check_not_stored(&mut change.names(), &rows),
        None => Ok(()),
    }
}

/// Drops a column that depends on a dropped one.
pub(crate) fn drop_at(change: &mut Change<'_>, oid: Oid, at: usize) -> Result<()> {
    let table = load(&mut change.names(), oid)?;
    match table.columns.get(at) {
        Some(column) if !column.dropped => drop(change, oid, &column.name, true, true, &mut Vec::new()),
        _ => Ok(()),
    }
}

fn fill_new_column(change: &mut Change<'_>, old: &Table, table: &mut Table, at: usize) -> Result<()> {
    let default = Default::bind(&mut change.names(), table, at)?;
    let column = &table.columns[at];
    let wanted = Some((column.data_type, column.modifier));
    let generated = match column.generated.clone() {
        Some(text) => Some(bind::expression(&mut change.names(), &text, &row_columns(table), wanted)?),
        None => None,
    };
    let rules = bind::rules_of_columns(&mut change.names(), &only_column(table, at))?;
    let shape = table.clone();
    rewrite(change, old, table, |exec, mut row| {
        row.resize(at, Datum::Null);
        row.push(default.value(exec)?);
        if let Some(generated) = &generated {
            row[at] = evaluate(exec, generated, &row)?;
        }
        rules.iter().try_for_each(|rules| evaluate(exec, rules, &row).map(|_| ()))?;
        check_new_row(&shape, at, &row)?;
        Ok(row)
    })
}

/// The table with all columns but one as if they were dropped.
fn only_column(table: &Table, at: usize) -> Table {
    let mut table = table.clone();
    table
        .columns
        .iter_mut()
        .enumerate()
        .filter(|(other, _)| *other != at)
        .for_each(|(_, column)| column.dropped = true);
    table
}

/// DROP COLUMN: the column is only marked; its values are NULL from now on.
pub(crate) fn drop(
    change: &mut Change<'_>,
    oid: Oid,
    name: &str,
    if_exists: bool,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let table = load(&mut change.names(), oid)?;
    let Some(at) = table.column(name) else {
        let error = no_column(&table, name);
        if if_exists {
            let message = format!("{}, skipping", error.message());
            notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
            return Ok(());
        }
        return Err(error);
    };
    drop_column_users(change, &table, at, cascade, notices)?;
    if let Some(rows) = change.names().defined_type(defined::row_of(oid))? {
        check_not_indexed(&mut change.names(), &rows, name)?;
        drop_users(change, &rows, name, cascade, notices)?;
    }
    for index in &table.indexes {
        if reads_column(&table, index, at)? {
            drop_key(change, oid, index.oid)?;
        }
    }
    let mut table = load(&mut change.names(), oid)?;
    while let Some(key) = table.foreign_keys.iter().position(|key| key.columns.contains(&at)) {
        drop_foreign_key(change, &mut table, key)?;
    }
    let mut checks = Vec::new();
    for check in std::mem::take(&mut table.checks) {
        if !expression::columns(&check.expression)?.contains(name) {
            checks.push(check);
        }
    }
    table.checks = checks;
    let sequence = table.columns[at].sequence;
    let column = &mut table.columns[at];
    *column = Column {
        dropped: true,
        ..Column::plain(format!("........pg.dropped.{}........", at + 1), column.data_type, column.modifier)
    };
    note_dependencies(change, &table)?;
    store(change, &table)?;
    match sequence {
        Some(sequence) => drop_owned(change, sequence, cascade, notices),
        None => Ok(()),
    }
}

/// 42703
pub(crate) fn no_column(table: &Table, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
    SqlError::new(state::UNDEFINED_COLUMN, message)
}

fn check_may_be_null(table: &Table, at: usize) -> Result<()> {
    let column = &table.columns[at];
    if table.primary_key().is_some_and(|primary| primary.columns.contains(&at)) {
        let message = format!("column \"{}\" is in a primary key", column.name);
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    if column.identity.is_some() {
        return Err(is_identity(table, column));
    }
    Ok(())
}

fn is_identity(table: &Table, column: &Column) -> SqlError {
    let message = format!("column \"{}\" of relation \"{}\" is an identity column", column.name, table.name);
    SqlError::new(state::SYNTAX_ERROR, message)
}

fn check_takes_default(table: &Table, at: usize) -> Result<()> {
    let column = &table.columns[at];
    if column.identity.is_some() {
        return Err(is_identity(table, column).hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."));
    }
    if column.generated.is_some() {
        let message = format!("column \"{}\" of relation \"{}\" is a generated column", column.name, table.name);
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    Ok(())
}

/// Refuses pseudo-types, which no column can have.
pub(crate) fn check_type(name: &str, data_type: Type) -> Result<()> {
    match data_type {
        Type::UNKNOWN | Type::RECORD | Type::VOID => {
            let message = format!("column \"{name}\" has pseudo-type {}", data_type.name());
            Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
        }
        _ => Ok(()),
    }
}

/// The columns as expressions over a row see them.
pub(crate) fn visible(table: &Table) -> Vec<(String, Type, Modifier)> {
    table.columns.iter().map(|column| (column.name.clone(), column.data_type, column.modifier)).collect()
}

/// Writes the expressions of generated columns for the catalog, from column `first` on.
///
/// # Errors
/// Errors of the expressions.
pub(crate) fn keep_generated(change: &mut Change<'_>, table: &mut Table, first: usize) -> Result<()> {
    let columns = visible(table);
    for column in table.columns.iter_mut().skip(first) {
        if let Some(generated) = &mut column.generated {
            *generated = kept(&mut change.names(), &syntax::expression(generated)?, &columns)?;
        }
    }
    Ok(())
}

/// Binds the defaults and generated columns of a table from column `first` on, to report mistakes when they are defined. Their
/// dates and timestamps are written so that they mean the same under every setting.
///
/// # Errors
/// Errors of the expressions.
pub(crate) fn define_expressions(exec: &mut Exec<'_>, table: &mut Table, first: usize) -> Result<()> {
    check_expressions(exec, table, first)?;
    let columns = visible(table);
    for column in table.columns.iter_mut().skip(first).filter(|column| !column.dropped) {
        let wanted = Some((column.data_type, column.modifier));
        if let Some(default) = column.default.as_mut().filter(|_| column.sequence.is_none()) {
            *default = bind::settled(&mut exec.names(), default, &[], wanted)?;
        }
        if let Some(generated) = &mut column.generated {
            *generated = bind::settled(&mut exec.names(), generated, &columns, wanted)?;
        }
    }
    Ok(())
}

/// Binds the defaults and generated columns of a table from column `first` on.
///
/// # Errors
/// Errors of the expressions.
pub(crate) fn check_expressions(exec: &mut Exec<'_>, table: &Table, first: usize) -> Result<()> {
    for (_, column) in table.live_columns().filter(|(at, _)| *at >= first) {
        let wanted = Some((column.data_type, column.modifier));
        if let Some(default) = &column.default
            && column.sequence.is_none()
        {
            check_default(exec, default, wanted)?;
        }
        if let Some(generated) = &column.generated {
            check_generated(table, generated)?;
            bind::expression(&mut exec.names(), generated, &visible(table), wanted)?;
        }
    }
    Ok(())
}

fn check_default(exec: &mut Exec<'_>, default: &str, wanted: Option<(Type, Modifier)>) -> Result<()> {
    if !expression::columns(default)?.is_empty() {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot use column reference in DEFAULT expression"));
    }
    let bound = bind::expression(&mut exec.names(), default, &[], wanted)?;
    // A literal must be a value of the type now; other expressions are evaluated row by row.
    if expression::is_literal(default)? {
        evaluate(exec, &bound, &[])?;
    }
    Ok(())
}

/// A generated column depends on no other generated one.
fn check_generated(table: &Table, expression: &str) -> Result<()> {
    for name in expression::columns(expression)? {
        let other = table.column(&name).and_then(|at| table.columns.get(at));
        if other.is_some_and(|column| column.generated.is_some()) {
            let message = format!("cannot use generated column \"{name}\" in column generation expression");
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message)
                .detail("A generated column cannot reference another generated column."));
        }
    }
    Ok(())
}

/// SET NOT NULL.
///
/// # Errors
/// 23502 if a row has NULL there.
pub(crate) fn set_not_null(change: &mut Change<'_>, mut table: Table, at: usize) -> Result<()> {
    verify_not_null(&mut change.exec, &table, &[at])?;
    table.columns[at].not_null = true;
    store(change, &table)
}

/// DROP NOT NULL.
///
/// # Errors
/// 42P16, 42601.
pub(crate) fn drop_not_null(change: &mut Change<'_>, mut table: Table, at: usize) -> Result<()> {
    check_may_be_null(&table, at)?;
    table.columns[at].not_null = false;
    store(change, &table)
}

/// SET DEFAULT; `None` is no default.
///
/// # Errors
/// 42601 for a column that takes none, errors of the expression.
pub(crate) fn set_default(change: &mut Change<'_>, mut table: Table, at: usize, default: Option<String>) -> Result<()> {
    check_takes_default(&table, at)?;
    table.columns[at].default = default;
    let mut only = Table { columns: vec![table.columns[at].clone()], ..table.clone() };
    define_expressions(&mut change.exec, &mut only, 0)?;
    table.columns[at].default = only.columns.pop().and_then(|column| column.default);
    note_dependencies(change, &table)?;
    store(change, &table)
}

/// Returns whether a column can become an identity.
///
/// # Errors
/// 55000, 22023.
pub(crate) fn check_takes_identity(table: &Table, at: usize) -> Result<()> {
    let column = &table.columns[at];
    let wrong = |what: &str| {
        let message = format!("column \"{}\" of relation \"{}\" {what}", column.name, table.name);
        Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
    };
    if !column.not_null {
        return wrong("must be declared NOT NULL before identity can be added");
    }
    if column.identity.is_some() {
        return wrong("is already an identity column");
    }
    if column.default.is_some() {
        return wrong("already has a default value");
    }
    if !matches!(column.data_type, Type::INT2 | Type::INT4 | Type::INT8) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    Ok(())
}

/// ADD GENERATED AS IDENTITY, with the sequence that the column owns from now on.
///
/// # Errors
/// 42P07 if the sequence's name is taken, errors of the engine.
pub(crate) fn add_identity(
    change: &mut Change<'_>,
    mut table: Table,
    at: usize,
    identity: Identity,
    sequence: Sequence,
) -> Result<()> {
    table.columns[at].identity = Some(identity);
    table.columns[at].sequence = Some(sequence.oid);
    add_owned(change, &table, at, sequence)?;
    store(change, &table)
}

/// Enters the sequence of a column of a table that there is: it belongs to the table's owner, whoever alters the table.
fn add_owned(change: &mut Change<'_>, table: &Table, at: usize, sequence: Sequence) -> Result<()> {
    let oid = sequence.oid;
    insert_owned(change, table, at, sequence)?;
    let owner = change.names().owners()?.get(&table.oid).copied().unwrap_or(SUPERUSER);
    change.set_owner(oid, owner)
}
