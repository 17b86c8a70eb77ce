//! Execution context of a running statement.

use crate::cancel::Cancel;
use crate::database::Database;
use crate::env::State;
use crate::error::{Result, SqlError, state};
use crate::store::Transaction;
use crate::types::Datum;
use std::sync::Arc;
use std::time::Duration;

pub use crate::memory::Memory;
pub use pgtypes::{row_bytes, value_bytes};

/// Execution context of a running statement. Lives for one call into a statement; portals keep their own state between calls.
pub struct Context<'s> {
    /// The transaction.
    pub transaction: &'s mut dyn Transaction,
    /// The database.
    pub database: &'s Arc<Database>,
    /// The session: settings, user, times, last values of sequences.
    pub session: &'s mut State,
    /// The values of `$1`, `$2`, ...
    pub parameters: &'s [Datum],
    /// The statement's memory.
    pub memory: Memory,
    /// Cancel flag of the statement.
    pub cancel: &'s Cancel,
}

impl Context<'_> {
    /// Checks whether the statement is cancelled. Call it once for every few hundred rows.
    ///
    /// # Errors
    /// 57014.
    pub fn check_cancel(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Runs `work` with another limit on waits for other transactions (NOWAIT). Reaching the limit returns `unavailable`.
    ///
    /// # Errors
    /// Errors of `work`.
    pub fn waiting_at_most<T>(
        &mut self,
        limit: Duration,
        unavailable: impl FnOnce() -> SqlError,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.transaction.set_wait_limit(Some(limit));
        let done = work(self);
        self.transaction.set_wait_limit(self.session.lock_timeout());
        done.map_err(|error| if error.code() == state::LOCK_NOT_AVAILABLE { unavailable() } else { error })
    }
}
