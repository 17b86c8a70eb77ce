//! One mutex, one map: the naive engine behind `Interactive`.
//!
//! A transaction locks the whole map and releases it at its end. It is what a careful programmer writes before reaching for a
//! database, and on few cores hard to beat on short transactions: every engine's figures are to be read beside it.

use model::twin::Twin;
use model::{
    Access, Begin, Columns, Committed, Delta, Durability, Error, Finish, Interactive, Invalid, Item, LogPosition, Mode,
    Pending, Result, RowBuf, RowRef, Scan, ScanEnd, Schema, SerialPoint, TableId, Timestamp,
};
use std::ops::{ControlFlow, Deref};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The engine. Waits for the map have no limit.
#[derive(Debug)]
pub struct OneMutex {
    /// Empty while a transaction has the map. The map is handed over rather than kept locked, since a transaction may
    /// end on another thread and a mutex's guard may not.
    slot: Mutex<Option<Box<Map>>>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Map {
    twin: Twin,
    commits: u64,
}

const UNPOISONED: &str = "nobody panics while the slot is locked";

impl OneMutex {
    /// No tables.
    pub fn new() -> OneMutex {
        OneMutex { slot: Mutex::new(Some(Box::default())), returned: Condvar::new() }
    }

    /// Adds a table.
    pub fn create_table(&self, schema: Schema) -> TableId {
        let mut map = self.take();
        let table = map.twin.create_table(schema);
        self.give_back(map);
        table
    }

    fn take(&self) -> Box<Map> {
        let slot = self.slot.lock().expect(UNPOISONED);
        let mut slot = self.returned.wait_while(slot, |slot| slot.is_none()).expect(UNPOISONED);
        slot.take().expect("waited until it was there")
    }

    fn give_back(&self, map: Box<Map>) {
        *self.slot.lock().expect(UNPOISONED) = Some(map);
        self.returned.notify_one();
    }
}

impl Default for OneMutex {
    fn default() -> OneMutex {
        OneMutex::new()
    }
}

/// A transaction: it has the map from its first access on.
#[derive(Debug)]
pub struct Transaction<H: Deref<Target = OneMutex>> {
    engine: H,
    map: Option<Box<Map>>,
    reads_only: bool,
}

impl<H: Deref<Target = OneMutex>> Transaction<H> {
    fn new(engine: H, how: Begin) -> Transaction<H> {
        Transaction { engine, map: None, reads_only: matches!(how.mode, Mode::ReadOnly | Mode::Snapshot) }
    }

    fn map(&mut self) -> &mut Map {
        self.map.get_or_insert_with(|| self.engine.take())
    }

    fn writable(&mut self) -> Result<&mut Twin> {
        if self.reads_only { Err(Invalid::ReadOnly.into()) } else { Ok(&mut self.map().twin) }
    }
}

impl<H: Deref<Target = OneMutex>> Drop for Transaction<H> {
    fn drop(&mut self) {
        if let Some(mut map) = self.map.take() {
            map.twin.abort();
            self.engine.give_back(map);
        }
    }
}

impl<H: Deref<Target = OneMutex>> Finish for Transaction<H> {
    fn poison(&self) -> Option<&Error> {
        None
    }

    fn rests_on(&self) -> LogPosition {
        LogPosition::ZERO
    }

    fn timestamp(&self) -> Option<Timestamp> {
        None
    }

    fn start(&mut self) -> Result<()> {
        self.map();
        Ok(())
    }

    /// No effect: nothing is durable here.
    fn set_durability(&mut self, _: Durability) {}

    /// No effect: waits for the map have no limit.
    fn set_wait_limit(&mut self, _: Option<Duration>) {}

    /// No effect: no transaction reads while another one has the map.
    fn set_reads_wait(&mut self, _: bool) {}

    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        let map = self.map();
        map.twin.commit();
        map.commits += 1;
        Pending::ready(Ok(Committed { serial_point: Some(SerialPoint(map.commits)), log_position: LogPosition::ZERO }))
    }

    fn abort(self) {}
}

impl<H: Deref<Target = OneMutex>> Access for Transaction<H> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.map().twin.read(table, key, columns, row)
    }
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.writable()?.put(table, key, row)
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.writable()?.insert(table, key, row)
    }
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.writable()?.update(table, key, delta)
    }
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.writable()?.delete(table, key)
    }
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.map().twin.scan(scan, visit)
    }
}

impl Interactive for OneMutex {
    type Transaction<'engine> = Transaction<&'engine OneMutex>;
    type Owned = Transaction<Arc<OneMutex>>;

    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>> {
        Ok(Transaction::new(self, how))
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned> {
        Ok(Transaction::new(self.clone(), how))
    }

    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        Ok(())
    }

    fn durable(self: &Arc<Self>, _: LogPosition) -> Pending<Result<()>> {
        Pending::ready(Ok(()))
    }
}
