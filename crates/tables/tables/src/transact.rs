//! Small transactions of the layer's own.

use env::Retries;
use model::retry::{self, Failure};
use model::{
    Abort, AbortClass, Access, Begin, Error, Finish, Invalid, LogPosition, Mode, Result, RetryPolicy, Schema, Store,
    TableId,
};

/// Runs `body` in a transaction of its own, again after conflicts, and returns once it is durable. Work of the layer itself
/// that remains undone is done when the database is opened next.
///
/// # Errors
/// Errors of the body, or the engine's after many conflicts.
pub fn transact<T>(store: &dyn Store, mode: Mode, body: impl FnMut(&mut dyn Access) -> Result<T>) -> Result<T> {
    transact_as(store, Begin { mode, ..Begin::default() }, body)
}

/// Runs `body` as [`transact`] does, and returns without waiting for the log: whatever is logged later is durable only if this
/// is. Also returns the position that an answer about it must wait for.
///
/// # Errors
/// Errors of [`transact`].
pub(crate) fn transact_unawaited<T>(
    store: &dyn Store,
    mode: Mode,
    body: impl FnMut(&mut dyn Access) -> Result<T>,
) -> Result<(T, LogPosition)> {
    attempt(store, Begin { mode, ..Begin::default() }, body)
}

/// Same as [`transact`], with all that can be said of a transaction.
pub(crate) fn transact_as<T>(
    store: &dyn Store,
    how: Begin,
    body: impl FnMut(&mut dyn Access) -> Result<T>,
) -> Result<T> {
    let (value, position) = attempt(store, how, body)?;
    store.wait_durable(position)?;
    Ok(value)
}

fn attempt<T>(
    store: &dyn Store,
    how: Begin,
    mut body: impl FnMut(&mut dyn Access) -> Result<T>,
) -> Result<(T, LogPosition)> {
    let mut attempt = || {
        let mut transaction = store.begin(how)?;
        let value = body(&mut transaction)?;
        let committed = transaction.commit()?;
        Ok((value, committed.log_position))
    };
    let done = retry::run(&mut Retries::new(RetryPolicy::default()), |_| attempt().map_err(into_failure));
    done.map_err(Failure::into_error)
}

/// A statement that used up its wait limit is not retried.
fn into_failure(error: Error) -> Failure<Error, Error> {
    match error.conflict() {
        Some(Abort { class: AbortClass::WaitLimit, .. }) => Failure::Final(error),
        _ => Failure::from(error),
    }
}

/// The engine table of this name.
pub(crate) fn find(store: &dyn Store, name: &str) -> Option<TableId> {
    store.tables().into_iter().find(|(_, schema)| schema.name() == name).map(|(id, _)| id)
}

/// The engine table of this name, of byte strings, made where it is missing: by this process, or by another one at the same time.
pub(crate) fn find_or_create(store: &dyn Store, name: &str) -> Result<TableId> {
    if let Some(table) = find(store, name) {
        return Ok(table);
    }
    match store.create_table(Schema::bytes(name).build()?) {
        Err(Error::Invalid(Invalid::TableExists { table })) => {
            find(store, name).ok_or(Error::Invalid(Invalid::TableExists { table }))
        }
        made => made,
    }
}

/// Whether other processes write the store too.
pub(crate) fn is_shared(store: &dyn Store) -> bool {
    Store::ddl(store).is_some_and(model::Tables::is_shared)
}

/// Whether an engine table that no definition names may be dropped by this process.
pub(crate) fn is_left_over(store: &dyn Store, table: TableId) -> bool {
    Store::ddl(store).is_none_or(|tables| tables.is_left_over(table))
}
