//! A store that records the history of its transactions for an observer: for judges of serializability.

use super::{Store, Transaction};
use model::history::{self, Operation, Outcome, Recorder};
use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Fault, Finish, Got, Invalid, Item, LogPosition,
    Pending, Result, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, SkipsLocked, Snapshots, Supervised, TableId,
    Tables, Timestamp, read_alone,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Forwards to a store, and reports each transaction when it has ended.
pub struct Recorded {
    inner: Arc<dyn Store>,
    observer: Arc<Observer>,
}

struct Observer {
    begun: Instant,
    tell: Box<dyn Fn(history::Transaction) + Send + Sync>,
}

impl Recorded {
    /// Tells from now on: the store must still be empty, or what it holds will look written by nobody. `tell` is called by
    /// whoever ends a transaction, by several at once.
    pub fn new(inner: Arc<dyn Store>, tell: impl Fn(history::Transaction) + Send + Sync + 'static) -> Recorded {
        Recorded { inner, observer: Arc::new(Observer { begun: Instant::now(), tell: Box::new(tell) }) }
    }
}

impl Store for Recorded {
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        let start_ns = self.observer.now();
        let recorder = Some(Recorder::new(self.inner.begin(how)?));
        Ok(Box::new(Observed { recorder, observer: self.observer.clone(), start_ns, places: Vec::new(), skips: None }))
    }

    /// By a transaction, which is reported as any other.
    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        read_alone::<dyn Store>(self, table, key, columns, row)
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
        self.inner.durable(position)
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        self.inner.ddl()
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.inner.snapshots()
    }
}

/// A transaction that is reported when it ends.
struct Observed {
    /// `None` after the end.
    recorder: Option<Recorder<Box<dyn Transaction>>>,
    observer: Arc<Observer>,
    start_ns: u64,
    /// Open savepoints, oldest first, and how much was noted before each.
    places: Vec<(Savepoint, usize)>,
    /// Tables of which it reads without telling: it rests on nothing that it passes over.
    skips: Option<Arc<[TableId]>>,
}

impl Observer {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn report(&self, start_ns: u64, outcome: Outcome, operations: Vec<Operation>) {
        (self.tell)(history::Transaction { client: 0, start_ns, end_ns: self.now(), outcome, operations });
    }
}

impl Observed {
    fn recorder(&mut self) -> &mut Recorder<Box<dyn Transaction>> {
        self.recorder.as_mut().expect("only the end takes the recorder, and takes the transaction with it")
    }

    fn skipping(&mut self) -> &mut dyn SkipsLocked {
        self.recorder().inner().skips_locked().expect("it was asked before it was offered")
    }

    fn skips_in(&self, table: TableId) -> bool {
        self.skips.as_ref().is_some_and(|tables| tables.contains(&table))
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let (inner, operations) = recorder.into_parts();
            inner.abort();
            self.observer.report(self.start_ns, Outcome::Aborted, operations);
        }
    }
}

impl Savepoints for Observed {
    fn savepoint(&mut self) -> Result<Savepoint> {
        let recorded = self.recorder().recorded();
        let savepoint = self.recorder().inner().savepoint()?;
        self.places.push((savepoint, recorded));
        Ok(savepoint)
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        let at = self.places.iter().position(|(place, _)| place == savepoint).ok_or(Invalid::UnknownSavepoint)?;
        self.recorder().inner().rollback_to(savepoint)?;
        self.places.truncate(at + 1);
        let recorded = self.places[at].1;
        self.recorder().truncate(recorded);
        Ok(())
    }

    fn release(&mut self, savepoint: Savepoint) {
        if let Some(at) = self.places.iter().position(|(place, _)| *place == savepoint) {
            self.places.truncate(at);
            self.recorder().inner().release(savepoint);
        }
    }
}

impl Finish for Observed {
    fn poison(&self) -> Option<&Error> {
        self.recorder.as_ref()?.get().poison()
    }

    fn rests_on(&self) -> LogPosition {
        self.recorder.as_ref().map_or(LogPosition::ZERO, |recorder| recorder.get().rests_on())
    }

    fn timestamp(&self) -> Option<Timestamp> {
        self.recorder.as_ref()?.get().timestamp()
    }

    fn start(&mut self) -> Result<()> {
        self.recorder().inner().start()
    }

    fn set_durability(&mut self, durability: Durability) {
        self.recorder().inner().set_durability(durability);
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.recorder().inner().set_wait_limit(limit);
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.recorder().inner().set_reads_wait(wait);
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    fn check_reads(&mut self) -> Result<()> {
        self.recorder().inner().check_reads()
    }

    fn skips_locked(&mut self) -> Option<&mut dyn SkipsLocked> {
        self.recorder().inner().skips_locked()?;
        Some(self)
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        self.recorder().inner().supervised()
    }

    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        let recorder = self.recorder.take().expect("a transaction ends once");
        let (inner, operations) = recorder.into_parts();
        let (observer, start_ns) = (self.observer.clone(), self.start_ns);
        inner.begin_commit().map(move |decided| {
            let outcome = match &decided {
                Ok(committed) => Outcome::Committed(committed.serial_point),
                Err(Error::Fault(Fault::OutcomeUnknown { .. })) => Outcome::Unknown,
                Err(_) => Outcome::Aborted,
            };
            observer.report(start_ns, outcome, operations);
            decided
        })
    }

    fn abort(self) {}
}

/// What it takes is told of as a read.
impl SkipsLocked for Observed {
    fn begin_skipping(&mut self) -> Result<Timestamp> {
        self.skipping().begin_skipping()
    }

    fn skip(&mut self, since: Timestamp, tables: Arc<[TableId]>) {
        self.skips = Some(tables.clone());
        self.skipping().skip(since, tables);
    }

    fn stop_skipping(&mut self) {
        self.skips = None;
        self.skipping().stop_skipping();
    }
}

impl Access for Observed {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        if self.skips_in(table) {
            return self.recorder().inner().read(table, key, columns, row);
        }
        self.recorder().read(table, key, columns, row)
    }
    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.recorder().read_for_update(table, key, columns, row)
    }
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.recorder().put(table, key, row)
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.recorder().insert(table, key, row)
    }
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.recorder().update(table, key, delta)
    }
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.recorder().delete(table, key)
    }
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        if self.skips_in(scan.table) {
            return self.recorder().inner().scan(scan, visit);
        }
        self.recorder().scan(scan, visit)
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        self.recorder().draws()
    }
}
