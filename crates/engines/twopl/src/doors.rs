//! The doors: open transactions, bodies that may run again, procedures that declare what they touch.

use super::Reason;
use super::TwoPhaseLocking;
use super::begin::Transaction;
use super::locks::{Kind, LockMode};
use model::retry::{self, Failure};
use model::{
    Access, Begin, Columns, Committed, Completed, Declared, Delta, Draws, Error, Finish, Interactive, Invalid, Item,
    Key, LogPosition, Mode, Pending, Procedure, Program, Reexecutable, Result, Retry, RowBuf, RowRef, Savepoint,
    Savepoints, Scan, ScanEnd, Schema, Supervised, Supervisor, TableId, Tables, Ticket, Timestamp, Touch,
};
use parts::index::prefetch::SIDE_BY_SIDE;
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;

impl<H: Deref<Target = TwoPhaseLocking>> Access for Transaction<H> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.read_point(table, key, (LockMode::Shared, Touch::Read), columns, row)
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        keys.chunks(SIDE_BY_SIDE).for_each(|keys| self.prefetch_points(table, keys));
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let mode = if self.check_writable().is_ok() { LockMode::Exclusive } else { LockMode::Shared };
        self.read_point(table, key, (mode, Touch::Update), columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.write_row(table, key, row, true)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.write_row(table, key, row, false)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.update_row(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.delete_row(table, key)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.scan_range(scan, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.how.draws.as_mut()
    }
}

impl<H: Deref<Target = TwoPhaseLocking>> Finish for Transaction<H> {
    fn poison(&self) -> Option<&Error> {
        self.poison.as_ref()
    }

    /// Nothing is durable here.
    fn rests_on(&self) -> LogPosition {
        LogPosition::ZERO
    }

    fn timestamp(&self) -> Option<Timestamp> {
        Some(self.timestamp)
    }

    /// Nothing to do: its age was drawn when it began, and there are no snapshots.
    fn start(&mut self) -> Result<()> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// No effect: nothing is durable here.
    fn set_durability(&mut self, _: model::Durability) {}

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.how.wait_limit = limit;
    }

    /// No effect: readers wait for the lock.
    fn set_reads_wait(&mut self, _: bool) {}

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        Some(self)
    }

    /// Decided alone, so always ready.
    fn begin_commit(self) -> Pending<Result<Committed>> {
        Pending::ready(self.finish())
    }

    fn abort(mut self) {
        self.roll_back(Reason::Requested);
    }
}

/// State recorded by an open savepoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    number: u64,
    undo: usize,
    rows_written: u64,
    bytes_written: u64,
}

impl<H: Deref<Target = TwoPhaseLocking>> Savepoints for Transaction<H> {
    fn savepoint(&mut self) -> Result<Savepoint> {
        self.start()?;
        let number = self.next_savepoint;
        self.next_savepoint += 1;
        let Transaction { rows_written, bytes_written, .. } = *self;
        let worker = self.worker();
        let undo = worker.undo.len();
        worker.savepoints.push(Mark { number, undo, rows_written, bytes_written });
        Ok(Savepoint { transaction: self.timestamp.0, number })
    }

    /// The locks stay.
    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.start()?;
        let is_own = savepoint.transaction == self.timestamp.0;
        let savepoints = &mut self.worker().savepoints;
        let place = savepoints.iter().position(|mark| is_own && mark.number == savepoint.number);
        let place = place.ok_or(Invalid::UnknownSavepoint)?;
        let mark = savepoints[place];
        savepoints.truncate(place + 1);
        self.undo_to(mark.undo);
        (self.rows_written, self.bytes_written) = (mark.rows_written, mark.bytes_written);
        Ok(())
    }

    /// The undo log keeps what a rollback of the whole transaction needs, and more.
    fn release(&mut self, savepoint: Savepoint) {
        let is_own = savepoint.transaction == self.timestamp.0;
        let Some(savepoints) = self.worker.as_mut().map(|worker| &mut worker.savepoints) else { return };
        if let Some(place) = savepoints.iter().position(|mark| is_own && mark.number == savepoint.number) {
            savepoints.truncate(place);
        }
    }
}

impl<H: Deref<Target = TwoPhaseLocking>> Supervised for Transaction<H> {
    /// A wait that ends without its lock aborts the transaction here: rows are changed in place.
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>) {
        supervisor.transaction_begins(self.timestamp);
        self.supervisor = Some(supervisor);
    }
}

impl Tables for TwoPhaseLocking {
    fn create_table_unlisted(&self, schema: Schema) -> Result<TableId> {
        self.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        TwoPhaseLocking::drop_table(self, name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        TwoPhaseLocking::tables(self)
    }

    fn estimate_bytes(&self, table: TableId) -> Option<u64> {
        let catalog = self.catalog();
        let table = catalog.all().find(|known| known.id == table)?;
        Some(table.index.estimate_bytes())
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(()) // Everything is in memory.
    }
}

impl Interactive for TwoPhaseLocking {
    type Transaction<'engine> = Transaction<&'engine TwoPhaseLocking>;
    type Owned = Transaction<Arc<TwoPhaseLocking>>;

    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>> {
        Transaction::begin(self, how, Kind::Interactive, None)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned> {
        Transaction::begin(self.clone(), how, Kind::Interactive, None)
    }

    /// Returns at once: nothing here is durable.
    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        Ok(())
    }

    fn durable(self: &Arc<Self>, _: LogPosition) -> Pending<Result<()>> {
        Pending::ready(Ok(()))
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

/// A transaction for one attempt, or why there is none.
type Attempt<'engine> = Result<Transaction<&'engine TwoPhaseLocking>>;

impl TwoPhaseLocking {
    /// Runs the program in transactions that `open` begins, all of one age: a retry after a wound is older than everything that
    /// began since the first attempt, so it is not wounded for ever.
    fn run<'engine, P: Program>(
        &'engine self,
        program: &mut P,
        retry: &mut dyn Retry,
        open: impl Fn(&mut P, &mut Option<Timestamp>) -> Attempt<'engine>,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        let mut age = None;
        let done = retry::run(retry, |_| {
            let mut transaction = open(program, &mut age)?;
            let outcome = program.run(&mut transaction);
            self.conclude(transaction, outcome)
        });
        done.map_err(Failure::into_error)
    }

    /// Begins a transaction of the age of earlier attempts, or of a new one.
    fn attempt(&self, how: Begin, kind: Kind, age: &mut Option<Timestamp>) -> Attempt<'_> {
        Transaction::begin(self, how, kind, *age).inspect(|begun| *age = Some(begun.timestamp))
    }

    /// Begins a procedure: finds out what it will touch, and locks that.
    fn begin_declared<P: Procedure>(&self, procedure: &P, how: Begin, age: &mut Option<Timestamp>) -> Attempt<'_> {
        let trial = Begin { mode: Mode::ReadOnly, ..how };
        let mut trial = self.attempt(trial, Kind::Reconnaissance, age)?;
        let footprint = procedure.footprint(&mut trial)?;
        drop(trial);
        // Ranges are locked where they are scanned, out of the order of keys: a procedure that has some gives way like an
        // interactive transaction (I7).
        let kind = if footprint.ranges().is_empty() { Kind::Declared } else { Kind::Interactive };
        let mut transaction = self.attempt(how, kind, age)?;
        transaction.lock_footprint(footprint)?;
        Ok(transaction)
    }
}

impl Reexecutable for TwoPhaseLocking {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        self.run(program, retry, |_, age| self.attempt(how, Kind::Interactive, age))
    }
}

impl Declared for TwoPhaseLocking {
    /// Runs the procedure in the call: this engine has no threads of its own.
    fn submit<P: Procedure>(&self, mut procedure: P, how: Begin, mut retry: Box<dyn Retry + Send>) -> Ticket<P> {
        let completed: Completed<P> =
            self.run(&mut procedure, &mut *retry, |procedure, age| self.begin_declared(procedure, how, age));
        Pending::ready(completed)
    }
}
