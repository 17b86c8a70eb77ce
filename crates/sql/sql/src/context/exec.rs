//! What execution touches.

use super::{Names, System};
use crate::cancel::Cancel;
use crate::database::Database;
use crate::definition::Table;
use crate::env::{Check, Deferred, RelationCounts, State, Vectors};
use crate::error::{Result, SqlError, state};
use crate::memory::Memory;
use crate::storage::Samples;
use crate::store::{Store, Transaction};
use crate::types::{Datum, Encoding, Env, memory};
use std::sync::Arc;
use std::time::Duration;
use vectors::spill::TemporaryFiles;

/// Number of rows between two checks whether the statement may go on.
const ROWS_BETWEEN_CHECKS: u64 = 256;

/// The right to execute: operators and statements over rows read and write rows, count memory, and look at the cancel flag.
/// They read the catalog by [`Exec::names`] and the session by [`Exec::env`]; functions that they call get [`Exec::system`].
///
/// Lives for one call into a statement; portals keep their own state between calls.
pub struct Exec<'s> {
    /// The transaction.
    pub transaction: &'s mut (dyn Transaction + 's),
    /// The values of `$1`, `$2`, ...
    pub parameters: &'s [Datum],
    /// The statement's memory.
    pub memory: Memory,
    /// Cancel flag of the statement.
    pub cancel: &'s Arc<Cancel>,
    pub(super) database: &'s Arc<Database>,
    pub(super) session: &'s mut State,
}

impl<'s> Exec<'s> {
    /// The right to execute in a session's transaction. Only a session (and a test) has all the arguments: the other handles
    /// keep theirs to themselves.
    pub fn new(
        transaction: &'s mut (dyn Transaction + 's),
        (database, session): (&'s Arc<Database>, &'s mut State),
        parameters: &'s [Datum],
        memory: Memory,
        cancel: &'s Arc<Cancel>,
    ) -> Exec<'s> {
        Exec { transaction, parameters, memory, cancel, database, session }
    }

    /// Temporary files of the statement.
    pub fn temporary_files(&self) -> Arc<dyn TemporaryFiles> {
        self.database.temporary.of_statement(self.session.derived.temporary_bytes)
    }

    /// The engine: what it says about the sizes of tables is no read of the transaction.
    pub fn store(&self) -> &dyn Store {
        &*self.database.store
    }

    /// Samples of tables. What they say is no read of the transaction, either.
    pub fn samples(&self) -> &Samples {
        &self.database.samples
    }

    /// The session's styles and times.
    pub fn env(&self) -> &dyn Env {
        self.session
    }

    /// Setting `enable_vectors`.
    pub fn vectors(&self) -> Vectors {
        self.session.derived.vectors
    }

    /// The encoding of the client's texts.
    pub fn client_encoding(&self) -> Encoding {
        self.session.derived.encoding
    }

    /// The right to read the catalog.
    pub fn names(&mut self) -> Names<'_> {
        Names { transaction: &mut *self.transaction, database: self.database, session: self.session }
    }

    /// The right of functions about the system.
    pub fn system(&mut self) -> System<'_> {
        let Exec { transaction, database, session, cancel, .. } = self;
        System { transaction: &mut **transaction, database, session, cancel }
    }

    /// The counts of a relation, for `pg_stat_*`.
    pub fn counts(&mut self, relation: u32) -> &mut RelationCounts {
        self.session.counts.of(relation)
    }

    /// Checks whether the statement may go on. Call it once for every few hundred rows.
    ///
    /// # Errors
    /// Errors of [`Cancel::check_work`].
    pub fn check_cancel(&self) -> Result<()> {
        self.cancel.check_work()
    }

    /// Checks at row number `rows` of a statement whether it may go on: now and then, and at each row while the system is out of
    /// memory.
    ///
    /// # Errors
    /// Errors of [`Cancel::check_work`].
    #[inline]
    pub fn check_at_row(&self, rows: u64) -> Result<()> {
        if rows.is_multiple_of(ROWS_BETWEEN_CHECKS) || memory::is_reserve_in_use() {
            self.check_cancel()
        } else {
            Ok(())
        }
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
        self.end_short_wait(done, unavailable)
    }

    /// Restores the session's limit on waits.
    pub(super) fn end_short_wait<T>(&mut self, done: Result<T>, unavailable: impl FnOnce() -> SqlError) -> Result<T> {
        self.transaction.set_wait_limit(self.session.lock_timeout());
        done.map_err(|error| if error.code() == state::LOCK_NOT_AVAILABLE { unavailable() } else { error })
    }

    /// Translates an engine's error into the user's words. A conflict stays as it is until it leaves the session.
    pub fn explain(&self, error: SqlError) -> SqlError {
        self.database.explain(error)
    }

    /// A row number for a table without a primary key, never given before.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn row_number(&self, table: &Table) -> Result<u64> {
        Ok(self.database.sequences.row_number(table.oid)?)
    }

    /// Bytes that a statement may hold, unless its session sets `work_mem`.
    pub fn work_bytes(&self) -> usize {
        self.database.options.work_bytes
    }

    /// Returns whether changes of a table's rows require checks of foreign keys: not while its triggers are disabled, nor in a session
    /// that replays what another database has checked.
    pub fn asks_foreign_keys(&self, table: &Table) -> bool {
        !table.triggers_disabled && !self.session.derived.is_replica
    }

    /// The checks that wait for COMMIT.
    pub fn deferred(&mut self) -> &mut Deferred {
        &mut self.session.deferred
    }

    /// Defers a check until COMMIT. `false` if all deferred checks would take more than [`Exec::work_bytes`].
    ///
    /// # Errors
    /// 53200.
    pub fn defer_check(&mut self, check: Check) -> Result<bool> {
        let database = self.database;
        self.session.deferred.defer_check(check, || database.memory(database.options.work_bytes))
    }
}
