//! The interactive door: the caller holds the transaction open.

use crate::retry::Failure;
use crate::{
    Access, Begin, Columns, Committed, Error, Finish, LogPosition, Mode, Pending, Result, RowBuf, Snapshots, TableId,
    Tables,
};
use std::sync::Arc;

/// The interactive door: the caller holds the transaction open. SQL needs it.
pub trait Interactive: Send + Sync + 'static {
    /// A transaction that borrows the engine.
    type Transaction<'engine>: Access + Finish + Send
    where
        Self: 'engine;
    /// The same, owning a handle of the engine: it outlives the call that began it and may move between threads.
    type Owned: Access + Finish + Send + 'static;

    /// Begins a transaction. Never waits, except in [`crate::Mode::Snapshot`].
    ///
    /// # Errors
    /// [`crate::Error::Limit`] with too many open transactions, [`crate::Error::Fault`] if the clock or the log has failed.
    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>>;

    /// Same as [`Interactive::begin`], owned.
    ///
    /// # Errors
    /// Same as [`Interactive::begin`].
    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned>;

    /// Reads one row as it is now, as a read-only transaction with this one read does: strictly serializable. Provided by such a
    /// transaction; engines with a shorter way for one read override it. It claims no serial point. The answer waits for
    /// [`Got::log_position`], by [`Interactive::wait_durable`].
    ///
    /// # Errors
    /// Same as of a transaction that reads. An abort may be tried again; engines without readers that always commit have them.
    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        read_alone(self, table, key, columns, row)
    }

    /// Blocks until the log is durable up to `position`; returns at once if it is.
    ///
    /// # Errors
    /// [`crate::Error::Fault`] if the log failed first: the outcome is unknown.
    fn wait_durable(&self, position: LogPosition) -> Result<()>;

    /// Same as [`Interactive::wait_durable`], but returns `false` once `is_over` returns true. `is_over` is called, under a
    /// latch, before each sleep, and again after each [`Interactive::recheck_waits`]. Provided for engines whose
    /// [`Interactive::wait_durable`] does not sleep.
    ///
    /// # Errors
    /// Same as [`Interactive::wait_durable`].
    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        let _ = is_over;
        self.wait_durable(position).map(|()| true)
    }

    /// Has every [`Interactive::wait_durable_unless`] ask again whether it is over.
    fn recheck_waits(&self) {}

    /// Same as [`Interactive::wait_durable`], for callers that must not block: the log may become durable later. Ready if it is
    /// durable already.
    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>>;

    /// Creation and removal of tables at run time, if the engine can. SQL needs it.
    fn ddl(&self) -> Option<&dyn Tables> {
        None
    }

    /// Real snapshots, if the engine has them; without, [`crate::Mode::Snapshot`] is [`crate::Mode::ReadOnly`].
    fn snapshots(&self) -> Option<&dyn Snapshots> {
        None
    }

    /// Aborts a transaction, and then waits until everything that it has read is durable: for callers about to answer with an
    /// error of their own, which reveals what was read no less than a result does.
    ///
    /// # Errors
    /// Same as [`Interactive::wait_durable`]: the answer must not be given, since the versions that it read may be lost in a
    /// restart.
    fn abort_durably(&self, transaction: impl Finish) -> Result<()> {
        let rests_on = transaction.rests_on();
        transaction.abort();
        self.wait_durable(rests_on)
    }

    /// Ends a transaction whose body has run: commits it, or aborts it durably if the body failed on reads that hold.
    ///
    /// # Errors
    /// The engine's abort, whatever the body made of that; the body's error; [`Error::Fault`] as for
    /// [`Interactive::abort_durably`].
    fn conclude<T, E: From<Error>>(
        &self,
        mut transaction: impl Finish,
        outcome: std::result::Result<T, E>,
    ) -> std::result::Result<(T, Committed), Failure<Error, E>> {
        if let Some(error) = transaction.poison().cloned() {
            return Err(error.into());
        }
        match outcome {
            Ok(output) => Ok((output, transaction.commit()?)),
            Err(error) => {
                transaction.check_reads()?;
                self.abort_durably(transaction)?;
                Err(Failure::Final(error))
            }
        }
    }
}

/// Result of a read of one row ([`Interactive::get`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Got {
    /// Whether there is a row.
    pub found: bool,
    /// Log position that the answer must wait for. Zero: no wait.
    pub log_position: LogPosition,
}

/// Reads one row in a read-only transaction: [`Interactive::get`] of engines, and of cases, without a shorter way. An error waits until
/// what was read is durable.
///
/// # Errors
/// Same as [`Interactive::get`].
pub fn read_alone<I: Interactive + ?Sized>(
    engine: &I,
    table: TableId,
    key: &[u8],
    columns: Columns<'_>,
    row: &mut RowBuf,
) -> Result<Got> {
    let mut transaction = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() })?;
    match transaction.read(table, key, columns, row) {
        Ok(found) => transaction.commit().map(|committed| Got { found, log_position: committed.log_position }),
        Err(error) => {
            engine.abort_durably(transaction)?;
            Err(error)
        }
    }
}
