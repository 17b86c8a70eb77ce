//! ADD COLUMN, ALTER COLUMN.

use super::{constraint, identity};
use crate::alter::column::{self, no_column};
use crate::alter::column_type;
use crate::bind;
use crate::catalog::Table;
use crate::context::Change;
use crate::ddl::column::{define, print_default, serial_type};
use crate::error::{Result, SqlError, state};
use syntax::ast::{ColumnAction, ColumnDefinition};

/// ADD COLUMN.
pub(super) fn add(
    change: &mut Change<'_>,
    old: &Table,
    written: &ColumnDefinition,
    if_not_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let new = define(change, old, written)?;
    if old.column(&new.column.name).is_some() {
        let message = format!("column \"{}\" of relation \"{}\" already exists", new.column.name, old.name);
        if !if_not_exists {
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        notices.push(SqlError::new(state::DUPLICATE_COLUMN, format!("{message}, skipping")));
        return Ok(());
    }
    let mut table = column::add(change, old, new.column, new.sequence)?;
    written.constraints.iter().try_for_each(|beside| constraint::add(change, &mut table, beside))
}

/// ALTER COLUMN.
pub(super) fn alter(
    change: &mut Change<'_>,
    table: Table,
    name: &str,
    action: &ColumnAction,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let at = table.column(name).ok_or_else(|| no_column(&table, name))?;
    match action {
        ColumnAction::SetNotNull => column::set_not_null(change, table, at),
        ColumnAction::DropNotNull => column::drop_not_null(change, table, at),
        ColumnAction::SetDefault(value) => {
            let default = print_default(&mut change.names(), value, &table.columns[at])?;
            column::set_default(change, table, at, default)
        }
        ColumnAction::DropDefault => column::set_default(change, table, at, None),
        ColumnAction::SetType { data_type, using } => {
            if serial_type(data_type).is_some() {
                let message = format!("type \"{}\" does not exist", data_type.to_string().to_lowercase());
                return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
            }
            let using = using.as_ref().map(ToString::to_string);
            let to = bind::named_type(&mut change.names(), data_type)?;
            column_type::set(change, table, at, to, using)
        }
        ColumnAction::AddIdentity { always, sequence } => identity::add(change, table, at, *always, sequence),
        ColumnAction::SetIdentity { always, sequence } => identity::set(change, table, at, *always, sequence),
        ColumnAction::DropIdentity { if_exists } => identity::drop(change, table, at, *if_exists, notices),
        ColumnAction::Storage => Ok(()),
    }
}
