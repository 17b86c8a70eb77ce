//! The engine of a database: which one, and what the facade asks of it beyond `Interactive`.

use crate::builder::Settings;
use crate::{CheckpointReport, Fault, Invalid, LogStats, RecoveryReport, Result};
use env::time::{Duration, Instant};
use env::{Disk, thread};
use hyper::Hyper;
use model::{Schema, Store, TableId};
use mvto::{Mvto, Pace};
use std::fmt;
use std::sync::Arc;
use twopl::TwoPhaseLocking;

/// How transactions are kept apart. All engines are strictly serializable, and claim a serial point for each transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// Multi-version timestamp ordering, in memory or on disk. Snapshots meet no conflict and delay no writer.
    #[default]
    Mvto,
    /// Rows changed in place, and validation of what was asked for (HyPer), in memory or on disk: readers never wait for open
    /// transactions, and a transaction that changed rows can be aborted when it commits.
    Hyper,
    /// Strict two-phase locking, in memory only. Readers and writers of a row wait for each other, and a
    /// [`Snapshot`](crate::Snapshot) can be aborted in favour of an older transaction. For comparison.
    Twopl,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Mvto => "mvto",
            Engine::Hyper => "hyper",
            Engine::Twopl => "twopl",
        })
    }
}

/// Counters and gauges of an engine. Those that an engine does not have are zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EngineStats {
    /// Transactions that committed.
    pub commits: u64,
    /// Aborts by rule; rules without aborts are left out.
    pub aborts: Vec<(&'static str, u64)>,
    /// Open transactions.
    pub open: u64,
    /// Transactions that are waiting for others.
    pub asleep: u64,
    /// Tables.
    pub tables: usize,
    /// Bytes of memory of rows, versions, indexes and write buffers. Zero: the engine does not count them.
    pub memory_bytes: usize,
    /// Rows and index entries with replaced versions that are not collected yet.
    pub waiting_versions: usize,
    /// Figures of the log; `None` in memory.
    pub log: Option<LogStats>,
    /// Everything that the engine mvto counts; `None` with another.
    pub mvto: Option<mvto::Stats>,
}

/// An open engine: `Interactive` as an object, and what the facade needs besides.
pub(crate) trait OpenEngine: Store + Maintained {
    /// Creates a table that is visible to later transactions only.
    fn create_table(&self, schema: Schema) -> model::Result<TableId>;

    /// Drops a table. Durable when it returns.
    fn drop_table(&self, name: &str) -> model::Result<()>;

    /// Returns the table of this name.
    fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)>;

    fn stats(&self) -> EngineStats;
}

/// What may need maintenance while it is open.
pub(crate) trait Maintained: Send + Sync + 'static {
    /// Returns the maintenance that the engine needs, if any.
    fn maintenance(&self) -> Option<&dyn Maintenance>;
}

/// Maintenance of an engine that has versions to collect and, on a disk, a log to truncate.
pub(crate) trait Maintenance {
    /// Collects unused versions while no transaction runs.
    fn collect(&self);

    /// Writes a checkpoint, as fast as it can or at half of that.
    fn checkpoint(&self, pace: Pace) -> model::Result<CheckpointReport>;

    /// Lets a checkpoint that is being written go at full speed.
    fn hurry_checkpoint(&self);

    /// Returns the bytes logged since the database was opened, and the bytes of the last checkpoint.
    fn written(&self) -> (u64, u64);

    /// Returns why nothing can be written at present.
    fn refuses_writes(&self) -> Option<model::Error>;

    /// Returns what opening found and did; `None` in memory.
    fn recovery(&self) -> Option<RecoveryReport>;

    /// Writes the rest of the log and closes it.
    fn close(&self) -> model::Result<()>;
}

impl OpenEngine for model::Engine<Mvto> {
    fn create_table(&self, schema: Schema) -> model::Result<TableId> {
        self.0.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> model::Result<()> {
        self.0.drop_table(name)
    }

    fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        self.0.table(name)
    }

    fn stats(&self) -> EngineStats {
        let stats = self.0.stats();
        EngineStats {
            commits: stats.commits + stats.read_only_commits,
            aborts: stats.aborts.clone(),
            open: stats.active as u64,
            asleep: stats.asleep as u64,
            tables: stats.tables,
            memory_bytes: stats.memory_bytes,
            waiting_versions: stats.waiting_versions,
            log: stats.log,
            mvto: Some(stats),
        }
    }
}

impl Maintained for model::Engine<Mvto> {
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&*self.0)
    }
}

impl Maintenance for Mvto {
    fn collect(&self) {
        Mvto::collect(self);
    }

    fn checkpoint(&self, pace: Pace) -> model::Result<CheckpointReport> {
        self.checkpoint_at(pace)
    }

    fn hurry_checkpoint(&self) {
        Mvto::hurry_checkpoint(self);
    }

    fn written(&self) -> (u64, u64) {
        self.stats().log.map_or((0, 0), |log| (log.payload_bytes, log.checkpoint_bytes))
    }

    fn refuses_writes(&self) -> Option<model::Error> {
        Mvto::refuses_writes(self)
    }

    fn recovery(&self) -> Option<RecoveryReport> {
        Mvto::recovery(self).cloned()
    }

    fn close(&self) -> model::Result<()> {
        Mvto::close(self)
    }
}

impl OpenEngine for model::Engine<Hyper> {
    fn create_table(&self, schema: Schema) -> model::Result<TableId> {
        self.0.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> model::Result<()> {
        self.0.drop_table(name)
    }

    fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        let id = self.0.table_named(name)?;
        Some((id, self.0.schema(id)?))
    }

    fn stats(&self) -> EngineStats {
        let stats = self.0.stats();
        let aborts = hyper::Reason::ALL.iter().map(|reason| (reason.rule(), stats.aborted[*reason as usize]));
        EngineStats {
            commits: stats.committed + stats.read_only,
            aborts: aborts.filter(|(_, count)| *count > 0).collect(),
            open: stats.open,
            asleep: stats.asleep,
            tables: self.0.tables().len(),
            memory_bytes: stats.memory_bytes as usize,
            waiting_versions: stats.versioned as usize,
            log: self.0.log_stats(),
            mvto: None,
        }
    }
}

impl Maintained for model::Engine<Hyper> {
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&*self.0)
    }
}

impl Maintenance for Hyper {
    fn collect(&self) {
        Hyper::collect(self);
    }

    fn checkpoint(&self, pace: Pace) -> model::Result<CheckpointReport> {
        let begun = Instant::now();
        let hyper::CheckpointReport { start, tables, rows, bytes } = self.write_checkpoint(pace)?;
        Ok(CheckpointReport { start, tables, rows, bytes, elapsed: begun.elapsed() })
    }

    fn hurry_checkpoint(&self) {
        Hyper::hurry_checkpoint(self);
    }

    fn written(&self) -> (u64, u64) {
        self.log_stats().map_or((0, 0), |log| (log.payload_bytes, log.checkpoint_bytes))
    }

    fn refuses_writes(&self) -> Option<model::Error> {
        Hyper::refuses_writes(self)
    }

    fn recovery(&self) -> Option<RecoveryReport> {
        let found = Hyper::recovery(self)?;
        let mut report = RecoveryReport::default();
        (report.created, report.clean, report.cut) = (found.created, found.clean, found.cut.clone());
        (report.checkpoint_rows, report.records) = (found.checkpoint_rows, found.records);
        (report.rows, report.tables) = (found.rows, found.tables);
        report.start = model::Timestamp(found.start);
        Some(report)
    }

    fn close(&self) -> model::Result<()> {
        Hyper::close(self)
    }
}

impl OpenEngine for model::Engine<TwoPhaseLocking> {
    fn create_table(&self, schema: Schema) -> model::Result<TableId> {
        self.0.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> model::Result<()> {
        self.0.drop_table(name)
    }

    fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        self.0.table(name)
    }

    fn stats(&self) -> EngineStats {
        let stats = self.0.stats();
        let aborts = twopl::Reason::ALL.iter().map(|reason| (reason.rule(), stats.aborted[*reason as usize]));
        EngineStats {
            commits: stats.committed,
            aborts: aborts.filter(|(_, count)| *count > 0).collect(),
            open: stats.open,
            asleep: stats.asleep,
            tables: self.0.tables().len(),
            ..EngineStats::default()
        }
    }
}

impl Maintained for model::Engine<TwoPhaseLocking> {
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        None
    }
}

/// Opens the engine that the settings name, in memory or on a disk.
pub(crate) fn open(settings: &Settings, disk: Option<Arc<dyn Disk>>) -> Result<Arc<dyn OpenEngine>> {
    Ok(match settings.engine {
        Engine::Mvto => Arc::new(model::Engine(Arc::new(match disk {
            Some(disk) => once_unlocked(settings, || Mvto::open(disk.clone(), settings.engine_options.clone()))?,
            None => Mvto::in_memory(settings.engine_options.clone())?,
        }))),
        Engine::Hyper => Arc::new(model::Engine(Arc::new(match disk {
            Some(disk) => once_unlocked(settings, || Hyper::open(disk.clone(), hyper_options(settings)))?,
            None => Hyper::new(hyper_options(settings)),
        }))),
        Engine::Twopl => Arc::new(model::Engine(Arc::new(TwoPhaseLocking::new(twopl_options(settings))))),
    })
}

/// Refuses settings that the engine does not support, before anything is created.
pub(crate) fn check(settings: &Settings, is_on_disk: bool) -> Result<()> {
    let unsupported = match settings.engine {
        Engine::Mvto | Engine::Hyper => None,
        Engine::Twopl if is_on_disk => Some("a directory: the engine twopl keeps everything in memory"),
        Engine::Twopl if settings.engine_options.memory_bytes.is_some() => Some("a memory limit with the engine twopl"),
        Engine::Twopl if settings.engine_options.transaction_age.is_some() => {
            Some("an age limit of transactions with the engine twopl")
        }
        Engine::Twopl => None,
    };
    unsupported.map_or(Ok(()), |what| Err(Invalid::Unsupported { what }.into()))
}

/// Returns the options that every engine has.
fn twopl_options(settings: &Settings) -> twopl::Options {
    let knobs = &settings.engine_options;
    twopl::Options {
        key_bytes: knobs.key_bytes as u64,
        row_bytes: knobs.row_bytes as u64,
        write_set_rows: knobs.write_set_rows as u64,
        write_set_bytes: knobs.write_set_bytes as u64,
        transactions: knobs.transactions as u64,
        wait_limit: knobs.wait_limit,
        ..twopl::Options::default()
    }
}

fn hyper_options(settings: &Settings) -> hyper::Options {
    let knobs = &settings.engine_options;
    hyper::Options {
        key_bytes: knobs.key_bytes as u64,
        row_bytes: knobs.row_bytes as u64,
        write_set_rows: knobs.write_set_rows as u64,
        write_set_bytes: knobs.write_set_bytes as u64,
        transactions: knobs.transactions as u64,
        wait_limit: knobs.wait_limit,
        durability: knobs.durability,
        memory_bytes: knobs.memory_bytes,
        transaction_age: knobs.transaction_age,
        log: knobs.log.clone(),
        ..hyper::Options::default()
    }
}

/// Opens an engine on a disk, and waits for a process that still has the directory's lock if it is on its way out.
pub(crate) fn once_unlocked<E>(settings: &Settings, open: impl Fn() -> model::Result<E>) -> Result<E> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(model::Error::Fault(Fault::Locked { by_ending: true, .. }))
                if begun.elapsed() < settings.directory_lock_limit =>
            {
                // The system has no wait for a lock that ends after a time.
                thread::sleep(LOCK_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

/// Pause between two attempts to lock.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
