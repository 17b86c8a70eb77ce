//! Writes the catalog, as part of the statement's transaction.

use super::{Cache, Namespace, Relation};
use crate::context::Context;
use crate::definition::cache::{encode, encode_namespace, namespace_key, oid_key, relation_key};
use crate::error::{Result, SqlError, state};
use crate::store::Transaction;
use model::RowRef;
use std::sync::Arc;

/// Enters a new relation, under a fresh version.
///
/// # Errors
/// 42P07 if the name is taken, the engine's.
pub(crate) fn insert_relation(context: &mut Context<'_>, mut relation: Relation) -> Result<()> {
    let version = renew(context, &mut relation)?;
    let (table, key) = (context.database.cache.table(), relation_key(relation.schema(), relation.name()));
    let row = encode(&relation, version)?;
    context.transaction.insert(table, &key, RowRef::new(&row)).map_err(|error| match error {
        model::Error::Duplicate(_) => name_taken(relation.name()),
        error => error.into(),
    })?;
    context.transaction.put(table, &oid_key(relation.oid()), RowRef::new(&key))?;
    Ok(())
}

/// 42P07
pub(crate) fn name_taken(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// Replaces the definition of a relation that keeps its name, under a fresh version.
///
/// # Errors
/// The engine's.
pub(crate) fn replace_relation(context: &mut Context<'_>, mut relation: Relation) -> Result<()> {
    let version = renew(context, &mut relation)?;
    let key = relation_key(relation.schema(), relation.name());
    let row = encode(&relation, version)?;
    context.transaction.put(context.database.cache.table(), &key, RowRef::new(&row))?;
    Ok(())
}

/// Replaces a definition by one with another name, or in another schema.
///
/// # Errors
/// 42P07 if the name is taken, the engine's.
pub(crate) fn rename_relation(context: &mut Context<'_>, old: &Relation, new: Relation) -> Result<()> {
    context.transaction.delete(context.database.cache.table(), &relation_key(old.schema(), old.name()))?;
    insert_relation(context, new)
}

/// Removes a relation. Its storage is another matter ([`super::leave_storage`]).
///
/// # Errors
/// The engine's.
pub(crate) fn remove_relation(context: &mut Context<'_>, relation: &Relation) -> Result<()> {
    delete_relation(&context.database.cache, context.transaction, relation)
}

/// As [`remove_relation`], outside of any statement.
pub(super) fn delete_relation(cache: &Cache, transaction: &mut dyn Transaction, relation: &Relation) -> Result<()> {
    transaction.delete(cache.table(), &relation_key(relation.schema(), relation.name()))?;
    transaction.delete(cache.table(), &oid_key(relation.oid()))?;
    Ok(())
}

/// Gives a changed definition a version that no other has ever had.
fn renew(context: &Context<'_>, relation: &mut Relation) -> Result<u64> {
    let version = context.database.sequences.fresh_version()?;
    match relation {
        Relation::Table(table) => Arc::make_mut(table).version = version,
        Relation::View(view) => Arc::make_mut(view).version = version,
        Relation::Index(_) | Relation::Sequence(_) => {}
    }
    Ok(version)
}

/// Enters a schema, or replaces it.
///
/// # Errors
/// The engine's.
pub(crate) fn insert_namespace(context: &mut Context<'_>, namespace: &Namespace) -> Result<()> {
    let row = encode_namespace(namespace)?;
    context.transaction.put(context.database.cache.table(), &namespace_key(&namespace.name), RowRef::new(&row))?;
    Ok(())
}

/// Removes a schema.
///
/// # Errors
/// The engine's.
pub(crate) fn remove_namespace(context: &mut Context<'_>, name: &str) -> Result<()> {
    context.transaction.delete(context.database.cache.table(), &namespace_key(name))?;
    Ok(())
}
