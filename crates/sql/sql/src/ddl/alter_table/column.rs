//! ADD COLUMN, ALTER COLUMN.

use super::constraint::add_wish;
use crate::alter::column::{self, no_column};
use crate::alter::column_type;
use crate::alter::name::Given;
use crate::catalog::{Identity, Table};
use crate::context::Change;
use crate::ddl::column::{define, print_default, serial_type};
use crate::ddl::sequence;
use crate::error::{Result, SqlError, state};
use syntax::ast::{self, AlterColumnOperation, ColumnDef, GeneratedAs};

/// ADD COLUMN.
pub(super) fn add(
    change: &mut Change<'_>,
    old: Table,
    written: &ColumnDef,
    if_not_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let new_column = define(change, &old, written)?;
    if old.column(&new_column.column.name).is_some() {
        let message = format!("column \"{}\" of relation \"{}\" already exists", new_column.column.name, old.name);
        if !if_not_exists {
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        notices.push(SqlError::new(state::DUPLICATE_COLUMN, format!("{message}, skipping")));
        return Ok(());
    }
    let mut table = column::add(change, &old, new_column.column, new_column.sequence)?;
    new_column.wishes.into_iter().try_for_each(|wish| add_wish(change, &mut table, wish))
}

/// ALTER COLUMN.
pub(super) fn alter(change: &mut Change<'_>, table: Table, name: &str, operation: &AlterColumnOperation) -> Result<()> {
    let at = table.column(name).ok_or_else(|| no_column(&table, name))?;
    match operation {
        AlterColumnOperation::SetNotNull => column::set_not_null(change, table, at),
        AlterColumnOperation::DropNotNull => column::drop_not_null(change, table, at),
        AlterColumnOperation::SetDefault { value } => {
            let default = print_default(&mut change.names(), value, &table.columns[at])?;
            column::set_default(change, table, at, default)
        }
        AlterColumnOperation::DropDefault => column::set_default(change, table, at, None),
        AlterColumnOperation::SetDataType { data_type, using, .. } => {
            if serial_type(data_type).is_some() {
                let message = format!("type \"{}\" does not exist", data_type.to_string().to_lowercase());
                return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
            }
            let using = using.as_ref().map(ToString::to_string);
            column_type::set(change, table, at, crate::parse::data_type(data_type)?, using)
        }
        AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
            let identity = match generated_as {
                Some(GeneratedAs::Always) => Identity::Always,
                _ => Identity::ByDefault,
            };
            add_identity(change, table, at, identity, sequence_options.as_deref().unwrap_or_default(), None)
        }
    }
}

/// ADD GENERATED AS IDENTITY. `named`: the sequence's schema and name, if the user gave one.
pub(in crate::ddl) fn add_identity(
    change: &mut Change<'_>,
    table: Table,
    at: usize,
    identity: Identity,
    options: &[ast::SequenceOptions],
    named: Option<(String, String)>,
) -> Result<()> {
    column::check_takes_identity(&table, at)?;
    let column = &table.columns[at];
    let (schema, sequence) = match named {
        Some(named) => named,
        None => {
            let mut given = Given::default();
            let sequence = given.relation(&mut change.names(), &table.schema, &table.name, &column.name, "seq")?;
            (table.schema.clone(), sequence)
        }
    };
    let sequence = sequence::define(change, schema, sequence, column.data_type, options)?;
    column::add_identity(change, table, at, identity, sequence)
}
