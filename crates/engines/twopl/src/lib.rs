//! Strict two-phase locking.
//!
//! # The idea
//! A transaction locks a record before it touches it, shared to read and exclusively to write, and gives no lock back
//! before it has ended. Rows are changed in place; an undo log takes the changes back on abort. Two transactions that
//! conflict are therefore ordered by the first record on which they met: the second waited there until the first had
//! ended. A transaction's place in the serial order is fixed at commit, by a counter that it draws from while it still
//! holds every lock. The order agrees with real time: the promise is strict serializability.
//!
//! ```text
//! T1   S(x)  X(y)  y := 5 (undo: 3)            commit: draw 17, release
//! T2         S(x)  S(y) ....... waits ....... S(y) reads 5   commit: draw 18, release
//! ```
//!
//! # Who waits and who aborts: wound-wait
//! A transaction draws its age from its thread's part of a counter when it begins. One that wants a lock waits for the
//! holders, and marks those that are younger as *wounded*. A wounded transaction goes on until it would have to wait
//! itself; then it aborts. Every cycle of waits contains a transaction that waits for a younger one; that one is wounded
//! and waits too, so it aborts, and there is no deadlock.
//!
//! The alternative is wait-die: a transaction aborts as soon as it would wait for an older one. On a hot row all but the oldest
//! then abort and retry, again and again, until it is their turn. Under wound-wait they queue in the order of age, and a transaction
//! that holds nothing that others want never aborts. `Reexecutable` and `Declared` keep the age over retries, so each
//! transaction becomes the oldest at last. Under `Interactive` a retry is a new transaction to the engine, with a new age.
//!
//! *Deviation:* Rosenkrantz et al. abort the wounded at once. Only waits can be part of a deadlock, so here a wounded
//! transaction runs until its next wait. Most commit before it, and commit needs no check.
//!
//! # What a lock costs
//! The lock of a record is one word in it ([`locks::LockWord`]). While one transaction wants the record, the word names that
//! one: a compare-and-swap locks, another one releases. A second transaction moves the lock to a table
//! ([`locks::LockTable`]) with its holders and a queue, until the last of them has left. Everything else that a transaction
//! needs belongs to its worker, which threads keep: so two transactions that touch different records write no common
//! cache line, and a steady load allocates nothing (decision 0091).
//!
//! # Phantoms
//! A key that is absent has a record too while it is locked, one without a row. A scan locks its *range* as a whole,
//! in a list that the table keeps, and then only looks at the records in it, without writing to them,
//! waiting where one is locked exclusively. Whoever locks a record exclusively looks into that list afterwards, and
//! waits out the ranges that cover its key. So one lock protects a range of any size, its gaps, and all its rows,
//! exactly. While there is no scan, writers pay a fence and a load for it, and those of tables stored by hash nothing.
//! A scan locks its whole range; one that stops early releases the part that it has not visited.
//!
//! # Invariants
//! - **I1** A row is changed under its record's exclusive lock, and read under a shared one or a range's. A serial point is
//!   drawn while all of the transaction's locks are held.
//! - **I2** An exclusive lock has one holder. No request passes a waiter that precedes it, except an upgrade by a present
//!   holder: all waiters wait for that holder anyway. A lock is in the lock table while its word says so; otherwise the
//!   word names its only holder, and nobody waits.
//! - **I3** A record is in its index from before it is first locked until it has no row, no holder and no waiter. Its last
//!   holder then makes its word *gone*, once, and takes it out; whoever finds it gone looks its key up again. Memory is
//!   freed through the epoch: who finds a record is pinned until its lock is granted or it stands in the queue.
//! - **I4** A scanner locks its range and then looks at the word of each record in it; a writer locks its record and then looks
//!   at the ranges; between the two steps each has a sequentially consistent fence. So at least one of them sees the other,
//!   and either the writer waits for the scan, or the scan for the writer.
//! - **I6** A transaction waits for any holder in its way, whatever its rank, and wounds only holders of lower rank. Declared
//!   procedures rank above interactive transactions, those above reconnaissance; within a kind, the older ranks above the younger.
//! - **I7** A declared procedure locks its footprint in the order of tables and keys before it runs. Two such procedures never
//!   form a cycle there, so they do not wound each other. One that declares ranges locks those where it scans, out
//!   of that order, so it ranks with interactive transactions.
//!
//! I5 is missing: the number of a retired invariant is not used again.
//!
//! # Where they are asserted
//! In constant time, in all builds; in pairs where two threads have a part in it.
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | I1 | `write.rs` `change` and `commit.rs` `undo_to` (rows); `commit.rs` `finish` (serial point) | `conformance` (histories), `anomalies`; `undo_nothing` |
//! | I2 | `locks/queue.rs` `grant` (one holder), `hand_on` (order); `locks/table.rs` `lock` | `loom_locks`, `waits`, `shuttle_locks`; `forget_the_first_holder`, `release_over_waiters`, `wound_nobody` |
//! | I3 | `locks/word.rs` and `locks/table.rs` `release`; `store.rs` `remove` | `loom_locks`, `conformance` (twin), `shuttle_locks`; `go_and_come_back` |
//! | I4 | `read.rs` `next_leaf` (the scanner), `locks.rs` `lock` (the writer): each holds its own lock when it looks for the other's | `loom_locks`, `anomalies`, `shuttle_locks`; `scan_without_a_fence` |
//! | I6, I7 | `locks/owner.rs` `wounded_by`: nothing wounds a declared procedure; `begin.rs` `lock_footprint`: the order | `waits`, `declared`, `shuttle_locks` |
//!
//! # Doors
//! All three.
//! - [`model::Interactive`] locks at the statement in both writing modes.
//! - [`model::Reexecutable`] adds that retries keep the age.
//! - [`model::Declared`] locks the declared footprint, found by a trial read if need be. A key outside it aborts
//!   ([`Reason::FootprintMiss`]), and the retry determines the footprint again. A scan of a table without a declared range is
//!   [`model::Invalid::Undeclared`]. A procedure without ranges aborts for nothing else but the limit on waiting and its
//!   supervisor; one with ranges can be wounded like an interactive transaction.
//!
//! # What is deliberately absent
//! - Snapshots: [`model::Mode::ReadOnly`] and [`model::Mode::Snapshot`] are the same here. They take shared locks, wait
//!   for writers, delay them, and can be wounded; "always commits" is what two-phase locking cannot promise.
//! - Durability: in memory only; every log position is zero.
//! - Intention locks, lock escalation, deadlock detection, early release: the ideas that this baseline does without.
//! - Transactional DDL: a dropped table is unknown at once, to open transactions too; their other work lives on.
//! - Reads that write nothing: a read writes its record's word twice, so two threads that read the same row take its
//!   cache line from each other. That is the protocol's price, and what `silo` does without.
//! - Serial points without a shared counter: a commit draws one, unless [`Options::claims`] says that nobody asks.
//!
//! # From source to code
//! | source | here | test |
//! | --- | --- | --- |
//! | Eswaran et al., *The Notions of Consistency and Predicate Locks*, CACM 1976: two phases, predicates (here: ranges) | `read.rs`, `write.rs`, `commit.rs`, `locks.rs` (`Ranges`) | `tests/conformance.rs`, `tests/anomalies.rs` |
//! | Gray et al., *Granularity of Locks*, 1975: degree 3, held to the end | `commit.rs` | `tests/anomalies.rs` |
//! | Rosenkrantz et al., *System Level Concurrency Control*, TODS 1978: wound-wait | `locks.rs` | `tests/waits.rs`, `tests/shuttle_locks.rs` |
//! | Bacon et al., *Thin Locks*, PLDI 1998: the word names the only holder | `locks/word.rs`, `locks/table.rs` | `tests/loom_locks.rs` |
//! | Ren et al., *Lightweight Locking for Main Memory Database Systems*, VLDB 2013: a lock beside its record, not in a table | `record.rs` | `tests/loom_locks.rs` |
//! | Thomson et al., *Calvin*, SIGMOD 2012: ordered locks on a declared footprint, reconnaissance | `doors.rs`, `begin.rs` | `tests/declared.rs`, `tests/shuttle_locks.rs` |
//!
//! `begin.rs`, `read.rs`, `write.rs`, `commit.rs` are the path of a transaction; `locks.rs` and its folder, how it takes and waits
//! for locks; `store.rs` and `record.rs`, tables and records; `worker.rs`, what transactions reuse; `doors.rs`, the interface of
//! `model`.

mod begin;
mod commit;
mod doors;
pub mod locks;
mod read;
mod record;
mod store;
mod worker;
mod write;

pub use begin::Transaction;

use env::MonotonicClock;
use locks::LockTable;
use model::{AbortClass, Invalid, Limit, LimitKind, Result, Schema, TableId};
use parts::CachePadded;
use parts::sync::RwLock;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};
use parts::wait::WaitTable;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use store::{Catalog, Table};
use worker::Shelves;

/// Places to sleep in: a few times the number of threads that can wait at once.
const SLEEPING_PLACES: usize = 64;

/// A database in memory under strict two-phase locking.
#[derive(Debug)]
pub struct TwoPhaseLocking {
    options: Options,
    catalog: RwLock<Arc<Catalog>>,
    /// The catalog's version: `Release` after a change.
    version: AtomicU64,
    lock_table: LockTable,
    shelves: Shelves,
    counters: Counters,
    sleepers: Arc<WaitTable>,
    clock: MonotonicClock,
}

/// The knobs. Every limit ends in a named error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest key. Unit: bytes. Default: 1,024; at most 4 GiB.
    pub key_bytes: u64,
    /// Longest row. Unit: bytes. Default: 1 MiB; at most 4 GiB.
    pub row_bytes: u64,
    /// Rows that one transaction may write, each counted once. Default: 1,000,000.
    pub write_set_rows: u64,
    /// Keys and rows that one transaction may write, each write counted. Unit: bytes. Default: 1 GiB.
    pub write_set_bytes: u64,
    /// Records and ranges that one transaction may lock. A scan is one. Default: 10,000,000.
    pub locks: u64,
    /// Transactions open at once. Default: 10,000.
    pub transactions: u64,
    /// Tables that were ever created: a number is not given again. Default: 10,000.
    pub tables: u64,
    /// Maximum wait for another transaction where `Begin` gives no limit. Default: 10 s. Zero: no waiting. Shorter limits turn
    /// queues on hot rows into aborts.
    pub wait_limit: Duration,
    /// Whether each commit claims a serial point: a counter that all transactions share. Default: true. False for figures.
    pub claims: bool,
    /// Whether the nodes of ordered tables hold four records: for tests, to which splits and merges are then common.
    /// Default: false.
    pub has_small_nodes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            key_bytes: 1024,
            row_bytes: 1 << 20,
            write_set_rows: 1_000_000,
            write_set_bytes: 1 << 30,
            locks: 10_000_000,
            transactions: 10_000,
            tables: 10_000,
            wait_limit: Duration::from_secs(10),
            claims: true,
            has_small_nodes: false,
        }
    }
}

/// Why a transaction did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Reason {
    /// It stood in the way of one that precedes it, and would have had to wait itself.
    Wounded,
    /// It waited for another one for as long as it was ready to.
    WaitLimit,
    /// Its supervisor ended its wait.
    Interrupted,
    /// A declared procedure touched a key that it had not declared.
    FootprintMiss,
    /// The body aborted it, or dropped it.
    Requested,
}

impl Reason {
    /// All of them, in the order in which [`Stats::aborted`] counts them.
    pub const ALL: [Reason; 5] =
        [Reason::Wounded, Reason::WaitLimit, Reason::Interrupted, Reason::FootprintMiss, Reason::Requested];

    /// The class that all protocols share.
    pub fn class(self) -> AbortClass {
        match self {
            Reason::Wounded => AbortClass::Priority,
            Reason::WaitLimit => AbortClass::WaitLimit,
            Reason::Interrupted => AbortClass::Interrupted,
            Reason::FootprintMiss => AbortClass::Footprint,
            Reason::Requested => AbortClass::Requested,
        }
    }

    /// Its name in errors and figures.
    pub fn rule(self) -> &'static str {
        match self {
            Reason::Wounded => "wounded",
            Reason::WaitLimit => "wait-limit",
            Reason::Interrupted => "interrupted",
            Reason::FootprintMiss => "footprint-miss",
            Reason::Requested => "requested",
        }
    }

    /// Returns the rule's explanation.
    pub fn explanation(self) -> &'static str {
        match self {
            Reason::Wounded => {
                "an older transaction waits for a lock that this one holds, and this one would have had to wait itself (wound-wait)"
            }
            Reason::WaitLimit => "another transaction held a lock for longer than the wait limit",
            Reason::Interrupted => "its wait for another transaction was cancelled",
            Reason::FootprintMiss => "the procedure touched a key outside the footprint that it had declared",
            Reason::Requested => "the transaction was aborted on request",
        }
    }
}

/// Counters since the engine was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that aborted, by [`Reason`].
    pub aborted: [u64; Reason::ALL.len()],
    /// Lock requests that had to wait.
    pub waits: u64,
    /// Transactions that sleep now until others have given locks back.
    pub asleep: u64,
    /// Transactions open now.
    pub open: u64,
    /// Records in memory now: rows, and keys that are locked without having a row.
    pub records: u64,
}

/// Counters that all transactions share. `Relaxed`: they count, and publish nothing.
#[derive(Debug, Default)]
struct Counters {
    serial_points: CachePadded<AtomicU64>,
    aborted: [AtomicU64; Reason::ALL.len()],
    waits: AtomicU64,
}

impl TwoPhaseLocking {
    /// An empty database.
    pub fn new(options: Options) -> TwoPhaseLocking {
        TwoPhaseLocking {
            options,
            catalog: RwLock::default(),
            version: AtomicU64::new(0),
            lock_table: LockTable::default(),
            shelves: Shelves::new(),
            counters: Counters::default(),
            sleepers: Arc::new(WaitTable::new(SLEEPING_PLACES)),
            clock: MonotonicClock::new(),
        }
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`LimitKind::Tables`].
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        if catalog.named(schema.name()).is_some() {
            return Err(Invalid::TableExists { table: schema.name().into() }.into());
        }
        let number = catalog.tables.len();
        if number as u64 >= self.options.tables {
            let (limit, actual) = (self.options.tables, number as u64 + 1);
            return Err(Limit { kind: LimitKind::Tables, limit, actual }.into());
        }
        let id = TableId(number as u32);
        let table = Arc::new(Table::new(id, schema, self.options.has_small_nodes));
        self.change(&mut catalog, |tables| tables.push(Some(table)));
        Ok(id)
    }

    /// Drops a table and its rows. Open transactions do not know it from now on either.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let table = catalog.named(name).cloned();
        let table = table.ok_or_else(|| Invalid::UnknownTable { table: name.into() })?;
        table.dropped.store(true, Relaxed);
        self.change(&mut catalog, |tables| tables[table.id.0 as usize] = None);
        drop(catalog);
        self.shelves.forget_catalogs();
        Ok(())
    }

    fn change(&self, catalog: &mut Arc<Catalog>, change: impl FnOnce(&mut Vec<Option<Arc<Table>>>)) {
        let catalog = Arc::make_mut(catalog);
        change(&mut catalog.tables);
        catalog.version += 1;
        // Release: partner of `Transaction::begin`.
        self.version.store(catalog.version, Release);
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        self.catalog().named(name).map(|table| (table.id, table.schema.clone()))
    }

    /// All tables, oldest first.
    pub fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.catalog().all().map(|table| (table.id, table.schema.clone())).collect()
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let Counters { aborted, waits, .. } = &self.counters;
        let catalog = self.catalog();
        Stats {
            committed: self.shelves.committed(),
            aborted: Reason::ALL.map(|reason| aborted[reason as usize].load(Relaxed)),
            waits: waits.load(Relaxed),
            asleep: self.sleepers.sleepers() as u64,
            open: self.shelves.open(),
            records: catalog.all().map(|table| table.index.len() as u64).sum(),
        }
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
