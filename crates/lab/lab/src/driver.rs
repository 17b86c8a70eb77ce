//! The driver: fills a database, runs clients on it, and counts.
//!
//! A client's loop allocates nothing: its program, buffers, retries and histogram are made once. Reading the clock costs
//! as much as a short transaction (it waits for all earlier loads), so that clients time only as many transactions as
//! give good quantiles; [`Tally::timed_every`] says how many.

use crate::engines::{Engine, OnEngine};
use crate::record::{Forms, Log};
use crate::retry::{Reasons, Retrying, reason};
use crate::workloads::{Client, ClientSlot, Stamps, Workload};
use check::Record;
use env::time::{Duration, Instant};
use env::{MonotonicClock, Randomness, thread};
use hdrhistogram::Histogram;
use model::{Access, Begin, Committed, Durability, Error, Key, LogPosition, Mode, Program, RowBuf, TableId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extent {
    /// Runs uncounted for the first duration, then counted for the second.
    Time {
        /// Not counted.
        warm_up: Duration,
        /// Counted.
        measured: Duration,
    },
    /// This many transactions, shared evenly among the clients.
    Transactions(u64),
    /// Until committed transactions have recorded this many operations. Needs recording.
    Operations(u64),
}

/// One run of a workload on an engine.
pub struct Run<'a, W> {
    /// The workload.
    pub workload: &'a W,
    /// Clients, one thread each.
    pub clients: u32,
    /// Long readers, one more thread each, counted apart.
    pub long_readers: u32,
    /// Length of the run.
    pub extent: Extent,
    /// Durability of acknowledgements.
    pub durability: Durability,
    /// Whether everything is recorded.
    pub is_recorded: bool,
    /// Records that one transaction loads.
    pub load_batch: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Told how many records have been loaded, now and then.
    pub on_load: &'a (dyn Fn(u64) + Sync),
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The clients together.
    pub clients: Tally,
    /// The long readers together.
    pub long_readers: Tally,
    /// Memory of the process at the end, with the database still there. Bytes.
    pub resident_bytes: Option<u64>,
    /// Everything that was done, if it was recorded.
    pub records: Vec<Record>,
}

/// Why a run has no outcome.
#[derive(Clone, Debug)]
pub enum RunError {
    /// The engine failed, or refused what every engine must accept.
    Engine(Error),
    /// A transaction committed with a result that it must not have.
    Wrong(String),
    /// The operating system refused a thread.
    Thread(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Engine(error) => write!(f, "the engine failed: {error}"),
            RunError::Wrong(what) => write!(f, "wrong result: {what}"),
            RunError::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        RunError::Engine(error)
    }
}

impl<W: Workload> OnEngine for Run<'_, W> {
    type Output = Result<Outcome, RunError>;

    fn run<E: Engine>(self, engine: E, tables: Vec<TableId>) -> Self::Output {
        let forms = Forms::new(&tables, self.workload.forms());
        let clock = MonotonicClock::new();
        let stage = Stage { run: &self, engine, tables, forms: &forms, clock };
        let mut records = stage.load()?;
        let (clients, long_readers, recorded) = stage.perform()?;
        records.extend(recorded);
        let resident_bytes = crate::machine::resident_bytes();
        records.extend(stage.close()?);
        Ok(Outcome { clients, long_readers, resident_bytes, records })
    }
}

/// Phase of a run, shared by its threads. It only ever moves forward.
#[derive(Debug)]
pub struct Control {
    phase: AtomicU8,
}

/// Clients wait to begin.
const WAITING: u8 = 0;
/// Clients run, uncounted.
const WARMING: u8 = 1;
/// Clients run, counted.
const COUNTING: u8 = 2;
/// Clients end their current transaction and stop.
const STOPPED: u8 = 3;

impl Control {
    /// All wait.
    pub fn new() -> Control {
        Control { phase: AtomicU8::new(WAITING) }
    }

    // Relaxed here and below: the phase publishes nothing else, and a client that sees it a little late is only late.
    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }

    fn advance_to(&self, phase: u8) {
        self.phase.fetch_max(phase, Ordering::Relaxed);
    }

    /// Ends the run, from any phase.
    pub fn stop(&self) {
        self.advance_to(STOPPED);
    }

    /// Returns whether the run has ended.
    pub fn is_stopped(&self) -> bool {
        self.phase() == STOPPED
    }

    /// Returns when the run begins, or is called off.
    fn wait_for_start(&self) {
        while self.phase() == WAITING {
            thread::yield_now();
        }
    }

    /// Lets `duration` pass, unless the run stops first.
    fn let_pass(&self, duration: Duration) {
        const GLANCE: Duration = Duration::from_millis(20);
        let start = Instant::now();
        while let Some(left) = duration.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            if self.is_stopped() {
                return;
            }
            thread::sleep(left.min(GLANCE));
        }
    }
}

impl Default for Control {
    fn default() -> Control {
        Control::new()
    }
}

/// Ends the run when a client panics, so that no reader reads on for ever beside it.
struct StopsOnPanic<'a>(&'a Control);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// A client's counts during the measured phase.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Transactions that committed.
    pub commits: u64,
    /// Attempts that did not, by reason.
    pub aborts: Reasons,
    /// Nanoseconds from the first attempt of a transaction to its acknowledgement.
    pub latency_ns: Histogram<u64>,
    /// Every how many transactions one was timed (the rarest of the clients).
    pub timed_every: u64,
    start: Option<Instant>,
    end: Option<Instant>,
}

impl Tally {
    fn new() -> Tally {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let latency_ns = Histogram::new_with_bounds(1, HOUR_NS, 3).expect("valid bounds");
        Tally { commits: 0, aborts: Reasons::default(), latency_ns, timed_every: 1, start: None, end: None }
    }

    /// From the first client's start to the last one's end.
    pub fn elapsed(&self) -> Duration {
        match (self.start, self.end) {
            (Some(start), Some(end)) => end.saturating_duration_since(start),
            _ => Duration::ZERO,
        }
    }

    /// Committed transactions in a second.
    pub fn per_second(&self) -> f64 {
        let seconds = self.elapsed().as_secs_f64();
        if seconds > 0.0 { self.commits as f64 / seconds } else { 0.0 }
    }

    fn merge(&mut self, other: &Tally) {
        self.commits += other.commits;
        self.aborts.add(&other.aborts);
        self.latency_ns.add(&other.latency_ns).expect("all histograms have the same bounds");
        self.timed_every = self.timed_every.max(other.timed_every);
        self.start = [self.start, other.start].into_iter().flatten().min();
        self.end = [self.end, other.end].into_iter().flatten().max();
    }

    fn restart(&mut self, timed_every: u64) {
        self.commits = 0;
        self.aborts.clear();
        self.latency_ns.reset();
        self.timed_every = timed_every;
        self.start = Some(Instant::now());
    }
}

/// State shared by all threads of a run.
struct Stage<'a, E, W> {
    run: &'a Run<'a, W>,
    engine: E,
    tables: Vec<TableId>,
    forms: &'a Forms,
    clock: MonotonicClock,
}

/// Client 0 loads and closes; the clients of the run count from 1.
const LOADER: u32 = 0;

impl<E: Engine, W: Workload> Stage<'_, E, W> {
    fn seat(&self, client: u32) -> ClientSlot<'_> {
        let mut seeds = Randomness::from_seed(self.run.seed);
        let randomness = (0..=client).map(|_| seeds.fork()).last().expect("at least one fork");
        ClientSlot { tables: &self.tables, randomness, stamps: Stamps::of_client(client) }
    }

    fn log(&self, client: u32) -> Option<Log<'_>> {
        self.run.is_recorded.then(|| Log::new(client, self.clock, self.forms))
    }

    fn acknowledge(&self, position: LogPosition) -> Result<(), Error> {
        match self.run.durability {
            Durability::Fsync => self.engine.wait_durable(position),
            Durability::None | Durability::Async => Ok(()),
        }
    }

    /// Fills the tables, and waits until the disk has them, so that no client pays for it.
    fn load(&self) -> Result<Vec<Record>, RunError> {
        let mut loader = Loader::new(self.run.workload, self.seat(LOADER));
        let mut log = self.log(LOADER);
        let control = Control::new();
        let mut retrying = Retrying::new(&control, self.seat(LOADER).randomness);
        let total = self.run.workload.records();
        let mut last = LogPosition::ZERO;
        while loader.to < total {
            loader.from = loader.to;
            loader.to = (loader.to + self.run.load_batch).min(total);
            let how = Begin { durability: Some(self.run.durability.min(Durability::Async)), ..Begin::default() };
            let (_, committed) = self.execute(&mut loader, how, &mut retrying, log.as_mut(), |_| Ok(()))?;
            last = committed.log_position;
            (self.run.on_load)(loader.to);
        }
        self.acknowledge(last)?;
        Ok(log.map(Log::into_records).unwrap_or_default())
    }

    /// Runs the clients to the end of the run's extent.
    fn perform(&self) -> Result<(Tally, Tally, Vec<Record>), RunError> {
        let (control, operations) = (Control::new(), AtomicU64::new(0));
        let (clients, all) = (self.run.clients, self.run.clients + self.run.long_readers);
        let quota = |number: u32| match self.run.extent {
            _ if number > clients => Quota::Unlimited,
            Extent::Time { .. } => Quota::Unlimited,
            Extent::Transactions(total) => Quota::Transactions(
                total / u64::from(clients) + u64::from(u64::from(number) <= total % u64::from(clients)),
            ),
            Extent::Operations(total) => Quota::Operations { done: &operations, total },
        };
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for number in 1..=all {
                let worker = self.worker(number, quota(number), &control);
                let name = if number > clients { "long-reader" } else { "client" };
                match std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, || worker.work()) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        control.stop();
                        return Err(RunError::Thread(error.to_string()));
                    }
                }
            }
            self.direct(&control);
            let (mut done, mut read) = (Tally::new(), Tally::new());
            let mut records = Vec::new();
            let mut failure = None;
            for (at, thread) in threads.into_iter().enumerate() {
                if at == clients as usize {
                    // The clients are done, so that the readers may be.
                    control.stop();
                }
                match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                    Ok((tally, recorded)) => {
                        if at < clients as usize { &mut done } else { &mut read }.merge(&tally);
                        records.extend(recorded);
                    }
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            failure.map_or(Ok((done, read, records)), Err)
        })
    }

    /// Moves the run through its phases as far as time decides them.
    fn direct(&self, control: &Control) {
        match self.run.extent {
            Extent::Time { warm_up, measured } => {
                control.advance_to(WARMING);
                control.let_pass(warm_up);
                control.advance_to(COUNTING);
                control.let_pass(measured);
                control.stop();
            }
            Extent::Transactions(_) | Extent::Operations(_) => control.advance_to(COUNTING),
        }
    }

    /// The workload's own check of the whole database.
    fn close(&self) -> Result<Vec<Record>, RunError> {
        let after_all = self.run.clients + self.run.long_readers + 1;
        let Some(mut client) = self.run.workload.closing(self.seat(after_all)) else { return Ok(Vec::new()) };
        let control = Control::new();
        let mut retrying = Retrying::new(&control, self.seat(after_all).randomness);
        let mut log = self.log(after_all);
        let how = Begin { mode: client.draw(), durability: Some(self.run.durability), ..Begin::default() };
        let acknowledge = |committed: Committed| self.acknowledge(committed.log_position);
        let (output, _) = self.execute(&mut client, how, &mut retrying, log.as_mut(), acknowledge)?;
        client.check(output).map_err(RunError::Wrong)?;
        Ok(log.map(Log::into_records).unwrap_or_default())
    }

    fn worker<'s>(&'s self, number: u32, quota: Quota<'s>, control: &'s Control) -> Worker<'s, E, W> {
        let mut seat = self.seat(number);
        let retrying = Retrying::new(control, seat.randomness.fork());
        let client = match number > self.run.clients {
            false => self.run.workload.client(seat),
            true => self.run.workload.long_reader(seat),
        };
        Worker { stage: self, client, quota, control, retrying, log: self.log(number), tally: Tally::new() }
    }

    /// Runs one transaction to its acknowledgement, recorded or not.
    fn execute<C: Client>(
        &self,
        client: &mut C,
        how: Begin,
        retrying: &mut Retrying<'_>,
        log: Option<&mut Log<'_>>,
        acknowledge: impl Fn(Committed) -> Result<(), Error>,
    ) -> Result<(C::Output, Committed), Error> {
        let Some(log) = log else {
            let (output, committed) = self.engine.execute(client, how, retrying)?;
            acknowledge(committed)?;
            return Ok((output, committed));
        };
        log.observe(client, |observed, attempt_begins| {
            let mut retry = |attempts: u32, error: &Error| {
                let again = model::Retry::again(retrying, attempts, error);
                attempt_begins();
                again
            };
            let (output, committed) = self.engine.execute(observed, how, &mut retry)?;
            acknowledge(committed)?;
            Ok((output, committed))
        })
    }
}

/// Work left for one client.
#[derive(Debug)]
enum Quota<'a> {
    Unlimited,
    Transactions(u64),
    Operations { done: &'a AtomicU64, total: u64 },
}

/// Transactions that a client times in a second, at most about: 25 ms of a second, at 250 ns for two looks at the clock
/// in a stream of cache misses, and enough for the 99.9th percentile of a second.
const TIMED_PER_SECOND: f64 = 50_000.0;

/// One client's thread.
struct Worker<'s, E, W: Workload> {
    stage: &'s Stage<'s, E, W>,
    client: W::Client,
    quota: Quota<'s>,
    control: &'s Control,
    retrying: Retrying<'s>,
    log: Option<Log<'s>>,
    tally: Tally,
}

impl<E: Engine, W: Workload> Worker<'_, E, W> {
    /// Runs transactions until its quota is done or the run stops. A failure stops the whole run.
    fn work(mut self) -> Result<(Tally, Vec<Record>), RunError> {
        let _others_do_not_wait = StopsOnPanic(self.control);
        self.control.wait_for_start();
        let outcome = self.run_transactions();
        self.tally.end = Some(Instant::now());
        if outcome.is_err() {
            self.control.stop();
        }
        outcome?;
        self.tally.aborts = self.retrying.reasons;
        Ok((self.tally, self.log.map(Log::into_records).unwrap_or_default()))
    }

    fn run_transactions(&mut self) -> Result<(), RunError> {
        let mut seen = WAITING;
        let mut until_timed = 0;
        loop {
            let phase = self.control.phase();
            if phase == STOPPED || self.is_done() {
                return Ok(());
            }
            if phase != seen {
                seen = phase;
                until_timed = 0;
                self.restart_tally();
            }
            let start = (until_timed == 0).then(Instant::now);
            let committed = self.run_transaction()?;
            match start {
                None => until_timed -= 1,
                Some(start) => {
                    until_timed = self.tally.timed_every - 1;
                    if committed {
                        self.tally.latency_ns.saturating_record(start.elapsed().as_nanos() as u64);
                    }
                }
            }
        }
    }

    /// Starts counting from zero; the earlier counts decide how rarely to time.
    fn restart_tally(&mut self) {
        let rate = self.tally.start.map_or(0.0, |start| self.tally.commits as f64 / start.elapsed().as_secs_f64());
        let timed_every = if self.log.is_some() { 1 } else { (rate / TIMED_PER_SECOND).ceil().max(1.0) as u64 };
        self.retrying.reasons.clear();
        self.tally.restart(timed_every);
    }

    /// Returns whether the quota is used up; otherwise takes one transaction off it.
    fn is_done(&mut self) -> bool {
        match &mut self.quota {
            Quota::Unlimited => false,
            Quota::Transactions(0) => true,
            Quota::Transactions(left) => {
                *left -= 1;
                false
            }
            // Relaxed: a count of what is in the logs, which are handed over when the threads are joined.
            Quota::Operations { done, total } => done.load(Ordering::Relaxed) >= *total,
        }
    }

    /// Draws and runs one transaction; returns whether it committed.
    fn run_transaction(&mut self) -> Result<bool, RunError> {
        let stage = self.stage;
        let how = Begin { mode: self.client.draw(), durability: Some(stage.run.durability), ..Begin::default() };
        let before = self.log.as_ref().map_or(0, Log::committed_operations);
        let acknowledge = |committed: Committed| stage.acknowledge(committed.log_position);
        let (client, retrying) = (&mut self.client, &mut self.retrying);
        match stage.execute(client, how, retrying, self.log.as_mut(), acknowledge) {
            Ok((output, _)) => {
                self.client.check(output).map_err(RunError::Wrong)?;
                self.tally.commits += 1;
                if let (Quota::Operations { done, .. }, Some(log)) = (&self.quota, &self.log) {
                    done.fetch_add(log.committed_operations() - before, Ordering::Relaxed);
                }
                Ok(true)
            }
            // Counted when it was asked whether to try again.
            Err(error) if error.is_retryable() => Ok(false),
            Err(error @ (Error::Aborted(_) | Error::Limit(_))) => {
                self.retrying.reasons.count(reason(&error));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Client 0: the program that writes records `from..to`.
struct Loader<'a, W> {
    workload: &'a W,
    seat: ClientSlot<'a>,
    from: u64,
    to: u64,
    key: Key,
    row: RowBuf,
}

impl<'a, W: Workload> Loader<'a, W> {
    fn new(workload: &'a W, seat: ClientSlot<'a>) -> Loader<'a, W> {
        Loader { workload, seat, from: 0, to: 0, key: Key::new(), row: RowBuf::new() }
    }
}

impl<W: Workload> Program for Loader<'_, W> {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<(), Error> {
        for number in self.from..self.to {
            let stamp = self.seat.stamps.draw();
            let table = self.workload.record(number, stamp, &mut self.key, &mut self.row);
            access.put(self.seat.tables[table], &self.key, self.row.row())?;
        }
        Ok(())
    }
}

impl<W: Workload> Client for Loader<'_, W> {
    fn draw(&mut self) -> Mode {
        Mode::ReadWrite
    }

    fn check(&mut self, (): ()) -> Result<(), String> {
        Ok(())
    }
}
