//! The engine tables that definitions name ([`tables::storage`]), as statements make and leave them.

use super::{Column, KeyForm, Oid, Storage};
use crate::context::Context;
use crate::database::Database;
use crate::env::State;
use crate::error::Result;
use crate::storage::column_type;
use std::sync::Arc;
use tables::storage::{TouchedStorage, settle, storages};

/// Makes an engine table for the rows of a relation.
///
/// # Errors
/// The engine's.
pub(crate) fn create_row_storage(
    context: &mut Context<'_>,
    relation: Oid,
    columns: &[Column],
    key: KeyForm,
) -> Result<Storage> {
    let Database { store, sequences, .. } = &**context.database;
    let kinds = columns.iter().map(|column| column_type(column.data_type));
    let by = model::Storage::Ordered;
    let made = tables::storage::create_row_storage(&**store, sequences, relation, kinds, key, by)?;
    leave_storage(context, relation, made);
    Ok(made)
}

/// Makes an engine table for the entries of an index.
///
/// # Errors
/// The engine's.
pub(crate) fn create_index_storage(context: &mut Context<'_>, relation: Oid) -> Result<Storage> {
    let Database { store, sequences, .. } = &**context.database;
    let made = tables::storage::create_index_storage(&**store, sequences, relation)?;
    leave_storage(context, relation, made);
    Ok(made)
}

/// Notes that a relation's definition names this storage no longer, or does not name it yet.
pub(crate) fn leave_storage(context: &mut Context<'_>, relation: Oid, storage: Storage) {
    context.session.touched_storage.push(TouchedStorage { relation, table: storage.table });
}

/// Drops what the committed transaction's definitions left.
pub fn after_commit(database: &Arc<Database>, session: &mut State) {
    drop_unnamed(database, session);
}

/// Drops what the definitions of a transaction that was rolled back had made.
pub fn forget_created(database: &Arc<Database>, session: &mut State) {
    drop_unnamed(database, session);
}

fn drop_unnamed(database: &Database, session: &mut State) {
    settle(&*database.store, &database.cache, &std::mem::take(&mut session.touched_storage));
}

/// Drops the temporary relations of the session, as a part of its transaction.
///
/// # Errors
/// The engine's.
pub fn discard_temporary(context: &mut Context<'_>) -> Result<()> {
    let Some(schema) = context.session.temporary_schema.clone() else { return Ok(()) };
    for relation in context.relations_in(&schema)? {
        super::remove_relation(context, &relation)?;
        storages(&relation).for_each(|storage| leave_storage(context, relation.oid(), storage));
    }
    Ok(())
}

/// Drops the temporary relations of a session that ends.
///
/// # Errors
/// The engine's; what remains goes when the database is opened next.
pub fn drop_temporary(database: &Arc<Database>, session: &mut State) -> Result<()> {
    let Some(schema) = session.temporary_schema.take() else { return Ok(()) };
    Ok(tables::storage::drop_temporary(&*database.store, &database.cache, &schema)?)
}
