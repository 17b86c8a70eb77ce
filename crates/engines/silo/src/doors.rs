//! The doors: open transactions, and bodies that may run again. Declared procedures come by `model::AsDeclared`.

use crate::begin::Transaction;
use crate::{Reason, Silo};
use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Finish, Interactive, Invalid, Item, Key,
    LogPosition, Pending, Program, Reexecutable, Result, Retry, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd,
    Schema, TableId, Tables, Timestamp, run_interactively,
};
use parts::index::prefetch::SIDE_BY_SIDE;
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;

impl<H: Deref<Target = Silo>> Access for Transaction<H> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.read_point(table, key, columns, row)
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        keys.chunks(SIDE_BY_SIDE).for_each(|keys| self.prefetch_points(table, keys));
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.put_row(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.insert_row(table, key, row)
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

impl<H: Deref<Target = Silo> + Send> Finish for Transaction<H> {
    fn poison(&self) -> Option<&Error> {
        self.poison.as_ref()
    }

    /// Nothing is durable here.
    fn rests_on(&self) -> LogPosition {
        LogPosition::ZERO
    }

    fn timestamp(&self) -> Option<Timestamp> {
        Some(Timestamp(self.number))
    }

    /// Nothing to do: what it stands on is decided when it commits, or was when it began.
    fn start(&mut self) -> Result<()> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    fn check_reads(&mut self) -> Result<()> {
        self.start()?;
        Transaction::check_reads(self)
    }

    /// No effect: nothing is durable here.
    fn set_durability(&mut self, _: Durability) {}

    /// No effect: nothing waits for an open transaction.
    fn set_wait_limit(&mut self, _: Option<Duration>) {}

    /// No effect: as above.
    fn set_reads_wait(&mut self, _: bool) {}

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
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

impl<H: Deref<Target = Silo> + Send> Savepoints for Transaction<H> {
    fn savepoint(&mut self) -> Result<Savepoint> {
        self.start()?;
        let number = self.number;
        Ok(self.worker().writes.savepoint(number))
    }

    /// Reads stay read.
    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.start()?;
        let is_known = savepoint.transaction == self.number && self.worker().writes.rollback_to(savepoint.number);
        if is_known { Ok(()) } else { Err(Invalid::UnknownSavepoint.into()) }
    }

    fn release(&mut self, savepoint: Savepoint) {
        if savepoint.transaction == self.number && self.worker.is_some() {
            self.worker().writes.release(savepoint.number);
        }
    }
}

impl Tables for Silo {
    fn create_table_unlisted(&self, schema: Schema) -> Result<TableId> {
        self.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        Silo::drop_table(self, name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        Silo::tables(self)
    }

    fn checkpoint(&self) -> Result<()> {
        Ok(()) // Everything is in memory.
    }
}

impl Interactive for Silo {
    type Transaction<'engine> = Transaction<&'engine Silo>;
    type Owned = Transaction<Arc<Silo>>;

    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>> {
        Transaction::begin(self, how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned> {
        Transaction::begin(self.clone(), how)
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

impl Reexecutable for Silo {
    /// A body that ran on two states gets another attempt, also if it failed: see [`Finish::check_reads`].
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        run_interactively(self, program, how, retry)
    }
}
