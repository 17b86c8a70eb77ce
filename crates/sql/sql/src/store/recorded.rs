//! A store that tells an observer what its transactions do: histories, for judges of serializability.

use super::{Store, Transaction};
use model::history::{self, Outcome, Recorder};
use model::{
    Access, Begin, Columns, Committed, Delta, Durability, Error, Fault, Finish, Invalid, Item, LogPosition, Result,
    RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, Snapshots, Supervised, TableId, Tables, Timestamp,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Passes everything on to a store, and tells of each transaction when it has ended.
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
        Ok(Box::new(Observed { recorder, observer: self.observer.clone(), start_ns, places: Vec::new() }))
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.inner.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        self.inner.wait_durable_unless(position, is_over)
    }

    fn rouse(&self) {
        self.inner.rouse();
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        self.inner.ddl()
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.inner.snapshots()
    }
}

/// A transaction that is told of when it ends.
struct Observed {
    /// `None` after the end.
    recorder: Option<Recorder<Box<dyn Transaction>>>,
    observer: Arc<Observer>,
    start_ns: u64,
    /// Open savepoints, oldest first, and how much was noted before each.
    places: Vec<(Savepoint, usize)>,
}

impl Observer {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Observed {
    fn recorder(&mut self) -> &mut Recorder<Box<dyn Transaction>> {
        self.recorder.as_mut().expect("only the end takes the recorder, and takes the transaction with it")
    }

    /// Ends the transaction with `end`, and tells what it did and what became of it.
    fn end<T>(&mut self, end: impl FnOnce(Box<dyn Transaction>) -> T, became: impl FnOnce(&T) -> Outcome) -> Option<T> {
        let (inner, operations) = self.recorder.take()?.into_parts();
        let ended = end(inner);
        let (start_ns, end_ns) = (self.start_ns, self.observer.now());
        let outcome = became(&ended);
        (self.observer.tell)(history::Transaction { client: 0, start_ns, end_ns, outcome, operations });
        Some(ended)
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.end(Finish::abort, |()| Outcome::Aborted);
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
        self.recorder().forget_after(recorded);
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

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        self.recorder().inner().supervised()
    }

    fn commit(mut self) -> Result<Committed> {
        let committed = self.end(Finish::commit, |ended| match ended {
            Ok(committed) => Outcome::Committed(committed.serial_point),
            Err(Error::Fault(Fault::OutcomeUnknown { .. })) => Outcome::Unknown,
            Err(_) => Outcome::Aborted,
        });
        committed.expect("a transaction ends once")
    }

    fn abort(self) {}
}

impl Access for Observed {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.recorder().read(table, key, columns, row)
    }
    fn read_for_update(&mut self, table: TableId, key: &[u8], row: &mut RowBuf) -> Result<bool> {
        self.recorder().read_for_update(table, key, row)
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
        self.recorder().scan(scan, visit)
    }
}
