//! The driver: fills a database, runs clients on it, and counts.
//!
//! A client's loop allocates nothing: its program, buffers, retries and histogram are made once. Reading the clock costs
//! as much as a short transaction (it waits for all earlier loads), so that clients time only as many transactions as
//! give good quantiles; [`Tally::timed_every`] says how many.

mod bare;
mod open;
pub(crate) mod passes;
mod prepared;
mod single;
pub(crate) mod streams;
mod tally;
mod worker;

pub use tally::Tally;

use crate::control::{COUNTING, Control, WARMING};
use crate::engines::{DoorName, Engine, OnEngine, PredicateLogs};
use crate::machine::OtherPrograms;
use crate::record::{Attempts, Forms, Log};
use crate::retry::{Retrying, SharedRetrying};
use crate::workloads::{Audit, Client, ClientSlot, LOADER, Stamps, Submission, Workload};
use bare::Samples;
use check::{Record, Status};
use env::time::Duration;
use env::{MonotonicClock, Randomness};
use model::{
    Begin, Committed, Completed, Durability, Error, LogPosition, Mode, Program, Reexecutable, Registry, Storage,
    TableId, run_interactively,
};
use passes::{Load, Look, Pass, Walk};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use worker::{Done, Quota, Worker};

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
    /// Threads of clients.
    pub clients: u32,
    /// Clients of each of these threads, whose transactions are open at once and advance in turns. With more than one, an engine whose
    /// transactions wait for open ones never ends.
    pub streams: u32,
    /// Long readers, one more thread each, counted apart.
    pub long_readers: u32,
    /// Time from the begin of a long reader's transaction to the begin of its next, at least.
    pub long_reader_interval: Duration,
    /// Length of the run.
    pub extent: Extent,
    /// Door by which the clients' transactions enter. The driver's own, which load and audit, are programs.
    pub door: DoorName,
    /// Transactions that a client submits together, at the door for batches.
    pub batch: u32,
    /// Transactions that come in a second, of all clients together, by the declared door; `None`: each client submits its next one when
    /// the last has ended.
    pub rate: Option<f64>,
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
    /// Processors that other programs used while it was counted, where the operating system says.
    pub other_cores: Option<f64>,
    /// Replaced versions that were still there at the end, if the engine counts them.
    pub kept_versions: Option<u64>,
    /// What transactions after the load have logged of their reads, if the engine logs predicates.
    pub predicate_logs: Option<PredicateLogs>,
    /// Nanoseconds that a client takes for a transaction that no engine runs; `None` for a recorded run.
    pub bare_ns: Option<f64>,
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
    /// A transaction without a footprint was to enter by the declared door.
    NoFootprint,
    /// The engine lacks the door.
    NoDoor(DoorName),
    /// Prepared transactions were to be recorded, or to have others beside them.
    OnlyPrepared,
    /// An open loop by another door than the declared one, or recorded.
    ClosedLoop,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Engine(error) => write!(f, "the engine failed: {error}"),
            RunError::Wrong(what) => write!(f, "wrong result: {what}"),
            RunError::Thread(error) => write!(f, "cannot start a thread: {error}"),
            RunError::NoDoor(door) => write!(f, "it has no {door} door"),
            RunError::OnlyPrepared => f.write_str(
                "prepared transactions are not recorded, have one client on each thread, and no long readers beside them",
            ),
            RunError::ClosedLoop => {
                f.write_str("transactions at a rate enter by the declared door, one client on each thread, and are not recorded")
            }
            RunError::NoFootprint => {
                f.write_str("its transactions declare no footprint: run it by another door than the declared one")
            }
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

    fn procedures(&self) -> Registry {
        let mut registry = Registry::new();
        W::Client::register(&mut registry);
        registry
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn run<E: Engine>(self, engine: E, tables: Vec<TableId>) -> Self::Output {
        let needs_interactive = matches!(self.door, DoorName::Interactive | DoorName::Get);
        if needs_interactive && engine.interactive().is_none() {
            return Err(RunError::NoDoor(self.door));
        }
        let is_open = self.rate.is_some();
        if is_open && (self.door != DoorName::Declared || self.is_recorded || self.streams > 1) {
            return Err(RunError::ClosedLoop);
        }
        let forms = Forms::new(&tables, self.workload.forms());
        let clock = MonotonicClock::new();
        let stage = Stage { run: &self, engine, tables, forms: &forms, clock };
        let mut samples = Samples::default();
        let mut records = stage.load(&mut samples)?;
        let bare_ns = if self.is_recorded { None } else { Some(bare::ns_per_transaction(&stage, &samples)?) };
        let logs_before = stage.engine.predicate_logs();
        let performed = match self.door {
            DoorName::Prepared => stage.perform_prepared()?,
            _ => stage.perform()?,
        };
        let (resident_bytes, kept_versions) = (crate::machine::resident_bytes(), stage.engine.kept_versions());
        let predicate_logs = stage.engine.predicate_logs().zip(logs_before).map(|(now, before)| now.since(before));
        records.extend(performed.records);
        records.extend(stage.audit(&performed.clients)?);
        let Performed { tally, long_tally, other_cores, .. } = performed;
        Ok(Outcome {
            clients: tally,
            long_readers: long_tally,
            resident_bytes,
            other_cores,
            kept_versions,
            predicate_logs,
            bare_ns,
            records,
        })
    }
}

/// What the clients leave behind.
struct Performed<C> {
    clients: Vec<C>,
    tally: Tally,
    long_tally: Tally,
    records: Vec<Record>,
    other_cores: Option<f64>,
}

/// State shared by all threads of a run.
struct Stage<'a, E, W> {
    run: &'a Run<'a, W>,
    engine: E,
    tables: Vec<TableId>,
    forms: &'a Forms,
    clock: MonotonicClock,
}

/// Rows that one transaction of an audit looks at: they are kept until it has committed.
const AUDITED_ROWS: usize = 100_000;

/// Runs the clients of one thread.
fn work<E: Engine, W: Workload>(mut workers: Vec<Worker<'_, E, W>>) -> Vec<Result<Done<W::Client>, RunError>> {
    match workers.pop() {
        Some(worker) if workers.is_empty() => vec![worker.work(None)],
        last => streams::work_in_turns(workers.into_iter().chain(last).collect()),
    }
}

impl<E: Engine, W: Workload> Stage<'_, E, W> {
    fn seat(&self, client: u32) -> ClientSlot<'_> {
        let mut seeds = Randomness::from_seed(self.run.seed);
        let randomness = (0..=client).map(|_| seeds.fork()).last().expect("at least one fork");
        ClientSlot { number: client, tables: &self.tables, randomness, stamps: Stamps::of_client(client) }
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
    fn load(&self, samples: &mut Samples) -> Result<Vec<Record>, RunError> {
        let mut records = self.run.workload.load(Stamps::of_client(LOADER));
        let mut log = self.log(LOADER);
        let mut retrying = Retrying::new(Arc::default(), self.seat(LOADER).randomness);
        let how = Begin { durability: Some(self.run.durability.min(Durability::Async)), ..Begin::default() };
        let (mut last, mut loaded) = (LogPosition::ZERO, 0);
        loop {
            let mut batch = Load::new(&self.tables, records.by_ref().take(self.run.load_batch as usize));
            if batch.is_empty() {
                break;
            }
            samples.take_from(&self.tables, batch.records());
            let (_, committed) = self.execute(
                &mut batch,
                self.run.door.of_transactions(),
                how,
                &mut retrying,
                log.as_mut(),
                |_| Ok(()),
            )?;
            last = committed.log_position;
            loaded += batch.len() as u64;
            (self.run.on_load)(loaded);
        }
        self.acknowledge(last)?;
        // An attempt that is made again writes the same bytes, and nothing else runs that could have read them.
        let mut records = log.map(Log::into_records).unwrap_or_default();
        records.retain(|record| record.status == Status::Committed);
        Ok(records)
    }

    fn all_clients(&self) -> u32 {
        self.run.clients * self.run.streams
    }

    /// Runs the clients to the end of the run's extent.
    fn perform(&self) -> Result<Performed<W::Client>, RunError> {
        let (control, operations) = (Arc::new(Control::new()), AtomicU64::new(0));
        let (clients, streams) = (self.all_clients(), self.run.streams as usize);
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
            let clients_of_threads =
                (1..=clients).step_by(streams).map(|first| ("client", first..first + streams as u32));
            let readers =
                (clients + 1..=clients + self.run.long_readers).map(|number| ("long-reader", number..number + 1));
            for (name, numbers) in clients_of_threads.chain(readers) {
                let workers: Vec<_> = numbers.map(|number| self.worker(number, quota(number), &control)).collect();
                match std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, || work(workers)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        control.stop();
                        return Err(RunError::Thread(error.to_string()));
                    }
                }
            }
            let other_programs = self.direct(&control);
            let (mut tally, mut long_tally) = (Tally::new(), Tally::new());
            let (mut left, mut records) = (Vec::new(), Vec::new());
            let mut failure = None;
            for (at, thread) in threads.into_iter().enumerate() {
                if at == self.run.clients as usize {
                    // The clients are done, so that the readers may be.
                    control.stop();
                }
                for done in thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                    match done {
                        Ok(Done { client, tally: counted, records: recorded }) => {
                            let is_client = at < self.run.clients as usize;
                            if is_client { &mut tally } else { &mut long_tally }.merge(&counted);
                            left.push(client);
                            records.extend(recorded);
                        }
                        Err(error) => failure = failure.or(Some(error)),
                    }
                }
            }
            let other_cores = other_programs.and_then(OtherPrograms::cores);
            let performed = Performed { clients: left, tally, long_tally, records, other_cores };
            failure.map_or(Ok(performed), Err)
        })
    }

    /// Moves the run through its phases as far as time decides them. Returns what observes other programs since the counting
    /// began.
    fn direct(&self, control: &Control) -> Option<OtherPrograms> {
        match self.run.extent {
            Extent::Time { warm_up, measured } => {
                control.advance_to(WARMING);
                control.let_pass(warm_up);
                let other_programs = OtherPrograms::observe();
                control.advance_to(COUNTING);
                control.let_pass(measured);
                control.stop();
                other_programs
            }
            Extent::Transactions(_) | Extent::Operations(_) => {
                control.advance_to(COUNTING);
                OtherPrograms::observe()
            }
        }
    }

    /// The workload's own check of the whole database, which nothing else uses any more.
    fn audit(&self, clients: &[W::Client]) -> Result<Vec<Record>, RunError> {
        let clients: Vec<&W::Client> = clients.iter().collect();
        let Some(mut audit) = self.run.workload.audit(&clients) else { return Ok(Vec::new()) };
        let after_all = self.all_clients() + self.run.long_readers + 1;
        let mut log = self.log(after_all);
        let schemas = self.run.workload.schemas();
        for (position, (schema, &table)) in schemas.iter().zip(&self.tables).enumerate() {
            match schema.storage() {
                Storage::Ordered => {
                    self.see_all(&mut Walk::new(table, AUDITED_ROWS), position, &mut audit, &mut log)?
                }
                Storage::Hash => {
                    let loaded = self.run.workload.load(Stamps::of_client(LOADER));
                    let keys = loaded.filter(|record| record.table == position).map(|record| record.key);
                    self.see_all(&mut Look::new(table, keys, AUDITED_ROWS), position, &mut audit, &mut log)?;
                }
            }
        }
        audit.finish().map_err(RunError::Wrong)?;
        Ok(log.map(Log::into_records).unwrap_or_default())
    }

    /// Shows the audit all rows of the table at `position`, in as many transactions as it takes.
    fn see_all(
        &self,
        pass: &mut impl Pass,
        position: usize,
        audit: &mut W::Audit,
        log: &mut Option<Log<'_>>,
    ) -> Result<(), RunError> {
        let mut retrying = Retrying::new(Arc::default(), Randomness::from_seed(self.run.seed));
        let how = Begin { mode: Mode::ReadOnly, durability: Some(self.run.durability), ..Begin::default() };
        while pass.has_more() {
            let acknowledge = |committed: Committed| self.acknowledge(committed.log_position);
            let (rows, _) =
                self.execute(pass, self.run.door.of_transactions(), how, &mut retrying, log.as_mut(), acknowledge)?;
            for (key, row) in &rows {
                audit.see(position, key, row.row()).map_err(RunError::Wrong)?;
            }
            pass.advance();
        }
        Ok(())
    }

    fn worker<'s>(&'s self, number: u32, quota: Quota<'s>, control: &Arc<Control>) -> Worker<'s, E, W> {
        let mut seat = self.seat(number);
        let retrying = match self.run.streams {
            1 => Retrying::new(control.clone(), seat.randomness.fork()),
            _ => Retrying::without_waits(control.clone(), seat.randomness.fork()),
        };
        let submitted = SharedRetrying::new(Retrying::new(control.clone(), seat.randomness.fork()));
        let client = match number > self.all_clients() {
            false => self.run.workload.client(seat),
            true => self.run.workload.long_reader(seat),
        };
        let is_client = number <= self.all_clients();
        let interval = if is_client { Duration::ZERO } else { self.run.long_reader_interval };
        let (log, tally) = (self.log(number), Tally::new());
        let turns = Randomness::from_seed(self.run.seed.wrapping_add(number.into()));
        Worker {
            stage: self,
            number,
            client,
            quota,
            control: control.clone(),
            retrying,
            submitted,
            turns,
            log,
            tally,
            interval,
        }
    }

    /// Runs a program through a door. The driver's own programs have no footprint.
    fn enter<P: Program<Error = Error>>(
        &self,
        program: &mut P,
        door: DoorName,
        how: Begin,
        retry: &mut dyn model::Retry,
    ) -> Result<(P::Output, Committed), Error> {
        let interactive = || self.engine.interactive().expect("the run has begun: its door is there");
        match door {
            DoorName::Get => single::read_one(interactive(), program, retry),
            DoorName::Interactive => run_interactively(interactive(), program, how, retry),
            DoorName::Program | DoorName::Declared | DoorName::Batch | DoorName::Prepared => {
                self.engine.programs().execute(program, how, retry)
            }
        }
    }

    /// Submits a client's transaction to the declared door and waits for its acknowledgement, recorded or not.
    fn submit(
        &self,
        client: &mut W::Client,
        how: Begin,
        retrying: &SharedRetrying,
        log: Option<&mut Log<'_>>,
    ) -> Result<Completed<<W::Client as Client>::Call>, RunError> {
        let attempts = log.as_ref().map(|_| Attempts::new(self.clock));
        let submission = Submission { how, retrying: retrying.clone(), attempts: attempts.clone() };
        let mut run = |submission| {
            let ticket = client.submit(self.engine.declared(), submission)?;
            Some(ticket.wait().and_then(|(output, committed)| {
                self.acknowledge(committed.log_position)?;
                Ok((output, committed))
            }))
        };
        let reads_the_past = how.mode == Mode::Snapshot && self.engine.snapshots_read_the_past();
        let completed = match (log, attempts) {
            (Some(log), Some(attempts)) => log.observe_submission(&attempts, reads_the_past, || run(submission)),
            _ => run(submission),
        };
        completed.ok_or(RunError::NoFootprint)
    }

    /// Submits transactions of a client together, and waits for the acknowledgement of all. Those of a recorded run begin, for the
    /// judges, at their submission.
    fn submit_batch(
        &self,
        client: &mut W::Client,
        batch: Vec<(<W::Client as Client>::Call, Submission)>,
        log: Option<&mut Log<'_>>,
    ) -> Result<Vec<Completed<<W::Client as Client>::Call>>, RunError> {
        let recorded: Vec<(Attempts, bool)> = match &log {
            None => Vec::new(),
            Some(_) => batch.iter().filter_map(|(_, submission)| self.recorded(submission)).collect(),
        };
        let run = || {
            let tickets = client.submit_batch(self.engine.declared(), batch)?;
            let mut completed: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait()).collect();
            // The log is waited for once.
            let last = completed.iter().flatten().map(|(_, committed)| committed.log_position).max();
            if let Err(fault) = self.acknowledge(last.unwrap_or_default()) {
                completed.iter_mut().filter(|it| it.is_ok()).for_each(|it| *it = Err(fault.clone()));
            }
            Some(completed)
        };
        let completed = match log {
            Some(log) => log.observe_batch(&recorded, run),
            None => run(),
        };
        completed.ok_or(RunError::NoFootprint)
    }

    /// Attempts of what is submitted in a recorded run, and whether it reads the past.
    fn recorded(&self, submission: &Submission) -> Option<(Attempts, bool)> {
        let reads_the_past = submission.how.mode == Mode::Snapshot && self.engine.snapshots_read_the_past();
        submission.attempts.clone().map(|attempts| (attempts, reads_the_past))
    }

    /// Runs one transaction to its acknowledgement, recorded or not.
    fn execute<P: Program<Error = Error>>(
        &self,
        program: &mut P,
        door: DoorName,
        how: Begin,
        retry: &mut dyn model::Retry,
        log: Option<&mut Log<'_>>,
        acknowledge: impl Fn(Committed) -> Result<(), Error>,
    ) -> Result<(P::Output, Committed), Error> {
        let Some(log) = log else {
            let (output, committed) = self.enter(program, door, how, retry)?;
            acknowledge(committed)?;
            return Ok((output, committed));
        };
        let reads_the_past = how.mode == Mode::Snapshot && self.engine.snapshots_read_the_past();
        log.observe(program, reads_the_past, |observed, attempt_begins| {
            let mut noted = |attempts: u32, error: &Error| {
                let again = retry.again(attempts, error);
                attempt_begins();
                again
            };
            let (output, committed) = self.enter(observed, door, how, &mut noted)?;
            acknowledge(committed)?;
            Ok((output, committed))
        })
    }
}
