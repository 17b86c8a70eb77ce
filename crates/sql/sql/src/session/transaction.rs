//! Transactions of a session: blocks that the client opens, and implicit transactions around all other statements.

use super::{Session, Status};
use crate::alter::on_commit;
use crate::cancel::Cancel;
use crate::context::{Change, Exec};
use crate::env::{Conflict, Deferred, KnownTypes};
use crate::error::{Result, SqlError, state};
use crate::notify::{self, Pending};
use crate::store::{Store, Transaction};
use crate::types::Datum;
use crate::{catalog, dml};
use model::{AbortClass, Begin, Durability, Finish, LogPosition, Mode, Supervisor};
use pgtypes::interrupt;
use std::sync::Arc;
use std::time::Duration;
use syntax::Modes;

/// A store, and the flag that ends a wait for its log.
pub(super) type Log<'s> = (&'s dyn Store, &'s Cancel);

/// An open transaction.
pub(super) struct Open {
    /// The engine's, begun at the first statement that needs it: drivers send BEGIN long before.
    pub(super) transaction: Option<Box<dyn Transaction>>,
    /// Whether the client said BEGIN.
    pub explicit: bool,
    /// Whether the statements of one text are its statements: a block until the text ends.
    pub of_text: bool,
    /// Whether a statement has failed: only ROLLBACK is accepted.
    pub failed: bool,
    pub(super) read_only: bool,
    deferrable: bool,
    savepoints: Vec<Savepoint>,
}

/// How long a read-only block waits for older writers to end. Most take milliseconds. A writer that has been open for this long
/// already is not waited for: it is idle, or runs a long statement.
const PATIENCE: Duration = Duration::from_millis(20);
const PATIENCE_MICROS: i64 = PATIENCE.as_micros() as i64;

/// Begins a transaction of the engine. A read-only block is `tried` as a snapshot first: once the older writers have ended, it
/// leaves no stamps behind, and no writer aborts because of what it read. If they do not end soon, it reads beside them.
fn begin(
    store: &dyn Store,
    how: Begin,
    tried: bool,
    supervisor: Arc<dyn Supervisor>,
) -> model::Result<Box<dyn Transaction>> {
    if tried {
        let patient = Begin { mode: Mode::Snapshot, wait_limit: Some(PATIENCE), ..how };
        let mut transaction = store.begin(patient)?;
        supervise(&mut *transaction, supervisor.clone());
        if transaction.start().is_ok() {
            transaction.set_wait_limit(how.wait_limit);
            return Ok(transaction);
        }
        transaction.abort();
    }
    let mut transaction = store.begin(how)?;
    supervise(&mut *transaction, supervisor);
    Ok(transaction)
}

/// Waits of an engine without supervision end by its own limits.
pub(super) fn supervise(transaction: &mut dyn Transaction, supervisor: Arc<dyn Supervisor>) {
    if let Some(waits) = transaction.supervised() {
        waits.set_supervisor(supervisor);
    }
}

/// SAVEPOINT.
struct Savepoint {
    name: String,
    place: model::Savepoint,
    settings: usize,
    read_only: bool,
    /// Number of the last portal created before it.
    portals: u64,
    /// As [`crate::env::Advisory::mark`].
    advisory: usize,
    pending: notify::Mark,
    deferred: Deferred,
}

impl Session {
    /// Returns whether a transaction is open, between statements.
    pub fn status(&self) -> Status {
        match &self.open {
            Some(open) if open.explicit && open.failed => Status::Failed,
            Some(open) if open.explicit => Status::InTransaction,
            _ => Status::Idle,
        }
    }

    /// Returns whether statements of the client follow in the same transaction: in a block, or in a text of several.
    pub(super) fn in_any_block(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.explicit || open.of_text)
    }

    /// Opens an implicit transaction, unless a transaction is open.
    pub(super) fn open_implicit(&mut self, read_only: bool) {
        if self.open.is_none() {
            let deferrable = read_only && self.state.derived.is_deferrable_by_default;
            let read_only = read_only || self.state.derived.is_read_only_by_default;
            self.open_with(false, read_only, deferrable && read_only);
        }
    }

    fn open_with(&mut self, explicit: bool, read_only: bool, deferrable: bool) {
        self.state.transaction_time = self.state.statement_time;
        let open = Open {
            transaction: None,
            explicit,
            of_text: false,
            failed: false,
            read_only,
            deferrable,
            savepoints: Vec::new(),
        };
        self.open = Some(open);
    }

    /// BEGIN. Warns if a block is open already.
    pub(super) fn begin(&mut self, modes: Modes) -> Result<()> {
        if let Some(open) = &mut self.open {
            if open.explicit {
                let warning =
                    SqlError::new(state::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress");
                self.state.notices.push(warning);
                return Ok(());
            }
            open.explicit = true;
        } else {
            self.open_with(true, false, false);
        }
        let follows = &self.state.derived;
        let defaults = Modes {
            isolation: None,
            read_only: Some(follows.is_read_only_by_default),
            deferrable: Some(follows.is_deferrable_by_default),
        };
        self.apply(defaults)?;
        self.apply(modes)
    }

    /// SET TRANSACTION.
    pub(super) fn set_transaction(&mut self, modes: Modes) -> Result<()> {
        if !self.in_any_block() {
            let warning = "SET TRANSACTION can only be used in transaction blocks";
            self.state.notices.push(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, warning));
            return Ok(());
        }
        self.apply(modes)
    }

    pub(super) fn apply(&mut self, modes: Modes) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if let Some(read_only) = modes.read_only
            && read_only != open.read_only
        {
            if open.transaction.is_some() && !read_only {
                let message = "transaction read-write mode must be set before any query";
                return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
            }
            open.read_only = read_only;
            self.state.settings.set("transaction_read_only", Some(if read_only { "on" } else { "off" }), true)?;
        }
        if let Some(deferrable) = modes.deferrable
            && deferrable != open.deferrable
        {
            if open.transaction.is_some() {
                let message = "SET TRANSACTION [NOT] DEFERRABLE must be called before any query";
                return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
            }
            open.deferrable = deferrable;
            self.state.settings.set("transaction_deferrable", Some(if deferrable { "on" } else { "off" }), true)?;
        }
        Ok(())
    }

    /// Returns the handle for executing a statement. Begins the engine's transaction at its first statement.
    pub(super) fn exec<'s>(&'s mut self, parameters: &'s [Datum]) -> Result<Exec<'s>> {
        Ok(self.exec_and_log(parameters)?.0)
    }

    /// Returns the handle for a definition.
    pub(super) fn change(&mut self) -> Result<Change<'_>> {
        self.exec(&[]).map(Change::new)
    }

    /// Same as [`Session::exec`], with the means to wait for the log meanwhile.
    pub(super) fn exec_and_log<'s>(&'s mut self, parameters: &'s [Datum]) -> Result<(Exec<'s>, Log<'s>)> {
        let how = self.begin_how();
        let Session { database, state, entry, open, awaited, .. } = self;
        state.advisory.settled = *awaited;
        let open = open.as_mut().ok_or_else(|| SqlError::new(state::INTERNAL_ERROR, "no transaction is open"))?;
        let transaction = match &mut open.transaction {
            Some(transaction) => {
                transaction.set_wait_limit(how.wait_limit); // SET lock_timeout counts from the next statement on.
                transaction
            }
            none => {
                let now = state.statement_time;
                let is_read_only_block = open.explicit && how.mode == Mode::ReadOnly;
                let tried = is_read_only_block && !database.sessions.has_writer_since_before(now - PATIENCE_MICROS);
                let transaction = begin(&*database.store, how, tried, entry.cancel.clone())?;
                if how.mode == Mode::OwnAtStatement {
                    entry.cancel.begin_writing(now);
                }
                none.insert(transaction)
            }
        };
        transaction.set_reads_wait(false); // Until a statement that writes says otherwise.
        let memory = database.statement_memory(state);
        memory.begin();
        interrupt::begin_statement(entry.cancel.clone());
        state.begin_types();
        let cancel = &entry.cancel;
        let exec = Exec::new(&mut **transaction, (database, state), parameters, memory, cancel);
        Ok((exec, (&*database.store, cancel)))
    }

    fn begin_how(&self) -> Begin {
        let mode = match &self.open {
            Some(open) if open.read_only && open.deferrable => Mode::Snapshot,
            Some(open) if open.read_only => Mode::ReadOnly,
            _ => Mode::OwnAtStatement,
        };
        let follows = &self.state.derived;
        let durability = match self.database.options.durability {
            Durability::Fsync if follows.is_commit_asynchronous => Durability::Async,
            durability => durability,
        };
        Begin {
            mode,
            durability: Some(durability),
            wait_limit: self.state.lock_timeout(),
            draws: None,
            staleness: self.state.read_staleness(),
        }
    }

    /// Returns whether the transaction refuses writes only because its statement was assumed to read only.
    pub(super) fn only_guessed_read_only(&self) -> bool {
        let implicit = self.open.as_ref().is_some_and(|open| !open.explicit);
        implicit && !self.state.settings.is_on("default_transaction_read_only")
    }

    /// Returns whether the transaction refuses writes.
    pub(super) fn is_read_only(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.read_only)
    }

    /// Handles a failed statement: a block waits for ROLLBACK, an implicit transaction is rolled back.
    pub(super) fn fail(&mut self) {
        match &mut self.open {
            Some(open) if open.explicit => {
                open.failed = true;
                // ROLLBACK TO makes a block usable again. Without a savepoint the engine's transaction has no further use, and
                // others need not wait for the client's ROLLBACK.
                if open.savepoints.is_empty() {
                    let transaction = open.transaction.take();
                    self.abort(transaction);
                    self.entry.cancel.end_transaction();
                    self.entry.forget_relations();
                    self.end_portals();
                    self.end_advisory();
                }
            }
            _ => self.roll_back(),
        }
    }

    /// Commits the engine's transaction. Its writes become visible; [`Session::wait_durable`] waits until they are durable.
    pub(super) fn commit(&mut self) -> Result<()> {
        if self.open.as_ref().is_none_or(|open| open.transaction.is_none()) {
            let reserved = self.reserve_notifications()?;
            self.state.settings.commit();
            self.publish(reserved);
            self.state.counts.transactions.commits += 1;
            self.end();
            return Ok(());
        }
        let temporary = match self.prepare_commit() {
            Ok(temporary) => temporary,
            Err(error) => {
                let error = self.explain_unless_repeated(error);
                self.roll_back();
                return Err(error);
            }
        };
        let reserved = self.reserve_notifications()?;
        let Some(transaction) = self.open.as_mut().and_then(|open| open.transaction.take()) else { return Ok(()) };
        // The client has received what a failed COMMIT's transaction has read.
        self.awaited = self.awaited.max(transaction.rests_on());
        match transaction.commit() {
            Ok(committed) => {
                self.awaited = self.awaited.max(committed.log_position);
                self.state.settings.commit();
                self.state.on_commit = temporary;
                // Notifications of later commits wait for it.
                self.publish(reserved);
                self.hold_cursors();
                catalog::after_commit(&self.database, &mut self.state);
                self.state.counts.transactions.commits += 1;
                self.end();
                Ok(())
            }
            Err(error) => {
                self.database.channels.release(reserved);
                if matches!(error, model::Error::Fault(model::Fault::OutcomeUnknown { .. })) {
                    // It may still commit, and name what it has made. What is left over otherwise goes at the next opening.
                    self.state.touched.clear();
                }
                let error = self.explain_unless_repeated(error.into());
                self.roll_back();
                Err(error)
            }
        }
    }

    /// Does what COMMIT does within the transaction. Returns the temporary tables that still have ON COMMIT.
    fn prepare_commit(&mut self) -> Result<Vec<u32>> {
        self.read_held_cursors()?;
        dml::check_deferred(&mut self.exec(&[])?)?;
        if self.state.on_commit.is_empty() { Ok(Vec::new()) } else { on_commit::run(&mut self.change()?) }
    }

    /// Rolls back.
    pub(super) fn roll_back(&mut self) {
        self.state.counts.transactions.rollbacks += u64::from(self.open.is_some());
        let transaction = self.open.as_mut().and_then(|open| open.transaction.take());
        self.abort(transaction);
        self.state.settings.back_to(0);
        catalog::forget_created(&self.database, &mut self.state);
        self.end();
    }

    fn end(&mut self) {
        if self.has_block() {
            self.entry.forget_relations();
        }
        self.open = None;
        self.entry.cancel.end_transaction();
        self.state.deferred = Deferred::default();
        self.state.pending = Pending::default();
        self.state.types = KnownTypes::default();
        self.state.follow_settings();
        self.end_portals();
        self.end_advisory();
    }

    /// Gives back the transaction's advisory locks: what it has committed is visible.
    fn end_advisory(&mut self) {
        let Session { state, database, entry, awaited, .. } = self;
        state.advisory.end_since(0, &database.advisory, entry.process, *awaited);
    }

    /// Ends a transaction that was opened only to look up names. Portals that have not started stay.
    pub(super) fn end_lookup_transaction(&mut self) {
        let transaction = self.open.take().and_then(|open| open.transaction);
        self.state.types = KnownTypes::default();
        self.abort(transaction);
    }

    /// Rolls back an engine's transaction. The answers may contain what it has read, since errors mention rows, too.
    fn abort(&mut self, transaction: Option<Box<dyn Transaction>>) {
        if let Some(transaction) = transaction {
            self.awaited = self.awaited.max(transaction.rests_on());
            transaction.abort();
        }
    }

    /// COMMIT. The tag says whether it committed or rolled back.
    pub(super) fn commit_block(&mut self, chain: bool) -> Result<&'static str> {
        let (explicit, failed) = self.open.as_ref().map_or((false, false), |open| (open.explicit, open.failed));
        if !explicit {
            let warning = SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            self.state.notices.push(warning);
        }
        let modes = self.modes();
        let tag = if failed {
            self.roll_back();
            "ROLLBACK"
        } else {
            self.commit()?;
            "COMMIT"
        };
        if chain && explicit {
            self.begin(modes)?;
        }
        Ok(tag)
    }

    /// ROLLBACK.
    pub(super) fn roll_back_block(&mut self, chain: bool) -> Result<()> {
        let explicit = self.open.as_ref().is_some_and(|open| open.explicit);
        if !explicit {
            let warning = SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
            self.state.notices.push(warning);
        }
        let modes = self.modes();
        self.roll_back();
        if chain && explicit {
            self.begin(modes)?;
        }
        Ok(())
    }

    fn modes(&self) -> Modes {
        let open = self.open.as_ref();
        Modes {
            isolation: None,
            read_only: open.map(|open| open.read_only),
            deferrable: open.map(|open| open.deferrable),
        }
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self, name: &str) -> Result<()> {
        self.in_block("SAVEPOINT")?;
        let place = self.exec(&[])?.transaction.savepoint()?;
        let savepoint = Savepoint {
            name: name.to_owned(),
            place,
            settings: self.state.settings.mark(),
            read_only: self.is_read_only(),
            portals: self.portals_entered,
            advisory: self.state.advisory.mark(),
            pending: self.state.pending.mark(),
            deferred: self.state.deferred.clone(),
        };
        if let Some(open) = &mut self.open {
            open.savepoints.push(savepoint);
        }
        Ok(())
    }

    /// RELEASE.
    pub(super) fn release(&mut self, name: &str) -> Result<()> {
        self.in_block("RELEASE SAVEPOINT")?;
        let at = self.find_savepoint(name)?;
        let Some(open) = &mut self.open else { return Ok(()) };
        let released = open.savepoints.drain(at..).next();
        if let (Some(savepoint), Some(transaction)) = (released, &mut open.transaction) {
            transaction.release(savepoint.place);
        }
        Ok(())
    }

    /// ROLLBACK TO: makes a failed block usable again, unless the engine aborted the transaction.
    pub(super) fn roll_back_to(&mut self, name: &str) -> Result<()> {
        self.in_block("ROLLBACK TO SAVEPOINT")?;
        let at = self.find_savepoint(name)?;
        let Session { open, state, portals, database, entry, .. } = self;
        let Some(open) = open else { return Ok(()) };
        open.savepoints.truncate(at + 1);
        let (Some(savepoint), Some(transaction)) = (open.savepoints.last(), &mut open.transaction) else {
            return Ok(());
        };
        transaction.rollback_to(&savepoint.place)?;
        let has_changed_types = !state.types.changed.is_empty();
        state.settings.back_to(savepoint.settings);
        state.deferred.back_to(&savepoint.deferred);
        state.pending.back_to(savepoint.pending);
        state.follow_settings();
        portals.retain(|_, portal| portal.is_held() || portal.number <= savepoint.portals);
        let settled = state.advisory.settled;
        state.advisory.end_since(savepoint.advisory, &database.advisory, entry.process, settled);
        (open.failed, open.read_only) = (false, savepoint.read_only);
        if has_changed_types { self.exec(&[])?.read_changed_types() } else { Ok(()) }
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.open.as_ref().and_then(|open| open.savepoints.iter().rposition(|s| s.name == name));
        found.ok_or_else(|| SqlError::new(state::INVALID_SAVEPOINT, format!("savepoint \"{name}\" does not exist")))
    }

    fn in_block(&self, what: &str) -> Result<()> {
        if self.open.as_ref().is_some_and(|open| open.explicit) {
            return Ok(());
        }
        let message = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message))
    }

    /// Log position that must be durable before the answers so far may be sent: that of what ended transactions have written and
    /// read, and of what the open one has read. Rows of an open transaction count: a client may act on them and never commit.
    pub(super) fn awaited(&self) -> LogPosition {
        let open = self.open.as_ref().and_then(|open| open.transaction.as_ref());
        let ended = self.awaited.max(self.state.rests_on());
        open.map_or(ended, |transaction| ended.max(transaction.rests_on()))
    }

    /// Blocks until everything on which the answers so far depend is durable, those of failed statements included. Called before they
    /// are sent.
    ///
    /// # Errors
    /// The outcome is unknown: 08007, or 57P01 if the session is to end.
    pub fn wait_durable(&mut self) -> Result<()> {
        let awaited = self.awaited();
        if awaited > LogPosition::ZERO {
            // After a failure it is still awaited: the answers have not been sent.
            self.entry.cancel.wait_durable(&*self.database.store, awaited)?;
            self.awaited = LogPosition::ZERO;
        }
        Ok(())
    }

    /// Same as [`Session::wait_durable`], but returns `false` if the wait is long and should continue without a thread:
    /// [`Session::durable`].
    ///
    /// # Errors
    /// Same as [`Session::wait_durable`].
    pub fn wait_or_park(&mut self) -> Result<bool> {
        let awaited = self.awaited();
        if awaited > LogPosition::ZERO {
            if !self.entry.cancel.wait_or_park(&*self.database.store, awaited)? {
                return Ok(false);
            }
            self.awaited = LogPosition::ZERO;
        }
        Ok(true)
    }

    /// Same as [`Session::wait_durable`], for callers that park the session instead of blocking a thread.
    ///
    /// # Errors
    /// Same as [`Session::wait_durable`].
    pub async fn durable(&mut self) -> Result<()> {
        let awaited = self.awaited();
        if awaited > LogPosition::ZERO {
            let Session { entry, database, .. } = self;
            entry.cancel.durable(&*database.store, awaited).await?;
            self.awaited = LogPosition::ZERO;
        }
        Ok(())
    }

    /// Returns the outcome of statements once everything on which it depends is durable; errors mention rows, too.
    ///
    /// # Errors
    /// Errors of the outcome; 08007 and 57P01, as [`Session::wait_durable`], instead of whatever the outcome was.
    pub fn once_durable<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.wait_durable().and(outcome)
    }

    /// Translates an engine's error into the user's names, when it is sent.
    pub(super) fn explain(&self, error: SqlError) -> SqlError {
        match &error.fields().engine {
            None => return error,
            Some(engine) if engine.conflict().is_some_and(|met| met.class == AbortClass::Interrupted) => {
                return self.entry.cancel.reason();
            }
            Some(_) => {}
        }
        self.note_conflict(&error, false);
        self.explain_noted(error)
    }

    /// Same as [`Session::explain`], of a conflict that is noted already.
    pub(super) fn explain_noted(&self, error: SqlError) -> SqlError {
        let mut explained = self.database.explain_to_leave(error);
        // Only once: what callers add to the explanation must stay.
        explained.fields_mut().engine = None;
        explained
    }

    /// Notes a conflict with another transaction, for `seriatim_aborts`.
    pub(super) fn note_conflict(&self, error: &SqlError, is_repeated: bool) {
        let abort = error.fields().engine.as_ref().and_then(model::Error::conflict);
        let Some(abort) = abort.filter(|abort| abort.class.is_conflict()) else { return };
        self.database.conflicts.note(Conflict {
            at: crate::clock::now(),
            process: self.entry.process,
            database: self.entry.database_oid,
            is_repeated,
            query: self.entry.activity().query,
            abort: Box::new(abort.clone()),
        });
    }

    /// Same as [`Session::explain`], but leaves conflicts outside of a block unchanged: the statement may be repeated, and if it is
    /// not, the caller that decides so explains the conflict.
    pub(super) fn explain_unless_repeated(&self, error: SqlError) -> SqlError {
        let in_block = self.open.as_ref().is_some_and(|open| open.explicit);
        if error.is_retryable() && !in_block { error } else { self.explain(error) }
    }
}
