//! `Declared` of the small engine: in the call, or on a thread of its own, where the first attempts of a procedure stop at what they
//! read as in an engine that orders procedures ahead.

use super::Door;
use model::{
    Access, AsDeclared, Begin, Columns, Completed, Declared, Delta, Draws, Error, Guarded, Item, Key, Procedure,
    Program, Reexecutable, Result, Retry, RowBuf, RowRef, Scan, ScanEnd, TableId, Ticket,
};
use parts::promise::promise;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::mpsc::{Sender, channel};
use std::thread;

pub enum Calls {
    InTheCall(AsDeclared<Door>),
    Queued(Queue),
}

impl Declared for Calls {
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        match self {
            Calls::InTheCall(door) => door.submit(procedure, how, retry),
            Calls::Queued(queue) => queue.submit(procedure, how, retry),
        }
    }
}

type Job = Box<dyn FnOnce(&Door) + Send>;

/// The thread ends with the queue.
pub struct Queue(Sender<Job>);

impl Queue {
    pub fn new(door: Door) -> Queue {
        let (jobs, queued) = channel::<Job>();
        thread::spawn(move || queued.into_iter().for_each(|job| job(&door)));
        Queue(jobs)
    }

    fn submit<P: Procedure>(&self, procedure: P, how: Begin, mut retry: Box<dyn Retry + Send>) -> Ticket<P> {
        let (promise, ticket) = promise();
        let job = move |door: &Door| promise.resolve(complete(door, procedure, how, &mut *retry));
        self.0.send(Box::new(job)).expect("the thread lives as long as the queue");
        ticket
    }
}

/// Runs a procedure until it does not stop any more.
fn complete<P: Procedure>(door: &Door, procedure: P, how: Begin, retry: &mut dyn Retry) -> Completed<P> {
    let mut attempt = Attempt { procedure, there: BTreeSet::new(), has_stopped: false };
    loop {
        let completed = door.execute(&mut attempt, how, retry);
        if !std::mem::take(&mut attempt.has_stopped) {
            return completed;
        }
    }
}

struct Attempt<P> {
    procedure: P,
    /// Keys that an earlier attempt has stopped at.
    there: BTreeSet<(TableId, Key)>,
    has_stopped: bool,
}

impl<P: Procedure> Program for Attempt<P> {
    type Output = P::Output;
    type Error = P::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<P::Output, P::Error> {
        let footprint = self.procedure.footprint(access)?;
        let Attempt { procedure, there, has_stopped } = self;
        procedure.run(&mut Stopping { inner: Guarded::new(access, &footprint), there, has_stopped })
    }
}

/// Says of each key once that it is not there yet.
struct Stopping<'a, A> {
    inner: A,
    there: &'a mut BTreeSet<(TableId, Key)>,
    has_stopped: &'a mut bool,
}

impl<A: Access> Access for Stopping<'_, A> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        if self.there.insert((table, key.into())) {
            *self.has_stopped = true;
            return Err(Error::NotYet);
        }
        self.inner.read(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.inner.put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.inner.insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.inner.update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.inner.delete(table, key)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.inner.scan(scan, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.inner.draws()
    }
}
