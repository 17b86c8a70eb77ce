//! ADD COLUMN, DROP COLUMN, ALTER COLUMN.

use super::constraint::{add_beside, check_new_row, drop_foreign_key, drop_key};
use super::{load, store, verify_not_null};
use crate::bind;
use crate::catalog::{Column, Identity, Oid, Table};
use crate::context::{Change, Names};
use crate::ddl::column::{check_expressions, check_type, define, print_default, serial_type};
use crate::ddl::create_table::insert_owned;
use crate::ddl::drop::{drop_column_users, drop_owned, views_over};
use crate::ddl::rows::rewrite;
use crate::ddl::{expression, foreign_key, name, sequence, view};
use crate::dml::rules::{Default, row_columns};
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::types::{CastContext, Datum, Type, cast};
use syntax::ast::{self, AlterColumnOperation, ColumnDef, DataType, Expr, GeneratedAs};

/// ADD COLUMN: the rows are written anew, since each engine table has the columns that it was made with.
pub(super) fn add(
    change: &mut Change<'_>,
    old: Table,
    written: &ColumnDef,
    if_not_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let new_column = define(change, &old, written)?;
    let at = old.columns.len();
    if old.column(&new_column.column.name).is_some() {
        let message = format!("column \"{}\" of relation \"{}\" already exists", new_column.column.name, old.name);
        if !if_not_exists {
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        notices.push(SqlError::new(state::DUPLICATE_COLUMN, format!("{message}, skipping")));
        return Ok(());
    }
    let mut table = old.clone();
    table.columns.push(new_column.column);
    if let Some(sequence) = new_column.sequence {
        insert_owned(change, &table, at, sequence)?;
    }
    check_expressions(&mut change.exec, &table, at)?;
    fill_new_column(change, &old, &mut table, at)?;
    note_sequences(change, &table)?;
    store(change, &table)?;
    add_beside(change, &mut table, new_column.wishes)
}

fn fill_new_column(change: &mut Change<'_>, old: &Table, table: &mut Table, at: usize) -> Result<()> {
    let default = Default::bind(&mut change.names(), table, at)?;
    let column = &table.columns[at];
    let wanted = Some((column.data_type, column.modifier));
    let generated = match column.generated.clone() {
        Some(text) => Some(bind::expression(&mut change.names(), &text, &row_columns(table), wanted)?),
        None => None,
    };
    let shape = table.clone();
    rewrite(change, old, table, |exec, mut row| {
        row.resize(at, Datum::Null);
        row.push(default.value(exec)?);
        if let Some(generated) = &generated {
            row[at] = evaluate(exec, generated, &row)?;
        }
        check_new_row(&shape, at, &row)?;
        Ok(row)
    })
}

/// Notes which sequences the defaults of a table call, so that they cannot be dropped unnoticed.
pub(in crate::ddl) fn note_sequences(change: &mut Change<'_>, table: &Table) -> Result<()> {
    change.forget_dependencies(table.oid)?;
    for (_, column) in table.live_columns() {
        if let Some(default) = &column.default {
            let called = expression::sequences(&mut change.names(), default)?;
            change.depend(table.oid, called)?;
        }
    }
    Ok(())
}

/// DROP COLUMN: the column is only marked; its values are NULL from now on.
pub(super) fn drop(
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
    for index in table.indexes.iter().filter(|index| index.columns.contains(&at)) {
        drop_key(change, oid, index.oid)?;
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
        name: format!("........pg.dropped.{}........", at + 1),
        not_null: false,
        default: None,
        identity: None,
        generated: None,
        sequence: None,
        dropped: true,
        comment: None,
        ..column.clone()
    };
    note_sequences(change, &table)?;
    store(change, &table)?;
    match sequence {
        Some(sequence) => drop_owned(change, sequence, cascade, notices),
        None => Ok(()),
    }
}

/// 42703
pub(in crate::ddl) fn no_column(table: &Table, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
    SqlError::new(state::UNDEFINED_COLUMN, message)
}

/// ALTER COLUMN.
pub(super) fn alter(
    change: &mut Change<'_>,
    mut table: Table,
    name: &str,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let at = table.column(name).ok_or_else(|| no_column(&table, name))?;
    match operation {
        AlterColumnOperation::SetNotNull => {
            verify_not_null(&mut change.exec, &table, &[at])?;
            table.columns[at].not_null = true;
        }
        AlterColumnOperation::DropNotNull => {
            check_may_be_null(&table, at)?;
            table.columns[at].not_null = false;
        }
        AlterColumnOperation::SetDefault { value } => {
            check_takes_default(&table, at)?;
            table.columns[at].default = print_default(&mut change.names(), value, &table.columns[at])?;
            let only = Table { columns: vec![table.columns[at].clone()], ..table.clone() };
            check_expressions(&mut change.exec, &only, 0)?;
            note_sequences(change, &table)?;
        }
        AlterColumnOperation::DropDefault => {
            check_takes_default(&table, at)?;
            table.columns[at].default = None;
            note_sequences(change, &table)?;
        }
        AlterColumnOperation::SetDataType { data_type, using, .. } => {
            return set_type(change, table, at, data_type, using.as_ref());
        }
        AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
            let identity = match generated_as {
                Some(GeneratedAs::Always) => Identity::Always,
                _ => Identity::ByDefault,
            };
            add_identity(change, &mut table, at, identity, sequence_options.as_deref().unwrap_or_default(), None)?;
        }
    }
    store(change, &table)
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

/// ADD GENERATED AS IDENTITY. `named`: the sequence's schema and name, if the user gave one.
pub(in crate::ddl) fn add_identity(
    change: &mut Change<'_>,
    table: &mut Table,
    at: usize,
    identity: Identity,
    options: &[ast::SequenceOptions],
    named: Option<(String, String)>,
) -> Result<()> {
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
    let (schema, sequence) = match named {
        Some(named) => named,
        None => {
            let mut given = name::Given::default();
            let sequence = given.relation(&mut change.names(), &table.schema, &table.name, &column.name, "seq")?;
            (table.schema.clone(), sequence)
        }
    };
    let sequence = sequence::define(change, schema, sequence, column.data_type, options)?;
    table.columns[at].identity = Some(identity);
    table.columns[at].sequence = Some(sequence.oid);
    insert_owned(change, table, at, sequence)
}

/// ALTER COLUMN TYPE: the rows are written anew.
fn set_type(change: &mut Change<'_>, old: Table, at: usize, data_type: &DataType, using: Option<&Expr>) -> Result<()> {
    let column = &old.columns[at];
    if serial_type(data_type).is_some() {
        let message = format!("type \"{}\" does not exist", data_type.to_string().to_lowercase());
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    let (to, modifier) = crate::parse::data_type(data_type)?;
    check_type(&column.name, to)?;
    check_users_of_type(&mut change.names(), &old, at)?;
    let text = match using {
        Some(using) => using.to_string(),
        None => {
            check_casts(column, to)?;
            name::quote(&column.name)
        }
    };
    let value = bind::expression(&mut change.names(), &text, &row_columns(&old), Some((to, modifier)))?;
    let mut table = old.clone();
    table.columns[at].data_type = to;
    table.columns[at].modifier = modifier;
    check_expressions(&mut change.exec, &table, 0)?;
    crate::dml::rules::Rules::bind(&mut change.names(), &table)?;
    for key in &table.foreign_keys {
        foreign_key::check_still_fits(&mut change.names(), &table, key)?;
    }
    let shape = table.clone();
    rewrite(change, &old, &mut table, |exec, mut row| {
        row[at] = evaluate(exec, &value, &row)?;
        check_new_row(&shape, at, &row)?;
        Ok(row)
    })?;
    store(change, &table)?;
    for check in &table.checks {
        super::verify_check(&mut change.exec, &table, check)?;
    }
    foreign_key::verify_all_with(&mut change.exec, &table, at)
}

fn check_casts(column: &Column, to: Type) -> Result<()> {
    match cast::context(column.data_type, to) {
        Some(CastContext::Implicit | CastContext::Assignment) => Ok(()),
        _ => {
            let message = format!("column \"{}\" cannot be cast automatically to type {}", column.name, to.name());
            let hint = format!("You might need to specify \"USING {}::{}\".", name::quote(&column.name), to.name());
            Err(SqlError::new(state::DATATYPE_MISMATCH, message).hint(hint))
        }
    }
}

/// Views and generated columns hold on to a column's type.
fn check_users_of_type(names: &mut Names<'_>, table: &Table, at: usize) -> Result<()> {
    let name = &table.columns[at].name;
    for found in views_over(names, table.oid)? {
        if view::may_use(&found, name) {
            return Err(view::in_the_way(names, "cannot alter type of a column used by a view or rule", &found, name)?);
        }
    }
    for (_, column) in table.live_columns() {
        if let Some(generated) = &column.generated
            && expression::columns(generated)?.contains(name)
        {
            let message = "cannot alter type of a column used by a generated column";
            let detail = format!("Column \"{name}\" is used by generated column \"{}\".", column.name);
            return Err(SqlError::new(state::SYNTAX_ERROR, message).detail(detail));
        }
    }
    Ok(())
}
