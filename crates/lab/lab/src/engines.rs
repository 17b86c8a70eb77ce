//! The engines: the only place that names them.

mod bohm;
mod cluster;
mod counters;
mod dealt;
mod doors;
mod dur;
mod one_mutex;
mod redo_log;
pub mod replicas;
mod shipped;
mod variants;

pub use self::cluster::LocalStore;
pub use self::dur::{DurSettings, OrderName, PolicyName};
pub use counters::Ladder;
pub use doors::{Adapted, DoorName};
pub use one_mutex::OneMutex;
pub use redo_log::{RECEIVE, RedoLog, receive};
pub use variants::{HyperVariant, ValidationName};

use self::bohm::BohmEngine;
use counters::{Counter, LockedCounter};
use doors::{HekatonEngine, HyperEngine, MvtoEngine, SiloEngine};
use env::time::Duration;
use env::{Clock, RealDisk};
use hekaton::Hekaton;
use hyper::Hyper;
use model::{Declared, Durability, Interactive, LogPosition, Mode, Reexecutable, Registry, Result, Schema, TableId};
use mvto::Mvto;
use serde::{Deserialize, Serialize};
use silo::Silo;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twopl::TwoPhaseLocking;

/// An engine that workloads can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Multi-version timestamp ordering (vMVCC): order fixed at begin, readers delay no writer, durable
    Mvto,
    /// In place with undo buffers, precision locking (HyPer): order fixed at commit, columns, durable
    Hyper,
    /// Optimistic concurrency control (Silo): reads write nothing, validated at commit, in memory
    Silo,
    /// Order in advance (BOHM): procedures in batches, no aborts but of wrong guesses, durable
    Bohm,
    /// Deferred update with parallel speculation (PXDUR): --nodes of an order in one process, in memory
    Dur,
    /// Certified in an order (seriatim serve --cluster): --nodes of it in one process, each over a --local-store in memory
    Cluster,
    /// Strict two-phase locking with wound-wait, in memory
    Twopl,
    /// Optimistic multi-version concurrency control (Hekaton): timestamps from one counter, validated at commit, in memory
    Hekaton,
    /// The same without validation: snapshot isolation, not serializable
    Si,
    /// One mutex around one sorted map: no protocol, no product, the yardstick
    Twin,
}

impl EngineName {
    /// Returns the isolation level that its transactions get.
    pub fn isolation(self) -> &'static str {
        match self {
            EngineName::Mvto
            | EngineName::Hyper
            | EngineName::Cluster
            | EngineName::Twopl
            | EngineName::Hekaton
            | EngineName::Twin => "strict serializable",
            EngineName::Si => "snapshot isolation, not serializable",
            EngineName::Silo | EngineName::Bohm | EngineName::Dur => "strict serializable, snapshots serializable",
        }
    }

    /// Returns whether every history of it has a serial order.
    pub fn is_serializable(self) -> bool {
        self != EngineName::Si
    }

    /// Returns whether transactions can enter it by a door.
    pub fn has_door(self, door: DoorName) -> bool {
        !matches!(self, EngineName::Bohm | EngineName::Dur) || !matches!(door, DoorName::Interactive | DoorName::Get)
    }

    /// Returns whether it can keep its data on a disk.
    pub fn is_durable(self) -> bool {
        match self {
            EngineName::Mvto | EngineName::Hyper | EngineName::Bohm => true,
            EngineName::Silo
            | EngineName::Dur
            | EngineName::Cluster
            | EngineName::Twopl
            | EngineName::Hekaton
            | EngineName::Si
            | EngineName::Twin => false,
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineName::Mvto => "mvto",
            EngineName::Hyper => "hyper",
            EngineName::Silo => "silo",
            EngineName::Bohm => "bohm",
            EngineName::Dur => "dur",
            EngineName::Cluster => "cluster",
            EngineName::Twopl => "twopl",
            EngineName::Hekaton => "hekaton",
            EngineName::Si => "si",
            EngineName::Twin => "twin",
        })
    }
}

/// Options for opening an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The directory of its data; `None`: in memory.
    pub data: Option<PathBuf>,
    /// Whether its limits are made so small that reaching them is common: for histories, never for figures.
    pub has_small_limits: bool,
    /// What is taken away from `mvto`; other engines have none of it.
    #[serde(default)]
    pub ladder: Ladder,
    /// What is changed of `hyper`.
    #[serde(default)]
    pub hyper: HyperVariant,
    /// Whether `hekaton` and `si` keep all replaced versions, as in BOHM's paper.
    #[serde(default)]
    pub keeps_versions: bool,
    /// Threads of `bohm`.
    #[serde(default)]
    pub stages: Stages,
    /// Whether threads of `bohm` move between planning and execution.
    #[serde(default)]
    pub moves_threads: bool,
    /// Whether transactions of `bohm` that only read do so behind the last complete batch, in their clients' threads.
    #[serde(default)]
    pub reads_behind: bool,
    /// What `dur` runs on; `cluster` has the nodes and the order of it.
    #[serde(default)]
    pub dur: DurSettings,
    /// What each node of `cluster` keeps its rows in.
    #[serde(default)]
    pub local_store: LocalStore,
}

/// How many threads of `bohm` do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
    /// Those that place versions, each for its share of the keys.
    pub planners: u32,
    /// Those that run procedures.
    pub executors: u32,
}

impl Stages {
    /// The least.
    pub const ONE_EACH: Stages = Stages { planners: 1, executors: 1 };
}

impl Default for Stages {
    fn default() -> Stages {
        Stages::ONE_EACH
    }
}

impl Settings {
    /// Returns the isolation level that transactions of an engine get with these options.
    pub fn isolation(&self, engine: &'static str) -> &'static str {
        self.hyper.weaker_isolation().unwrap_or(engine)
    }
}

/// Predicate logs of transactions that committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredicateLogs {
    /// Transactions that logged something.
    pub transactions: u64,
    /// Bytes of their logs: keys, columns and comparisons, without what pointers and spare room take.
    pub bytes: u64,
}

impl PredicateLogs {
    /// All since the engine was opened.
    pub fn of(engine: &Hyper) -> PredicateLogs {
        let stats = engine.stats();
        PredicateLogs { transactions: stats.logged, bytes: stats.logged_bytes }
    }

    /// Those after `before`.
    pub fn since(self, before: PredicateLogs) -> PredicateLogs {
        PredicateLogs { transactions: self.transactions - before.transactions, bytes: self.bytes - before.bytes }
    }

    /// Bytes of one transaction, on average; none if none logged anything.
    pub fn mean_bytes(self) -> Option<f64> {
        (self.transactions > 0).then(|| self.bytes as f64 / self.transactions as f64)
    }
}

/// What the driver needs of an engine: its doors, and what it counts. A door that an engine does not implement itself is `model`'s
/// adapter over a stronger one.
pub trait Engine: Send + Sync + 'static {
    /// The engine behind the interactive door.
    type Interactive: Interactive;
    /// The engine behind the door for programs.
    type Programs: Reexecutable;
    /// The engine behind the declared door.
    type Declared: Declared;

    /// The interactive door, if there is one. Our engines have it; a store whose transactions are bound to a thread may not.
    fn interactive(&self) -> Option<&Self::Interactive>;

    /// The door for programs.
    fn programs(&self) -> &Self::Programs;

    /// The declared door.
    fn declared(&self) -> &Self::Declared;

    /// See [`Interactive::wait_durable`]. An engine without that door waits before a commit returns.
    ///
    /// # Errors
    /// The log failed first.
    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.interactive().map_or(Ok(()), |engine| engine.wait_durable(position))
    }

    /// Returns the number of replaced versions that are still there, if the engine counts them; none in an engine that keeps one
    /// version.
    fn kept_versions(&self) -> Option<u64> {
        None
    }

    /// What transactions that committed have logged of their reads, if the engine logs predicates.
    fn predicate_logs(&self) -> Option<PredicateLogs> {
        None
    }

    /// Has what is submitted from now on wait, if the engine has threads of its own that run it. Returns whether it does.
    fn hold(&self) -> bool {
        false
    }

    /// Lets run what was held back, and waits until all of it has ended.
    fn release(&self) {}

    /// Returns whether it makes use of footprints: its declared door is its own, and no adapter that checks them.
    fn uses_footprints(&self) -> bool {
        false
    }

    /// The mode in which a transaction is run that was drawn with this one. Not for what is prepared: it would run before the clock does.
    fn mode_of(&self, drawn: Mode) -> Mode {
        drawn
    }

    /// Returns whether transactions of [`model::Mode::Snapshot`] may miss what had committed before they began: then they are recorded as
    /// if they had begun with the run, and the judges ask of them what they promise.
    fn snapshots_read_the_past(&self) -> bool {
        false
    }
}

/// An operation that is generic over the engine.
pub trait OnEngine {
    /// Result of the operation.
    type Output;

    /// The procedures that it submits, for an engine that logs them.
    fn procedures(&self) -> Registry {
        Registry::new()
    }

    /// What the answers of an engine on a disk wait for, where a transaction says nothing else.
    fn durability(&self) -> Durability {
        Durability::default()
    }

    /// Runs the operation. `tables` are the requested ones, in the order of the request.
    fn run<E: Engine>(self, engine: E, tables: Vec<TableId>) -> Self::Output;
}

/// Opens the engine, creates the tables, and hands both to `task`.
///
/// # Errors
/// Errors of opening the engine and creating tables.
pub fn on_engine<T: OnEngine>(
    name: EngineName,
    settings: &Settings,
    schemas: Vec<Schema>,
    task: T,
) -> Result<T::Output> {
    match name {
        EngineName::Mvto => {
            let options = mvto_options(settings);
            let step = options.sites as u64;
            match (settings.ladder, &settings.data) {
                (Ladder::LockedCounterOneSite | Ladder::LockedCounter, None) => {
                    run_mvto(Mvto::in_memory_with(options, LockedCounter::new(step))?, schemas, task)
                }
                (Ladder::Counter, None) => run_mvto(Mvto::in_memory_with(options, Counter::new(step))?, schemas, task),
                (_, None) => run_mvto(Mvto::in_memory(options)?, schemas, task),
                (_, Some(directory)) => run_mvto(Mvto::open(disk(directory), options)?, schemas, task),
            }
        }
        EngineName::Hyper => {
            let (engine, log) = redo_log::open(settings)?;
            let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
            let output = task.run(HyperEngine::new(engine), tables);
            log.finish()?;
            Ok(output)
        }
        EngineName::Silo => {
            let engine = Silo::new(silo_options(settings.has_small_limits));
            let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
            Ok(task.run(SiloEngine::new(engine), tables))
        }
        EngineName::Bohm => {
            let engine = bohm::open(settings, task.procedures(), task.durability())?;
            let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
            Ok(task.run(BohmEngine::new(engine, settings.reads_behind), tables))
        }
        EngineName::Dur => dur::run(settings, schemas, task),
        EngineName::Cluster => cluster::run(settings, schemas, task),
        EngineName::Twopl => {
            let engine = TwoPhaseLocking::new(twopl_options(settings.has_small_limits));
            let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
            Ok(task.run(engine, tables))
        }
        EngineName::Hekaton | EngineName::Si => {
            let engine = Hekaton::new(hekaton_options(name, settings));
            let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
            Ok(task.run(HekatonEngine::new(engine), tables))
        }
        EngineName::Twin => {
            let engine = OneMutex::new();
            let tables = create_tables(schemas, |schema| Ok(engine.create_table(schema)))?;
            Ok(task.run(Adapted::new(engine), tables))
        }
    }
}

fn run_mvto<C: Clock, T: OnEngine>(engine: Mvto<C>, schemas: Vec<Schema>, task: T) -> Result<T::Output> {
    let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
    Ok(task.run(MvtoEngine::new(engine), tables))
}

fn create_tables(schemas: Vec<Schema>, create: impl FnMut(Schema) -> Result<TableId>) -> Result<Vec<TableId>> {
    schemas.into_iter().map(create).collect()
}

fn disk(directory: &Path) -> Arc<RealDisk> {
    Arc::new(RealDisk::new(directory))
}

/// Short enough that waits run into it while others run at full speed.
const SMALL_WAIT_LIMIT: Duration = Duration::from_millis(2);

fn mvto_options(settings: &Settings) -> mvto::Options {
    let options = mvto::Options::default();
    if settings.ladder == Ladder::LockedCounterOneSite {
        return mvto::Options { sites: 1, ..options };
    }
    if !settings.has_small_limits {
        return options;
    }
    mvto::Options { sites: 2, wait_limit: SMALL_WAIT_LIMIT, write_set_rows: 8, versions: 4, ..options }
}

/// Histories claim places, so that both judges follow them; figures do not: a counter that all share would be measured.
fn silo_options(has_small_limits: bool) -> silo::Options {
    let options = silo::Options::default();
    if !has_small_limits {
        return options;
    }
    let epoch_period = Some(Duration::from_micros(200));
    silo::Options { epoch_period, snapshot_every: 2, write_set_rows: 4, claims: true, has_small_nodes: true, ..options }
}

/// Claims as for `silo`.
pub(crate) fn hyper_options(settings: &Settings) -> hyper::Options {
    let options = settings.hyper.apply(hyper::Options::default());
    if !settings.has_small_limits {
        return hyper::Options { claims: false, ..options };
    }
    let (block_rows, predicates) = (4, 4);
    hyper::Options {
        wait_limit: SMALL_WAIT_LIMIT,
        write_set_rows: 8,
        predicates,
        block_rows,
        has_small_nodes: true,
        ..options
    }
}

fn hekaton_options(name: EngineName, settings: &Settings) -> hekaton::Options {
    let options = hekaton::Options {
        validates: name == EngineName::Hekaton,
        collects: !settings.keeps_versions,
        ..hekaton::Options::default()
    };
    if !settings.has_small_limits {
        return options;
    }
    hekaton::Options { write_set_rows: 4, has_small_nodes: true, ..options }
}

/// Claims as for `silo`.
fn twopl_options(has_small_limits: bool) -> twopl::Options {
    let options = twopl::Options::default();
    if !has_small_limits {
        return twopl::Options { claims: false, ..options };
    }
    twopl::Options { wait_limit: SMALL_WAIT_LIMIT, write_set_rows: 4, locks: 16, has_small_nodes: true, ..options }
}
