//! HyPer's multi-version concurrency control: rows changed in place, before-images in undo buffers, serializable by
//! precision locking. The order is fixed at commit. Durable by redo records, or in memory.
//!
//! # The idea
//! The newest version of a row is the row. Whoever changes it keeps what stood there before in an undo entry, which takes
//! the change back if need be and serves readers of older snapshots until then. So scans read plain columns, and only rows
//! that were changed a moment ago cost more.
//!
//! Reads leave no trace on rows. A transaction logs *what it asked for*: keys, ranges, restrictions, columns. When it
//! commits, the writes of those that committed since it started are tested against that log: their rows before, their
//! rows after. No write meets a predicate, so all reads could have happened now.
//!
//! ```text
//! T1   starts at 5   reads "sum of x where y > 3"                            commit 7: does 6 meet "y > 3"? yes: abort
//! T2   starts at 5                    y := 4 in row 8 (was 1)   commit 6
//! ```
//!
//! # The promise
//! Transactions are strictly serializable, in the order of their commit timestamps; one that has changed nothing has its place
//! at its start. Those of [`model::Mode::ReadOnly`] and [`model::Mode::Snapshot`] always commit, and nobody waits for an
//! open transaction in order to read, except in order to write then (`Core::reads_wait`). What a transaction reads is a
//! snapshot, whether or not it commits. One that is older than the age limit is aborted, and keeps neither versions nor rows.
//!
//! # Who gives way
//! A writer that meets a row of an open transaction aborts at once in [`model::Mode::ReadWrite`] and waits in
//! [`model::Mode::OwnAtStatement`]. If the row was changed since the writer started, the writer moves its start to the present, if all
//! that it has read holds there. A reader that meets a commit which is being decided waits for the decision.
//!
//! # Phantoms
//! A predicate covers rows that are not there, so an insert is tested like a change. The index has no part in it.
//!
//! # Invariants
//! - **Y1** A timestamp is drawn once, by one transaction.
//! - **Y2** When the counter shows a timestamp, its writer's status says so, and the writer is among the recent, which it leaves early
//!   only once it has aborted. So whoever starts there finds of every writer up to it that it has decided or is deciding.
//! - **Y3** A writer's status goes from open to deciding to committed or aborted, or from open to aborted. All its
//!   versions become visible in that one step.
//! - **Y4** A chain is read and changed under its block's latch only.
//! - **Y5** A transaction's entry among the starts is at or below its start, and is there before it learns its start. So a
//!   bound that was computed from a counter read before is at or below every start to come.
//! - **Y6** A slot has at most one index entry, which is freed after it has left both. A slot that is taken has a row, or a
//!   chain.
//! - **Y7** The newest entry of a chain is its owner's while that one is open, and nobody else adds one. Below an open or
//!   deciding writer's entries all are committed, in the order of their timestamps.
//! - **Y8** A log covers at least what was read.
//! - **Y9** An entry is cut off when every open transaction has started at or above its commit: all read what follows it.
//! - **Y10** A record is appended before its transaction is published, and an entry of a transaction whose record is not durable is
//!   not cut off. So a reader learns from chains what its answer rests on, and who reads or overwrites is logged after.
//! - **Y11** A block keeps each value as it was written, byte for byte, in whatever form its column is held (`store/column.rs`): versions,
//!   predicates and the log see values only.
//! - **Y12** A dropped table is freed when every open transaction has first started at or above its drop: none of them has found it.
//!
//! # From the paper to code
//! Neumann, Mühlbauer, Kemper, *Fast Serializable Multi-Version Concurrency Control for Main-Memory Database Systems*,
//! SIGMOD 2015.
//!
//! | section | here |
//! | --- | --- |
//! | 2.1 versions | `undo.rs`, `block.rs`, `order.rs` |
//! | 2.2 access | `undo.rs` `is_visible`, `block.rs` `visible` |
//! | 2.3 validation | `commit.rs`, `predicates.rs`, `predicates/tree.rs` |
//! | 2.4 collection | `collect.rs`; beyond: a limit on memory, `memory.rs`; a limit on ages, `age.rs` |
//! | 2.5 indexes | `table.rs`, `write.rs` |
//! | 2.1 columns | `store/column.rs`: narrow integers, decimals as integers, texts by dictionary |
//! | 2.6 scans | `column_scan.rs`, `block.rs` `versioned`; sums in place: `column_scan/sums.rs` |
//! | 2.7 threads | `order.rs`, the latches of `block.rs` |
//! | 4 single-version mode | `alone.rs` |
//! | 4.4 false aborts | beyond: logged least and greatest values, `extreme.rs` |
//!
//! *Deviations:* a version's timestamp is its writer's status word, so that a commit is seen whole; entries are cut off under
//! latches and used again at once; the synopsis of a block has a bit for each row, and not the first and the last versioned
//! position; a key's index entry and slot survive a deletion until it is collected, instead of a record of its own for each
//! insertion of the key; starts can move (`wait.rs`); a statement can pass over rows without having read them
//! (`skips.rs`).

mod age;
mod alone;
mod begin;
mod block;
mod checkpoint;
mod clock;
mod collect;
mod column_scan;
mod commit;
mod doors;
mod durability;
mod explain;
mod extreme;
mod growing;
#[cfg(loom)]
#[doc(hidden)]
pub mod kernel;
mod memory;
mod node;
mod order;
mod patch;
mod predicates;
mod read;
mod recover;
mod redo;
mod savepoints;
mod scan;
mod skips;
mod stop;
mod store;
mod table;
mod tables;
mod undo;
mod view;
mod wait;
mod worker;
mod write;
mod writer;

pub use begin::Transaction;
pub use checkpoint::CheckpointReport;
pub use recover::RecoveryReport;
pub use wal::{Driver, LogOptions, Pace};
pub use writer::{Seen, Status, StatusWord};

use clock::EngineClock;
use env::Clock;
use model::{
    AbortClass, Durability, Interactive, Invalid, Limit, LimitKind, LogPosition, Result, Schema, Supervisor, TableId,
};
use order::{Order, Starts};
use parts::memory::Allowance;
use parts::sync::atomic::AtomicU64;
use parts::sync::{Mutex, MutexGuard};
use parts::wait::WaitTable;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use table::{Layout, Table};
use tables::Tables;
use wait::Waits;
use wal::redo::{encode_create, encode_drop};
use wal::{CheckpointTurns, Log};
use worker::{Counts, Shelves};

/// Places where transactions sleep.
const SLEEPERS: usize = 64;

/// A database in memory.
#[derive(Debug)]
pub struct Hyper {
    options: Options,
    clock: EngineClock,
    memory: Allowance,
    order: Order,
    starts: Starts,
    shelves: Shelves,
    tables: Tables<Table>,
    names: Mutex<Names>,
    /// One at a time frees dropped tables.
    freeing: Mutex<()>,
    counts: Mutex<Vec<Arc<Counts>>>,
    waits: Waits,
    sleepers: Arc<WaitTable>,
    /// The redo log; `None` in memory.
    log: Option<Log>,
    /// Timestamps below need no look at the log's ceiling.
    renew_at: AtomicU64,
    checkpoints: CheckpointTurns,
    /// Log position for which the versions of a large transaction wait; 0: for none. `Relaxed`: who sees it too late leaves them to
    /// the next one.
    collected_when_logged: AtomicU64,
    recovery: Option<RecoveryReport>,
}

/// The tables by name, and those that were dropped.
#[derive(Debug, Default)]
struct Names {
    listed: Vec<(String, TableId)>,
    next: u32,
    /// With the timestamp at which each was dropped: whoever first started before may still use it (Y12).
    dropped: Vec<(u64, TableId)>,
    /// Where the record of the last drop ends: a checkpoint lacks what was dropped beside it (C4 of `checkpoint.rs`).
    last_drop: LogPosition,
}

/// Numbers of tables, those of dropped ones among them: each takes a place in an array.
const MOST_NUMBERS: u32 = 1 << 26;

/// What is remembered of reads, and tested at commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// Predicates, and the columns that were looked at: the paper's SR-AL.
    #[default]
    Columns,
    /// Predicates; any change of a row that satisfies one is a conflict: SR-RL.
    Rows,
    /// Nothing: snapshot isolation, *not serializable*. Starts do not move. For experiments that measure what serializability costs.
    Snapshots,
}

/// The knobs. Every limit ends in a named error.
#[derive(Clone, Debug)]
pub struct Options {
    /// Longest key. Unit: bytes. Default: 8,192.
    pub key_bytes: u64,
    /// Longest row. Unit: bytes. Default: 4,000,000; at most 16 MiB less one byte.
    pub row_bytes: u64,
    /// Rows that one transaction may write, each counted once. Default: 1,000,000.
    pub write_set_rows: u64,
    /// Keys, rows and changed columns that one transaction may write, each write counted. Unit: bytes. Default: 1 GiB.
    pub write_set_bytes: u64,
    /// Transactions open at once. Default: 10,000.
    pub transactions: u64,
    /// Tables. Default: 100,000.
    pub tables: u64,
    /// The longest wait for one other transaction. Default: 10 s.
    pub wait_limit: Duration,
    /// Transactions that wait for one other at once. Each of them wakes when that one ends, and the first takes the row. Default: 1,000.
    pub waiters: u64,
    /// Age at which a transaction is aborted, so that an abandoned one keeps neither versions nor rows for ever. Default: none.
    pub transaction_age: Option<Duration>,
    /// Predicates that a transaction logs before neighbours are joined into coarser ones. Default: 1,024.
    pub predicates: u64,
    /// What is validated. Default: [`Validation::Columns`].
    pub validation: Validation,
    /// Whether a transaction's start may move (`wait.rs`). Without, it aborts as in the paper. Default: true.
    pub moves_starts: bool,
    /// Whether each transaction claims a serial point of its own. Its start is then drawn from the counter, as in the paper;
    /// without, it is the last commit's, and a begin writes nothing that is shared. Default: true.
    pub claims: bool,
    /// Whether typed rows are stored whole, and not by column. Default: false.
    pub by_row: bool,
    /// Rows of a block, and of its synopsis of versioned positions. Default: 16,384; at most 32,768; the paper's have 1,024. In larger ones
    /// scans are faster, since the values of a column lie behind each other for longer. The first blocks of a table are smaller, and so are
    /// those of long rows: a block grows up to 2 MB.
    pub block_rows: u64,
    /// Whether scans use the synopses. Without, they look at every row's chain: for experiments. Default: true.
    pub has_synopses: bool,
    /// Whether versions are whole rows instead of the columns that were changed: for experiments. Default: false.
    pub whole_versions: bool,
    /// Whether there is one version of each row and one transaction at a time, as in the mode that the paper compares with
    /// (`alone.rs`): a second one is refused by [`LimitKind::Transactions`]. In memory only, and dropped tables are not freed: for
    /// experiments. Default: false.
    pub single_version: bool,
    /// Whether the nodes of ordered tables hold four entries: for tests, to which splits and merges are then common. Default:
    /// false.
    pub has_small_nodes: bool,
    /// What an acknowledgement waits for, where a transaction does not say. Default: [`Durability::Fsync`]. No effect in memory.
    pub durability: Durability,
    /// Bytes of memory that keys, rows, their versions, index nodes and the write lists of open transactions may take, without the
    /// allocator's own share. At nine tenths, whatever can be collected is; at the limit, writes that need more get a named error,
    /// while reads, deletes and updates that make no row longer go on. A database that needs more is not opened. Default: half of
    /// what the process may have ([`env::memory`]).
    pub memory_bytes: Option<usize>,
    /// The log of [`Hyper::open`].
    pub log: LogOptions,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            key_bytes: 8192,
            row_bytes: 4_000_000,
            write_set_rows: 1_000_000,
            write_set_bytes: 1 << 30,
            transactions: 10_000,
            tables: 100_000,
            wait_limit: Duration::from_secs(10),
            waiters: 1000,
            transaction_age: None,
            predicates: 1024,
            validation: Validation::Columns,
            moves_starts: true,
            claims: true,
            by_row: false,
            block_rows: 16_384,
            has_synopses: true,
            whole_versions: false,
            single_version: false,
            has_small_nodes: false,
            durability: Durability::Fsync,
            memory_bytes: None,
            log: LogOptions::default(),
        }
    }
}

/// The most rows of a block.
const MOST_BLOCK_ROWS: u64 = 32_768;

impl Options {
    fn block_rows(&self) -> usize {
        self.block_rows.clamp(1, MOST_BLOCK_ROWS) as usize
    }

    /// The longest row that a block can have in each of its slots.
    fn row_limit(&self) -> u64 {
        self.row_bytes.min(store::LONGEST_BYTES)
    }

    /// The limit on memory: what was asked for, or a share of what the process may have.
    fn memory_limit(&self) -> usize {
        let share = || usize::try_from(env::memory() / 2).unwrap_or(usize::MAX);
        self.memory_bytes.unwrap_or_else(share)
    }
}

/// Why a transaction did not commit, or a statement was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Reason {
    /// An open transaction has written a row that it wanted to write.
    RowOwned,
    /// A row that it wanted to write was changed since it started.
    RowChanged,
    /// A write that committed meanwhile meets what it has read.
    PredicateMet,
    /// The transaction for which it wanted to wait waits for it.
    Deadlock,
    /// It waited for longer than its limit.
    WaitLimit,
    /// Its supervisor ended its wait, or a long scan.
    Interrupted,
    /// It is older than the limit.
    Age,
    /// The body aborted it, or dropped it.
    Requested,
}

impl Reason {
    /// All of them, in the order in which [`Stats::aborted`] counts them.
    pub const ALL: [Reason; 8] = [
        Reason::RowOwned,
        Reason::RowChanged,
        Reason::PredicateMet,
        Reason::Deadlock,
        Reason::WaitLimit,
        Reason::Interrupted,
        Reason::Age,
        Reason::Requested,
    ];

    /// The class that all protocols share.
    pub fn class(self) -> AbortClass {
        match self {
            Reason::RowOwned | Reason::RowChanged => AbortClass::WriteWrite,
            Reason::PredicateMet => AbortClass::ReadWrite,
            Reason::Deadlock => AbortClass::Priority,
            Reason::WaitLimit => AbortClass::WaitLimit,
            Reason::Interrupted => AbortClass::Interrupted,
            Reason::Age => AbortClass::Age,
            Reason::Requested => AbortClass::Requested,
        }
    }

    /// Its name in errors and figures.
    pub fn rule(self) -> &'static str {
        match self {
            Reason::RowOwned => "row-owned",
            Reason::RowChanged => "row-changed",
            Reason::PredicateMet => "predicate-met",
            Reason::Deadlock => "deadlock",
            Reason::WaitLimit => "wait-limit",
            Reason::Interrupted => "interrupted",
            Reason::Age => "age",
            Reason::Requested => "requested",
        }
    }

    /// Returns the rule's explanation.
    pub fn explanation(self) -> &'static str {
        match self {
            Reason::RowOwned => "an open transaction has written a row that this one was about to write",
            Reason::RowChanged => "a row that this transaction was about to write has been changed since it started",
            Reason::PredicateMet => {
                "another transaction has committed a change of rows that this one's reads cover, before this one committed"
            }
            Reason::Deadlock => "the transaction that has the row waits for this one",
            Reason::WaitLimit => "the transaction that has the row did not end within the wait limit",
            Reason::Interrupted => "its wait for another transaction, or its scan, was ended on request",
            Reason::Age => "the transaction is older than the age limit",
            Reason::Requested => "the transaction was aborted on request",
        }
    }
}

/// Counters since the engine was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that committed changes.
    pub committed: u64,
    /// Transactions that committed without any.
    pub read_only: u64,
    /// Transactions that aborted, by [`Reason`].
    pub aborted: [u64; Reason::ALL.len()],
    /// Writes that were tested against predicates.
    pub tested: u64,
    /// Transactions that committed with predicates in their logs.
    pub logged: u64,
    /// Bytes of these logs: keys, columns and comparisons.
    pub logged_bytes: u64,
    /// Transactions open now.
    pub open: u64,
    /// Transactions that wait for another one now.
    pub asleep: u64,
    /// Index entries: rows, and keys whose deletion is not collected yet.
    pub rows: u64,
    /// Rows that have a chain of versions.
    pub versioned: u64,
    /// Committed writers whose versions are kept.
    pub garbage: u64,
    /// Committed writers that may still be validated against.
    pub recent: u64,
    /// The last timestamp.
    pub now: u64,
    /// Bytes that the rows in place take.
    pub bytes: u64,
    /// Bytes of memory that rows, versions, indexes and the write lists of transactions take.
    pub memory_bytes: u64,
    /// The limit on them.
    pub memory_limit: u64,
}

impl Hyper {
    /// An empty database.
    pub fn new(options: Options) -> Hyper {
        Hyper::with_clock(options, EngineClock::system())
    }

    /// An empty database whose transactions have their ages by this clock.
    pub fn new_with(options: Options, clock: Arc<dyn Clock>) -> Hyper {
        Hyper::with_clock(options, EngineClock::new(clock))
    }

    fn with_clock(mut options: Options, clock: EngineClock) -> Hyper {
        if options.single_version {
            options.transactions = 1;
        }
        Hyper {
            clock,
            memory: Allowance::new(options.memory_limit()),
            order: Order::new(0),
            starts: Starts::new(options.transactions, options.transaction_age.is_some()),
            shelves: Shelves::new(),
            tables: Tables::default(),
            names: Mutex::default(),
            freeing: Mutex::default(),
            counts: Mutex::default(),
            waits: Waits::default(),
            sleepers: Arc::new(WaitTable::new(SLEEPERS)),
            log: None,
            renew_at: AtomicU64::new(u64::MAX),
            checkpoints: CheckpointTurns::default(),
            collected_when_logged: AtomicU64::new(0),
            recovery: None,
            options,
        }
    }

    /// Creates a table. Durable when it returns.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`LimitKind::Tables`], the log could not take it.
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        let (id, position) = self.create_logged(schema, None)?;
        self.wait_durable(position)?;
        Ok(id)
    }

    /// Creates a table. Logged when it returns, before whatever the caller logs of it: who waits for that waits for this.
    ///
    /// # Errors
    /// Same as [`Hyper::create_table`]; [`model::Error::Unavailable`] if the supervisor ends a wait for the log's disk.
    fn create_logged(&self, schema: Schema, supervisor: Option<&dyn Supervisor>) -> Result<(TableId, LogPosition)> {
        let name = schema.name();
        loop {
            let mut names = self.names();
            if names.listed.iter().any(|(listed, _)| listed == name) {
                return Err(Invalid::TableExists { table: name.to_owned() }.into());
            }
            let id = TableId(names.next);
            let (limit, actual) = (self.options.tables, names.listed.len() as u64 + 1);
            if actual > limit || id.0 >= MOST_NUMBERS {
                return Err(Limit { kind: LimitKind::Tables, limit, actual }.into());
            }
            let mut record = Vec::new();
            encode_create(&mut record, id, &schema);
            if let Some(position) = self.log_definition(&record)? {
                names.next += 1;
                names.listed.push((name.to_owned(), id));
                self.add_table(id, schema);
                return Ok((id, position));
            }
            drop(names);
            self.await_room(record.len(), supervisor)?;
        }
    }

    /// Makes an empty table under a number that no other has.
    fn add_table(&self, id: TableId, schema: Schema) {
        let Options { by_row, whole_versions, has_synopses, .. } = self.options;
        let block_rows = self.options.block_rows();
        let meter = self.memory.meter.clone();
        let layout = Layout { schema: Arc::new(schema), by_row, block_rows, whole_versions, has_synopses, meter };
        let table = Table::new(id, layout, self.options.has_small_nodes);
        self.memory.meter.charge(self.tables.set(id.0, table));
    }

    /// Drops a table and its rows. Open transactions do not know it from now on either; what they have written to it is
    /// lost. Durable when it returns.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`], the log could not take it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let position = self.drop_logged(name)?;
        self.wait_durable(position)
    }

    /// Drops a table as [`Hyper::drop_table`] does. Logged when it returns, before whatever the caller logs afterwards.
    ///
    /// # Errors
    /// Same as [`Hyper::drop_table`].
    fn drop_logged(&self, name: &str) -> Result<LogPosition> {
        loop {
            let mut names = self.names();
            let at = names.listed.iter().position(|(listed, _)| listed == name);
            let at = at.ok_or_else(|| Invalid::UnknownTable { table: name.into() })?;
            let id = names.listed[at].1;
            let mut record = Vec::new();
            encode_drop(&mut record, id);
            if let Some(position) = self.log_definition(&record)? {
                names.listed.remove(at);
                self.tables.mark_dropped(id.0);
                names.dropped.push((self.order.draw(), id));
                names.last_drop = position;
                drop(names);
                self.free_dropped();
                return Ok(position);
            }
            drop(names);
            self.await_room(record.len(), None)?;
        }
    }

    /// The table of a name.
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        self.names().listed.iter().find(|(listed, _)| listed == name).map(|(_, id)| *id)
    }

    /// All tables.
    pub fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        let names = self.names();
        let schema = |id: TableId| self.tables.counted(id.0).expect("a listed table is there").schema().clone();
        names.listed.iter().map(|(_, id)| (*id, schema(*id))).collect()
    }

    /// Counters since the engine was opened. Looks at every block: for tests and figures.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            committed: 0,
            read_only: 0,
            aborted: [0; Reason::ALL.len()],
            tested: 0,
            logged: 0,
            logged_bytes: 0,
            open: self.shelves.open(),
            asleep: self.sleepers.sleepers() as u64,
            rows: 0,
            versioned: 0,
            garbage: self.shelves.garbage(),
            recent: self.order.remembered(),
            now: self.order.now(),
            bytes: 0,
            memory_bytes: self.memory.meter.used() as u64,
            memory_limit: self.memory.limit as u64,
        };
        for counts in self.counts().iter() {
            use parts::sync::atomic::Ordering::Relaxed;
            stats.committed += counts.committed.load(Relaxed);
            stats.read_only += counts.read_only.load(Relaxed);
            stats.tested += counts.tested.load(Relaxed);
            stats.logged += counts.logged.load(Relaxed);
            stats.logged_bytes += counts.logged_bytes.load(Relaxed);
            for (sum, aborted) in stats.aborted.iter_mut().zip(&counts.aborted) {
                *sum += aborted.load(Relaxed);
            }
        }
        for (id, _) in self.tables() {
            let Ok(table) = self.counted_table(id) else { continue };
            stats.rows += table.len() as u64;
            table.each_block(|rows| {
                stats.versioned += rows.chains() as u64;
                stats.bytes += rows.memory() as u64;
            });
        }
        stats
    }

    /// The schema of a table that is there.
    pub fn schema(&self, id: TableId) -> Option<Arc<Schema>> {
        self.tables.counted(id.0).map(|table| table.schema().clone())
    }

    /// Figures of the log; `None` in memory.
    pub fn log_stats(&self) -> Option<wal::LogStats> {
        self.log.as_ref().map(Log::stats)
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> MutexGuard<'_, Vec<Arc<Counts>>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
