//! Optimistic multi-version concurrency control, as in Hekaton, and snapshot isolation: the baselines that the authors of BOHM compare
//! with. In memory: nothing is durable.
//!
//! # The idea
//! Each version of a row says from which timestamp to which it is the row. A transaction draws a begin timestamp from a counter that
//! all share, when it first reads or writes, and reads what was there then; readers and writers of a row do not wait for each other.
//! A writer puts its version on top at once, with its own id where the timestamp will be; who finds an id looks at how its owner
//! stands. At commit a transaction draws an end timestamp, and looks whether what it has read is the same at that moment.
//!
//! ```text
//! T1   begin 5   read x (3 .. )   write y (T1 .. )   end 8: x is (3 .. T2), T2 is open: good     y is (8 .. )
//! T2   begin 6   read y (2 .. )   write x (T2 .. )   end 9: y is (2 .. 8): abort, again
//! ```
//!
//! A transaction between its end timestamp and its decision is taken as committed by those that begin later: they *speculate*, and commit
//! only if it does. So nobody waits for a validation before the own commit.
//!
//! # The promise
//! With [`Options::validates`] transactions are strictly serializable, at their end timestamp, or at their begin timestamp if they write
//! nothing. Without, it is snapshot isolation: write skew is possible, and so is all that follows from it; no serial points are claimed.
//! In both, transactions of [`model::Mode::ReadOnly`] and [`model::Mode::Snapshot`] always commit.
//!
//! # Invariants
//! - **K1** Timestamps come from one counter, each once. A transaction says that it draws its end timestamp before it does, when its
//!   versions are all in their chains. So whoever has a later timestamp sees the versions, and either the timestamp or that it must
//!   wait for it.
//! - **K2** A chain is changed under its record's latch, and rises from its oldest version to its newest.
//! - **K3** A version is replaced by a transaction that sees it at its begin timestamp, while it is the newest. So a transaction that
//!   commits a version is the only one that wrote the row since it began.
//! - **K4** What a transaction that validates has read at its begin timestamp is what it would read at its end timestamp.
//! - **K5** A transaction that has speculated on others commits after they have. They have lower end timestamps, so no wait is in a circle;
//!   and they are in their commits, so no wait is for an open transaction.
//! - **K6** A row never changes. No id stands in a version any more when the next transaction of that slot begins.
//! - **K7** A version that was replaced, or has left its chain, a record that has left its index and a table that was dropped are freed
//!   when every open transaction has begun after that.
//! - **K8** A record is in one list at most; that one alone takes it out of its index.
//!
//! # Where they are asserted
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | K1 | by the order of `slots.rs` `prepare` and `begin` | `shuttle_engine`, `conformance` (histories); `draw_before_saying_so` |
//! | K2 | `commit.rs` `replace` | `paper`, `shuttle_engine`; `leave_dependents_there` |
//! | K3 | by the cases of `write.rs` `place` | `paper`, `conformance` (anomalies); `last_updater_wins` |
//! | K4 | by `commit.rs` `validate` | `paper`, `conformance`; `skip_validation`, `skip_ranges`, `skip_absent` |
//! | K5 | by `begin.rs` `check_speculation` | `shuttle_engine`; `ignore_a_dependency` |
//! | K6 | by the order of `begin.rs` `end`; `words.rs` | `shuttle_engine` |
//! | K7 | by `slots.rs` `find_horizon` | `paper`, `shuttle_engine`; `free_early` |
//! | K8 | `reclaim.rs` `look_at`, `store.rs` `remove` | `conformance` (what is left), `shuttle_engine` |
//!
//! # Doors
//! [`model::Interactive`], and [`model::Reexecutable`], which waits for those on whom a body has speculated before it passes on the body's
//! own error. Both writing modes are the same.
//!
//! # What is deliberately absent
//! - Durability: in memory only; every log position is zero.
//! - Waiting for open transactions, locks at the statement: the first updater wins, and the others run again, with the back-off of
//!   [`model::RetryPolicy`].
//! - The pessimistic variant of the same paper, and isolation levels between the two that are here.
//!
//! # From the paper to code
//! Larson, Blanas, Diaconu, Freedman, Patel, Zwilling, *High-Performance Concurrency Control Mechanisms for Main-Memory Databases*,
//! VLDB 2011. Faleiro, Abadi, *Rethinking serializable multiversion concurrency control*, VLDB 2015, section 4, says how its authors
//! configured it.
//!
//! | section | here | test |
//! | --- | --- | --- |
//! | 2.3, 2.4 versions and transactions | `record.rs`, `words.rs`, `slots.rs` | `words.rs`, `record.rs` |
//! | 2.5 visibility | `begin.rs` (`seen`, `see`), `slots.rs` (`read`) | `tests/paper.rs`, `tests/shuttle_engine.rs` |
//! | 2.6 updates | `write.rs` | `tests/paper.rs` |
//! | 2.7 commit dependencies | `slots.rs` (`depend`, `decide`), `begin.rs` (`speculate`) | `tests/shuttle_engine.rs` |
//! | 3.2, 3.3 validation and commit | `commit.rs` | `tests/paper.rs`, `tests/conformance.rs` |
//! | 2.3 garbage | `reclaim.rs` | `tests/paper.rs` |
//!
//! *Deviations:* versions hang on a record for each key, newest first, in the house's indexes instead of hash chains of their own; a
//! deletion is a version without a row; the end of the newest version is taken under a latch, so that a transaction that aborts can take
//! off what others have put on its versions; validation does not speculate, but fails; transactions that only read wait for a decision
//! instead of speculating, so that they always commit; the words of a scan are not in the read set, since the range is scanned again;
//! freed by timestamps, cooperatively, not by index. [`Options::collects`] false is what BOHM's authors measured.

mod begin;
mod commit;
mod doors;
mod read;
mod reclaim;
mod record;
mod slots;
mod store;
mod words;
mod worker;
mod write;

pub use begin::Transaction;

use model::{AbortClass, Result, Schema, TableId};
use parts::sync::atomic::Ordering::Relaxed;
use slots::Slots;
use std::sync::Arc;
use store::{Index, Tables};

/// A database in memory under optimistic multi-version concurrency control, or under snapshot isolation.
#[derive(Debug)]
pub struct Hekaton {
    options: Options,
    slots: Slots,
    tables: Tables,
}

/// The knobs. Every limit ends in a named error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest key. Unit: bytes. Default: 8,192.
    pub key_bytes: u64,
    /// Longest row. Unit: bytes. Default: 1 MiB; at most 4 GiB.
    pub row_bytes: u64,
    /// Rows that one transaction may write, each counted once. Default: 1,000,000.
    pub write_set_rows: u64,
    /// Keys and rows that one transaction may write, each write counted. Unit: bytes. Default: 1 GiB.
    pub write_set_bytes: u64,
    /// Rows, absent keys and ranges that one transaction may read, repetitions counted. Default: 100,000,000.
    /// Transactions that only read do so without a limit, as does snapshot isolation.
    pub read_set: u64,
    /// Transactions open at once. Default: 10,000; at most 65,536.
    pub transactions: u64,
    /// Tables that were ever created. Default: 10,000.
    pub tables: u64,
    /// Whether a transaction looks at commit whether its reads still hold. Default: true. False: snapshot isolation.
    pub validates: bool,
    /// Whether versions that nobody can see any more are freed. Default: true. False: they stay until their table or the engine goes, and
    /// so do deleted keys.
    pub collects: bool,
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
            validates: true,
            collects: true,
            has_small_nodes: false,
        }
    }
}

/// Why a transaction did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Reason {
    /// The row has a newer version than the one that it sees, or is about to have one.
    FirstUpdaterWins,
    /// A row that it read was replaced before its end timestamp.
    ReadChanged,
    /// A row has come to a key that it found absent, or one has come, gone or changed in a range that it scanned.
    Phantom,
    /// A transaction on whose commit it had speculated has aborted.
    DependencyAborted,
    /// The body aborted it, or dropped it.
    Requested,
}

impl Reason {
    /// All of them, in the order in which [`Stats::aborted`] counts them.
    pub const ALL: [Reason; 5] =
        [Reason::FirstUpdaterWins, Reason::ReadChanged, Reason::Phantom, Reason::DependencyAborted, Reason::Requested];

    /// The class that all protocols share.
    pub fn class(self) -> AbortClass {
        match self {
            Reason::FirstUpdaterWins => AbortClass::WriteWrite,
            Reason::ReadChanged | Reason::Phantom | Reason::DependencyAborted => AbortClass::ReadWrite,
            Reason::Requested => AbortClass::Requested,
        }
    }

    /// Its name in errors and figures.
    pub fn rule(self) -> &'static str {
        match self {
            Reason::FirstUpdaterWins => "first-updater-wins",
            Reason::ReadChanged => "read-changed",
            Reason::Phantom => "phantom",
            Reason::DependencyAborted => "dependency-aborted",
            Reason::Requested => "requested",
        }
    }

    /// Returns the rule's explanation.
    pub fn explanation(self) -> &'static str {
        match self {
            Reason::FirstUpdaterWins => {
                "another transaction has written a row that this one wanted to write, and had not committed when this one began"
            }
            Reason::ReadChanged => {
                "another transaction has written a row that this one had read, before this one committed"
            }
            Reason::Phantom => {
                "another transaction has written to a key that this one had found absent, or in a range that it had scanned, before this one committed"
            }
            Reason::DependencyAborted => {
                "another transaction was about to commit what this one read, and has aborted instead"
            }
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
    /// Times that a transaction made its commit depend on another one's.
    pub speculated: u64,
    /// Transactions open now.
    pub open: u64,
    /// Records in memory now: rows, and keys whose absence is still recorded.
    pub records: u64,
    /// Versions in memory that are not the newest ones.
    pub versions: u64,
    /// Versions and records that wait to be looked after or freed.
    pub garbage: u64,
}

impl Hekaton {
    /// An empty database.
    pub fn new(options: Options) -> Hekaton {
        Hekaton { slots: Slots::new(options.transactions), tables: Tables::new(options.tables), options }
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`model::Invalid::TableExists`], [`model::LimitKind::Tables`].
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        self.tables.create(schema, |schema| Index::new(schema, self.options.has_small_nodes, !self.options.collects))
    }

    /// Drops a table and its rows. Open transactions do not know it from now on either; what they have written to it is
    /// lost.
    ///
    /// # Errors
    /// [`model::Invalid::UnknownTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        // Whoever begins at a later timestamp than this does not find it (K7).
        self.tables.drop_table(name, || self.slots.now())?;
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
        let mut stats = Stats {
            committed: 0,
            aborted: [0; Reason::ALL.len()],
            speculated: 0,
            open: 0,
            records: self.tables.sum(|index| index.len() as u64),
            versions: 0,
            garbage: 0,
        };
        for slot in self.slots.each() {
            stats.committed += slot.counts.committed.load(Relaxed);
            stats.speculated += slot.counts.speculated.load(Relaxed);
            stats.open += u64::from(slot.is_open());
            let lists = slot.lists();
            stats.garbage += lists.len() as u64;
            let kept = || slot.counts.replaced.load(Relaxed);
            stats.versions += if self.options.collects { lists.versions() as u64 } else { kept() };
            let aborted = stats.aborted.iter_mut().zip(&slot.counts.aborted);
            aborted.for_each(|(sum, one)| *sum += one.load(Relaxed));
        }
        stats
    }

    /// Frees the dropped tables that no open transaction can have.
    fn free_tables(&self) {
        let horizon = self.slots.find_horizon();
        self.tables.free(|at| at < horizon);
    }
}
