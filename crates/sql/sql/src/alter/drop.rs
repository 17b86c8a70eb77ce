//! Drops relations, schemas and the users of columns, with all their dependents.

use super::dependents::{DropSet, Object, describe};
use super::view::{uses, views_over};
use super::{column, composite, defined_type, expression, foreign_key, index, sequence};
use crate::catalog::{Index, Oid, Relation, Table};
use crate::context::Change;
use crate::error::{Result, SqlError};
use std::sync::Arc;
use tables::storage::storages;

/// Drops relations and their dependents.
///
/// # Errors
/// 2BP01 if there are dependents, without CASCADE.
pub(crate) fn relations(
    change: &mut Change<'_>,
    named: &[Relation],
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut going = DropSet::default();
    named.iter().for_each(|relation| going.name(relation.oid()));
    for relation in named {
        going.follow(&mut change.names(), relation)?;
    }
    let only = match named {
        [only] => Some(describe(&mut change.names(), only)?),
        _ => None,
    };
    going.settle(cascade, only.as_deref(), notices)?;
    remove(change, &going)
}

/// Drops a schema and its contents.
///
/// # Errors
/// 2BP01 if it is not empty, without CASCADE.
pub(crate) fn schema(change: &mut Change<'_>, name: &str, cascade: bool, notices: &mut Vec<SqlError>) -> Result<()> {
    let mut going = DropSet::default();
    let schema = format!("schema {name}");
    let mut inside = change.names().relations_in(name)?;
    inside.retain(|relation| !matches!(relation, Relation::Index(_)));
    inside.sort_by_key(Relation::oid);
    for relation in &inside {
        let described = describe(&mut change.names(), relation)?;
        let is_owned = matches!(relation, Relation::Sequence(sequence) if sequence.owned_by.is_some());
        let why = (!is_owned).then(|| (described, schema.clone()));
        going.add(Object::Relation(relation.oid()), why);
    }
    for relation in &inside {
        going.follow(&mut change.names(), relation)?;
    }
    for found in change.names().defined_types()?.iter().filter(|found| found.schema == name) {
        defined_type::add_of_schema(&mut going, &mut change.names(), found, &schema)?;
    }
    going.settle(cascade, Some(&schema), notices)?;
    remove(change, &going)?;
    if let Some(namespace) = change.names().namespace(name)? {
        change.set_owner(namespace.oid, tables::SUPERUSER)?;
    }
    change.remove_namespace(name)
}

/// Drops the temporary relations of the session.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn temporary(change: &mut Change<'_>) -> Result<()> {
    let Some(schema) = change.names().temporary_schema() else { return Ok(()) };
    for relation in change.names().relations_in(&schema)? {
        change.forget_dependencies(relation.oid())?;
        change.remove(&relation)?;
        storages(&relation).for_each(|storage| change.leave_storage(relation.oid(), storage));
    }
    Ok(())
}

pub(super) fn remove(change: &mut Change<'_>, going: &DropSet) -> Result<()> {
    // Constraints first, while both tables exist; types last, while rows can be read.
    let (constraints, others): (Vec<_>, Vec<_>) =
        going.order.iter().partition(|object| matches!(object, Object::ForeignKey(..)));
    let (types, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|object| matches!(object, Object::Type(_)));
    for object in constraints.into_iter().chain(others).chain(types) {
        match object {
            Object::Relation(oid) => remove_one(change, *oid)?,
            Object::ForeignKey(table, key) => remove_foreign_key(change, *table, *key)?,
            Object::Default(table, at) => remove_default(change, *table, *at)?,
            Object::Generated(table, at) | Object::Column(table, at) => column::drop_at(change, *table, *at)?,
            Object::Check(table, check) => remove_check(change, *table, *check)?,
            Object::Attribute(oid, at) => {
                if let Some(found) = change.names().defined_type(*oid)? {
                    composite::drop_attribute(change, &found, *at, true, &mut Vec::new())?;
                }
            }
            Object::Type(oid) => {
                if let Some(found) = change.names().defined_type(*oid)? {
                    change.forget_dependencies(*oid)?;
                    change.remove_type(&found)?;
                }
            }
        }
    }
    Ok(())
}

/// Removes a relation from the catalog; its dependents are dropped already, or are about to be.
fn remove_one(change: &mut Change<'_>, oid: Oid) -> Result<()> {
    // A table may have been dropped with its sequences already.
    let Some(relation) = change.names().relation_by_oid(oid)? else { return Ok(()) };
    change.forget_dependencies(oid)?;
    match &relation {
        Relation::Table(table) => remove_table(change, table)?,
        Relation::Index(index) => index::remove(change, index.table, oid)?,
        Relation::Sequence(sequence) => {
            if let Some((table, _)) = sequence.owned_by {
                sequence::disown(change, table, oid)?;
            }
        }
        Relation::View(_) => {}
    }
    change.remove(&relation)
}

fn remove_table(change: &mut Change<'_>, table: &Arc<Table>) -> Result<()> {
    let mut table = Table::clone(table);
    change.leave_storage(table.oid, table.storage);
    for index in std::mem::take(&mut table.indexes) {
        if let Some(storage) = index.storage {
            change.leave_storage(table.oid, storage);
        }
        if let Some(entry) = change.names().relation_by_oid(index.oid)? {
            change.remove(&entry)?;
        }
    }
    while let Some(key) = table.foreign_keys.pop() {
        let remaining = std::mem::take(&mut table.foreign_keys);
        if key.referenced != table.oid {
            foreign_key::detach(change, &mut table, &key, &remaining)?;
        }
        table.foreign_keys = remaining;
    }
    Ok(())
}

fn remove_foreign_key(change: &mut Change<'_>, table: Oid, key: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(at) = table.foreign_keys.iter().position(|other| other.oid == key) {
        let key = table.foreign_keys.remove(at);
        let remaining = table.foreign_keys.clone();
        foreign_key::detach(change, &mut table, &key, &remaining)?;
    }
    change.replace(Relation::Table(Arc::new(table)))
}

fn remove_check(change: &mut Change<'_>, table: Oid, check: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    table.checks.retain(|other| other.oid != check);
    change.replace(Relation::Table(Arc::new(table)))
}

fn remove_default(change: &mut Change<'_>, table: Oid, at: usize) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(column) = table.columns.get_mut(at) {
        column.default = None;
    }
    change.replace(Relation::Table(Arc::new(table)))
}

/// Drops the foreign keys that refer to a key, before the key is dropped.
///
/// # Errors
/// 2BP01
pub(crate) fn drop_referring(
    change: &mut Change<'_>,
    table: &Table,
    index: Oid,
    what: &str,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut going = DropSet::default();
    if let Some(index) = table.indexes.iter().find(|other| other.oid == index) {
        going.follow_references(&mut change.names(), table, index.oid, &format!("index {}", index.name))?;
    }
    going.settle(cascade, Some(what), notices)?;
    remove(change, &going)
}

/// Drops the dependents of a column: views that read it, foreign keys that refer to it, generated columns.
///
/// # Errors
/// 2BP01
pub(crate) fn drop_column_users(
    change: &mut Change<'_>,
    table: &Table,
    at: usize,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let name = &table.columns[at].name;
    let on = describe(&mut change.names(), &Relation::Table(Arc::new(table.clone())))?;
    let what = format!("column {name} of {on}");
    let mut going = DropSet::default();
    for (other, column) in table.live_columns().filter(|(other, _)| *other != at) {
        if let Some(generated) = &column.generated
            && expression::columns(generated)?.contains(name)
        {
            let described = format!("column {} of {on}", column.name);
            going.add(Object::Generated(table.oid, other), Some((described, what.clone())));
        }
    }
    let is_part = |index: &&Index| index.columns.contains(&at) || index.included.contains(&at);
    for index in table.indexes.iter().filter(|index| index.unique).filter(is_part) {
        going.follow_references(&mut change.names(), table, index.oid, &what)?;
    }
    for view in views_over(&mut change.names(), table.oid)? {
        if uses(&mut change.names(), &view, table.oid, at)? {
            let relation = Relation::View(view);
            let described = describe(&mut change.names(), &relation)?;
            if going.add(Object::Relation(relation.oid()), Some((described, what.clone()))) {
                going.follow(&mut change.names(), &relation)?;
            }
        }
    }
    going.settle(cascade, Some(&what), notices)?;
    remove(change, &going)
}

/// Drops a sequence with the column that owns it.
pub(crate) fn drop_owned(
    change: &mut Change<'_>,
    sequence: Oid,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let Some(relation) = change.names().relation_by_oid(sequence)? else { return Ok(()) };
    let mut going = DropSet::default();
    going.name(sequence);
    going.follow(&mut change.names(), &relation)?;
    let described = describe(&mut change.names(), &relation)?;
    going.settle(cascade, Some(&described), notices)?;
    remove(change, &going)
}
