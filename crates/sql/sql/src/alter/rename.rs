//! RENAME, SET SCHEMA: the definitions that contain the name are rewritten.

use super::constraint::constraint_taken;
use super::name::{has_constraint, kind, no_relation};
use super::table::{load, store};
use super::view::views_over;
use super::{composite, expression, index, view, view_column};
use crate::catalog::{DefinedType, Namespace, Oid, Relation, Sequence, Table, View};
use crate::context::{Change, name_taken};
use crate::error::{Result, SqlError, state};
use crate::types::defined;
use std::sync::Arc;

/// Renames a schema, and updates the definitions of its contents.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn schema(change: &mut Change<'_>, old: Namespace, new: &str) -> Result<()> {
    let name = old.name.clone();
    change.insert_namespace(&Namespace { name: new.to_owned(), ..old })?;
    for relation in change.names().relations_in(&name)? {
        // Indexes and owned sequences move with their tables.
        let current = change.names().relation_by_oid(relation.oid())?;
        if current.is_some_and(|current| current.schema() == name && !matches!(current, Relation::Index(_))) {
            move_relation(change, relation.oid(), new)?;
        }
    }
    for found in change.names().defined_types()?.iter().filter(|found| found.schema == name) {
        let moved = DefinedType { schema: new.to_owned(), ..DefinedType::clone(found) };
        change.replace_type(found, moved)?;
    }
    change.remove_namespace(&name)
}

/// RENAME TO, of any relation.
pub(crate) fn rename_relation_to(change: &mut Change<'_>, oid: Oid, new: &str) -> Result<()> {
    let relation = change.names().relation_by_oid(oid)?.ok_or_else(|| no_relation(None, &oid.to_string()))?;
    let schema = relation.schema().to_owned();
    if change.names().relation_in(&schema, new)?.is_some() {
        return Err(name_taken(new));
    }
    move_to(change, relation, &schema, new)
}

/// SET SCHEMA of a table (with its indexes and owned sequences), a view or a sequence.
pub(crate) fn move_relation(change: &mut Change<'_>, oid: Oid, schema: &str) -> Result<()> {
    let relation = change.names().relation_by_oid(oid)?.ok_or_else(|| no_relation(None, &oid.to_string()))?;
    if relation.schema() == schema {
        return Ok(());
    }
    let mut along = vec![relation.clone()];
    if let Relation::Table(table) = &relation {
        let indexes = table.indexes.iter().map(|index| index.oid);
        for oid in indexes.chain(table.columns.iter().filter_map(|column| column.sequence)) {
            along.extend(change.names().relation_by_oid(oid)?);
        }
    }
    // The schema may be on its way already, with all that is in it.
    along.retain(|relation| relation.schema() != schema);
    for relation in &along {
        if change.names().relation_in(schema, relation.name())?.is_some() {
            let (kind, name) = (kind(relation), relation.name());
            let message = format!("{kind} \"{name}\" already exists in schema \"{schema}\"");
            return Err(SqlError::new(state::DUPLICATE_TABLE, message));
        }
    }
    for relation in along {
        // The table may have changed with a sequence before it.
        let name = relation.name().to_owned();
        let Some(relation) = change.names().relation_by_oid(relation.oid())? else { continue };
        move_to(change, relation, schema, &name)?;
    }
    Ok(())
}

fn move_to(change: &mut Change<'_>, old: Relation, schema: &str, name: &str) -> Result<()> {
    let mut new = old.clone();
    match &mut new {
        Relation::Table(table) => {
            let table = Arc::make_mut(table);
            (table.schema, table.name) = (schema.to_owned(), name.to_owned());
        }
        Relation::View(view) => {
            let view = Arc::make_mut(view);
            (view.schema, view.name) = (schema.to_owned(), name.to_owned());
        }
        Relation::Sequence(sequence) => {
            let sequence = Arc::make_mut(sequence);
            (sequence.schema, sequence.name) = (schema.to_owned(), name.to_owned());
        }
        Relation::Index(entry) => {
            (entry.schema, entry.name) = (schema.to_owned(), name.to_owned());
            rename_in_table(change, entry.table, entry.oid, name)?;
        }
    }
    let views = views_over(&mut change.names(), old.oid())?;
    let followed: Vec<View> = views
        .iter()
        .map(|found| view::follow(&mut change.names(), found, &old, schema, name))
        .collect::<Result<_>>()?;
    change.rename(&old, new.clone())?;
    for view in followed {
        change.replace(Relation::View(Arc::new(view)))?;
    }
    if let (Relation::Sequence(old), Relation::Sequence(new)) = (&old, &new) {
        rename_in_defaults(change, old, new)?;
    }
    Ok(())
}

/// Renames an index in its table's definition.
fn rename_in_table(change: &mut Change<'_>, table: Oid, index: Oid, name: &str) -> Result<()> {
    let mut table = load(&mut change.names(), table)?;
    if let Some(index) = table.indexes.iter_mut().find(|other| other.oid == index) {
        name.clone_into(&mut index.name);
    }
    store(change, &table)
}

/// Renames a sequence in the defaults that call it.
fn rename_in_defaults(change: &mut Change<'_>, old: &Sequence, new: &Sequence) -> Result<()> {
    let mut tables = change.names().dependents(new.oid)?;
    tables.extend(new.owned_by.map(|(table, _)| table));
    tables.dedup();
    for oid in tables {
        let Some(Relation::Table(table)) = change.names().relation_by_oid(oid)? else { continue };
        let mut table = Arc::unwrap_or_clone(table);
        for default in table.columns.iter_mut().filter_map(|column| column.default.as_mut()) {
            *default = expression::rename_sequence(default, old, new)?;
        }
        store(change, &table)?;
    }
    Ok(())
}

/// RENAME COLUMN.
pub(crate) fn column(change: &mut Change<'_>, mut table: Table, old: &str, new: String) -> Result<()> {
    let Some(at) = table.column(old) else {
        return Err(SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{old}\" does not exist")));
    };
    if table.column(&new).is_some() {
        let message = format!("column \"{new}\" of relation \"{}\" already exists", table.name);
        return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
    }
    check_fields(change, table.oid, old)?;
    in_views(change, (table.oid, at), old, &new)?;
    for check in &mut table.checks {
        check.expression = expression::rename_column(&check.expression, old, &new)?;
    }
    for generated in table.columns.iter_mut().filter_map(|column| column.generated.as_mut()) {
        *generated = expression::rename_column(generated, old, &new)?;
    }
    for index in &mut table.indexes {
        index::rename_column(index, old, &new)?;
    }
    table.columns[at].name = new;
    index::print_again(&mut change.names(), &mut table)?;
    store(change, &table)
}

/// Refuses to rename a column that a kept text takes from a whole row.
fn check_fields(change: &mut Change<'_>, relation: Oid, column: &str) -> Result<()> {
    match change.names().defined_type(defined::row_of(relation))? {
        Some(rows) => composite::check_rename(&mut change.names(), &rows, column),
        None => Ok(()),
    }
}

/// RENAME COLUMN of a view.
pub(crate) fn view_column(change: &mut Change<'_>, oid: Oid, old: &str, new: String) -> Result<()> {
    let Some(Relation::View(view)) = change.names().relation_by_oid(oid)? else { return Ok(()) };
    let mut view = Arc::unwrap_or_clone(view);
    let Some(at) = view.columns.iter().position(|column| column.name == old) else {
        return Err(SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{old}\" does not exist")));
    };
    if view.columns.iter().any(|column| column.name == new) {
        let message = format!("column \"{new}\" of relation \"{}\" already exists", view.name);
        return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
    }
    check_fields(change, oid, old)?;
    in_views(change, (oid, at), old, &new)?;
    view.columns[at].name = new;
    change.replace(Relation::View(Arc::new(view)))
}

/// Renames a column in the views that use it.
fn in_views(change: &mut Change<'_>, (relation, at): (Oid, usize), old: &str, new: &str) -> Result<()> {
    let mut followed = Vec::new();
    for found in views_over(&mut change.names(), relation)? {
        if view::uses(&mut change.names(), &found, relation, at)? {
            followed.push(view_column::follow(&mut change.names(), &found, (relation, at), old, new)?);
        }
    }
    followed.into_iter().try_for_each(|view| change.replace(Relation::View(Arc::new(view))))
}

/// RENAME CONSTRAINT.
pub(crate) fn constraint(change: &mut Change<'_>, mut table: Table, old: &str, new: String) -> Result<()> {
    if !has_constraint(&table, old) {
        let message = format!("constraint \"{old}\" for table \"{}\" does not exist", table.name);
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    if has_constraint(&table, &new) {
        return Err(constraint_taken(&table, &new));
    }
    if let Some(index) = table.indexes.iter().find(|index| index.constraint && index.name == old) {
        return rename_relation_to(change, index.oid, &new);
    }
    if let Some(check) = table.checks.iter_mut().find(|check| check.name == old) {
        check.name = new;
    } else if let Some(key) = table.foreign_keys.iter_mut().find(|key| key.name == old) {
        key.name = new;
    }
    store(change, &table)
}
