//! ADD COLUMN, DROP COLUMN, ALTER COLUMN.

use super::constraint::{add_beside, check_new_row, drop_foreign_key, drop_key};
use super::{load, store, verify_not_null};
use crate::bind;
use crate::catalog::{Column, Identity, Oid, Table, depend, forget_dependencies};
use crate::context::Context;
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
    context: &mut Context<'_>,
    old: Table,
    written: &ColumnDef,
    if_not_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let new_column = define(context, &old, written)?;
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
        insert_owned(context, &table, at, sequence)?;
    }
    check_expressions(context, &table, at)?;
    fill_new_column(context, &old, &mut table, at)?;
    note_sequences(context, &table)?;
    store(context, &table)?;
    add_beside(context, &mut table, new_column.wishes)
}

fn fill_new_column(context: &mut Context<'_>, old: &Table, table: &mut Table, at: usize) -> Result<()> {
    let default = Default::bind(context, table, at)?;
    let column = &table.columns[at];
    let wanted = Some((column.data_type, column.modifier));
    let generated = match column.generated.clone() {
        Some(text) => Some(bind::expression(context, &text, &row_columns(table), wanted)?),
        None => None,
    };
    let shape = table.clone();
    rewrite(context, old, table, |context, mut row| {
        row.resize(at, Datum::Null);
        row.push(default.value(context)?);
        if let Some(generated) = &generated {
            row[at] = evaluate(context, generated, &row)?;
        }
        check_new_row(&shape, at, &row)?;
        Ok(row)
    })
}

/// Notes which sequences the defaults of a table call, so that they cannot be dropped unnoticed.
pub(in crate::ddl) fn note_sequences(context: &mut Context<'_>, table: &Table) -> Result<()> {
    forget_dependencies(context, table.oid)?;
    for (_, column) in table.live_columns() {
        if let Some(default) = &column.default {
            let called = expression::sequences(context, default)?;
            depend(context, table.oid, called)?;
        }
    }
    Ok(())
}

/// DROP COLUMN: the column is only marked; its values are NULL from now on.
pub(super) fn drop(
    context: &mut Context<'_>,
    oid: Oid,
    name: &str,
    if_exists: bool,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let table = load(context, oid)?;
    let Some(at) = table.column(name) else {
        let error = no_column(&table, name);
        if if_exists {
            let message = format!("{}, skipping", error.message());
            notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
            return Ok(());
        }
        return Err(error);
    };
    drop_column_users(context, &table, at, cascade, notices)?;
    for index in table.indexes.iter().filter(|index| index.columns.contains(&at)) {
        drop_key(context, oid, index.oid)?;
    }
    let mut table = load(context, oid)?;
    while let Some(key) = table.foreign_keys.iter().position(|key| key.columns.contains(&at)) {
        drop_foreign_key(context, &mut table, key)?;
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
    note_sequences(context, &table)?;
    store(context, &table)?;
    match sequence {
        Some(sequence) => drop_owned(context, sequence, cascade, notices),
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
    context: &mut Context<'_>,
    mut table: Table,
    name: &str,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let at = table.column(name).ok_or_else(|| no_column(&table, name))?;
    match operation {
        AlterColumnOperation::SetNotNull => {
            verify_not_null(context, &table, &[at])?;
            table.columns[at].not_null = true;
        }
        AlterColumnOperation::DropNotNull => {
            check_may_be_null(&table, at)?;
            table.columns[at].not_null = false;
        }
        AlterColumnOperation::SetDefault { value } => {
            check_takes_default(&table, at)?;
            table.columns[at].default = print_default(context, value, &table.columns[at])?;
            let only = Table { columns: vec![table.columns[at].clone()], ..table.clone() };
            check_expressions(context, &only, 0)?;
            note_sequences(context, &table)?;
        }
        AlterColumnOperation::DropDefault => {
            check_takes_default(&table, at)?;
            table.columns[at].default = None;
            note_sequences(context, &table)?;
        }
        AlterColumnOperation::SetDataType { data_type, using, .. } => {
            return set_type(context, table, at, data_type, using.as_ref());
        }
        AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
            let identity = match generated_as {
                Some(GeneratedAs::Always) => Identity::Always,
                _ => Identity::ByDefault,
            };
            add_identity(context, &mut table, at, identity, sequence_options.as_deref().unwrap_or_default(), None)?;
        }
    }
    store(context, &table)
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
    context: &mut Context<'_>,
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
            let sequence = given.relation(context, &table.schema, &table.name, &column.name, "seq")?;
            (table.schema.clone(), sequence)
        }
    };
    let sequence = sequence::define(context, schema, sequence, column.data_type, options)?;
    table.columns[at].identity = Some(identity);
    table.columns[at].sequence = Some(sequence.oid);
    insert_owned(context, table, at, sequence)
}

/// ALTER COLUMN TYPE: the rows are written anew.
fn set_type(
    context: &mut Context<'_>,
    old: Table,
    at: usize,
    data_type: &DataType,
    using: Option<&Expr>,
) -> Result<()> {
    let column = &old.columns[at];
    if serial_type(data_type).is_some() {
        let message = format!("type \"{}\" does not exist", data_type.to_string().to_lowercase());
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    let (to, modifier) = crate::parse::data_type(data_type)?;
    check_type(&column.name, to)?;
    check_users_of_type(context, &old, at)?;
    let text = match using {
        Some(using) => using.to_string(),
        None => {
            check_casts(column, to)?;
            name::quote(&column.name)
        }
    };
    let value = bind::expression(context, &text, &row_columns(&old), Some((to, modifier)))?;
    let mut table = old.clone();
    table.columns[at].data_type = to;
    table.columns[at].modifier = modifier;
    check_expressions(context, &table, 0)?;
    crate::dml::rules::Rules::bind(context, &table)?;
    for key in &table.foreign_keys {
        foreign_key::check_still_fits(context, &table, key)?;
    }
    let shape = table.clone();
    rewrite(context, &old, &mut table, |context, mut row| {
        row[at] = evaluate(context, &value, &row)?;
        check_new_row(&shape, at, &row)?;
        Ok(row)
    })?;
    store(context, &table)?;
    for check in &table.checks {
        super::verify_check(context, &table, check)?;
    }
    foreign_key::verify_all_with(context, &table, at)
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
fn check_users_of_type(context: &mut Context<'_>, table: &Table, at: usize) -> Result<()> {
    let name = &table.columns[at].name;
    for found in views_over(context, table.oid)? {
        if view::may_use(&found, name) {
            return Err(view::in_the_way(
                context,
                "cannot alter type of a column used by a view or rule",
                &found,
                name,
            )?);
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
