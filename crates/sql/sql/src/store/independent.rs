//! Work of the database itself: transactions that belong to no session.

use super::{Store, Transaction};
use crate::error::{Result, state};
use model::{Begin, Finish, Mode};

/// How often work of the database itself is tried again after a conflict. What then remains undone is done when the
/// database is opened next.
const ATTEMPTS: u32 = 16;

/// Runs `body` in a transaction of its own, again after conflicts.
pub(crate) fn independently<T>(
    store: &dyn Store,
    mode: Mode,
    mut body: impl FnMut(&mut dyn Transaction) -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        let mut transaction = store.begin(Begin { mode, ..Begin::default() })?;
        let done = body(&mut *transaction).and_then(|value| {
            let committed = transaction.commit()?;
            store.wait_durable(committed.log_position)?;
            Ok(value)
        });
        match done {
            Err(error) if error.is_retryable() && error.code() != state::LOCK_NOT_AVAILABLE && attempt < ATTEMPTS => {
                attempt += 1;
            }
            done => return done,
        }
    }
}
