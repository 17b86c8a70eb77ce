//! The engine: state shared by all its transactions, and creation and removal of tables.

use crate::begin::{Core, Outcome};
use crate::catalog::{Catalog, Table};
use crate::gc::{Bound, Garbage};
use crate::options::Options;
use crate::reason::Reason;
use crate::recover::RecoveryReport;
use crate::sites::{Sites, Time};
use crate::store::{Pinned, RetiredVersions};
use crate::view::View;
use crate::wait::WaitsOnly;
use crate::write_set::Workspace;
use env::time::Duration;
use env::{Clock, SystemClock};
use model::{
    Begin, Durability, Error, Fault, Invalid, Limit, LimitKind, LogPosition, Result, Schema, Supervisor, TableId,
    Timestamp,
};
use parts::memory::Allowance;
use parts::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use parts::sync::{Mutex, RwLock};
use parts::wait::WaitTable;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use wal::{Log, LogError};

/// Log position and callback of a change of the catalog.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// A place in the log. Whatever rests on the change comes after it there.
    Logged,
    /// The disk, before anybody sees the change.
    Durable,
}

/// A changed catalog, the record of the change, and what its maker is told.
struct Changed<T> {
    catalog: Catalog,
    record: Vec<u8>,
    result: T,
}

/// The multi-version timestamp-ordering engine. Share it in an [`Arc`].
#[derive(Debug)]
pub struct Mvto<C = SystemClock> {
    pub(crate) options: Options,
    pub(crate) time: Time<C>,
    pub(crate) sites: Sites<SiteExtra, Option<Box<Workspace>>, SiteShared>,
    pub(crate) bound: Bound,
    pub(crate) memory: Allowance,
    /// Number of times that engine time was continued because the clock had stepped back.
    pub(crate) clock_steps: AtomicU64,
    pub(crate) age_limit_ticks: Option<u64>,
    /// Whether transactions may register in lanes.
    pub(crate) has_lanes: bool,
    /// While no site has more open transactions than this under its mutex, the limit on them is not reached.
    pub(crate) fair_share: usize,
    /// Sites with more.
    pub(crate) crowded_sites: AtomicUsize,
    /// From this timestamp on the ceiling of timestamps is to be looked at. Never above the ceiling.
    pub(crate) renew_at: AtomicU64,
    pub(crate) catalog: RwLock<Arc<Catalog>>,
    /// Dropped tables that transactions may still use. This reference outlives theirs, so that [`Mvto::collect`], and not a
    /// user's transaction, frees the table's rows.
    pub(crate) dropped: Mutex<Vec<Arc<Table>>>,
    /// The present catalog's version, so that a transaction notices a new one without sharing memory with others.
    pub(crate) catalog_version: AtomicU64,
    /// One change of the catalog at a time, and none while a checkpoint notes it.
    pub(crate) changing_catalog: Mutex<()>,
    pub(crate) checkpoints: wal::CheckpointTurns,
    pub(crate) waits: Arc<WaitTable>,
    pub(crate) log: Option<Log>,
    pub(crate) recovery: Option<RecoveryReport>,
}

/// State that the engine keeps at each site.
#[derive(Debug, Default)]
pub(crate) struct SiteExtra {
    /// Workspaces to lend. Boxed: they move between sites and transactions.
    #[expect(clippy::vec_box)]
    pub spare: Vec<Box<Workspace>>,
    /// Versions that this site's writers have replaced, in about the order of its timestamps.
    pub retired: RetiredVersions,
    /// Tuples that they have left to be collected, in the same order.
    pub garbage: VecDeque<Garbage>,
    /// The same, where open snapshots read what was left when they were looked at.
    pub held: VecDeque<Garbage>,
    pub begins: u64,
    pub counters: Counters,
}

/// State that a site shares: counts of the transactions in its lane. Each is changed by whoever is in the lane.
#[derive(Debug, Default)]
pub(crate) struct SiteShared {
    pub begins: AtomicU64,
    pub commits: AtomicU64,
    pub read_only_commits: AtomicU64,
    pub single_reads: AtomicU64,
    pub replaced: AtomicU64,
    pub collected: AtomicU64,
    /// Procedures that are still to own first, since one of the site's was aborted by a conflict. A guess, changed by anybody.
    pub wary: AtomicU64,
}

/// Adds to a count that nobody else changes, and returns the sum.
#[inline]
pub(crate) fn bump(count: &AtomicU64, by: u64) -> u64 {
    // Relaxed: for the statistics. Who is in the lane has acquired it from the one before.
    let sum = count.load(Ordering::Relaxed) + by;
    count.store(sum, Ordering::Relaxed);
    sum
}

/// Counts of one site, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub commits: u64,
    pub read_only_commits: u64,
    pub single_reads: u64,
    /// Commits above the timestamp that the transaction began at.
    pub moved: u64,
    pub aborts: [u64; Reason::ALL.len()],
    pub other_aborts: u64,
    pub replaced: u64,
    pub collected: u64,
}

impl Counters {
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Committed { wrote: true } => self.commits += 1,
            Outcome::Committed { wrote: false } => self.read_only_commits += 1,
            Outcome::Aborted(None) => self.other_aborts += 1,
            Outcome::Aborted(Some(reason)) => self.aborts[reason as usize] += 1,
        }
    }

    fn add_shared(&mut self, lane: &SiteShared) {
        self.commits += lane.commits.load(Ordering::Relaxed);
        self.read_only_commits += lane.read_only_commits.load(Ordering::Relaxed);
        self.single_reads += lane.single_reads.load(Ordering::Relaxed);
        self.replaced += lane.replaced.load(Ordering::Relaxed);
        self.collected += lane.collected.load(Ordering::Relaxed);
    }

    fn add(&mut self, other: &Counters) {
        self.commits += other.commits;
        self.read_only_commits += other.read_only_commits;
        self.single_reads += other.single_reads;
        self.moved += other.moved;
        self.other_aborts += other.other_aborts;
        self.replaced += other.replaced;
        self.collected += other.collected;
        self.aborts.iter_mut().zip(other.aborts).for_each(|(sum, count)| *sum += count);
    }
}

/// Counts since the engine was opened, and what it holds now.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that committed and wrote something.
    pub commits: u64,
    /// Transactions that committed and wrote nothing, single reads among them.
    pub read_only_commits: u64,
    /// Reads of one row without a timestamp.
    pub single_reads: u64,
    /// Writing commits at a later timestamp than the begin: pushed by a reader, or behind a later writer.
    pub moved: u64,
    /// Aborts by rule; rules that never struck are left out.
    pub aborts: Vec<(&'static str, u64)>,
    /// Transactions that ended on a fault or a limit.
    pub faults: u64,
    /// Transactions open now that have touched data.
    pub active: usize,
    /// The oldest of them, and how long ago it began.
    pub oldest: Option<(Timestamp, Duration)>,
    /// Transactions that sleep now until an older one has ended.
    pub asleep: usize,
    /// Below this, nothing is read any more.
    pub bound: Timestamp,
    /// Number of times that the clock stepped back and time was continued where it had been.
    pub clock_steps: u64,
    /// Versions that were replaced.
    pub replaced_versions: u64,
    /// Replaced versions that were given back. The others are there for open snapshots, or went with their tables.
    pub collected_versions: u64,
    /// Replaced versions that wait to be given back, and rows and index entries that have several of them or were deleted.
    pub waiting_versions: usize,
    /// Bytes of memory that keys, rows, versions, indexes and write buffers take.
    pub memory_bytes: usize,
    /// The limit on them.
    pub memory_limit: usize,
    /// Tables.
    pub tables: usize,
    /// The log's own figures; `None` in memory.
    pub log: Option<wal::LogStats>,
}

impl Mvto<SystemClock> {
    /// Creates an empty engine without a log.
    ///
    /// # Errors
    /// Never today. The signature allows for it because opening can fail.
    pub fn in_memory(options: Options) -> Result<Mvto> {
        Mvto::in_memory_with(options, SystemClock::best())
    }
}

impl<C: Clock> Mvto<C> {
    /// Creates an empty engine without a log, on this clock.
    ///
    /// # Errors
    /// Never today. The signature allows for it because opening can fail.
    pub fn in_memory_with(options: Options, clock: C) -> Result<Mvto<C>> {
        let memory = Allowance::new(options.memory_limit());
        Ok(Mvto::assemble(options, clock, memory, 1, Catalog::default(), None, None))
    }

    pub(crate) fn assemble(
        options: Options,
        clock: C,
        memory: Allowance,
        start: u64,
        catalog: Catalog,
        log: Option<Log>,
        recovery: Option<RecoveryReport>,
    ) -> Mvto<C> {
        let options = options.clamped();
        let time = Time::starting_at(start, clock, options.sites as u64);
        // An age limit dooms transactions between their statements, which a lane has no place for.
        let has_lanes = options.transaction_age.is_none() && options.transactions >= 2 * options.sites;
        let renew_at = if log.is_some() { 0 } else { u64::MAX };
        Mvto {
            sites: Sites::new(options.sites),
            bound: Bound::starting_at(start),
            memory,
            clock_steps: AtomicU64::new(0),
            age_limit_ticks: options.transaction_age.map(|age| time.clock().ticks_in(age)),
            has_lanes,
            // Each site may have one more, in its lane.
            fair_share: options.transactions / options.sites - usize::from(has_lanes),
            crowded_sites: AtomicUsize::new(0),
            renew_at: AtomicU64::new(renew_at),
            catalog_version: AtomicU64::new(catalog.version),
            catalog: RwLock::new(Arc::new(catalog)),
            dropped: Mutex::default(),
            changing_catalog: Mutex::new(()),
            checkpoints: wal::CheckpointTurns::default(),
            waits: Arc::new(WaitTable::new(64)),
            log,
            recovery,
            time,
            options,
        }
    }

    /// Creates a table. Durable when it returns.
    ///
    /// # Errors
    /// The name is taken, the limit on tables is reached, the log could not take it.
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        let made = |at, catalog: &Catalog| self.with_new_table(catalog, schema.clone(), at);
        self.change_catalog(None, Change::Durable, made)
    }

    /// Creates a table that transactions of any age may use. Logged when it returns, before whatever the caller logs of it: who
    /// waits for that waits for this.
    ///
    /// # Errors
    /// Same as [`Mvto::create_table`]; [`Error::Unavailable`] if the supervisor ends a wait for the log's disk.
    pub(crate) fn create_unlisted(&self, schema: Schema, supervisor: Option<Arc<dyn Supervisor>>) -> Result<TableId> {
        let made = |_, catalog: &Catalog| self.with_new_table(catalog, schema.clone(), Timestamp::ZERO);
        self.change_catalog(supervisor, Change::Logged, made)
    }

    /// A catalog with one table more, which transactions from `visible_from` on may use.
    fn with_new_table(&self, catalog: &Catalog, schema: Schema, visible_from: Timestamp) -> Result<Changed<TableId>> {
        let open = catalog.tables().count();
        if open >= self.options.tables {
            let (limit, actual) = (self.options.tables as u64, open as u64 + 1);
            return Err(Limit { kind: LimitKind::Tables, limit, actual }.into());
        }
        let (id, mut record) = (catalog.next_id(), Vec::new());
        wal::redo::encode_create(&mut record, id, &schema);
        let table = Table::new(id, visible_from, schema, self.options.hash_seed, &self.memory.meter);
        Ok(Changed { catalog: catalog.with(table)?, record, result: id })
    }

    /// Drops a table and all its rows. Transactions that already use it go on seeing it until they end. Durable when it
    /// returns.
    ///
    /// # Errors
    /// There is no such table, or the log could not take it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.drop_as(name, Change::Durable)
    }

    /// Drops a table as [`Mvto::drop_table`] does. Logged when it returns, before whatever the caller logs afterwards.
    ///
    /// # Errors
    /// Same as [`Mvto::drop_table`].
    pub(crate) fn drop_logged(&self, name: &str) -> Result<()> {
        self.drop_as(name, Change::Logged)
    }

    fn drop_as(&self, name: &str, change: Change) -> Result<()> {
        let table = self.change_catalog(None, change, |_, catalog| {
            let unknown = || Invalid::UnknownTable { table: name.to_owned() };
            let table = catalog.by_name(name).ok_or_else(unknown)?.clone();
            let mut record = Vec::new();
            wal::redo::encode_drop(&mut record, table.id);
            Ok(Changed { catalog: catalog.without(table.id), record, result: table })
        })?;
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        self.drop_spare_workspaces(); // They would keep the dropped table's memory.
        Ok(())
    }

    /// Makes, logs and publishes a new catalog. It takes a timestamp like a transaction, so that checkpoints and replay know
    /// on which side of a bound it lies.
    fn change_catalog<T>(
        &self,
        supervisor: Option<Arc<dyn Supervisor>>,
        how: Change,
        change: impl Fn(Timestamp, &Catalog) -> Result<Changed<T>>,
    ) -> Result<T> {
        loop {
            let mut core = Core::new(Begin::default(), Durability::Fsync, self.options.wait_limit);
            core.view.supervisor = supervisor.clone().map(|supervisor| Arc::new(WaitsOnly(supervisor)) as _);
            self.start(&mut core)?;
            let changed = self.try_to_change(&core, how, &change);
            let outcome = Outcome::Committed { wrote: true };
            self.end(&mut core, if matches!(changed, Ok(Ok(_))) { outcome } else { Outcome::Aborted(None) });
            match changed? {
                Ok(result) => return Ok(result),
                Err(bytes) => self.await_room(&core.view, bytes)?,
            }
        }
    }

    /// Changes the catalog if the log has room for the record at once; the record's length if not. Whoever changes the catalog
    /// keeps others from it, so it does not wait for a disk meanwhile, unless it must be durable first.
    fn try_to_change<T>(
        &self,
        core: &Core,
        how: Change,
        change: impl Fn(Timestamp, &Catalog) -> Result<Changed<T>>,
    ) -> Result<std::result::Result<T, usize>> {
        let _changing = self.changing_catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let Changed { catalog, record, result } = change(core.view.at, &self.catalog())?;
        if let Some(log) = &self.log {
            let logged = match log.append_within(core.view.at.0, &record, Durability::Fsync, &|| Some(Duration::ZERO)) {
                Err(LogError::Interrupted) => return Ok(Err(record.len())),
                appended if how == Change::Durable => appended.and_then(|position| log.wait_durable(position)),
                appended => appended.map(drop),
            };
            logged.map_err(log_fault)?;
        }
        self.publish(catalog);
        Ok(Ok(result))
    }

    /// Waits until the log has room for a record.
    fn await_room(&self, view: &View, bytes: usize) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        view.log_wait(log, |caller| log.await_room(bytes, caller)).map_err(|error| view.log_error(error))
    }

    fn publish(&self, next: Catalog) {
        let version = next.version;
        let before = {
            let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *catalog, Arc::new(next))
        };
        self.catalog_version.store(version, Ordering::SeqCst);
        drop(before);
    }

    /// The number and schema of a table.
    pub fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        self.catalog().by_name(name).map(|table| (table.id, table.schema.clone()))
    }

    /// All tables.
    pub fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.catalog().tables().map(|table| (table.id, table.schema.clone())).collect()
    }

    /// Returns counts and holdings. Locks each site for a moment.
    pub fn stats(&self) -> Stats {
        let (mut sum, mut waiting) = (Counters::default(), 0);
        self.sites.for_each(|state| {
            sum.add(&state.extra.counters);
            waiting += state.extra.retired.len() + state.extra.garbage.len() + state.extra.held.len();
        });
        self.sites.for_each_shared(|shared| sum.add_shared(shared));
        let (active, oldest) = self.sites.active();
        let now = self.time.now();
        let age = |at: Timestamp| (at, self.time.clock().duration_of(now.saturating_sub(at.0)));
        Stats {
            commits: sum.commits,
            read_only_commits: sum.read_only_commits + sum.single_reads,
            single_reads: sum.single_reads,
            moved: sum.moved,
            aborts: Reason::ALL.iter().zip(sum.aborts).filter(|(_, n)| *n > 0).map(|(r, n)| (r.rule(), n)).collect(),
            faults: sum.other_aborts,
            active,
            oldest: oldest.map(age),
            asleep: self.waits.sleepers(),
            bound: self.bound.get(),
            clock_steps: self.clock_steps.load(Ordering::Relaxed),
            replaced_versions: sum.replaced,
            collected_versions: sum.collected,
            waiting_versions: waiting,
            memory_bytes: self.memory.meter.used(),
            memory_limit: self.memory.limit,
            tables: self.catalog().tables().count(),
            log: self.log.as_ref().map(Log::stats),
        }
    }

    /// Releases a tuple and wakes its waiters.
    pub(crate) fn release(&self, tuple: &Pinned) {
        if tuple.ownership.release() {
            self.waits.wake(tuple.address().as_ptr().addr());
        }
    }

    /// Takes a tuple from a doomed transaction, if that one still owns it (M12), and wakes its waiters.
    pub(crate) fn take_from(&self, tuple: &Pinned, doomed: Timestamp) {
        if tuple.ownership.take_from(doomed) {
            self.waits.wake(tuple.address().as_ptr().addr());
        }
    }
}

impl<C> Mvto<C> {
    /// Returns the position up to which the log is durable; in memory, the greatest.
    pub(crate) fn durable(&self) -> LogPosition {
        self.log.as_ref().map_or(LogPosition::from_raw(u64::MAX), Log::durable)
    }

    /// Refuses work on a failed log (design, rule 4).
    #[inline]
    pub(crate) fn check_log(&self) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        match log.failed() {
            None => Ok(()),
            Some(failure) => Err(Fault::LogFailed { detail: failure.to_string() }.into()),
        }
    }

    /// Why nothing can be written at present, if it cannot: the disk was full when the engine was opened and no commit has found
    /// space since, it was opened to be read only, or the log has failed.
    pub fn refuses_writes(&self) -> Option<Error> {
        let log = self.log.as_ref()?;
        self.check_log().err().or_else(|| log.refused().map(log_fault))
    }

    /// Returns the report of the recovery at the opening; `None` in memory.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.recovery.as_ref()
    }

    /// The knobs in force.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

/// The log's error as a transaction's user meets it.
pub(crate) fn log_fault(error: wal::LogError) -> Error {
    error.into()
}
