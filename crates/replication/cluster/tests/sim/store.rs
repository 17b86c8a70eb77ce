//! A local store whose commits and syncs take time: others run meanwhile.

use crate::nodes::is_alive;
use crate::run::Sim;
use model::{
    Access, Begin, Columns, Committed, Delta, Durability, Error, Extreme, Fault, Finish, Got, Item, Key, Later,
    LogPosition, Mode, Pending, Result, RowBuf, RowRef, Savepoints, Scan, ScanEnd, Snapshots, Store, Supervised,
    TableId, Tables, Timestamp, Transaction,
};
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

pub struct SimStore {
    inner: Arc<dyn Store>,
    sim: Weak<Sim>,
    /// Node and life.
    of: (usize, u64),
}

impl SimStore {
    pub fn new(inner: Arc<dyn Store>, sim: &Arc<Sim>, of: (usize, u64)) -> SimStore {
        SimStore { inner, sim: Arc::downgrade(sim), of }
    }
}

impl Store for SimStore {
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        let inner = self.inner.begin(how)?;
        if how.mode == Mode::Snapshot {
            return Ok(inner);
        }
        Ok(Box::new(SlowCommit { inner, writes: 0, sim: self.sim.clone() }))
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        self.inner.get(table, key, columns, row)
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.inner.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        self.inner.wait_durable_unless(position, is_over)
    }

    fn recheck_waits(&self) {
        self.inner.recheck_waits();
    }

    fn durable(&self, position: LogPosition) -> Pending<Result<()>> {
        let (inner, sim) = (self.inner.clone(), self.sim.clone());
        Pending::later(Syncing { inner, sim, of: self.of, position })
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        self.inner.ddl()
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.inner.snapshots()
    }
}

/// A sync of the local log, some time later.
struct Syncing {
    inner: Arc<dyn Store>,
    sim: Weak<Sim>,
    of: (usize, u64),
    position: LogPosition,
}

impl Later<Result<()>> for Syncing {
    fn wait(self: Box<Self>) -> Result<()> {
        self.inner.wait_durable(self.position)
    }

    fn on_resolved(self: Box<Self>, callback: Box<dyn FnOnce(Result<()>) + Send>) {
        let Some(sim) = self.sim.upgrade() else { return callback(Err(Fault::Closed.into())) };
        let at = sim.schedule.now() + sim.draw(sim.setting.durable_ns);
        sim.schedule.enter(at, move || {
            let (node, life) = self.of;
            let lives = self.sim.upgrade().is_some_and(|sim| is_alive(&sim, node, life));
            callback(if lives { self.inner.wait_durable(self.position) } else { Err(Fault::Closed.into()) });
        });
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(self.inner.wait_durable(self.position))
    }
}

/// A transaction of the thread that delivers. Its commit takes time, if it writes more than one row: a single one is written under a
/// latch that others may want.
struct SlowCommit {
    inner: Box<dyn Transaction>,
    writes: u64,
    sim: Weak<Sim>,
}

impl Access for SlowCommit {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.inner.read(table, key, columns, row)
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.inner.read_for_update(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.writes += 1;
        self.inner.put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.writes += 1;
        self.inner.insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.writes += 1;
        self.inner.update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.writes += 1;
        self.inner.delete(table, key)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.inner.scan(scan, visit)
    }

    fn extreme(&mut self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
        self.inner.extreme(scan, of, row)
    }
}

impl Finish for SlowCommit {
    fn poison(&self) -> Option<&Error> {
        self.inner.poison()
    }

    fn rests_on(&self) -> LogPosition {
        self.inner.rests_on()
    }

    fn timestamp(&self) -> Option<Timestamp> {
        self.inner.timestamp()
    }

    fn start(&mut self) -> Result<()> {
        self.inner.start()
    }

    fn set_durability(&mut self, durability: Durability) {
        self.inner.set_durability(durability);
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.inner.set_wait_limit(limit);
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.inner.set_reads_wait(wait);
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        self.inner.savepoints()
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        self.inner.supervised()
    }

    fn begin_commit(self) -> Pending<Result<Committed>> {
        if let Some(sim) = self.sim.upgrade().filter(|_| self.writes > 1) {
            sim.sleep(sim.setting.apply_ns);
        }
        self.inner.begin_commit()
    }

    fn abort(self) {
        self.inner.abort();
    }
}
