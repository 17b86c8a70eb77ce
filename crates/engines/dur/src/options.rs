//! The knobs and the counters.

use crate::contention::Partition;
use crate::host::Meter;
use crate::line::Window;
use crate::slots::MOST_SLOTS;
use parts::bell::Threads;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// What the transactions of a node do while others are on their way through the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// They read what earlier ones have written speculatively (PXDUR; XDUR with [`Options::speculative`] 1).
    #[default]
    Speculative,
    /// They read committed rows only, and run again when they meet a row that one on its way will write (conflict-aware load
    /// balancing, the thesis' competitor). Turns, [`Options::speculative`] and [`Options::window`] have no effect. Source: thesis,
    /// chapter 4.
    ConflictAware,
}

/// The knobs. Every limit ends in a named error, or in a wait for room.
#[derive(Clone, Debug)]
pub struct Options {
    /// What transactions may read. Nodes may differ. Default: [`Policy::Speculative`].
    pub policy: Policy,
    /// Threads that execute procedures of the queue. Programs are executed by their callers. Default: 4.
    pub executors: usize,
    /// Transactions that execute at a time (the thesis' `MaxSpec`): 1 to 64. With 1, each reads what the one before has written
    /// (XDUR). Default: 4.
    pub speculative: usize,
    /// How transactions are admitted. Default: [`Window::Sets`].
    pub window: Window,
    /// Transactions that were admitted and not delivered, beyond which the next one waits. Default: 4,096.
    pub pending: usize,
    /// Transactions of one payload, at most. Default: 256.
    pub batch: usize,
    /// Bytes of one payload, at most; a transaction that is longer is refused. The order may allow less. Default: 1 MiB.
    pub payload_bytes: usize,
    /// Payloads on their way, at most; meanwhile the next one grows. Default: 8.
    pub payloads: usize,
    /// Procedures that wait to be executed; beyond it a submission waits. Default: 16,384.
    pub queue: usize,
    /// Longest key. Unit: bytes. Default: 8,192.
    pub key_bytes: u64,
    /// Longest row. Unit: bytes. Default: 1 MiB.
    pub row_bytes: u64,
    /// Rows that one transaction may write. Default: 1,000,000.
    pub write_set_rows: u64,
    /// Bytes of keys and rows that one transaction may write. Default: 64 MiB; see also [`Options::payload_bytes`].
    pub write_set_bytes: u64,
    /// Keys and ranges that one transaction may access. Default: 1,000,000.
    pub read_set: u64,
    /// Tables. The same on all nodes. Default: 1,000.
    pub tables: usize,
    /// Which node each object belongs to, the same on all nodes; without, no transaction is local. Default: none.
    pub partition: Option<Arc<dyn Partition>>,
    /// Whether local transactions that cannot have met a conflict are applied without validation: the commit optimization. Nodes may
    /// differ. Default: true.
    pub skips_validation: bool,
    /// Whether those are validated all the same, and the process stops if one would not have passed: for tests. Default: false.
    pub checks_skips: bool,
    /// Threads that the node runs on instead of the operating system's: for simulations. Default: none.
    pub threads: Option<Arc<dyn Threads>>,
    /// Who is told of the steps of transactions: for simulations and measurements. Default: none.
    pub meter: Option<Arc<dyn Meter>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            policy: Policy::Speculative,
            executors: 4,
            speculative: 4,
            window: Window::Sets,
            pending: 4096,
            batch: 256,
            payload_bytes: 1 << 20,
            payloads: 8,
            queue: 16_384,
            key_bytes: 8192,
            row_bytes: 1 << 20,
            write_set_rows: 1_000_000,
            write_set_bytes: 64 << 20,
            read_set: 1_000_000,
            tables: 1000,
            partition: None,
            skips_validation: true,
            checks_skips: false,
            threads: None,
            meter: None,
        }
    }
}

impl Options {
    pub(crate) fn within_bounds(self) -> Options {
        Options {
            executors: self.executors.max(1),
            speculative: self.speculative.clamp(1, MOST_SLOTS),
            pending: self.pending.max(1),
            batch: self.batch.max(1),
            payloads: self.payloads.max(1),
            queue: self.queue.max(1),
            ..self
        }
    }
}

/// Counters of a node since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Transactions of all nodes that were delivered here and committed.
    pub committed: u64,
    /// Transactions of all nodes that were delivered here and did not commit.
    pub refused: u64,
    /// Of those that committed, how many were not validated.
    pub skipped: u64,
    /// Attempts of this node that an earlier turn, or a transaction of another node, has overtaken; and those that met a row that is
    /// held, or have read what was changed before they held theirs.
    pub overtaken: u64,
    /// Transactions that were aborted before they were proposed, since one that they rest on was refused.
    pub cascaded: u64,
    /// Transactions of this node that were admitted and not delivered.
    pub open: u64,
    /// Keys in memory.
    pub objects: u64,
    /// The last place that is applied: what was delivered, committed or not, and definitions of tables.
    pub place: u64,
}

/// The counters. `Relaxed`: they publish nothing.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub committed: AtomicU64,
    pub refused: AtomicU64,
    pub skipped: AtomicU64,
    pub overtaken: AtomicU64,
    pub cascaded: AtomicU64,
}

impl Counts {
    pub fn count_decision(&self, committed: bool) {
        let counter = if committed { &self.committed } else { &self.refused };
        counter.fetch_add(1, Relaxed);
    }

    pub fn count_cascaded(&self) {
        self.cascaded.fetch_add(1, Relaxed);
    }

    pub fn stats(&self, open: u64, objects: u64, place: u64) -> Stats {
        Stats {
            committed: self.committed.load(Relaxed),
            refused: self.refused.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            overtaken: self.overtaken.load(Relaxed),
            cascaded: self.cascaded.load(Relaxed),
            open,
            objects,
            place,
        }
    }
}
