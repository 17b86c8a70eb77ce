//! Workers: what a transaction works with, kept from one transaction to the next, so that a steady load allocates
//! nothing.

use crate::epochs::Epochs;
use crate::epochs::Slot;
use crate::reclaim::{Garbage, Lists};
use crate::record::RecordRef;
use crate::store::TableRef;
use crate::tid::{Tid, Word};
use crate::write_set::WriteSet;
use crate::{Options, Reason};
use model::{Key, Limit, LimitKind, Result, RowBuf, TableId};
use parts::index::{LeafChange, LeafCount};
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parts::sync::{Arc, Mutex, MutexGuard};
use parts::{CachePadded, threads};
use std::sync::PoisonError;

/// Places where workers wait for the next transaction. Threads with the same number modulo this share one.
const SHELVES: usize = 64;
/// Entries of a set, and bytes of rows, whose memory is kept from one transaction to the next.
const KEPT_ENTRIES: usize = 4096;
const KEPT_BYTES: usize = 1 << 20;

/// Set in the numbers by which open transactions are named: no TID has it.
const OWN_NAMES: u64 = 1 << 63;

/// A record that was read, with its word of that instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub record: RecordRef,
    pub word: Word,
    pub table: TableId,
}

/// A leaf of an index (or a bucket) in which keys were found absent, at its count of that instant.
#[derive(Debug)]
pub(crate) struct LeafRead {
    pub table: TableRef,
    pub place: Place,
    pub count: LeafCount,
}

/// Which part of a leaf matters, and how the leaf is found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One key.
    Key(Key),
    /// The whole leaf whose lowest key this is; `None`: the first one.
    From(Option<Key>),
}

/// Buffers and identity of one transaction at a time.
#[derive(Debug)]
pub(crate) struct Worker {
    pub slot: Arc<Slot>,
    pub counts: Arc<Counts>,
    shelf: usize,
    /// Tells its transactions from those of all workers.
    number: u64,
    /// The greatest TID that it has given (S4).
    pub last: Tid,
    /// The greatest TID among the records that the transaction has read.
    pub seen: Tid,
    pub reads: Vec<Read>,
    pub leaves: Vec<LeafRead>,
    pub writes: WriteSet,
    /// The entries of the write set that change something, in the order of their records' addresses.
    pub locked: Vec<u32>,
    /// Records that its transaction leaves to be looked after.
    pub garbage: Vec<Garbage>,
    /// A row before it is shown or changed.
    pub row: RowBuf,
    /// A row after it was changed.
    pub changed: RowBuf,
    pub batch: Vec<RecordRef>,
    pub own: Vec<u32>,
}

/// Ended transactions of one worker. `Relaxed`: written by its thread only, and added up for statistics.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub committed: AtomicU64,
    pub aborted: [AtomicU64; Reason::ALL.len()],
    pub snapshots: AtomicU64,
}

/// Counts one more. By the only writer.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Worker {
    pub fn new(number: u64, shelf: usize, slot: Arc<Slot>, counts: Arc<Counts>) -> Worker {
        Worker {
            slot,
            counts,
            shelf,
            number: OWN_NAMES | number << 40,
            last: Tid::ZERO,
            seen: Tid::ZERO,
            reads: Vec::new(),
            leaves: Vec::new(),
            writes: WriteSet::default(),
            locked: Vec::new(),
            garbage: Vec::new(),
            row: RowBuf::new(),
            changed: RowBuf::new(),
            batch: Vec::new(),
            own: Vec::new(),
        }
    }

    /// The number of the next transaction.
    pub fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Returns how many transactions it has had.
    pub fn ended(&self) -> u64 {
        self.number & ((1 << 40) - 1)
    }

    /// Notes a record that was read.
    #[inline]
    pub fn note(&mut self, record: RecordRef, word: Word, table: TableId) {
        self.seen = self.seen.max(word.tid());
        self.reads.push(Read { record, word, table });
    }

    /// Fails if the read set is full.
    #[inline]
    pub fn check_room(&self, options: &Options) -> Result<()> {
        let read = (self.reads.len() + self.leaves.len()) as u64;
        if read < options.read_set {
            return Ok(());
        }
        Err(Limit { kind: LimitKind::ReadSet, limit: options.read_set, actual: read + 1 }.into())
    }

    /// Empties the sets for the next transaction.
    pub fn clear(&mut self) {
        self.seen = Tid::ZERO;
        empty(&mut self.reads, KEPT_ENTRIES);
        empty(&mut self.leaves, KEPT_ENTRIES);
        self.writes.clear(KEPT_ENTRIES, KEPT_BYTES);
        empty(&mut self.locked, KEPT_ENTRIES);
    }
}

/// Empties a list, and gives back the memory of an unusually long one.
#[inline]
pub(crate) fn empty<T>(list: &mut Vec<T>, kept: usize) {
    list.clear();
    if list.capacity() > kept {
        list.shrink_to(kept);
    }
}

impl Place {
    /// A key of the leaf; `None`: it is the first one.
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            Place::Key(key) => Some(key),
            Place::From(low) => low.as_deref(),
        }
    }
}

/// Takes a change that the transaction itself has made to a leaf into what it remembers of it: a count that was right
/// until then becomes the count after. One that another transaction has changed before stays, and will fail (S5). Returns
/// whether there was one.
pub(crate) fn follow(leaves: &mut Vec<LeafRead>, table: TableRef, change: &LeafChange<'_>) -> bool {
    let mut follows = false;
    for at in 0..leaves.len() {
        let leaf = &leaves[at];
        let is_it = leaf.count == change.before && leaf.table.id == table.id && (change.covered)(leaf.place.key());
        if !is_it {
            continue;
        }
        follows = true;
        leaves[at].count = change.after;
        if let (Place::From(_), Some(low)) = (&leaves[at].place, change.split) {
            leaves.push(LeafRead { table, place: Place::From(Some(Key::from_bytes(low))), count: change.after });
        }
    }
    follows
}

/// Workers between transactions, and how many are not.
#[derive(Debug)]
pub(crate) struct Shelves(Box<[CachePadded<Shelf>]>);

#[derive(Debug, Default)]
struct Shelf {
    idle: Mutex<Idle>,
    /// Transactions that began here and are open.
    open: AtomicU64,
}

#[derive(Debug, Default)]
struct Idle {
    #[expect(clippy::vec_box, reason = "a worker is moved by its address: it is several hundred bytes")]
    workers: Vec<Box<Worker>>,
    lists: Lists,
}

impl Shelves {
    pub fn new() -> Shelves {
        Shelves((0..SHELVES).map(|_| CachePadded::default()).collect())
    }

    /// Takes an idle worker, or has one made for a shelf.
    ///
    /// # Errors
    /// [`LimitKind::Transactions`]. Exact while no two threads begin at once.
    pub fn take(&self, limit: u64, make: impl FnOnce(usize) -> Box<Worker>) -> Result<Box<Worker>> {
        let number = threads::number() % SHELVES;
        let shelf = &self.0[number];
        let open = shelf.open.fetch_add(1, Relaxed) + 1;
        if open > limit / SHELVES as u64 {
            let actual = self.open();
            if actual > limit {
                shelf.open.fetch_sub(1, Relaxed);
                return Err(Limit { kind: LimitKind::Transactions, limit, actual }.into());
            }
        }
        let idle = shelf.idle().workers.pop();
        Ok(idle.unwrap_or_else(|| make(number)))
    }

    /// Puts a worker back, and reclaims some of what the transactions of its shelf have left.
    pub fn put(&self, mut worker: Box<Worker>, epochs: &Epochs) {
        let shelf = &self.0[worker.shelf];
        let mut idle = shelf.idle();
        idle.lists.tend(&mut worker.garbage, epochs);
        idle.workers.push(worker);
        drop(idle);
        shelf.open.fetch_sub(1, Relaxed);
    }

    /// Returns the number of open transactions.
    pub fn open(&self) -> u64 {
        self.0.iter().map(|shelf| shelf.open.load(Relaxed)).sum()
    }

    /// Visits what transactions have left.
    pub fn each_list(&self, mut visit: impl FnMut(&mut Lists)) {
        self.0.iter().for_each(|shelf| visit(&mut shelf.idle().lists));
    }
}

impl Shelf {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
