//! Transactions of the database itself, beside those of sessions.

use super::{Store, Transaction};
use crate::error::{Result, SqlError};
use env::Retries;
use model::retry::{self, Failure};
use model::{Begin, Finish, Mode, RetryPolicy};

/// Runs `body` in a transaction of its own, again after conflicts. Work of the database itself that remains undone is done when
/// the database is opened next.
pub(crate) fn independently<T>(
    store: &dyn Store,
    mode: Mode,
    body: impl FnMut(&mut dyn Transaction) -> Result<T>,
) -> Result<T> {
    independently_as(store, Begin { mode, ..Begin::default() }, body)
}

/// As [`independently`], with all that can be said of a transaction.
pub(crate) fn independently_as<T>(
    store: &dyn Store,
    how: Begin,
    mut body: impl FnMut(&mut dyn Transaction) -> Result<T>,
) -> Result<T> {
    let mut attempt = || {
        let mut transaction = store.begin(how)?;
        let value = body(&mut *transaction)?;
        let committed = transaction.commit()?;
        store.wait_durable(committed.log_position)?;
        Ok(value)
    };
    let done = retry::run(&mut Retries::new(RetryPolicy::default()), |_| attempt().map_err(SqlError::into_failure));
    done.map_err(Failure::into_error)
}
