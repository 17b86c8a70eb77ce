//! Writes the catalog, as part of the statement's transaction.

use super::{Namespace, Oid, Relation};
use crate::context::Context;
use crate::error::{Result, SqlError, state};

/// Enters a new relation, under a fresh version.
///
/// # Errors
/// 42P07 if the name is taken, the engine's.
pub(crate) fn insert_relation(context: &mut Context<'_>, relation: Relation) -> Result<()> {
    let (version, name) = (context.database.sequences.fresh_version()?, relation.name().to_owned());
    named(&name, context.database.cache.insert(context.transaction, relation, version))
}

fn named(name: &str, entered: model::Result<()>) -> Result<()> {
    entered.map_err(|error| match error {
        model::Error::Duplicate(_) => name_taken(name),
        error => error.into(),
    })
}

/// 42P07
pub(crate) fn name_taken(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// Replaces the definition of a relation that keeps its name, under a fresh version.
///
/// # Errors
/// The engine's.
pub(crate) fn replace_relation(context: &mut Context<'_>, relation: Relation) -> Result<()> {
    let version = context.database.sequences.fresh_version()?;
    Ok(context.database.cache.replace(context.transaction, relation, version)?)
}

/// Replaces a definition by one with another name, or in another schema.
///
/// # Errors
/// 42P07 if the name is taken, the engine's.
pub(crate) fn rename_relation(context: &mut Context<'_>, old: &Relation, new: Relation) -> Result<()> {
    let (version, name) = (context.database.sequences.fresh_version()?, new.name().to_owned());
    named(&name, context.database.cache.rename(context.transaction, old, new, version))
}

/// Removes a relation. Its storage is another matter ([`super::leave_storage`]).
///
/// # Errors
/// The engine's.
pub(crate) fn remove_relation(context: &mut Context<'_>, relation: &Relation) -> Result<()> {
    Ok(context.database.cache.remove(context.transaction, relation)?)
}

/// Enters a schema, or replaces it.
///
/// # Errors
/// The engine's.
pub(crate) fn insert_namespace(context: &mut Context<'_>, namespace: &Namespace) -> Result<()> {
    Ok(context.database.cache.insert_namespace(context.transaction, namespace)?)
}

/// Removes a schema.
///
/// # Errors
/// The engine's.
pub(crate) fn remove_namespace(context: &mut Context<'_>, name: &str) -> Result<()> {
    Ok(context.database.cache.remove_namespace(context.transaction, name)?)
}

/// Notes that a relation depends on others.
///
/// # Errors
/// The engine's.
pub(crate) fn depend(context: &mut Context<'_>, dependent: Oid, on: impl IntoIterator<Item = Oid>) -> Result<()> {
    Ok(context.database.cache.depend(context.transaction, dependent, on)?)
}

/// Returns the relations that depend on a relation, oldest first.
///
/// # Errors
/// The engine's.
pub(crate) fn dependents(context: &mut Context<'_>, on: Oid) -> Result<Vec<Oid>> {
    Ok(context.database.cache.dependents(context.transaction, on)?)
}

/// Forgets on what a relation depends.
///
/// # Errors
/// The engine's.
pub(crate) fn forget_dependencies(context: &mut Context<'_>, dependent: Oid) -> Result<()> {
    Ok(context.database.cache.forget_dependencies(context.transaction, dependent)?)
}
