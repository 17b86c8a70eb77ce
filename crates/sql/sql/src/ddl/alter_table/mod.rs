//! ALTER TABLE: each operation changes the definition, and the rows where they have to change with it, before the next.

pub(super) mod column;
mod constraint;
mod rename;

pub(super) use rename::{move_relation, rename_relation_to};

use super::accepted::check_owner;
use super::name::{fold, kind, no_relation, split};
use super::rows::each_row;
use crate::catalog::{Oid, Relation, Table};
use crate::context::{Change, Exec, Names};
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::types::Datum;
use std::sync::Arc;
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
                .try_for_each(|name| column::drop(change, oid, &fold(name), *if_exists, cascade, notices))
        }
        Operation::AddConstraint { constraint, .. } => constraint::add(change, table, constraint),
        Operation::DropConstraint { if_exists, name, drop_behavior } => {
            constraint::drop(change, table, &fold(name), *if_exists, cascades(drop_behavior), notices)
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
            if super::name::has_constraint(&table, &name) { Ok(()) } else { Err(no_constraint(&table, &name)) }
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

/// Drops a column that depends on one that goes.
pub(super) fn drop_column_at(change: &mut Change<'_>, oid: Oid, at: usize) -> Result<()> {
    let table = load(&mut change.names(), oid)?;
    match table.columns.get(at) {
        Some(column) if !column.dropped => column::drop(change, oid, &column.name, true, true, &mut Vec::new()),
        _ => Ok(()),
    }
}

/// The table as it is now.
fn load(names: &mut Names<'_>, oid: Oid) -> Result<Table> {
    match names.relation_by_oid(oid)? {
        Some(Relation::Table(table)) => Ok(Arc::unwrap_or_clone(table)),
        _ => Err(no_relation(None, &oid.to_string())),
    }
}

/// Enters the changed definition.
pub(super) fn store(change: &mut Change<'_>, table: &Table) -> Result<()> {
    change.replace(Relation::Table(Arc::new(table.clone())))
}

/// 42704
fn no_constraint(table: &Table, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

/// Whether no row has NULL in these columns.
///
/// # Errors
/// 23502
fn verify_not_null(exec: &mut Exec<'_>, table: &Table, columns: &[usize]) -> Result<()> {
    each_row(exec, table, |_, _, row| check_not_null(table, columns, &row))
}

/// As [`verify_not_null`], of one row.
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

/// Whether every row passes a CHECK constraint.
///
/// # Errors
/// 23514
fn verify_check(exec: &mut Exec<'_>, table: &Table, check: &crate::catalog::Check) -> Result<()> {
    let wanted = Some((crate::types::Type::BOOL, crate::types::Modifier::NONE));
    let columns = crate::dml::rules::row_columns(table);
    let condition = crate::bind::expression(&mut exec.names(), &check.expression, &columns, wanted)?;
    each_row(exec, table, |exec, _, row| {
        if evaluate(exec, &condition, &row)?.as_bool() != Some(false) {
            return Ok(());
        }
        let message =
            format!("check constraint \"{}\" of relation \"{}\" is violated by some row", check.name, table.name);
        Err(SqlError::new(state::CHECK_VIOLATION, message).table(&table.schema, &table.name).constraint(&check.name))
    })
}
