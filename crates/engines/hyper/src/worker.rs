//! Workers: what a transaction works with, kept from one transaction to the next; and the versions that ended ones leave.

use crate::Reason;
use crate::alone::Replaced;
use crate::collect::Collectable;
use crate::predicates::PredicateLog;
use crate::undo::Undo;
use crate::writer::{Commit, Write, Writer};
use model::{Limit, LimitKind, RowBuf};
use parts::memory::Meter;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parts::sync::{Mutex, MutexGuard};
use parts::{CachePadded, threads};
use smallvec::SmallVec;
use std::collections::{TryReserveError, VecDeque};
use std::sync::{Arc, PoisonError};

/// Places where workers wait for the next transaction. Threads with the same number modulo this share one.
const SHELVES: usize = 64;
/// Undo entries that a worker keeps for its next writes.
const KEPT_ENTRIES: usize = 256;
/// Bytes of an image that is kept with its entry.
const KEPT_BYTES: usize = 1024;
/// Writers whose versions one end of a transaction collects at most.
const COLLECTED_AT_ONCE: usize = 8;
/// Writes for which a worker keeps the room.
const KEPT_WRITES: usize = 1024;

/// Buffers of one transaction at a time.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Where its start is known to others ([`crate::order::Starts`]).
    pub slot: u64,
    shelf: usize,
    /// Tells its transactions from those of all workers, where starts do not.
    pub number: u64,
    pub writes: Vec<Write>,
    /// No transaction that is validated from now on has started below: of its last look at the starts.
    pub validated: u64,
    pub log: PredicateLog,
    #[expect(clippy::vec_box, reason = "entries move between chains and here by their addresses")]
    spare: Vec<Box<Undo>>,
    /// In the mode of single versions, what the writes have replaced.
    pub replaced: Replaced,
    pub before: RowBuf,
    pub after: RowBuf,
    /// A redo record, or the first part of a large one; and the write with which the next part begins.
    pub record: Vec<u8>,
    pub next_part: Option<usize>,
    pub counts: Arc<Counts>,
    /// Bytes of entries and writes that it has made, less those that it has freed, which the meter does not have yet.
    pub made: isize,
}

/// Ended transactions of one worker. `Relaxed`: written by its thread only, and added up for statistics.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub committed: AtomicU64,
    pub read_only: AtomicU64,
    pub aborted: [AtomicU64; Reason::ALL.len()],
    /// Writes of others that were tested against its predicates.
    pub tested: AtomicU64,
    /// Transactions that committed with predicates, and the bytes of their logs.
    pub logged: AtomicU64,
    pub logged_bytes: AtomicU64,
}

/// Counts more. By the only writer.
#[inline]
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

impl Worker {
    pub fn new(slot: u64, shelf: usize, counts: Arc<Counts>) -> Worker {
        Worker {
            slot,
            shelf,
            number: 0,
            writes: Vec::new(),
            validated: 0,
            log: PredicateLog::default(),
            spare: Vec::new(),
            replaced: Replaced::default(),
            before: RowBuf::new(),
            after: RowBuf::new(),
            record: Vec::new(),
            next_part: None,
            counts,
            made: 0,
        }
    }

    /// Has the meter count what was made.
    pub fn count_made(&mut self, meter: &Meter) {
        let made = std::mem::take(&mut self.made);
        if made != 0 {
            meter.add(made);
        }
    }

    /// Makes room for one more write: all of them are one piece of memory.
    ///
    /// # Errors
    /// The system has no such piece.
    #[inline]
    pub fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.writes.try_reserve(1)
    }

    /// Notes a write.
    #[inline]
    pub fn push(&mut self, write: Write) {
        self.made += write.memory() as isize;
        self.writes.push(write);
    }

    /// Takes the last write back.
    pub fn pop(&mut self) -> Option<Write> {
        let write = self.writes.pop()?;
        self.made -= write.memory() as isize;
        Some(write)
    }

    /// An undo entry for the next write.
    #[inline]
    pub fn entry(&mut self, writer: &Arc<Writer>) -> Box<Undo> {
        match self.spare.pop() {
            Some(mut undo) => {
                undo.writer = Some(writer.clone());
                undo
            }
            None => {
                self.made += size_of::<Undo>() as isize;
                Box::new(Undo::of(writer))
            }
        }
    }

    /// Counts the log of predicates of a transaction that commits.
    #[inline]
    pub fn count_log(&self) {
        if !self.log.is_empty() {
            count(&self.counts.logged, 1);
            count(&self.counts.logged_bytes, self.log.bytes() as u64);
        }
    }

    /// Undo entries, and writes for which there is room, that it has for the next transaction.
    #[cfg(test)]
    pub fn kept(&self) -> (usize, usize) {
        (self.spare.len(), self.writes.capacity())
    }

    /// Forgets its writes, and the room of very many.
    pub fn clear_writes(&mut self) {
        self.writes.clear();
        self.writes.shrink_to(KEPT_WRITES);
        self.replaced.shrink();
    }

    /// Keeps the room of a forgotten commit's writes for the next ones, if nobody else has it.
    pub fn keep_room(&mut self, commit: Arc<Commit>) {
        if self.writes.capacity() == 0
            && let Some(Commit { mut writes, .. }) = Arc::into_inner(commit)
            && writes.capacity() <= KEPT_WRITES
        {
            writes.clear();
            self.writes = writes;
        }
    }

    /// Keeps the entries of a chain for later writes.
    pub fn keep(&mut self, chain: Option<Box<Undo>>) {
        let mut next = chain;
        while let Some(mut undo) = next {
            next = undo.older.take();
            undo.writer = None;
            if self.spare.len() < KEPT_ENTRIES && undo.image.memory() <= KEPT_BYTES {
                self.spare.push(undo);
            } else {
                self.made -= undo.memory() as isize;
            }
        }
    }

    /// Frees what it keeps for its next writes.
    fn free_spare(&mut self, meter: &Meter) {
        self.made -= self.spare.drain(..).map(|undo| undo.memory()).sum::<usize>() as isize;
        self.count_made(meter);
    }
}

/// Workers between transactions, and how many are not.
#[derive(Debug)]
pub(crate) struct Shelves(Box<[CachePadded<Shelf>]>);

#[derive(Debug, Default)]
struct Shelf {
    idle: Mutex<Idle>,
    /// Commits in `idle`'s garbage. `Relaxed`: who reads it too early leaves them to the next one.
    waiting: AtomicU64,
    /// Transactions that began here and are open. `Relaxed`: changed under the latch, and added up as a bound.
    open: AtomicU64,
}

#[derive(Debug, Default)]
struct Idle {
    #[expect(clippy::vec_box, reason = "a worker is moved by its address: it is several hundred bytes")]
    workers: Vec<Box<Worker>>,
    /// Committed writers whose versions may still be read, the oldest first.
    garbage: VecDeque<Arc<Commit>>,
}

impl Shelves {
    pub fn new() -> Shelves {
        Shelves((0..SHELVES).map(|_| CachePadded::default()).collect())
    }

    /// Takes an idle worker, or has one made for a shelf. Once as many are made as can be, takes one of another shelf.
    ///
    /// # Errors
    /// [`LimitKind::Transactions`]. Exact while no two threads begin at once.
    pub fn take(&self, limit: u64, make: impl FnOnce(usize) -> Option<Box<Worker>>) -> model::Result<Box<Worker>> {
        // A limit of one is exact: its transactions share a latch.
        let number = if limit == 1 { 0 } else { threads::number() % SHELVES };
        let shelf = &self.0[number];
        let mut idle = shelf.idle();
        let open = shelf.open.load(Relaxed) + 1;
        let actual = if open > limit / SHELVES as u64 { self.open() + 1 } else { open };
        let is_free = actual <= limit;
        let mut worker = if is_free { idle.workers.pop().or_else(|| make(number)) } else { None };
        if worker.is_some() {
            shelf.open.store(open, Relaxed);
        } else if is_free {
            drop(idle);
            worker = self.take_elsewhere(number);
        }
        worker.ok_or_else(|| Limit { kind: LimitKind::Transactions, limit, actual: actual.max(limit + 1) }.into())
    }

    /// Moves an idle worker of another shelf to this one, for a transaction that begins: the threads of that one may be gone.
    fn take_elsewhere(&self, number: usize) -> Option<Box<Worker>> {
        // One latch at a time: two may look for workers on each other's shelves.
        let mut worker = self.0.iter().find_map(|shelf| shelf.idle().workers.pop())?;
        worker.shelf = number;
        let shelf = &self.0[number];
        let _idle = shelf.idle();
        shelf.open.store(shelf.open.load(Relaxed) + 1, Relaxed);
        Some(worker)
    }

    /// Takes the commit whose versions a worker leaves. Returns commits of its shelf whose versions are over, and by what bounds:
    /// the caller collects them.
    pub fn leave(
        &self,
        worker: &Worker,
        left: Option<Arc<Commit>>,
        collectable: impl FnOnce() -> Collectable,
    ) -> Option<(SmallVec<[Arc<Commit>; 1]>, Collectable)> {
        let shelf = &self.0[worker.shelf];
        let is_alone = shelf.waiting.load(Relaxed) == 0;
        if is_alone && left.is_none() {
            return None;
        }
        let collectable = collectable();
        if is_alone
            && let Some(commit) = &left
            && is_over(commit, collectable)
        {
            return Some((left.into_iter().collect(), collectable));
        }
        let mut idle = shelf.idle();
        idle.garbage.extend(left);
        Some((shelf.take_over(&mut idle, collectable), collectable))
    }

    /// Puts a worker back.
    pub fn put(&self, worker: Box<Worker>) {
        let shelf = &self.0[worker.shelf];
        let mut idle = shelf.idle();
        idle.workers.push(worker);
        shelf.open.store(shelf.open.load(Relaxed) - 1, Relaxed);
    }

    /// Returns the number of open transactions.
    pub fn open(&self) -> u64 {
        self.0.iter().map(|shelf| shelf.open.load(Relaxed)).sum()
    }

    /// Takes all writers whose versions are over.
    pub fn take_all_over(&self, collectable: Collectable) -> Vec<Arc<Commit>> {
        let mut all = Vec::new();
        for shelf in &self.0 {
            loop {
                let over = shelf.take_over(&mut shelf.idle(), collectable);
                if over.is_empty() {
                    break;
                }
                all.extend(over);
            }
        }
        all
    }

    /// Returns how many writers wait to be collected.
    pub fn garbage(&self) -> u64 {
        self.0.iter().map(|shelf| shelf.idle().garbage.len() as u64).sum()
    }

    /// The commits whose versions are kept, and how many rows each has changed.
    pub fn kept(&self) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        for shelf in &self.0 {
            all.extend(shelf.idle().garbage.iter().map(|commit| (commit.at, commit.writes.len() as u64)));
        }
        all
    }

    /// Frees what idle workers keep for their next writes.
    pub fn free_spare(&self, meter: &Meter) {
        for shelf in &self.0 {
            shelf.idle().workers.iter_mut().for_each(|worker| worker.free_spare(meter));
        }
    }
}

fn is_over(commit: &Commit, Collectable { bound, durable, .. }: Collectable) -> bool {
    commit.at <= bound && commit.writer.position() <= durable
}

impl Shelf {
    /// Takes the oldest commits out whose versions are over.
    fn take_over(&self, idle: &mut Idle, collectable: Collectable) -> SmallVec<[Arc<Commit>; 1]> {
        let garbage = &mut idle.garbage;
        let count = garbage.iter().take(COLLECTED_AT_ONCE).take_while(|commit| is_over(commit, collectable)).count();
        let over = garbage.drain(..count).collect();
        self.waiting.store(garbage.len() as u64, Relaxed);
        over
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
