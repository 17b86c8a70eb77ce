//! The door into this engine: transactions, borrowed or owned, from one implementation generic over the handle.

use crate::begin::{Core, Outcome, Seat};
use crate::engine::{Mvto, log_fault};
use crate::read::Note;
use crate::reason::Reason;
use crate::view::Skips;
use env::time::Duration;
use env::{Clock, Retries};
use model::retry::{self, Failure};
use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Error, Finish, Got, Interactive, Invalid, Item, Key, Later, Limit,
    LimitKind, LogPosition, Pending, Result, RetryPolicy, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, Schema,
    SharedReads, SkipsLocked, Snapshots, Supervised, Supervisor, TableId, Tables, Timestamp, Usage, read_alone,
};
use parts::promise::promise;
use std::future::Future;
use std::ops::{Bound, ControlFlow};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use wal::Log;

/// Result of one attempt of a body with its commit.
pub(crate) type Attempt<T, E> = std::result::Result<(T, Committed), Failure<Error, E>>;

/// A way to hold an engine.
pub trait Handle: Send {
    /// The engine's clock.
    type Clock: Clock;

    /// The engine.
    fn engine(&self) -> &Mvto<Self::Clock>;
}

impl<C: Clock> Handle for &Mvto<C> {
    type Clock = C;
    fn engine(&self) -> &Mvto<C> {
        self
    }
}

impl<C: Clock> Handle for Arc<Mvto<C>> {
    type Clock = C;
    fn engine(&self) -> &Mvto<C> {
        self
    }
}

/// An open transaction. Dropping it aborts.
#[derive(Debug)]
pub struct Transaction<H: Handle> {
    core: Core,
    engine: H,
}

impl<H: Handle> Transaction<H> {
    fn new(engine: H, how: Begin) -> Transaction<H> {
        let options = engine.engine().options();
        let core = Core::new(how, options.durability, options.wait_limit);
        Transaction { core, engine }
    }

    /// The next transaction of a batch, which has its timestamp already. `is_near`: the rows of its footprint have been asked for.
    pub(crate) fn seated(engine: H, how: Begin, at: Timestamp, seat: Seat, is_near: bool) -> Transaction<H> {
        let options = engine.engine().options();
        let core = Core::seated(how, options.durability, options.wait_limit, at, seat);
        Transaction { core: Core { in_batch: true, is_near, ..core }, engine }
    }

    /// A transaction that has begun.
    pub(crate) fn begun(engine: H, core: Core) -> Transaction<H> {
        Transaction { core, engine }
    }

    /// Ends a transaction of a batch as [`Interactive::conclude`] does, but for the wait for the log. What the next one needs is
    /// returned, too.
    pub(crate) fn conclude_in_batch<T, E: From<Error>>(
        mut self,
        outcome: std::result::Result<T, E>,
    ) -> (Attempt<T, E>, LogPosition, Seat) {
        let (concluded, rests_on) = match (self.poison().cloned(), outcome) {
            (Some(error), _) => (Err(error.into()), LogPosition::ZERO),
            (None, Ok(output)) => {
                let committed = self.statement(|engine, core| engine.commit(core));
                (committed.map(|committed| (output, committed)).map_err(Failure::from), LogPosition::ZERO)
            }
            (None, Err(error)) => (Err(Failure::Final(error)), self.core.rests_on()),
        };
        if self.core.is_open() {
            self.engine.engine().end(&mut self.core, Outcome::Aborted(Some(Reason::Requested)));
        }
        let seat = self.core.seat.take().expect("the end of a transaction of a batch keeps its seat");
        (concluded, rests_on, seat)
    }

    /// Runs a statement. One that aborts the transaction poisons it, and gives up at once what it holds.
    pub(crate) fn statement<T>(&mut self, run: impl FnOnce(&Mvto<H::Clock>, &mut Core) -> Result<T>) -> Result<T> {
        let engine = self.engine.engine();
        let entered = self.core.take_notes(engine.options().read_set).and_then(|()| engine.enter(&self.core));
        let result = entered.and_then(|()| run(engine, &mut self.core));
        engine.leave(&self.core);
        if let Err(error) = &result {
            poison(engine, &mut self.core, error);
        }
        result
    }

    /// A statement about one table.
    fn on_table<T>(&mut self, table: TableId, run: impl FnOnce(&Mvto<H::Clock>, &mut Core) -> Result<T>) -> Result<T> {
        self.statement(|engine, core| {
            engine.add_unlisted_table(core, table);
            run(engine, core)
        })
    }

    pub(crate) fn parts(&self) -> (&Mvto<H::Clock>, &Core) {
        (self.engine.engine(), &self.core)
    }

    /// The timestamp that it began at, which is its name in others' aborts; in [`model::Mode::OwnAtStatement`] it changes if the
    /// transaction moves before it holds anything. Its place in the serial order is there, or above it if it moves until it
    /// commits. `None` before its first statement.
    pub fn timestamp(&self) -> Option<Timestamp> {
        Some(self.core.view.name).filter(|&at| at > Timestamp::ZERO)
    }

    /// Opens a savepoint.
    ///
    /// # Errors
    /// As a statement's.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.statement(|engine, core| {
            engine.start(core)?;
            Ok(core.work.writes.savepoint(core.began.0))
        })
    }

    /// Takes back what was written since a savepoint, which stays open. What was read since stays read.
    ///
    /// # Errors
    /// [`Invalid::UnknownSavepoint`] if it belongs to another transaction, or one before it was rolled back to.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.statement(|engine, core| {
            engine.start(core)?;
            let known = savepoint.transaction == core.began.0 && core.work.writes.rollback_to(savepoint);
            if known { Ok(()) } else { Err(Invalid::UnknownSavepoint.into()) }
        })
    }
}

/// Ends a transaction whose statement has failed, if the error is its abort.
#[cold]
fn poison<C: Clock>(engine: &Mvto<C>, core: &mut Core, error: &Error) {
    if matches!(error, Error::Aborted(_)) && core.poison.is_none() {
        engine.fail(core, error);
    }
}

impl<H: Handle> Access for Transaction<H> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.on_table(table, |engine, core| engine.read(core, table, key, columns, row, Note::Read))
    }

    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        self.on_table(table, |engine, core| engine.read_many(core, table, keys, columns, each))
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        if self.core.is_near {
            return;
        }
        // What fails here fails again where it is reported.
        let _ = self.on_table(table, |engine, core| engine.prefetch(core, table, keys));
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.on_table(table, |engine, core| engine.read_for_update(core, table, key, columns, row))
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.on_table(table, |engine, core| engine.put(core, table, key, row))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.on_table(table, |engine, core| engine.insert(core, table, key, row))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.on_table(table, |engine, core| engine.update(core, table, key, delta))
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.on_table(table, |engine, core| engine.delete(core, table, key))
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.on_table(scan.table, |engine, core| engine.scan(core, scan, visit))
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.core.draws.as_mut()
    }
}

impl<H: Handle> Finish for Transaction<H> {
    fn poison(&self) -> Option<&Error> {
        self.core.poison.as_deref()
    }

    fn rests_on(&self) -> LogPosition {
        self.core.rests_on()
    }

    fn timestamp(&self) -> Option<Timestamp> {
        Some(self.core.began).filter(|&began| began > Timestamp::ZERO)
    }

    fn start(&mut self) -> Result<()> {
        self.statement(|engine, core| engine.start(core))
    }

    fn set_durability(&mut self, durability: model::Durability) {
        self.core.durability = durability;
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.core.view.wait_limit = limit.unwrap_or(self.engine.engine().options().wait_limit);
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.core.view.waits = wait;
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        Some(self)
    }

    /// Who owns at the statement only: others do not know until their commit what others hold.
    fn skips_locked(&mut self) -> Option<&mut dyn SkipsLocked> {
        self.core.view.moves.then_some(self)
    }

    fn shared_reads(&mut self) -> Option<&mut dyn SharedReads> {
        Some(self)
    }

    /// Decided alone, so always ready.
    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        Pending::ready(self.statement(|engine, core| engine.commit(core)))
    }

    fn commit(mut self) -> Result<Committed> {
        self.statement(|engine, core| engine.commit(core))
    }

    fn abort(self) {}
}

impl<H: Handle> Drop for Transaction<H> {
    fn drop(&mut self) {
        if self.core.is_open() {
            self.engine.engine().end(&mut self.core, Outcome::Aborted(Some(Reason::Requested)));
        }
        if let Some(seat) = self.core.seat.take() {
            self.engine.engine().leave_lane(seat); // A body of the batch has panicked.
        }
    }
}

impl<H: Handle> Savepoints for Transaction<H> {
    fn savepoint(&mut self) -> Result<Savepoint> {
        Transaction::savepoint(self)
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        Transaction::rollback_to(self, savepoint)
    }

    fn release(&mut self, savepoint: Savepoint) {
        if savepoint.transaction == self.core.began.0 {
            self.core.work.writes.release(&savepoint);
        }
    }
}

impl<H: Handle> Supervised for Transaction<H> {
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>) {
        self.timestamp().inspect(|&at| supervisor.transaction_begins(at));
        self.core.view.supervisor = Some(supervisor);
    }
}

impl<H: Handle> SkipsLocked for Transaction<H> {
    fn begin_skipping(&mut self) -> Result<Timestamp> {
        self.statement(|engine, core| {
            let has_begun = core.began > Timestamp::ZERO;
            engine.start(core)?;
            if has_begun {
                // What it has read may have changed since. Then it looks where it is: it finds less.
                let _ = engine.advance(core);
            }
            Ok(core.view.at)
        })
    }

    fn skip(&mut self, since: Timestamp, tables: Arc<[TableId]>) {
        self.core.view.skips = Some(Skips { since, tables });
    }

    fn stop_skipping(&mut self) {
        self.core.view.skips = None;
    }
}

impl<C: Clock> Tables for Mvto<C> {
    fn create_table_unlisted(&self, schema: Schema) -> Result<TableId> {
        self.create_unlisted(schema, None)
    }

    fn create_table_supervised(&self, schema: Schema, supervisor: Arc<dyn Supervisor>) -> Result<TableId> {
        self.create_unlisted(schema, Some(supervisor))
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.drop_logged(name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        Mvto::tables(self)
    }

    fn usage(&self) -> Option<Usage> {
        let log = self.log.as_ref().map(|log| log.stats().usage());
        let (memory_bytes, memory_limit_bytes) = (self.memory.meter.used() as u64, self.memory.limit as u64);
        Some(Usage { memory_bytes, memory_limit_bytes, log })
    }

    fn estimate_keys(&self, table: TableId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        self.catalog().get(table)?.space().estimate(lower, upper)
    }

    fn sample_keys(&self, table: TableId, most: usize) -> Vec<Key> {
        self.catalog().get(table).map(|table| table.space().sample(most)).unwrap_or_default()
    }

    fn sample_rows(&self, table: TableId, most: usize, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) {
        self.sample_committed(table, most, visit);
    }

    fn estimate_bytes(&self, table: TableId) -> Option<u64> {
        Some(self.catalog().get(table)?.space().estimate_bytes())
    }

    fn checkpoint(&self) -> Result<()> {
        if self.log.is_none() { Ok(()) } else { Mvto::checkpoint(self).map(drop) }
    }
}

impl<C: Clock> Interactive for Mvto<C> {
    type Transaction<'engine> = Transaction<&'engine Mvto<C>>;
    type Owned = Transaction<Arc<Mvto<C>>>;

    fn begin(&self, how: Begin) -> Result<Transaction<&Mvto<C>>> {
        Ok(Transaction::new(self, how))
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Transaction<Arc<Mvto<C>>>> {
        Ok(Transaction::new(self.clone(), how))
    }

    #[inline]
    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        match self.get_now(table, key, columns, row) {
            Some(got) => Ok(got),
            None => read_alone(self, table, key, columns, row),
        }
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        let Some(log) = self.log.as_ref().filter(|_| position > LogPosition::ZERO) else { return Ok(()) };
        log.wait_durable(position).map_err(log_fault)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        let Some(log) = self.log.as_ref().filter(|_| position > LogPosition::ZERO) else { return Ok(true) };
        log.wait_durable_unless(position, is_over).map_err(log_fault)
    }

    fn recheck_waits(&self) {
        self.log.iter().for_each(Log::recheck_waits);
    }

    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        if position <= (**self).durable() {
            return Pending::ready(Ok(()));
        }
        Pending::later(Syncing { engine: self.clone(), position, pending: None })
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

/// A position that the log has not synced yet.
struct Syncing<C> {
    engine: Arc<Mvto<C>>,
    position: LogPosition,
    /// The log's answer, once it was requested.
    pending: Option<Pending<Result<()>>>,
}

impl<C: Clock> Syncing<C> {
    /// Registers a callback with the log.
    fn register(&self, callback: Box<dyn FnOnce(Result<()>) + Send>) {
        match &self.engine.log {
            None => callback(Ok(())),
            Some(log) => log.on_durable(self.position, Box::new(|synced| callback(synced.map_err(log_fault)))),
        }
    }
}

impl<C: Clock> Later<Result<()>> for Syncing<C> {
    fn wait(self: Box<Self>) -> Result<()> {
        match self.pending {
            Some(pending) => pending.wait(),
            None => self.engine.wait_durable(self.position),
        }
    }

    fn on_resolved(self: Box<Self>, callback: Box<dyn FnOnce(Result<()>) + Send>) {
        match self.pending {
            Some(pending) => pending.on_resolved(callback),
            None => self.register(callback),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.pending.is_none() {
            let (promise, pending) = promise();
            self.register(Box::new(|synced| promise.resolve(synced)));
            self.pending = Some(pending);
        }
        Pin::new(self.pending.as_mut().expect("the log was asked")).poll(context)
    }
}

impl<C: Clock> Snapshots for Mvto<C> {
    fn settled(&self) -> Timestamp {
        self.bound.get()
    }
}

impl<C: Clock> Mvto<C> {
    /// Runs a body until it commits, again after conflicts, and waits until it is as durable as asked. An error of the body is
    /// returned once everything that it read is durable.
    /// Source: vMVCC, section 2 (`db.Run`); the retry is ours.
    ///
    /// # Errors
    /// Errors of the body; [`LimitKind::Attempts`] if it never won.
    pub fn run<T, E: From<Error>>(
        &self,
        how: Begin,
        policy: RetryPolicy,
        mut body: impl FnMut(&mut Transaction<&Mvto<C>>) -> std::result::Result<T, E>,
    ) -> std::result::Result<(T, Committed), E> {
        let done = retry::run(&mut Retries::new(policy), |failed| {
            let mut transaction = self.begin(Begin { mode: policy.mode(how.mode, failed), ..how })?;
            let outcome = body(&mut transaction);
            self.conclude(transaction, outcome)
        });
        let (output, committed) = done.map_err(|failure| match failure {
            Failure::Final(error) => error,
            Failure::Conflict(_) => {
                let attempts = u64::from(policy.max_attempts);
                Error::from(Limit { kind: LimitKind::Attempts, limit: attempts, actual: attempts + 1 }).into()
            }
        })?;
        self.wait_durable(committed.log_position)?;
        Ok((output, committed))
    }
}
