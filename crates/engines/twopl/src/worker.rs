//! Workers: what a transaction works with, kept from one transaction to the next, so that a steady load allocates
//! nothing and writes to nothing that other threads read.

use crate::doors::Mark;
use crate::locks::{Owner, latch};
use crate::record::RecordRef;
use crate::store::{Catalog, TableRef};
use model::{Limit, LimitKind, Result, RowBuf, Timestamp};
use parts::sync::Mutex;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parts::{CachePadded, threads};
use std::ops::Range;
use std::sync::Arc;

/// Places where workers wait for the next transaction. Threads with the same number modulo this share one.
const SHELVES: usize = 64;
/// Ages that a shelf takes from the shared counter at once. So many transactions of a thread, at most, are taken for older
/// than they are: those of a thread that was idle meanwhile.
const AGES_AT_ONCE: u64 = 64;
/// Entries of a list, and bytes of rows, whose memory is kept from one transaction to the next.
const KEPT_ENTRIES: usize = 4096;
const KEPT_BYTES: usize = 1 << 20;

/// A change that can be taken back.
#[derive(Debug)]
pub(crate) struct Undo {
    pub record: RecordRef,
    /// Where the row before the change begins, in the worker's bytes; it goes on to the next entry's.
    pub start: usize,
    pub had_row: bool,
    /// Whether the transaction had changed the row before.
    pub was_changed: bool,
}

/// Lists and identity of one transaction at a time.
#[derive(Debug)]
pub(crate) struct Worker {
    pub owner: Arc<Owner>,
    shelf: usize,
    /// The tables that the transaction may have met: the last catalog is the newest.
    pub catalogs: Vec<Arc<Catalog>>,
    /// Each locked record once.
    pub locked: Vec<(TableRef, RecordRef)>,
    /// The table of each locked range.
    pub ranges: Vec<TableRef>,
    /// Undo log, oldest first: each changed record with its row before the transaction's first change of it and, once there has
    /// been a savepoint, before every change.
    pub undo: Vec<Undo>,
    /// The rows of the undo log, one after the other.
    pub before: Vec<u8>,
    /// Open savepoints, oldest first.
    pub savepoints: Vec<Mark>,
    /// A row while it is changed.
    pub row: RowBuf,
}

impl Worker {
    pub fn new(owner: Arc<Owner>, shelf: usize) -> Worker {
        Worker {
            owner,
            shelf,
            catalogs: Vec::new(),
            locked: Vec::new(),
            ranges: Vec::new(),
            undo: Vec::new(),
            before: Vec::new(),
            savepoints: Vec::new(),
            row: RowBuf::new(),
        }
    }

    /// Returns the number of records and ranges that the transaction has locked.
    #[inline]
    pub fn locks(&self) -> u64 {
        (self.locked.len() + self.ranges.len()) as u64
    }

    /// The table of a number, as of the newest catalog.
    #[inline]
    pub fn table(&self, number: usize) -> Option<TableRef> {
        self.catalogs.last()?.tables.get(number)?.as_ref().map(TableRef::of)
    }

    /// Makes room for the next transaction. The newest catalog stays.
    fn clear(&mut self) {
        empty(&mut self.locked, KEPT_ENTRIES);
        empty(&mut self.undo, KEPT_ENTRIES);
        empty(&mut self.before, KEPT_BYTES);
        self.savepoints.clear();
        empty(self.row.bytes_mut(), KEPT_BYTES);
        if self.catalogs.len() > 1 {
            self.catalogs.drain(..self.catalogs.len() - 1);
        }
    }
}

fn empty<T>(list: &mut Vec<T>, kept: usize) {
    list.clear();
    if list.capacity() > kept {
        list.shrink_to(kept);
    }
}

/// Workers between transactions, and how many are not.
#[derive(Debug)]
pub(crate) struct Shelves {
    shelves: Box<[CachePadded<Shelf>]>,
    /// Ages that were given to shelves.
    ages: CachePadded<AtomicU64>,
}

/// The counts are written under the latch, and read without it. `Relaxed`: they publish nothing.
#[derive(Debug, Default)]
struct Shelf {
    idle: Mutex<Idle>,
    /// Transactions that began here and are open.
    open: AtomicU64,
    /// Transactions that began here and have committed.
    committed: AtomicU64,
}

#[derive(Debug, Default)]
struct Idle {
    #[expect(clippy::vec_box, reason = "a worker is moved by its address: it is a few hundred bytes")]
    workers: Vec<Box<Worker>>,
    /// Ages that have been taken from the counter and not been given to a transaction.
    ages: Range<u64>,
}

fn add(counter: &AtomicU64, difference: u64) -> u64 {
    let sum = counter.load(Relaxed).wrapping_add(difference);
    counter.store(sum, Relaxed);
    sum
}

impl Shelves {
    pub fn new() -> Shelves {
        Shelves { shelves: (0..SHELVES).map(|_| CachePadded::default()).collect(), ages: CachePadded::default() }
    }

    /// Takes an idle worker, or has one made for a shelf, and the next age, unless the transaction has one.
    ///
    /// # Errors
    /// [`LimitKind::Transactions`]. Exact while no two threads begin at once.
    pub fn take(
        &self,
        limit: u64,
        age: Option<Timestamp>,
        make: impl FnOnce(usize) -> Box<Worker>,
    ) -> Result<(Box<Worker>, Timestamp)> {
        let number = threads::number() % SHELVES;
        let shelf = &self.shelves[number];
        let mut idle = latch(&shelf.idle);
        if add(&shelf.open, 1) > limit / SHELVES as u64 {
            let actual = self.open();
            if actual > limit {
                add(&shelf.open, 1_u64.wrapping_neg());
                return Err(Limit { kind: LimitKind::Transactions, limit, actual }.into());
            }
        }
        let age = age.unwrap_or_else(|| self.next_age(&mut idle.ages));
        let worker = idle.workers.pop();
        drop(idle);
        Ok((worker.unwrap_or_else(|| make(number)), age))
    }

    /// The next age of a shelf: younger than all that it gave before, and than all that the others gave before they took
    /// their present ones.
    fn next_age(&self, ages: &mut Range<u64>) -> Timestamp {
        if ages.is_empty() {
            // Relaxed: the numbers differ, which is all that they say.
            let taken = self.ages.fetch_add(AGES_AT_ONCE, Relaxed);
            *ages = taken + 1..taken + 1 + AGES_AT_ONCE;
        }
        Timestamp(ages.next().expect("just filled"))
    }

    /// Puts a worker back. Its catalog goes unless it is of this version, so that dropped tables are freed.
    pub fn put(&self, mut worker: Box<Worker>, has_committed: bool, version: &AtomicU64) {
        worker.clear();
        let shelf = &self.shelves[worker.shelf];
        let mut idle = latch(&shelf.idle);
        add(&shelf.open, 1_u64.wrapping_neg());
        add(&shelf.committed, u64::from(has_committed));
        // Relaxed: whoever has changed the version visits the shelves later, under their latches.
        if worker.catalogs.last().is_some_and(|catalog| catalog.version != version.load(Relaxed)) {
            worker.catalogs.clear();
        }
        idle.workers.push(worker);
    }

    /// Takes the catalogs of idle workers away, after the version has changed.
    pub fn forget_catalogs(&self) {
        for shelf in &self.shelves {
            latch(&shelf.idle).workers.iter_mut().for_each(|worker| worker.catalogs.clear());
        }
    }

    /// Returns the number of open transactions.
    pub fn open(&self) -> u64 {
        self.shelves.iter().map(|shelf| shelf.open.load(Relaxed)).sum()
    }

    /// Returns the number of committed transactions.
    pub fn committed(&self) -> u64 {
        self.shelves.iter().map(|shelf| shelf.committed.load(Relaxed)).sum()
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn ages_are_never_given_twice_and_grow_on_each_thread() {
        let shelves = Shelves::new();
        let draw = |ages: &mut Range<u64>| shelves.next_age(ages).0;
        let (mut one, mut other) = (0..0, 0..0);
        let first: Vec<u64> = (0..AGES_AT_ONCE + 1).map(|_| draw(&mut one)).collect();
        let second: Vec<u64> = (0..AGES_AT_ONCE + 1).map(|_| draw(&mut other)).collect();
        assert!(first.is_sorted() && second.is_sorted() && first[0] == 1);
        assert!(second.iter().all(|age| !first.contains(age)));
    }
}
