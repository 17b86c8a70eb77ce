//! Keys and CHECK: added to the definition, and checked on the existing rows.

use super::defined_type::kept;
use super::drop::drop_referring;
use super::name::{self, NewNames};
use super::rows::{each_row, fill_index, rewrite};
use super::table::{insert_index_entry, load, store};
use super::{column, expression, foreign_key, index};
use crate::bind;
use crate::catalog::{Check, Index, Relation, Table};
use crate::context::{Change, Exec, name_taken};
use crate::dml::rules::row_columns;
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::types::{Datum, Modifier, Scalar, Type};

/// A primary key or unique constraint that is to be added.
pub(crate) struct NewKey {
    /// Its columns.
    pub columns: Vec<String>,
    /// PRIMARY KEY, not UNIQUE.
    pub primary: bool,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// INCLUDE
    pub included: Vec<String>,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
}

/// Adds a primary key or unique constraint to the definition, without storage. Returns its position in [`Table::indexes`];
/// `None` if an equal one exists (which then gets the given name, if it had none).
///
/// # Errors
/// 42703, 42701, 42P16, 42P07, 42704.
pub(crate) fn add_key(
    change: &mut Change<'_>,
    table: &mut Table,
    given: &mut NewNames,
    name: Option<&str>,
    key: &NewKey,
) -> Result<usize> {
    let NewKey { ref columns, primary, nulls_not_distinct, deferrable, initially_deferred, .. } = *key;
    let positions = key_columns(table, columns, primary)?;
    let included = included_columns(table, &key.included)?;
    if primary && table.primary_key().is_some() {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", table.name);
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let name = match name {
        Some(name) if name::has_constraint(table, name) => return Err(constraint_taken(table, name)),
        Some(name) => {
            given.take(name)?;
            if change.names().relation_in(&table.schema, name)?.is_some() {
                return Err(name_taken(name));
            }
            name.to_owned()
        }
        None if primary => given.relation(&mut change.names(), &table.schema, &table.name, "", "pkey")?,
        None => {
            let joined = name::joined(columns.iter().chain(&key.included).map(String::as_str));
            given.relation(&mut change.names(), &table.schema, &table.name, &joined, "key")?
        }
    };
    let plain = Index::plain(change.fresh_oid()?, name, positions);
    let index = Index {
        unique: true,
        deferrable,
        initially_deferred,
        primary,
        constraint: true,
        nulls_not_distinct,
        included,
        ..plain
    };
    if primary {
        for at in &index.columns {
            if let Some(column) = table.columns.get_mut(*at) {
                column.not_null = true;
            }
        }
        table.indexes.insert(0, index);
        return Ok(0);
    }
    table.indexes.push(index);
    Ok(table.indexes.len() - 1)
}

fn key_columns(table: &Table, columns: &[String], primary: bool) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(columns.len());
    for name in columns {
        let Some(at) = table.column(name) else {
            let message = format!("column \"{name}\" named in key does not exist");
            return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
        };
        if positions.contains(&at) {
            let what = if primary { "primary key" } else { "unique" };
            let message = format!("column \"{name}\" appears twice in {what} constraint");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        check_ordered(table.columns[at].data_type)?;
        positions.push(at);
    }
    Ok(positions)
}

/// The positions of the columns that an index includes.
///
/// # Errors
/// 42703
pub(crate) fn included_columns(table: &Table, names: &[String]) -> Result<Vec<usize>> {
    let position = |name: &String| {
        table
            .column(name)
            .ok_or_else(|| SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))
    };
    names.iter().map(position).collect()
}

/// Checks that values of a type can be indexed.
///
/// # Errors
/// 42704
pub(crate) fn check_ordered(data_type: Type) -> Result<()> {
    match data_type.scalar {
        Scalar::Json | Scalar::Xid | Scalar::PgNodeTree | Scalar::AclItem | Scalar::Record | Scalar::Void => {
            let message =
                format!("data type {} has no default operator class for access method \"btree\"", data_type.name());
            let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
            Err(SqlError::new(state::UNDEFINED_OBJECT, message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// 42710
pub(crate) fn constraint_taken(table: &Table, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
    SqlError::new(state::DUPLICATE_OBJECT, message)
}

/// Adds a CHECK to the definition.
///
/// # Errors
/// 42710, errors of the expression.
pub(crate) fn add_check(
    change: &mut Change<'_>,
    table: &mut Table,
    name: Option<&str>,
    expression: String,
) -> Result<()> {
    let expression = expression::of_table(table, &expression)?;
    let visible = column::visible(table);
    bind::expression(&mut change.names(), &expression, &visible, Some((Type::BOOL, Modifier::NONE)))?;
    let expression = kept(&mut change.names(), &syntax::expression(&expression)?, &visible)?;
    let wanted = Some((Type::BOOL, Modifier::NONE));
    let expression = bind::settled(&mut change.names(), &expression, &visible, wanted)?;
    let name = match name {
        Some(name) if name::has_constraint(table, name) => return Err(constraint_taken(table, name)),
        Some(name) => name.to_owned(),
        None => {
            let columns = expression::columns(&expression)?;
            let mut known = columns.iter().filter(|name| table.column(name).is_some());
            let only = known.next().filter(|_| known.next().is_none());
            name::constraint(table, only.map_or("", String::as_str), "check")
        }
    };
    table.checks.push(Check { oid: change.fresh_oid()?, name, expression, not_valid: false, comment: None });
    Ok(())
}

/// VALIDATE CONSTRAINT: checks the rows that were there before a constraint that was added as NOT VALID.
///
/// # Errors
/// 42704, 42809, 23503, 23514.
pub(crate) fn validate(change: &mut Change<'_>, mut table: Table, name: &str) -> Result<()> {
    if let Some(at) = table.checks.iter().position(|check| check.name == name) {
        if std::mem::take(&mut table.checks[at].not_valid) {
            verify_check(&mut change.exec, &table, &table.checks[at])?;
            store(change, &table)?;
        }
        return Ok(());
    }
    if let Some(at) = table.foreign_keys.iter().position(|key| key.name == name) {
        if std::mem::take(&mut table.foreign_keys[at].not_valid) {
            store(change, &table)?;
            foreign_key::verify(&mut change.exec, &table, &table.foreign_keys[at])?;
        }
        return Ok(());
    }
    if name::has_constraint(&table, name) {
        let message =
            format!("constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint", table.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    Err(no_constraint(&table, name))
}

/// DROP CONSTRAINT.
pub(crate) fn drop(
    change: &mut Change<'_>,
    mut table: Table,
    name: &str,
    if_exists: bool,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    if let Some(at) = table.checks.iter().position(|check| check.name == name) {
        table.checks.remove(at);
        return store(change, &table);
    }
    if let Some(at) = table.foreign_keys.iter().position(|key| key.name == name) {
        drop_foreign_key(change, &mut table, at)?;
        return store(change, &table);
    }
    if let Some(at) = table.indexes.iter().position(|index| index.constraint && index.name == name) {
        let index = table.indexes[at].oid;
        let what = format!("constraint {name} on table {}", table.name);
        drop_referring(change, &table, index, &what, cascade, notices)?;
        return drop_key(change, table.oid, index);
    }
    let error = no_constraint(&table, name);
    if if_exists {
        let message = format!("{}, skipping", error.message());
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
        return Ok(());
    }
    Err(error)
}

/// Adds a key to a table with rows.
///
/// # Errors
/// Errors of [`add_key`]; 23502, 23505.
pub(crate) fn add_key_to_rows(
    change: &mut Change<'_>,
    table: &mut Table,
    name: Option<&str>,
    key: &NewKey,
) -> Result<()> {
    let old = table.clone();
    let at = add_key(change, table, &mut NewNames::default(), name, key)?;
    let index = table.indexes[at].clone();
    if index.is_row_key() {
        verify_not_null(&mut change.exec, &old, &index.columns)?;
        rewrite(change, &old, table, |_, row| Ok(row))?;
    } else {
        table.indexes[at].storage = Some(change.create_index_storage(table.oid)?);
        let index = table.indexes[at].clone();
        fill_index(&mut change.exec, table, &index)?;
        if key.primary {
            verify_not_null(&mut change.exec, &old, &index.columns)?;
        }
    }
    insert_index_entry(change, table, index.oid, &index.name)?;
    store(change, table)
}

/// Removes a foreign key from the definition.
pub(crate) fn drop_foreign_key(change: &mut Change<'_>, table: &mut Table, at: usize) -> Result<()> {
    let key = table.foreign_keys.remove(at);
    let remaining = table.foreign_keys.clone();
    foreign_key::detach(change, table, &key, &remaining)
}

/// Removes an index, of a constraint or not. The rows of a table without a primary key are numbered.
pub(crate) fn drop_key(change: &mut Change<'_>, table: u32, index: u32) -> Result<()> {
    if let Some(entry @ Relation::Index(_)) = change.names().relation_by_oid(index)? {
        change.remove(&entry)?;
    }
    let old = load(&mut change.names(), table)?;
    let Some(at) = old.indexes.iter().position(|other| other.oid == index) else { return Ok(()) };
    if !old.indexes[at].is_row_key() {
        return index::remove(change, table, index);
    }
    let mut new = old.clone();
    new.indexes.remove(at);
    rewrite(change, &old, &mut new, |_, row| Ok(row))?;
    store(change, &new)
}

/// Checks NOT NULL of one column over a new row.
pub(crate) fn check_new_row(table: &Table, at: usize, row: &[Datum]) -> Result<()> {
    if table.columns[at].not_null { check_not_null(table, &[at], row) } else { Ok(()) }
}

/// 42704
pub(crate) fn no_constraint(table: &Table, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

/// Checks that no row has NULL in these columns.
///
/// # Errors
/// 23502
pub(super) fn verify_not_null(exec: &mut Exec<'_>, table: &Table, columns: &[usize]) -> Result<()> {
    each_row(exec, table, |_, _, row| check_not_null(table, columns, &row))
}

/// Same as [`verify_not_null`], of one row.
fn check_not_null(table: &Table, columns: &[usize], row: &[Datum]) -> Result<()> {
    match columns.iter().find(|at| row.get(**at).is_none_or(Datum::is_null)) {
        None => Ok(()),
        Some(at) => {
            let column = &table.columns[*at].name;
            let message = format!("column \"{column}\" of relation \"{}\" contains null values", table.name);
            Err(SqlError::new(state::NOT_NULL_VIOLATION, message).table(&table.schema, &table.name).column(column))
        }
    }
}

/// Checks that every row satisfies a CHECK constraint.
///
/// # Errors
/// 23514
pub(crate) fn verify_check(exec: &mut Exec<'_>, table: &Table, check: &Check) -> Result<()> {
    let wanted = Some((Type::BOOL, Modifier::NONE));
    let columns = row_columns(table);
    let condition = bind::expression(&mut exec.names(), &check.expression, &columns, wanted)?;
    each_row(exec, table, |exec, _, row| {
        if evaluate(exec, &condition, &row)?.as_bool() != Some(false) {
            return Ok(());
        }
        let message =
            format!("check constraint \"{}\" of relation \"{}\" is violated by some row", check.name, table.name);
        Err(SqlError::new(state::CHECK_VIOLATION, message).table(&table.schema, &table.name).constraint(&check.name))
    })
}
