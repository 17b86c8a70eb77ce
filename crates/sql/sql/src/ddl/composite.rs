//! CREATE TYPE of composite types, and ALTER TYPE of their attributes.

use super::column::{MOST_COLUMNS, check_collation, serial_type};
use crate::alter::column::check_type;
use crate::alter::composite::{
    check_member, check_not_stored, check_rename, drop_attribute, drop_users, note, replace,
};
use crate::alter::name::{fold, no_relation};
use crate::bind;
use crate::catalog::{Column, DefinedType, Oid, TypeKind};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{AlterAction, Attribute};

/// Enters a composite type.
pub(super) fn create(
    change: &mut Change<'_>,
    oid: Oid,
    schema: String,
    name: String,
    attributes: &[Attribute],
) -> Result<()> {
    let mut columns: Vec<Column> = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let column = define(change, columns.len(), oid, attribute)?;
        if columns.iter().any(|other| other.name == column.name) {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        columns.push(column);
    }
    let new = DefinedType { oid, schema, name, version: 0, kind: TypeKind::Composite(columns), comment: None };
    note(change, &new)?;
    change.insert_type(new)
}

/// Understands an attribute of the type with this identifier, which has `count` others.
fn define(change: &mut Change<'_>, count: usize, oid: Oid, written: &Attribute) -> Result<Column> {
    let name = fold(&written.name);
    if count >= MOST_COLUMNS {
        let message = format!("tables can have at most {MOST_COLUMNS} columns");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    if serial_type(&written.data_type).is_some() {
        let message = format!("type \"{}\" does not exist", written.data_type.to_string().to_lowercase());
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    written.collation.iter().try_for_each(check_collation)?;
    let bind::Named { data_type, modifier, domain } = bind::named_type(&mut change.names(), &written.data_type)?;
    check_type(&name, data_type)?;
    check_member(&mut change.names(), data_type, oid)?;
    Ok(Column { domain, ..Column::plain(name, data_type, modifier) })
}

/// Makes a change that only composite types have.
pub(super) fn alter(
    change: &mut Change<'_>,
    old: &DefinedType,
    action: &AlterAction,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut new = old.clone();
    let TypeKind::Composite(columns) = &mut new.kind else { return Err(no_relation(None, &old.name)) };
    let position = |name: &str| columns.iter().position(|column| !column.dropped && column.name == name);
    let taken = |name: &str| {
        let message = format!("column \"{name}\" of relation \"{}\" already exists", old.name);
        SqlError::new(state::DUPLICATE_COLUMN, message)
    };
    match action {
        AlterAction::AddAttribute(written) => {
            let column = define(change, columns.len(), old.oid, written)?;
            if position(&column.name).is_some() {
                return Err(taken(&column.name));
            }
            columns.push(column);
        }
        AlterAction::DropAttribute { name, if_exists, cascade } => {
            let name = fold(name);
            return match position(&name) {
                Some(at) => drop_attribute(change, old, at, *cascade, notices),
                None if *if_exists => {
                    let message = format!("{}, skipping", no_attribute(old, &name).message());
                    notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
                    Ok(())
                }
                None => Err(no_attribute(old, &name)),
            };
        }
        AlterAction::AlterAttribute(written) => {
            let name = fold(&written.name);
            let at = position(&name).ok_or_else(|| no_attribute(old, &name))?;
            check_not_stored(&mut change.names(), old)?;
            drop_users(change, old, &name, false, notices)?;
            let column = define(change, 0, old.oid, written)?;
            columns[at] = Column { comment: columns[at].comment.take(), ..column };
        }
        AlterAction::RenameAttribute { from, to } => {
            let (from, to) = (fold(from), fold(to));
            let missing = || SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{from}\" does not exist"));
            let at = position(&from).ok_or_else(missing)?;
            if position(&to).is_some() {
                return Err(taken(&to));
            }
            check_rename(&mut change.names(), old, &from)?;
            columns[at].name = to;
        }
        _ => return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{}\" is a composite type", old.name))),
    }
    replace(change, old, new)
}

fn no_attribute(found: &DefinedType, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", found.name);
    SqlError::new(state::UNDEFINED_COLUMN, message)
}
