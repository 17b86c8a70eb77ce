//! Clients of a node in closed loops, as many as wanted: one thread of the node draws and queues their transactions.

use super::gauge::{Cost, Gauge};
use crate::driver::streams::GivesWay;
use crate::workloads::Client;
use dur::Dur;
use env::time::Instant;
use hdrhistogram::Histogram;
use model::{Access, Begin, Committed, Error, Program, Result};
use sim::Schedule;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use total::TotalOrder;

/// Time of the machine, or of a simulation.
#[derive(Clone, Debug)]
pub enum Time {
    /// Since then.
    Real(Instant),
    /// Virtual.
    Virtual(Schedule),
}

impl Time {
    /// Nanoseconds.
    pub fn now(&self) -> u64 {
        match self {
            Time::Real(start) => start.elapsed().as_nanos() as u64,
            Time::Virtual(schedule) => schedule.now(),
        }
    }
}

/// Clients of a node that have nothing on its way.
pub struct Inbox<C> {
    state: Mutex<(VecDeque<C>, bool)>,
    bell: Ringing,
}

enum Ringing {
    Real(Condvar),
    Virtual(Schedule, u64),
}

impl<C> Inbox<C> {
    /// Nobody.
    pub fn new(time: &Time) -> Inbox<C> {
        let bell = match time {
            Time::Real(_) => Ringing::Real(Condvar::new()),
            Time::Virtual(schedule) => Ringing::Virtual(schedule.clone(), schedule.bell()),
        };
        Inbox { state: Mutex::new((VecDeque::new(), false)), bell }
    }

    fn lock(&self) -> MutexGuard<'_, (VecDeque<C>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        match &self.bell {
            Ringing::Real(condition) => condition.notify_all(),
            Ringing::Virtual(schedule, bell) => schedule.ring(*bell, true),
        }
    }

    /// A client is ready.
    pub fn push(&self, client: C) {
        self.lock().0.push_back(client);
        self.ring();
    }

    /// No more are taken.
    pub fn close(&self) {
        self.lock().1 = true;
        self.ring();
    }

    /// Waits for a client. `None`: it is closed.
    fn take(&self) -> Option<C> {
        let mut state = self.lock();
        loop {
            if state.1 {
                return None;
            }
            if let Some(client) = state.0.pop_front() {
                return Some(client);
            }
            state = match &self.bell {
                Ringing::Real(condition) => condition.wait(state).unwrap_or_else(PoisonError::into_inner),
                Ringing::Virtual(schedule, bell) => {
                    drop(state);
                    schedule.wait(*bell);
                    self.lock()
                }
            };
        }
    }
}

/// The longest latency that is told from longer ones: an hour.
const MOST_NS: u64 = 3_600_000_000_000;

/// What the clients of all nodes did.
#[derive(Debug)]
pub struct Books<C> {
    /// Whether it is counted.
    pub counts: bool,
    /// Whether clients draw no more.
    pub stops: bool,
    /// Transactions that committed while it was counted.
    pub commits: u64,
    /// Their latencies.
    pub latency_ns: Histogram<u64>,
    /// What was wrong.
    pub wrong: Option<String>,
    /// Clients that have stopped.
    pub stopped: Vec<C>,
}

impl<C> Books<C> {
    /// Nothing yet.
    pub fn new() -> Arc<Mutex<Books<C>>> {
        let latency_ns = Histogram::new_with_bounds(1, MOST_NS, 3).expect("valid bounds");
        let (counts, stops, commits, wrong, stopped) = (false, false, 0, None, Vec::new());
        Arc::new(Mutex::new(Books { counts, stops, commits, latency_ns, wrong, stopped }))
    }
}

/// The thread of a node that serves its clients.
pub struct Front<O: TotalOrder + 'static, C> {
    pub node: Arc<Dur<O>>,
    pub inbox: Arc<Inbox<C>>,
    pub books: Arc<Mutex<Books<C>>>,
    pub gauge: Option<Arc<Gauge>>,
    pub time: Time,
}

/// A transaction whose accesses are measured or charged for.
struct Gauged<P> {
    program: P,
    gauge: Option<Arc<Gauge>>,
}

impl<P: Program> Program for Gauged<P> {
    type Output = P::Output;
    type Error = P::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<P::Output, P::Error> {
        let Some(gauge) = self.gauge.clone() else { return self.program.run(access) };
        match &*gauge {
            Gauge::Charging { .. } => {
                let pause = || _ = gauge.start(Cost::Access, 1);
                GivesWay { program: &mut self.program, pause }.run(access)
            }
            Gauge::Measuring { .. } => {
                let (accesses, begun) = (Cell::new(0), gauge.start(Cost::Access, 1));
                let pause = || accesses.set(accesses.get() + 1);
                let done = GivesWay { program: &mut self.program, pause }.run(access);
                gauge.stop(Cost::Access, accesses.get(), begun);
                done
            }
        }
    }
}

type Completed<C> = Result<(<<C as Client>::Call as Program>::Output, Committed)>;

impl<O: TotalOrder + 'static, C> Front<O, C>
where
    C: Client<Call: 'static> + 'static,
{
    /// Serves clients until the inbox is closed.
    pub fn serve(&self) {
        while let Some(mut client) = self.inbox.take() {
            let (begun, at) = (self.gauge.as_ref().map(|gauge| gauge.start(Cost::Submit, 1)), self.time.now());
            let mode = client.draw();
            let Some(program) = client.put_aside() else {
                return self.fail("its transactions cannot be queued".to_owned());
            };
            let program = Gauged { program, gauge: self.gauge.clone() };
            let ticket = self.node.enqueue(program, Begin { mode, ..Begin::default() }, Box::new(always));
            if let (Some(gauge), Some(begun)) = (&self.gauge, begun) {
                gauge.stop(Cost::Submit, 1, begun);
            }
            let (inbox, books, time) = (self.inbox.clone(), self.books.clone(), self.time.clone());
            ticket.on_resolved(move |done| conclude(client, done, &books, &inbox, time.now() - at));
        }
    }

    fn fail(&self, what: String) {
        self.books.lock().unwrap_or_else(PoisonError::into_inner).wrong.get_or_insert(what);
    }
}

/// It runs again after every conflict.
fn always(_: u32, _: &Error) -> bool {
    true
}

/// Notes how a transaction has ended, and has its client draw the next.
fn conclude<C: Client>(mut client: C, done: Completed<C>, books: &Mutex<Books<C>>, inbox: &Inbox<C>, latency_ns: u64) {
    let mut books = books.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = books.counts;
    match done.map(|(output, _)| client.check(output)) {
        Ok(Ok(())) if counts => {
            books.commits += 1;
            books.latency_ns.saturating_record(latency_ns);
        }
        // A body that gives up on purpose has no effect.
        Ok(Ok(())) | Err(Error::Aborted(_)) => {}
        Ok(Err(what)) => _ = books.wrong.get_or_insert(what),
        Err(error) => _ = books.wrong.get_or_insert(error.to_string()),
    }
    if books.stops || books.wrong.is_some() {
        books.stopped.push(client);
    } else {
        drop(books);
        inbox.push(client);
    }
}
