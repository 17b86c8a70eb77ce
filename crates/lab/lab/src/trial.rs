//! Trials: one workload on one engine, once, in a process of its own.
//!
//! A process of its own, so that memory in use is that engine's alone, and no run inherits the heap that another has left.

use crate::driver::{Extent, Outcome, Run, Tally};
use crate::engines::{DoorName, EngineName, OnEngine, PredicateLogs, Settings, hyper_options, on_engine};
use crate::processes::own_program;
use crate::workloads::{Workload, bank, dml, smallbank, tatp, tpcc, vacation, ycsb};
use crate::{queries, sums};
use check::{Record, Writer};
use env::time::Duration;
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use model::{Durability, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a trial measures: one of our engines or, in a program of its own, another store (`rivals/stores`).
pub trait Subject: Copy + fmt::Display + Serialize + DeserializeOwned {
    /// Returns the isolation level that its transactions get.
    fn isolation(self) -> &'static str;

    /// Opens the subject of a plan, creates the tables, and hands both to `task`.
    ///
    /// # Errors
    /// Errors of opening it and creating tables, for the user.
    fn open<T: OnEngine>(plan: &Plan<Self>, schemas: Vec<Schema>, task: T) -> Result<T::Output, Failure>;

    /// The options of `hyper`, if that is the subject of a plan.
    fn hyper(_plan: &Plan<Self>) -> Option<hyper::Options> {
        None
    }
}

impl Subject for EngineName {
    fn isolation(self) -> &'static str {
        EngineName::isolation(self)
    }

    fn open<T: OnEngine>(plan: &Plan, schemas: Vec<Schema>, task: T) -> Result<T::Output, Failure> {
        on_engine(plan.engine, &plan.settings, schemas, task).map_err(|error| error.to_string())
    }

    fn hyper(plan: &Plan) -> Option<hyper::Options> {
        (plan.engine == EngineName::Hyper).then(|| hyper_options(&plan.settings))
    }
}

/// Everything that a trial follows from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan<S = EngineName> {
    /// The engine.
    pub engine: S,
    /// Options for opening it.
    pub settings: Settings,
    /// Workload to run on it.
    pub workload: WorkloadPlan,
    /// Threads of clients.
    pub threads: u32,
    /// Clients of each thread, whose transactions are open at once: see [`Run::streams`].
    #[serde(default = "one_stream")]
    pub streams: u32,
    /// Long readers, one more thread each.
    pub long_readers: u32,
    /// Time from the begin of a long reader's transaction to the begin of its next, at least.
    pub long_reader_interval: Duration,
    /// Length of the run.
    pub extent: Extent,
    /// Door by which the clients' transactions enter.
    pub door: DoorName,
    /// Transactions that a client submits together, at the door for batches.
    pub batch: u32,
    /// Transactions that come in a second, see [`Run::rate`].
    #[serde(default)]
    pub rate: Option<f64>,
    /// Durability of acknowledgements.
    pub durability: DurabilityName,
    /// Path of the recorded history, if the run is recorded.
    pub history: Option<PathBuf>,
    /// Seed of all random choices.
    pub seed: u64,
}

impl<S> Plan<S> {
    /// Programs of one client on an engine in memory, with no long readers beside it, and not recorded.
    pub fn new(engine: S, workload: WorkloadPlan, extent: Extent) -> Plan<S> {
        Plan {
            engine,
            settings: Settings::default(),
            workload,
            threads: 1,
            streams: 1,
            long_readers: 0,
            long_reader_interval: Duration::ZERO,
            extent,
            door: DoorName::Program,
            batch: 1,
            rate: None,
            durability: DurabilityName::None,
            history: None,
            seed: 1,
        }
    }
}

/// Of plans that were kept before there were streams.
fn one_stream() -> u32 {
    1
}

/// A workload and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkloadPlan {
    /// Reads, blind writes and scans by popularity.
    Ycsb(ycsb::Parameters),
    /// Transfers and audits.
    Bank(bank::Parameters),
    /// Short transactions on two accounts of each customer.
    Smallbank(smallbank::Parameters),
    /// Inserts, updates and deletions of rows of integers.
    Dml(dml::Parameters),
    /// Sums of a column beside updates.
    Sums(sums::Parameters),
    /// Queries of SQL.
    Tpch(queries::Parameters),
    /// Telephone subscribers.
    Tatp(tatp::Parameters),
    /// Orders of a wholesale supplier.
    Tpcc(tpcc::Parameters),
    /// A travel agency.
    Vacation(vacation::Parameters),
}

impl WorkloadPlan {
    /// The workload's name.
    pub fn name(&self) -> &'static str {
        match self {
            WorkloadPlan::Ycsb(_) => ycsb::NAME,
            WorkloadPlan::Bank(_) => bank::NAME,
            WorkloadPlan::Smallbank(_) => smallbank::NAME,
            WorkloadPlan::Dml(_) => dml::NAME,
            WorkloadPlan::Sums(_) => sums::NAME,
            WorkloadPlan::Tpch(_) => queries::NAME,
            WorkloadPlan::Tatp(_) => tatp::NAME,
            WorkloadPlan::Tpcc(_) => tpcc::NAME,
            WorkloadPlan::Vacation(_) => vacation::NAME,
        }
    }

    /// The parameters, by name.
    pub fn parameters(&self) -> serde_json::Value {
        match self {
            WorkloadPlan::Ycsb(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Bank(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Smallbank(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Dml(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Sums(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Tpch(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Tatp(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Tpcc(parameters) => serde_json::to_value(parameters),
            WorkloadPlan::Vacation(parameters) => serde_json::to_value(parameters),
        }
        .expect("parameters are numbers and flags")
    }
}

/// Durability of an acknowledgement, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DurabilityName {
    /// Nothing; without --data the database is in memory only
    None,
    /// Nothing, but the log is synced within a bounded time
    Async,
    /// The transaction and all that it has read is on the disk
    Fsync,
}

impl DurabilityName {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DurabilityName::None => "none",
            DurabilityName::Async => "async",
            DurabilityName::Fsync => "fsync",
        }
    }

    /// The same, in the engines' words.
    pub fn durability(self) -> Durability {
        match self {
            DurabilityName::None => Durability::None,
            DurabilityName::Async => Durability::Async,
            DurabilityName::Fsync => Durability::Fsync,
        }
    }
}

/// Result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The clients.
    pub clients: Figures,
    /// The long readers, if there were any.
    pub long_readers: Option<Figures>,
    /// Memory of the process at the end, a recorded history included. MiB; 0 where it is unknown.
    pub rss_mb: f64,
    /// Processors that other programs used meanwhile, where the operating system says.
    pub other_cores: Option<f64>,
    /// Replaced versions that were still there at the end, if the engine counts them.
    pub kept_versions: Option<u64>,
    /// Bytes of a transaction's log of predicates, on average of those that have one, if the engine logs predicates.
    #[serde(default)]
    pub log_bytes: Option<f64>,
    /// Nanoseconds that a client takes for a transaction that no engine runs; none for a recorded run.
    pub bare_ns: Option<f64>,
}

impl Measurement {
    /// Nanoseconds between two commits of one of so many clients.
    pub fn ns_per_txn(&self, clients: u32) -> f64 {
        f64::from(clients) * 1e9 / self.clients.txn_per_s.max(f64::MIN_POSITIVE)
    }
}

/// Figures of one kind of client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Seconds that were counted.
    pub seconds: f64,
    /// Transactions that committed.
    pub commits: u64,
    /// Transactions per second.
    pub txn_per_s: f64,
    /// The same by kind, where the workload has several.
    pub commits_by_kind: BTreeMap<String, u64>,
    /// Attempts that did not commit, by reason.
    pub aborts: BTreeMap<String, u64>,
    /// Median time from the first attempt to the acknowledgement. Microseconds.
    pub p50_us: f64,
    /// 99th percentile of it.
    pub p99_us: f64,
    /// 99.9th percentile of it.
    pub p999_us: f64,
    /// Every how many transactions one was timed.
    pub timed_every: u64,
}

impl Figures {
    fn of(tally: &Tally) -> Figures {
        let quantile_us = |quantile| tally.latency_ns.value_at_quantile(quantile) as f64 / 1000.0;
        Figures {
            seconds: tally.elapsed().as_secs_f64(),
            commits: tally.commits,
            txn_per_s: tally.per_second(),
            commits_by_kind: tally.kinds.by_name(),
            aborts: tally.aborts.by_name(),
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
            timed_every: tally.timed_every,
        }
    }
}

impl Figures {
    /// One client, of whose transactions each was timed, in nanoseconds.
    fn of_times(times: &Histogram<u64>, seconds: f64) -> Figures {
        let quantile_us = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
        Figures {
            seconds,
            commits: times.len(),
            txn_per_s: if seconds > 0.0 { times.len() as f64 / seconds } else { 0.0 },
            commits_by_kind: BTreeMap::new(),
            aborts: BTreeMap::new(),
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
            timed_every: 1,
        }
    }
}

/// Why a trial has no measurement: a sentence for the user.
pub type Failure = String;

/// Records that one transaction loads.
const LOAD_BATCH: u64 = 500;

/// Runs the trial in this process.
///
/// # Errors
/// Failures of the trial.
pub fn perform<S: Subject>(plan: &Plan<S>) -> Result<Measurement, Failure> {
    match &plan.workload {
        WorkloadPlan::Ycsb(parameters) => perform_workload(plan, &ycsb::Ycsb::new(parameters.clone())),
        WorkloadPlan::Bank(parameters) => perform_workload(plan, &bank::Bank::new(parameters.clone())),
        WorkloadPlan::Smallbank(parameters) => perform_workload(plan, &smallbank::Smallbank::new(parameters.clone())),
        WorkloadPlan::Dml(parameters) => perform_workload(plan, &dml::Dml::new(parameters.clone())),
        WorkloadPlan::Sums(parameters) => perform_sums(plan, parameters),
        WorkloadPlan::Tpch(parameters) => perform_query(plan, parameters),
        WorkloadPlan::Tatp(parameters) => perform_workload(plan, &tatp::Tatp::new(parameters.clone())),
        WorkloadPlan::Tpcc(parameters) => perform_workload(plan, &tpcc::Tpcc::new(parameters.clone())),
        WorkloadPlan::Vacation(parameters) => perform_workload(plan, &vacation::Vacation::new(parameters.clone())),
    }
}

fn perform_workload<S: Subject>(plan: &Plan<S>, workload: &impl Workload) -> Result<Measurement, Failure> {
    // Counted once: for some workloads that is as long as the records are many.
    let records = workload.records();
    let bar = loading_bar(records);
    let run = Run {
        workload,
        clients: plan.threads,
        streams: plan.streams,
        long_readers: plan.long_readers,
        long_reader_interval: plan.long_reader_interval,
        extent: plan.extent,
        door: plan.door,
        batch: plan.batch,
        rate: plan.rate,
        durability: plan.durability.durability(),
        is_recorded: plan.history.is_some(),
        load_batch: LOAD_BATCH,
        seed: plan.seed,
        on_load: &|loaded| {
            bar.set_position(loaded);
            if loaded == records {
                bar.finish_and_clear();
            }
        },
    };
    let outcome = S::open(plan, workload.schemas(), run)
        .map_err(|error| format!("cannot open {}: {error}", plan.engine))?
        .map_err(|error| format!("{} on {}: {error}", plan.workload.name(), plan.engine))?;
    let measurement = measurement(plan, &outcome);
    if let Some(path) = &plan.history {
        write_history(path, &outcome.records)
            .map_err(|error| format!("cannot write the history to {}: {error}", path.display()))?;
    }
    Ok(measurement)
}

fn perform_sums<S: Subject>(plan: &Plan<S>, parameters: &sums::Parameters) -> Result<Measurement, Failure> {
    if plan.history.is_some() {
        return Err("sums of a column record no history".to_owned());
    }
    let run = sums::Sums { parameters: parameters.clone(), extent: plan.extent, seed: plan.seed };
    let outcome = S::open(plan, sums::schemas(), run)
        .map_err(|error| format!("cannot open {}: {error}", plan.engine))?
        .map_err(|error| format!("{} on {}: {error}", plan.workload.name(), plan.engine))?;
    let (sums, seconds) = (outcome.sum_ns.len(), outcome.elapsed.as_secs_f64());
    Ok(Measurement {
        clients: Figures::of_times(&outcome.sum_ns, seconds),
        long_readers: None,
        rss_mb: outcome.resident_bytes.unwrap_or(0) as f64 / f64::from(1 << 20),
        other_cores: outcome.other_cores,
        kept_versions: outcome.kept_versions,
        log_bytes: None,
        bare_ns: Some(outcome.limit.as_nanos() as f64 / sums as f64),
    })
}

/// Queries: what takes the place of the bare loop is the same query in a transaction that is not logged.
fn perform_query<S: Subject>(plan: &Plan<S>, parameters: &queries::Parameters) -> Result<Measurement, Failure> {
    if plan.history.is_some() {
        return Err("queries record no history".to_owned());
    }
    let options = S::hyper(plan).ok_or_else(|| format!("queries are measured on hyper, and not on {}", plan.engine))?;
    let outcome = queries::run(options, parameters, plan.extent)
        .map_err(|error| format!("query {} of TPC-H: {error}", parameters.query))?;
    let (count, seconds) = (outcome.logged_ns.len(), outcome.elapsed.as_secs_f64());
    Ok(Measurement {
        clients: Figures::of_times(&outcome.logged_ns, seconds),
        long_readers: None,
        rss_mb: outcome.resident_bytes.unwrap_or(0) as f64 / f64::from(1 << 20),
        other_cores: outcome.other_cores,
        kept_versions: None,
        log_bytes: outcome.predicate_logs.mean_bytes(),
        bare_ns: Some(outcome.unlogged.as_nanos() as f64 / count as f64),
    })
}

/// Shown while records are loaded; hidden where standard error is no terminal.
fn loading_bar(records: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("loading {wide_bar} {human_pos} of {human_len} records");
    ProgressBar::new(records).with_style(style.expect("a template that is right or wrong for ever"))
}

fn measurement<S>(plan: &Plan<S>, outcome: &Outcome) -> Measurement {
    Measurement {
        clients: Figures::of(&outcome.clients),
        long_readers: (plan.long_readers > 0).then(|| Figures::of(&outcome.long_readers)),
        rss_mb: outcome.resident_bytes.unwrap_or(0) as f64 / f64::from(1 << 20),
        other_cores: outcome.other_cores,
        kept_versions: outcome.kept_versions,
        log_bytes: outcome.predicate_logs.and_then(PredicateLogs::mean_bytes),
        bare_ns: outcome.bare_ns,
    }
}

/// Writes the records to a new file, or over an old one.
///
/// # Errors
/// Errors of the file system.
pub fn write_history(path: &Path, records: &[Record]) -> io::Result<()> {
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    records.iter().try_for_each(|record| writer.write(record))?;
    writer.finish().map(drop)
}

/// Runs the trial in a process of its own: this program with the command `measure`, which has a pipe for its input, and ends with it
/// ([`crate::processes::end_with_starter`]).
///
/// # Errors
/// Failures of the trial, in this process or the other.
pub fn perform_apart<S: Subject>(plan: &Plan<S>) -> Result<Measurement, Failure> {
    let program = own_program().map_err(|error| format!("cannot find this program: {error}"))?;
    let plan = serde_json::to_string(plan).expect("a plan is plain data");
    let mut child = Command::new(program)
        .args(["measure", &plan])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start a trial: {error}"))?;
    let input = child.stdin.take();
    let output = child.wait_with_output().map_err(|error| format!("cannot wait for a trial: {error}"))?;
    drop(input);
    if !output.status.success() {
        return Err(format!("the trial ended with {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cannot read the trial's figures: {error}"))
}
