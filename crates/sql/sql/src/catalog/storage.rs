//! The engine tables that definitions name ([`tables::storage`]), when a transaction or a session ends.

use crate::database::Database;
use crate::env::State;
use crate::error::Result;
use std::sync::Arc;
use tables::storage::settle;

/// Drops what the committed transaction's definitions left.
pub fn after_commit(database: &Arc<Database>, session: &mut State) {
    drop_unnamed(database, session, true);
}

/// Drops what the definitions of a transaction that was rolled back had made.
pub fn forget_created(database: &Arc<Database>, session: &mut State) {
    drop_unnamed(database, session, false);
}

fn drop_unnamed(database: &Database, session: &mut State, has_committed: bool) {
    let touched = std::mem::take(&mut session.touched);
    settle(&*database.store, &database.sequences, &database.cache, (&touched, has_committed));
    // What is gone is not known any more.
    for sequence in touched.iter().map(|touched| touched.relation).filter(|it| database.cache.last_known(*it).is_none())
    {
        session.last_values.remove(&sequence);
    }
}

/// Drops the temporary relations of a session that ends.
///
/// # Errors
/// Errors of the engine; what remains goes when the database is opened next.
pub fn drop_temporary(database: &Arc<Database>, session: &mut State) -> Result<()> {
    let Some(schema) = session.temporary_schema.take() else { return Ok(()) };
    Ok(tables::storage::drop_temporary(&*database.store, &database.sequences, &database.cache, &schema)?)
}
