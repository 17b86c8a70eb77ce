//! What roles own: new owners, REASSIGN OWNED, DROP OWNED.

use super::role::named;
use crate::alter::drop;
use crate::alter::name::kind;
use crate::catalog::{Oid, Relation};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use std::collections::HashSet;
use syntax::ast::{Ident, Owned, OwnedAction};
use tables::SUPERUSER;

/// OWNER TO, of a relation or a schema. Sequences that columns own follow their table.
///
/// # Errors
/// 42704
pub(super) fn set_owner(change: &mut Change<'_>, object: Oid, role: &Ident) -> Result<()> {
    let owner = named(change, role)?.oid;
    give(change, object, owner)
}

/// A role that a statement names, and that changes nothing.
///
/// # Errors
/// 42704
pub(super) fn must_exist(change: &mut Change<'_>, role: &Ident) -> Result<Oid> {
    Ok(named(change, role)?.oid)
}

fn give(change: &mut Change<'_>, object: Oid, owner: Oid) -> Result<()> {
    change.set_owner(object, owner)?;
    let relation = change.names().relation_by_oid(object)?;
    let Some(Relation::Table(table)) = relation else { return Ok(()) };
    let sequences: Vec<Oid> = table.columns.iter().filter_map(|column| column.sequence).collect();
    sequences.into_iter().try_for_each(|sequence| change.set_owner(sequence, owner))
}

/// The relations and schemas of this database that a role owns, as messages name them.
///
/// # Errors
/// Errors of the engine.
pub(super) fn described(change: &mut Change<'_>, role: Oid) -> Result<Vec<String>> {
    let owned = objects(change, &HashSet::from([role]))?;
    let relations = owned.relations.iter().map(|relation| format!("{} {}", kind(relation), relation.name()));
    Ok(relations.chain(owned.schemas.iter().map(|(_, name)| format!("schema {name}"))).collect())
}

/// Relations and schemas of this database.
#[derive(Default)]
struct Objects {
    relations: Vec<Relation>,
    schemas: Vec<(Oid, String)>,
}

fn objects(change: &mut Change<'_>, roles: &HashSet<Oid>) -> Result<Objects> {
    let owners = change.names().owners()?;
    let is_owned = |object: Oid| owners.get(&object).is_some_and(|owner| roles.contains(owner));
    let mut relations = change.names().relations()?;
    relations.retain(|relation| is_owned(relation.oid()));
    relations.sort_by_key(Relation::oid);
    let schemas = change.names().namespaces()?.into_iter().filter(|schema| is_owned(schema.oid));
    Ok(Objects { relations, schemas: schemas.map(|schema| (schema.oid, schema.name)).collect() })
}

/// Runs REASSIGN OWNED and DROP OWNED.
///
/// # Errors
/// 42704, 2BP01.
pub(super) fn run(change: &mut Change<'_>, owned: &Owned, notices: &mut Vec<SqlError>) -> Result<()> {
    let mut roles = HashSet::new();
    for role in &owned.roles {
        roles.insert(named(change, role)?.oid);
    }
    if roles.contains(&SUPERUSER) {
        let verb = if matches!(owned.action, OwnedAction::Drop(_)) { "drop" } else { "reassign ownership of" };
        let message =
            format!("cannot {verb} objects owned by role postgres because they are required by the database system");
        return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message));
    }
    match &owned.action {
        OwnedAction::Reassign(to) => reassign(change, &roles, to),
        OwnedAction::Drop(cascade) => drop_all(change, &roles, *cascade, notices),
    }
}

fn reassign(change: &mut Change<'_>, roles: &HashSet<Oid>, to: &Ident) -> Result<()> {
    let to = named(change, to)?.oid;
    let owned = objects(change, roles)?;
    let relations = owned.relations.iter().map(Relation::oid);
    let all: Vec<Oid> = relations.chain(owned.schemas.iter().map(|(oid, _)| *oid)).collect();
    all.into_iter().try_for_each(|object| change.set_owner(object, to))?;
    for mut database in change.names().databases()? {
        if roles.contains(&database.owner) {
            database.owner = to;
            change.put_database(&database)?;
        }
    }
    Ok(())
}

fn drop_all(change: &mut Change<'_>, roles: &HashSet<Oid>, cascade: bool, notices: &mut Vec<SqlError>) -> Result<()> {
    let owned = objects(change, roles)?;
    // Sequences of columns go with their tables.
    let tables: HashSet<Oid> = owned.relations.iter().map(Relation::oid).collect();
    let follows = |relation: &Relation| matches!(relation, Relation::Sequence(sequence) if sequence.owned_by.is_some_and(|(table, _)| tables.contains(&table)));
    let named: Vec<Relation> = owned.relations.iter().filter(|relation| !follows(relation)).cloned().collect();
    if !named.is_empty() {
        drop::relations(change, &named, cascade, notices)?;
    }
    owned.schemas.iter().try_for_each(|(_, name)| drop::schema(change, name, cascade, notices))
}
