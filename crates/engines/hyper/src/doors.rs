//! The doors: open transactions, and bodies that may run again. Declared procedures come by `model::AsDeclared`.

use crate::begin::Transaction;
use crate::undo::ColumnSet;
use crate::{Hyper, Reason};
use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Extreme, Finish, Got, Interactive, Item, Key,
    LogPosition, Mode, OpenTransaction, Pending, Result, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, Schema,
    SharedReads, SkipsLocked, Snapshots, Supervised, Supervisor, TableId, Tables, Timestamp, Usage,
};
use parts::epoch;
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::promise;
use parts::sync::atomic::AtomicU64;
use std::ops::{Bound, ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;
use wal::Log;

impl<H: Deref<Target = Hyper>> Access for Transaction<H> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.statement(|open| open.read_point(table, key, columns, row))
    }

    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        self.statement(|open| open.read_points(table, keys, columns, each))
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        for together in keys.chunks(SIDE_BY_SIDE) {
            // The transaction may not have started.
            let guard = epoch::pin();
            let Some(table) = self.engine.tables.pinned(table.0, &guard) else { return };
            table.prefetch(together, ColumnSet::NONE);
        }
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.statement(|open| open.lock_row(table, key, columns, row))
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.statement(|open| open.put_row(table, key, row))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.statement(|open| open.insert_row(table, key, row))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.statement(|open| open.update_row(table, key, delta))
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.statement(|open| open.delete_row(table, key))
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.statement(|open| open.scan_range(scan, visit))
    }

    fn extreme(&mut self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
        self.statement(|open| open.find_extreme(scan, of, row))
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.core.how.draws.as_mut()
    }
}

impl<H: Deref<Target = Hyper> + Send> Finish for Transaction<H> {
    fn poison(&self) -> Option<&Error> {
        self.core.poison.as_ref()
    }

    fn rests_on(&self) -> LogPosition {
        self.core.to_await(&self.engine, self.core.rests_on())
    }

    /// Its start, or a number of its own where starts are not claimed.
    fn timestamp(&self) -> Option<Timestamp> {
        self.core.start.map(|_| self.core.name)
    }

    fn start(&mut self) -> Result<()> {
        if let Some(error) = &self.core.poison {
            return Err(error.clone());
        }
        self.statement(|open| open.engine.start(&mut open.core))
    }

    fn set_durability(&mut self, durability: Durability) {
        self.core.how.durability = Some(durability);
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.core.wait_limit = limit.unwrap_or(self.engine.options.wait_limit);
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.core.reads_wait = wait && self.core.how.mode == Mode::OwnAtStatement;
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        if self.engine.options.single_version { None } else { Some(self) }
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        Some(self)
    }

    fn skips_locked(&mut self) -> Option<&mut dyn SkipsLocked> {
        if self.core.reads_only() { None } else { Some(self) }
    }

    fn shared_reads(&mut self) -> Option<&mut dyn SharedReads> {
        Some(self)
    }

    /// Decided alone, so always ready.
    fn begin_commit(self) -> Pending<Result<Committed>> {
        Pending::ready(self.finish())
    }

    fn abort(mut self) {
        self.engine.roll_back(&mut self.core, Some(Reason::Requested));
    }
}

impl<H: Deref<Target = Hyper> + Send> Savepoints for Transaction<H> {
    fn savepoint(&mut self) -> Result<Savepoint> {
        self.statement(Transaction::set_savepoint)
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.statement(|open| open.go_back_to(savepoint))
    }

    fn release(&mut self, savepoint: Savepoint) {
        self.forget_savepoint(&savepoint);
    }
}

impl<H: Deref<Target = Hyper> + Send> Supervised for Transaction<H> {
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>) {
        if self.core.start.is_some() {
            supervisor.transaction_begins(self.core.name);
        }
        self.core.supervisor = Some(supervisor);
    }
}

impl Tables for Hyper {
    fn logs_predicates(&self) -> bool {
        true
    }

    fn create_table_unlisted(&self, schema: Schema) -> Result<TableId> {
        Ok(self.create_logged(schema, None)?.0)
    }

    fn create_table_supervised(&self, schema: Schema, supervisor: Arc<dyn Supervisor>) -> Result<TableId> {
        Ok(self.create_logged(schema, Some(&*supervisor))?.0)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.drop_logged(name).map(drop)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        Hyper::tables(self)
    }

    fn usage(&self) -> Option<Usage> {
        let (memory_bytes, memory_limit_bytes) = (self.memory.meter.used() as u64, self.memory.limit as u64);
        Some(Usage { memory_bytes, memory_limit_bytes, log: self.log_stats().map(|stats| stats.usage()) })
    }

    fn stores_columns(&self) -> bool {
        true
    }

    fn estimate_keys(&self, table: TableId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        self.counted_table(table).ok()?.index.estimate(lower, upper)
    }

    fn sample_keys(&self, table: TableId, most: usize) -> Vec<Key> {
        self.counted_table(table).map(|table| table.index.sample(most)).unwrap_or_default()
    }

    fn sample_rows(&self, table: TableId, most: usize, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) {
        self.sample_committed(table, most, visit);
    }

    fn estimate_bytes(&self, table: TableId) -> Option<u64> {
        Some(self.counted_table(table).ok()?.estimate_bytes())
    }

    fn transactions(&self) -> Option<Vec<OpenTransaction>> {
        Some(self.open_transactions())
    }

    fn versions(&self, table: TableId) -> Option<u64> {
        Some(self.counted_table(table).ok()?.versions())
    }

    fn checkpoint(&self) -> Result<()> {
        if self.log.is_some() { self.write_checkpoint(wal::Pace::Full).map(drop) } else { Ok(()) }
    }
}

impl Snapshots for Hyper {
    /// The present: a snapshot sees what has committed, and waits for nobody who executes.
    fn settled(&self) -> Timestamp {
        Timestamp(self.order.now())
    }
}

impl Interactive for Hyper {
    type Transaction<'engine> = Transaction<&'engine Hyper>;
    type Owned = Transaction<Arc<Hyper>>;

    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>> {
        Transaction::begin(self, how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned> {
        Transaction::begin(self.clone(), how)
    }

    /// The newest committed version, without a start. Whoever has drawn a commit timestamp is awaited: a transaction that has
    /// returned may have drawn a later one.
    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        if self.options.single_version {
            let mut open = Transaction::begin(self, Begin { mode: Mode::ReadOnly, ..Begin::default() })?;
            let found = open.read_point(table, key, columns, row)?;
            return Ok(Got { found, log_position: LogPosition::ZERO });
        }
        let rests_on = AtomicU64::new(0);
        let read = self.read_newest(table, key, columns, row, &rests_on)?;
        let log_position = match self.options.durability {
            Durability::Fsync => LogPosition::from_raw(rests_on.into_inner()),
            Durability::Async | Durability::None => LogPosition::ZERO,
        };
        Ok(Got { found: read.found, log_position })
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        let Some(log) = self.log.as_ref().filter(|_| position > LogPosition::ZERO) else { return Ok(()) };
        log.wait_durable(position)?;
        self.collect_logged();
        Ok(())
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        let Some(log) = self.log.as_ref().filter(|_| position > LogPosition::ZERO) else { return Ok(true) };
        let is_durable = log.wait_durable_unless(position, is_over)?;
        if is_durable {
            self.collect_logged();
        }
        Ok(is_durable)
    }

    fn recheck_waits(&self) {
        self.log.iter().for_each(Log::recheck_waits);
    }

    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        match &self.log {
            Some(log) if position > self.durable_position() => {
                let (promise, pending) = promise::promise();
                log.on_durable(position, Box::new(move |result| promise.resolve(result.map_err(Error::from))));
                pending
            }
            _ => Pending::ready(Ok(())),
        }
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}
