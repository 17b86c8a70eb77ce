//! The order: one counter gives start and commit timestamps, and the recently committed are found by theirs.
//!
//! Source: sections 2.1, 2.3 and 2.7. The global section draws a number, puts the writer into its place and nothing
//! else: validation, the log and publishing come after it, beside those of others.

use crate::writer::{Commit, Write, Writer};
use parts::CachePadded;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use parts::sync::{Mutex, MutexGuard, OnceLock};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// Commits that a validation takes at once.
const TAKEN_AT_ONCE: usize = 64;

/// The counter, and who has drawn what from it.
#[derive(Debug)]
pub(crate) struct Order {
    /// The timestamp that was drawn last. The writers of all up to it say so, and are among the recent (Y2).
    last: CachePadded<AtomicU64>,
    /// The global section: those that have drawn a commit timestamp, the oldest first.
    recent: CachePadded<Mutex<VecDeque<Arc<Commit>>>>,
}

/// A commit timestamp that was drawn.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub commit: Arc<Commit>,
    /// Those that have drawn theirs since the transaction started: the first of them, if they are many.
    pub others: Vec<Arc<Commit>>,
    /// Whether somebody sleeps until the writer goes on.
    pub is_awaited: bool,
}

impl Order {
    /// An order in which nothing has happened after `last`.
    pub fn new(last: u64) -> Order {
        Order { last: CachePadded::new(AtomicU64::new(last)), recent: CachePadded::default() }
    }

    /// The timestamp that was drawn last: whoever starts there sees all that has committed (Y2).
    #[inline]
    pub fn now(&self) -> u64 {
        self.last.load(SeqCst)
    }

    /// Draws a timestamp that no writer has: the start of a transaction that claims a place of its own.
    pub fn draw(&self) -> u64 {
        let _section = self.enter();
        let at = self.last.load(Relaxed) + 1;
        self.last.store(at, SeqCst);
        at
    }

    /// Draws the commit timestamp of a transaction.
    pub fn draw_for(&self, writer: Arc<Writer>, writes: Vec<Write>, start: u64) -> Drawn {
        let mut recent = self.enter();
        let at = self.last.load(Relaxed) + 1;
        let is_awaited = writer.status.decides(at);
        let others = after(&recent, start);
        let commit = Arc::new(Commit { at, writer, writes });
        assert!(recent.back().is_none_or(|last| last.at < at), "Y1: timestamps rise");
        recent.push_back(commit.clone());
        self.last.store(at, SeqCst);
        drop(recent);
        Drawn { commit, others, is_awaited }
    }

    /// Shows the commits whose timestamps lie between two, both left out, until `visit` returns false. `known` are the first of them.
    pub fn between(&self, mut known: Vec<Arc<Commit>>, end: u64, mut visit: impl FnMut(&Commit) -> bool) {
        while let Some(last) = known.last() {
            let (last, is_all) = (last.at, known.len() < TAKEN_AT_ONCE);
            if !known.iter().take_while(|commit| commit.at < end).all(|commit| visit(commit)) || is_all || last >= end {
                return;
            }
            known = self.since(last);
        }
    }

    /// The first commits after a timestamp.
    pub fn since(&self, start: u64) -> Vec<Arc<Commit>> {
        after(&self.enter(), start)
    }

    /// Forgets the commits at or below a timestamp: no transaction that has started before it will validate.
    pub fn forget(&self, until: u64) {
        let mut recent = self.enter();
        let over = recent.iter().take(TAKEN_AT_ONCE).take_while(|commit| commit.at <= until).count();
        let over: Vec<_> = recent.drain(..over).collect();
        drop(recent);
        drop(over); // What they wrote, outside of the section.
    }

    /// Returns the number of commits that are remembered.
    pub fn remembered(&self) -> u64 {
        self.enter().len() as u64
    }

    fn enter(&self) -> MutexGuard<'_, VecDeque<Arc<Commit>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn after(recent: &VecDeque<Arc<Commit>>, start: u64) -> Vec<Arc<Commit>> {
    // Those that a short transaction has missed are few, and the last ones.
    if recent.back().is_none_or(|last| last.at <= start) {
        return Vec::new();
    }
    let first = recent.partition_point(|commit| commit.at <= start);
    recent.range(first..).take(TAKEN_AT_ONCE).cloned().collect()
}

/// The places of open transactions: below the lowest nobody reads.
#[derive(Debug)]
pub(crate) struct Starts {
    chunks: Box<[OnceLock<Chunk>]>,
    used: AtomicU64,
}

type Chunk = Box<[CachePadded<AtomicU64>]>;
/// A model checker would have to explore a look at each.
const CHUNK: usize = if cfg!(loom) { 2 } else { 64 };
/// A slot without a transaction.
const IDLE: u64 = u64::MAX;
/// Set in the slots of transactions that will never validate.
const READS_ONLY: u64 = 1;

impl Starts {
    /// Room for so many transactions.
    pub fn new(limit: u64) -> Starts {
        let chunks = (0..limit.div_ceil(CHUNK as u64) + 1).map(|_| OnceLock::new()).collect();
        Starts { chunks, used: AtomicU64::new(0) }
    }

    /// A slot that nobody has; `None` if there is no room for more.
    pub fn add(&self) -> Option<u64> {
        let slot = self.used.fetch_add(1, SeqCst);
        if slot as usize >= self.chunks.len() * CHUNK {
            self.used.fetch_sub(1, SeqCst);
            return None;
        }
        self.chunks[slot as usize / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| CachePadded::new(AtomicU64::new(IDLE))).collect());
        Some(slot)
    }

    fn slot(&self, slot: u64) -> &AtomicU64 {
        &self.chunks[slot as usize / CHUNK].get().expect("made when the slot was given")[slot as usize % CHUNK]
    }

    /// Enters a transaction, before it learns its start: which is this or later (Y5).
    pub fn enter(&self, slot: u64, from: u64, reads_only: bool) {
        self.slot(slot).store(from << 1 | u64::from(reads_only), SeqCst);
    }

    pub fn leave(&self, slot: u64) {
        self.slot(slot).store(IDLE, SeqCst);
    }

    /// Enters a transaction, and only then draws its start, or takes the last commit's (Y5).
    #[inline]
    pub fn start(&self, slot: u64, order: &Order, claims: bool, reads_only: bool) -> u64 {
        self.enter(slot, order.now(), reads_only);
        fence_of_loom();
        if claims { order.draw() } else { order.now() }
    }

    /// The lowest start of an open transaction, and of one that may still validate; at most the counter, which is read first.
    pub fn lowest(&self, order: &Order) -> Lowest {
        let now = order.now();
        fence_of_loom();
        let mut lowest = Lowest { any: now, writing: now };
        let used = self.used.load(SeqCst) as usize;
        for chunk in self.chunks.iter().take(used.div_ceil(CHUNK)) {
            for slot in chunk.get().into_iter().flatten() {
                let entry = slot.load(SeqCst);
                if entry == IDLE {
                    continue;
                }
                lowest.any = lowest.any.min(entry >> 1);
                if entry & READS_ONLY == 0 {
                    lowest.writing = lowest.writing.min(entry >> 1);
                }
            }
        }
        lowest
    }
}

/// Orders accesses of two words that are sequentially consistent anyway: loom takes them for acquire and release.
#[inline]
fn fence_of_loom() {
    if cfg!(loom) {
        parts::sync::fence(SeqCst);
    }
}

/// The lowest starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowest {
    pub any: u64,
    pub writing: u64,
}
