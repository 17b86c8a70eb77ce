//! ALTER TABLE: each action changes the definition, and the rows where they have to change with it, before the next.

mod column;
mod constraint;
mod identity;

use crate::alter;
use crate::alter::name::fold;
use crate::alter::rename;
use crate::alter::table::{load, store};
use crate::catalog::{Oid, Table};
use crate::context::Change;
use crate::ddl::accepted::check_order;
use crate::error::{Result, SqlError, state};
use syntax::ast::AlterAction;

/// Makes one change of a table.
pub(super) fn apply(
    change: &mut Change<'_>,
    oid: Oid,
    action: &AlterAction,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut table = load(&mut change.names(), oid)?;
    match action {
        AlterAction::AddColumn { if_not_exists, column } => {
            column::add(change, &table, column, *if_not_exists, notices)
        }
        AlterAction::DropColumn { name, if_exists, cascade } => {
            alter::column::drop(change, oid, &fold(name), *if_exists, *cascade, notices)
        }
        AlterAction::RenameColumn { from, to } => rename::column(change, table, &fold(from), fold(to)),
        AlterAction::AlterColumn { name, action } => column::alter(change, table, &fold(name), action, notices),
        AlterAction::AddConstraint(constraint) => constraint::add(change, &mut table, constraint),
        AlterAction::DropConstraint { name, if_exists, cascade } => {
            alter::constraint::drop(change, table, &fold(name), *if_exists, *cascade, notices)
        }
        AlterAction::RenameConstraint { from, to } => rename::constraint(change, table, &fold(from), fold(to)),
        AlterAction::ValidateConstraint(name) => alter::constraint::validate(change, table, &fold(name)),
        AlterAction::ClusterOn(index) => check_order(&table, &fold(index), notices),
        AlterAction::Trigger { name, enable } => set_triggers(change, table, &fold(name), *enable),
        // Of every kind of relation: made before it comes to tables.
        AlterAction::Rename(_)
        | AlterAction::SetSchema(_)
        | AlterAction::Owner(_)
        | AlterAction::Sequence(_)
        | AlterAction::SetDefault(_)
        | AlterAction::SetNotNull(_)
        | AlterAction::AddAttribute(_)
        | AlterAction::DropAttribute { .. }
        | AlterAction::AlterAttribute(_)
        | AlterAction::RenameAttribute { .. }
        | AlterAction::AddValue { .. }
        | AlterAction::RenameValue { .. }
        | AlterAction::Storage => Err(SqlError::new(state::INTERNAL_ERROR, "this change is not of tables alone")),
    }
}

/// ENABLE and DISABLE TRIGGER. The only triggers are those of foreign keys, which ALL means and USER does not.
fn set_triggers(change: &mut Change<'_>, mut table: Table, name: &str, enable: bool) -> Result<()> {
    match name {
        "all" => {
            table.triggers_disabled = !enable;
            store(change, &table)
        }
        "user" => Ok(()),
        name => {
            let message = format!("trigger \"{name}\" for table \"{}\" does not exist", table.name);
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    }
}
