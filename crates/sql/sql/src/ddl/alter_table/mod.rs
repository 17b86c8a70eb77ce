//! ALTER TABLE: each operation changes the definition, and the rows where they have to change with it, before the next.

mod column;
mod constraint;

pub(super) use column::add_identity;

use super::accepted::check_owner;
use crate::alter;
use crate::alter::constraint::no_constraint;
use crate::alter::name::{fold, has_constraint, kind, no_relation, split};
use crate::alter::rename::{self, rename_relation_to};
use crate::alter::table::load;
use crate::catalog::{Oid, Relation};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{self, AlterTableOperation as Operation, DropBehavior};

/// Runs ALTER TABLE.
pub(super) fn run(change: &mut Change<'_>, alter: &ast::AlterTable, notices: &mut Vec<SqlError>) -> Result<()> {
    let (schema, name) = split(&alter.name)?;
    let Some(relation) = change.names().relation(schema.as_deref(), &name)? else {
        if !alter.if_exists {
            return Err(no_relation(schema.as_deref(), &name));
        }
        let message = format!("relation \"{name}\" does not exist, skipping");
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
        return Ok(());
    };
    for operation in &alter.operations {
        match (operation, &relation) {
            // Old dumps say ALTER TABLE of sequences and views too.
            (Operation::OwnerTo { new_owner }, _) => check_owner(new_owner)?,
            (Operation::RenameTable { table_name }, _) => {
                let (ast::RenameTableNameKind::To(new) | ast::RenameTableNameKind::As(new)) = table_name;
                rename_relation_to(change, relation.oid(), &split(new)?.1)?;
            }
            (Operation::RenameColumn { old_column_name, new_column_name }, Relation::View(view)) => {
                rename::view_column(change, view.oid, &fold(old_column_name), fold(new_column_name))?;
            }
            (operation, Relation::Table(table)) => apply(change, table.oid, operation, notices)?,
            (_, other) => {
                let message = format!("\"{name}\" is a {}, and this form of ALTER TABLE is for tables", kind(other));
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
        }
    }
    Ok(())
}

fn apply(change: &mut Change<'_>, oid: Oid, operation: &Operation, notices: &mut Vec<SqlError>) -> Result<()> {
    let table = load(&mut change.names(), oid)?;
    let cascades = |behavior: &Option<DropBehavior>| *behavior == Some(DropBehavior::Cascade);
    match operation {
        Operation::AddColumn { if_not_exists, column_def, .. } => {
            column::add(change, table, column_def, *if_not_exists, notices)
        }
        Operation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            let cascade = cascades(drop_behavior);
            column_names
                .iter()
                .try_for_each(|name| alter::column::drop(change, oid, &fold(name), *if_exists, cascade, notices))
        }
        Operation::AddConstraint { constraint, .. } => constraint::add(change, table, constraint),
        Operation::DropConstraint { if_exists, name, drop_behavior } => {
            alter::constraint::drop(change, table, &fold(name), *if_exists, cascades(drop_behavior), notices)
        }
        Operation::RenameColumn { old_column_name, new_column_name } => {
            rename::column(change, table, &fold(old_column_name), fold(new_column_name))
        }
        Operation::RenameConstraint { old_name, new_name } => {
            rename::constraint(change, table, &fold(old_name), fold(new_name))
        }
        Operation::AlterColumn { column_name, op } => column::alter(change, table, &fold(column_name), op),
        Operation::ValidateConstraint { name } => {
            let name = fold(name);
            if has_constraint(&table, &name) { Ok(()) } else { Err(no_constraint(&table, &name)) }
        }
        Operation::EnableTrigger { name } | Operation::DisableTrigger { name } => match fold(name).as_str() {
            "all" | "user" => Ok(()),
            name => {
                let message = format!("trigger \"{name}\" for table \"{}\" does not exist", table.name);
                Err(SqlError::new(state::UNDEFINED_OBJECT, message))
            }
        },
        Operation::SetOptionsParens { .. }
        | Operation::ReplicaIdentity { .. }
        | Operation::DisableRowLevelSecurity
        | Operation::NoForceRowLevelSecurity => Ok(()),
        other => Err(SqlError::unsupported(format_args!("ALTER TABLE ... {other}"))),
    }
}
