//! Optimistic concurrency control, as in Silo. In memory: nothing is durable.
//!
//! # The idea
//! A transaction reads without a trace and buffers what it writes. When it commits, it locks the records that it
//! writes, looks whether everything that it has read is still as it was, and installs. No counter, no lock table, no
//! timestamp of reads is shared: two transactions that touch different records write no common cache line. What remains
//! common is the *epoch*, which ticks a few times a second and which commits only read.
//!
//! ```text
//! T1   read x (word 5)   read y (word 8)             commit: lock y | epoch | x is 5 still, y is 8 and mine | y := word 9
//! T2                     read y (word 8)   commit: y is locked, its read fails: abort, again
//! ```
//!
//! A transaction's place in the serial order is the moment between its last lock and its first look (S3).
//!
//! # The promise
//! Transactions that read and write, and those of [`model::Mode::ReadOnly`], are strictly serializable. The latter
//! validate too, and can abort. A transaction of [`model::Mode::Snapshot`] always commits, and is *serializable, not
//! strict*: it reads the state at the end of an epoch, up to [`Options::snapshot_every`] epochs and one more ago, and
//! may miss what committed since, also by the same client. [`Silo::settle`] brings snapshots up to date.
//!
//! A transaction that will abort may see, before it does, what no serial execution shows: two of its reads may lie on
//! two sides of another's commit. Its caller learns that at commit. Answers that a caller acts on without a commit are
//! validated first: a duplicate key, and the error of a [`model::Program`].
//!
//! # Phantoms
//! A read of an absent key, and a scan, note the *count* of the index leaf (or bucket); an insert makes a record, still
//! absent, before its transaction locks anything, which raises the leaf's count, as a split does. Commit looks at the
//! noted counts. What the transaction itself has changed in a leaf is followed, over splits too. A deleted row leaves
//! an absent record, which is read and locked like any other until it is taken out; that raises no count, so
//! reclamation aborts nobody.
//!
//! # Snapshots and garbage
//! A writer that replaces a row of an earlier epoch keeps the old one, if a snapshot lies between: once a second for
//! each record, at the paper's pace. Garbage is reclaimed by those that make it, when transactions end on the same
//! shelf of workers: versions when no snapshot reads below their end, absent records when they have no version and their
//! epoch has ended, memory when every transaction that began before has ended. So an open transaction that idles delays
//! the reuse of records that are deleted meanwhile, and an open snapshot keeps the versions that it reads.
//!
//! # Invariants
//! - **S1** A row and a record's versions change under the record's lock, and a change of the row gives the word a new
//!   TID.
//! - **S2** A transaction locks records in ascending order of their addresses, and waits for a lock only while it
//!   commits. So there is no deadlock, and no wait for an open transaction.
//! - **S3** The epoch is read while all locks are held, and before anything is validated.
//! - **S4** A TID is greater than all that its transaction has read or replaced, than its worker's last one, and of the
//!   epoch of S3. So TIDs of one record grow, and epochs order transactions: whatever depends on another has its epoch
//!   or a later one.
//! - **S5** A leaf whose count is as it was noted has received no key since, and covers what it covered; a transaction
//!   moves its notes on by its own changes, if these are of exactly the count that it noted. It then notes the record that it
//!   has made, too: whoever fills that first raises no count.
//! - **S6** When an epoch becomes the snapshot epoch, all transactions of it and of earlier ones are installed.
//! - **S7** A version is kept until no snapshot, open or to come, reads below the epoch in which it was replaced.
//! - **S8** A record or a table that has left its index is freed when every transaction that began before has ended.
//! - **S9** A record is in one list at most; that one alone takes it out of its index, where it is found until then.
//! - **S10** A record leaves its index when it has neither a row nor a version, and the epoch of its TID has ended. So a
//!   snapshot finds nothing where it would have found nothing, and whoever makes the key's next record has a later TID.
//!
//! # Where they are asserted
//! In constant time, in all builds where nothing else is said.
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | S1 | `tid.rs` `unlock_as`, `record.rs` `install` (debug), `preserve` | `loom_tid`, `conformance`; `read_without_recheck` |
//! | S2 | `commit.rs` `lock` | `paper`; `lock_in_order_of_writing` |
//! | S3 | by the order of `commit.rs` `commit` | `loom_tid`, `conformance` (histories); `skip_validation` |
//! | S4 | `tid.rs` `next_in`, `commit.rs` `install` | `paper`; `tid_not_advanced` |
//! | S5 | by the index's L1 to L3, from which L5 follows | `conformance` (histories), `paper`; `shuttle_engine`; `skip_leaves`, `follow_nothing`, `follow_whatever_was_seen`, `forget_a_made_record` |
//! | S6, S7 | `epochs.rs` `advance`, `reclaim.rs` `look_at` | `snapshots`, `shuttle_engine`; `snapshot_of_the_present`, `prune_one_epoch_too_many` |
//! | S8, S9 | `reclaim.rs` `look_at`, `store.rs` `remove` | `conformance` (what is left), `snapshots`, `shuttle_engine` |
//! | S10 | by the cases of `reclaim.rs` `look_at` | `snapshots`, `shuttle_engine`; `remove_before_the_epoch_ends` |
//!
//! # Doors
//! [`model::Interactive`], and [`model::Reexecutable`], which validates before it passes on a body's own error. Both
//! writing modes are the same. Serial points are claimed if [`Options::claims`] asks for it: TIDs are then drawn from
//! one counter, since a TID as the paper makes it is no place: who read what another overwrote may have the greater
//! one.
//!
//! # What is deliberately absent
//! - Durability: in memory only; every log position is zero. The paper's epochs also group commits in its log.
//! - Waiting, locks at the statement, savepoints of reads: a hot row is retried, with the back-off of
//!   [`model::RetryPolicy`].
//! - A thread for epochs: whoever ends a transaction advances them when it is time (decision 0085).
//!
//! # From the paper to code
//! Tu, Zheng, Kohler, Liskov, Madden, *Speedy Transactions in Multicore In-Memory Databases*, SOSP 2013.
//!
//! | section | here | test |
//! | --- | --- | --- |
//! | 4.1 epochs | `epochs.rs` | `epochs.rs`, `tests/snapshots.rs` |
//! | 4.2 TIDs, 4.3 layout | `tid.rs`, `record.rs` | `tests/loom_tid.rs` |
//! | 4.4 commit | `commit.rs` | `tests/paper.rs`, `tests/conformance.rs` |
//! | 4.5 inserts and deletes | `store.rs`, `reclaim.rs` | `tests/paper.rs` |
//! | 4.6 phantoms | `worker.rs` (`follow`), `read.rs` | `tests/paper.rs` |
//! | 4.8 garbage, 4.9 snapshots | `reclaim.rs`, `record.rs` | `tests/snapshots.rs` |
//!
//! *Deviations:* versions are kept per record, and lists per shelf of workers, not per snapshot epoch; E may run ahead
//! of an idle transaction, since a commit announces itself in its worker's slot; the index is the house's B+tree, whose
//! nodes are found again by key, so that an open transaction holds up no node.

mod begin;
mod commit;
mod doors;
mod epochs;
mod read;
mod reclaim;
mod record;
mod store;
pub mod tid;
mod worker;
mod write;
mod write_set;

pub use begin::Transaction;

use env::{Clock, MonotonicClock};
use epochs::Epochs;
use model::{AbortClass, Result, Schema, TableId};
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parts::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use store::{Index, Tables};
use worker::{Counts, Shelves};

/// A worker looks at the clock once in so many transactions. A power of two.
const LOOKS_AT_THE_CLOCK: u64 = 64;

/// A database in memory under optimistic concurrency control.
#[derive(Debug)]
pub struct Silo {
    options: Options,
    epochs: Epochs,
    shelves: Shelves,
    tables: Tables,
    counts: Mutex<Vec<parts::sync::Arc<Counts>>>,
    clock: MonotonicClock,
    /// When the epoch was advanced last, in ticks.
    advanced: AtomicU64,
}

/// The knobs. Every limit ends in a named error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest key. Unit: bytes. Default: 8,192.
    pub key_bytes: u64,
    /// Longest row. Unit: bytes. Default: 1 MiB; at most 4 GiB. A row is copied by every read.
    pub row_bytes: u64,
    /// Rows that one transaction may write, each counted once. Default: 1,000,000.
    pub write_set_rows: u64,
    /// Keys and rows that one transaction may write, each write counted. Unit: bytes. Default: 1 GiB.
    pub write_set_bytes: u64,
    /// Rows, absent keys and index nodes that one transaction may read, repetitions counted. Default: 100,000,000.
    /// Snapshots read without a limit.
    pub read_set: u64,
    /// Transactions open at once. Default: 10,000.
    pub transactions: u64,
    /// Tables that were ever created. Default: 10,000.
    pub tables: u64,
    /// Time from one epoch to the next, about: a busy worker looks at the clock. Default: 40 ms, the paper's. `None`:
    /// only [`Silo::advance_epoch`], [`Silo::settle`] and [`Silo::collect`] advance it.
    pub epoch_period: Option<Duration>,
    /// Epochs from one snapshot to the next. Default: 25, the paper's: a snapshot is a second old, and a record that is
    /// written without pause keeps one version a second.
    pub snapshot_every: u64,
    /// Whether each commit claims a serial point: a counter that all transactions share, for histories. Default: false.
    pub claims: bool,
    /// Whether the nodes of ordered tables hold four records: for tests, to which splits and merges are then common.
    /// Default: false.
    pub has_small_nodes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            key_bytes: 8192,
            row_bytes: 1 << 20,
            write_set_rows: 1_000_000,
            write_set_bytes: 1 << 30,
            read_set: 100_000_000,
            transactions: 10_000,
            tables: 10_000,
            epoch_period: Some(Duration::from_millis(40)),
            snapshot_every: 25,
            claims: false,
            has_small_nodes: false,
        }
    }
}

/// Why a transaction did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Reason {
    /// A record that it read has been written since.
    ReadChanged,
    /// A record that it read was being written by another commit.
    ReadLocked,
    /// A key has come into an index leaf in which it found keys absent.
    LeafChanged,
    /// The body aborted it, or dropped it.
    Requested,
}

impl Reason {
    /// All of them, in the order in which [`Stats::aborted`] counts them.
    pub const ALL: [Reason; 4] = [Reason::ReadChanged, Reason::ReadLocked, Reason::LeafChanged, Reason::Requested];

    /// The class that all protocols share.
    pub fn class(self) -> AbortClass {
        match self {
            Reason::ReadChanged | Reason::ReadLocked | Reason::LeafChanged => AbortClass::ReadWrite,
            Reason::Requested => AbortClass::Requested,
        }
    }

    /// Its name in errors and figures.
    pub fn rule(self) -> &'static str {
        match self {
            Reason::ReadChanged => "read-changed",
            Reason::ReadLocked => "read-locked",
            Reason::LeafChanged => "leaf-changed",
            Reason::Requested => "requested",
        }
    }

    /// Returns the rule's explanation.
    pub fn explanation(self) -> &'static str {
        match self {
            Reason::ReadChanged => {
                "another transaction has written a row that this one had read, before this one committed"
            }
            Reason::ReadLocked => "another transaction was committing a change of a row that this one had read",
            Reason::LeafChanged => {
                "another transaction has put a key into a leaf of the index where this one had found keys absent, or had scanned"
            }
            Reason::Requested => "the transaction was aborted on request",
        }
    }
}

/// Counters since the engine was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that committed, snapshots left out.
    pub committed: u64,
    /// Snapshots that ended.
    pub snapshots: u64,
    /// Transactions that aborted, by [`Reason`].
    pub aborted: [u64; Reason::ALL.len()],
    /// Transactions open now.
    pub open: u64,
    /// Records in memory now: rows, and keys whose absence is still recorded.
    pub records: u64,
    /// Records that wait to be looked after or freed.
    pub garbage: u64,
    /// The present epoch.
    pub epoch: u64,
    /// The epoch that snapshots read.
    pub snapshot: u64,
}

impl Silo {
    /// An empty database.
    pub fn new(options: Options) -> Silo {
        Silo {
            epochs: Epochs::new(options.snapshot_every),
            shelves: Shelves::new(),
            tables: Tables::new(options.tables),
            counts: Mutex::default(),
            clock: MonotonicClock::new(),
            advanced: AtomicU64::new(0),
            options,
        }
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`model::Invalid::TableExists`], [`model::LimitKind::Tables`].
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        self.tables.create(schema, |schema| Index::new(schema, self.options.has_small_nodes))
    }

    /// Drops a table and its rows. Open transactions do not know it from now on either; what they have written to it is
    /// lost.
    ///
    /// # Errors
    /// [`model::Invalid::UnknownTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        // Whoever begins in a later epoch than this does not find it (S8).
        self.tables.drop_table(name, || self.epochs.now())?;
        self.free_tables();
        Ok(())
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        self.tables.named(name)
    }

    /// All tables, oldest first.
    pub fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.tables.all()
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let counts = self.counts();
        let sum = |counter: &dyn Fn(&Counts) -> &AtomicU64| counts.iter().map(|it| counter(it).load(Relaxed)).sum();
        let mut garbage = 0;
        self.shelves.each_list(|lists| garbage += lists.len() as u64);
        Stats {
            committed: sum(&|it| &it.committed),
            snapshots: sum(&|it| &it.snapshots),
            aborted: Reason::ALL.map(|reason| sum(&|it| &it.aborted[reason as usize])),
            open: self.shelves.open(),
            records: self.tables.sum(|index| index.len() as u64),
            garbage,
            epoch: self.epochs.now(),
            snapshot: self.epochs.snapshot(),
        }
    }

    /// Begins the next epoch.
    pub fn advance_epoch(&self) {
        self.epochs.advance();
    }

    /// Advances the epoch if its time is over: once for each period that has passed, as far as snapshots can tell.
    fn advance_if_due(&self) {
        let Some(period) = self.options.epoch_period else { return };
        let period = self.clock.ticks_in(period).max(1);
        let last = self.advanced.load(Relaxed);
        let due = self.clock.now().saturating_sub(last) / period;
        // Relaxed: it says who advances, and nothing else.
        if due > 0 && self.advanced.compare_exchange(last, last + due * period, Relaxed, Relaxed).is_ok() {
            (0..due.min(self.options.snapshot_every.saturating_add(1))).for_each(|_| self.epochs.advance());
            self.free_tables();
        }
    }

    /// Frees the dropped tables that no open transaction can have.
    fn free_tables(&self) {
        let quiet = self.epochs.quiet();
        self.tables.free(|epoch| epoch <= quiet);
    }

    fn counts(&self) -> MutexGuard<'_, Vec<parts::sync::Arc<Counts>>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
