//! A space: an index of tuples.

use super::Tuple;
use crate::ownership::Ownership;
use model::{Direction, Key};
use parts::epoch::{self, Guard};
use parts::index::hash::HashCursor;
use parts::index::ordered::Cursor;
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::index::{Entry, Hash, Insert, KeyWidth, Ordered};
use parts::memory::Meter;
use parts::sync::atomic::{AtomicUsize, Ordering};
use std::fmt;
use std::ops::Bound;
use std::ptr::NonNull;
use std::sync::Arc;

/// A set of keys under the protocol.
pub struct Space {
    index: Index,
    /// Counts tuples, versions and the index's nodes.
    meter: Arc<Meter>,
    /// Length of a row that a tuple was made for last. Relaxed: advice.
    usual_row: AtomicUsize,
}

/// No row has been seen yet.
const NO_ROW: usize = usize::MAX;

enum Index {
    Ordered(Ordered<Tuple>),
    Hash(Hash<Tuple>),
}

/// Parts of a hash-stored table that grow and are latched apart.
const HASH_SHARDS: usize = 64;
/// Tuples whose sizes tell those of all.
const WEIGHED: usize = 16;

impl Space {
    /// An empty space in the order of its keys.
    pub fn in_order(width: KeyWidth, meter: &Arc<Meter>) -> Space {
        Space::new(Index::Ordered(Ordered::metered(width, meter.clone())), meter)
    }

    /// An empty space by hash, with a seed of its own unless one is given.
    pub fn by_hash(width: KeyWidth, seed: Option<u64>, meter: &Arc<Meter>) -> Space {
        Space::new(Index::Hash(Hash::metered(width, HASH_SHARDS, seed, meter)), meter)
    }

    fn new(index: Index, meter: &Arc<Meter>) -> Space {
        Space { index, meter: meter.clone(), usual_row: AtomicUsize::new(NO_ROW) }
    }

    /// The index, if it has an order.
    pub fn ordered(&self) -> Option<&Ordered<Tuple>> {
        match &self.index {
            Index::Ordered(index) => Some(index),
            Index::Hash(_) => None,
        }
    }

    /// Returns the meter that counts its memory.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The tuple of a key. No stamp is touched.
    #[inline]
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g Tuple> {
        match &self.index {
            Index::Ordered(index) => index.get(key, guard),
            Index::Hash(index) => index.get(key, guard),
        }
    }

    /// The tuple of a key; if there is none, the gap is stamped with `at` first, and then it is certain (M6).
    #[inline]
    pub fn get_or_stamp<'g>(&self, key: &[u8], at: u64, guard: &'g Guard) -> Option<&'g Tuple> {
        match &self.index {
            Index::Ordered(index) => index.get_or_stamp(key, at, guard),
            Index::Hash(index) => index.get_or_stamp(key, at, guard),
        }
    }

    /// Brings the tuples of the first [`SIDE_BY_SIDE`](parts::index::prefetch::SIDE_BY_SIDE) keys near, and their newest versions:
    /// a hint for reads that follow. The keys fit the space's width.
    pub fn prefetch(&self, keys: &[impl AsRef<[u8]>], guard: &Guard) {
        let mut tuples = [None; SIDE_BY_SIDE];
        let mut places = tuples.iter_mut();
        let mut found = |tuple| places.next().into_iter().for_each(|place| *place = Some(tuple));
        match &self.index {
            Index::Ordered(index) => index.prefetch_entries(keys, guard, &mut found),
            Index::Hash(index) => index.prefetch_entries(keys, guard, &mut found),
        }
        tuples.into_iter().flatten().for_each(Tuple::prefetch_newest);
    }

    /// Places a tuple, pinned once, if the key has none and nobody above `at` has seen the gap (M6). It is made for a row of the
    /// length `row`; if that is not known yet, for one like the last.
    pub fn insert<'g>(
        &self,
        key: &[u8],
        at: u64,
        guard: &'g Guard,
        ownership: Ownership,
        row: Option<usize>,
    ) -> Insert<'g, Tuple> {
        let row = self.expect_row(row);
        let inserted = self.place(key, at, guard, || Tuple::allocate(key, ownership, 1, row));
        if let Insert::Inserted(tuple) = &inserted {
            self.meter.charge(tuple.own_size());
        }
        inserted
    }

    fn expect_row(&self, row: Option<usize>) -> Option<usize> {
        let usual = self.usual_row.load(Ordering::Relaxed);
        match row {
            None => Some(usual).filter(|&usual| usual != NO_ROW),
            Some(row) => {
                if row != usual {
                    self.usual_row.store(row, Ordering::Relaxed);
                }
                Some(row)
            }
        }
    }

    fn place<'g>(
        &self,
        key: &[u8],
        at: u64,
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<Tuple>,
    ) -> Insert<'g, Tuple> {
        // SAFETY: `insert` makes a tuple with this key; tuples stay allocated until they are removed and then retired
        // through the epoch, or drained with the space.
        unsafe {
            match &self.index {
                Index::Ordered(index) => index.insert(key, at, guard, make),
                Index::Hash(index) => index.insert(key, at, guard, make),
            }
        }
    }

    /// Removes the tuple of a key if `decide` gives the stamp to leave behind.
    pub fn remove<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        decide: impl FnOnce(&'g Tuple) -> Option<u64>,
    ) -> Option<NonNull<Tuple>> {
        match &self.index {
            Index::Ordered(index) => index.remove(key, guard, decide),
            Index::Hash(index) => index.remove(key, guard, decide),
        }
    }

    /// Visits every tuple that is in the index all the while, a batch under each guard. Stamps nothing.
    pub fn for_each<E>(&self, mut visit: impl FnMut(&Tuple, &Guard) -> Result<(), E>) -> Result<(), E> {
        let mut walk = self.walk();
        while !walk.is_finished {
            walk.batch(|batch, guard| batch.iter().try_for_each(|tuple| visit(tuple, guard)))?;
        }
        Ok(())
    }

    /// About how many tuples lie between two bounds; `None` of some of those that have no order. Stamps nothing.
    pub fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        match (&self.index, lower, upper) {
            (Index::Ordered(index), ..) => Some(index.estimate(lower, upper, &epoch::pin())),
            (Index::Hash(index), Bound::Unbounded, Bound::Unbounded) => Some(index.len() as u64),
            (Index::Hash(_), ..) => None,
        }
    }

    /// Keys of some tuples from all over the index, if it has an order. Stamps nothing.
    pub fn sample(&self, most: usize) -> Vec<Key> {
        let guard = epoch::pin();
        let tuples = self.ordered().map(|index| index.sample(most, &guard)).unwrap_or_default();
        tuples.into_iter().map(|tuple| Key::from_bytes(tuple.key())).collect()
    }

    /// About how many bytes the tuples take with their versions, from the sizes of some of them. Stamps nothing.
    pub fn estimate_bytes(&self) -> u64 {
        let guard = epoch::pin();
        let tuples = match &self.index {
            Index::Ordered(index) => index.sample(WEIGHED, &guard),
            Index::Hash(index) => {
                let mut batch = Vec::new();
                let mut cursor = HashCursor::default();
                while batch.len() < WEIGHED && index.scan_batch(&mut cursor, &guard, &mut batch) {}
                batch
            }
        };
        let sizes: Vec<u64> = tuples.iter().take(WEIGHED).map(|tuple| tuple.size_about() as u64).collect();
        let tuples =
            self.estimate(Bound::Unbounded, Bound::Unbounded).unwrap_or_default().max(sizes.len().min(1) as u64);
        tuples.saturating_mul(sizes.iter().sum::<u64>()) / (sizes.len() as u64).max(1)
    }

    /// Begins a walk over all tuples.
    pub fn walk(&self) -> SpaceWalk<'_> {
        let ordered = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        SpaceWalk { space: self, ordered, hashed: HashCursor::default(), is_finished: false }
    }
}

/// A walk over every tuple that is in the index all the while, a batch at a time: no guard is held in between.
pub struct SpaceWalk<'a> {
    space: &'a Space,
    ordered: Cursor,
    hashed: HashCursor,
    /// There are no more batches.
    pub is_finished: bool,
}

impl SpaceWalk<'_> {
    /// Visits the next batch, under a guard of its own. Stamps nothing.
    pub fn batch<R>(&mut self, visit: impl FnOnce(&[&Tuple], &Guard) -> R) -> R {
        let guard = epoch::pin();
        let mut batch = Vec::new();
        let more = match &self.space.index {
            Index::Ordered(index) => index.scan_leaf(&mut self.ordered, None, usize::MAX, &guard, &mut batch),
            Index::Hash(index) => index.scan_batch(&mut self.hashed, &guard, &mut batch),
        };
        self.is_finished = !more;
        visit(&batch, &guard)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let meter = &self.meter;
        let free = |tuple: NonNull<Tuple>| {
            // SAFETY: the table is gone from every catalog, so no transaction, scan or garbage entry can reach its tuples.
            unsafe {
                meter.credit(tuple.as_ref().size_with_versions());
                Tuple::free(tuple);
            }
        };
        match &mut self.index {
            Index::Ordered(index) => index.drain().for_each(free),
            Index::Hash(index) => index.drain(free),
        }
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.index {
            Index::Ordered(_) => "Space::Ordered(..)",
            Index::Hash(_) => "Space::Hash(..)",
        })
    }
}
