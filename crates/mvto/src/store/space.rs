//! A space: an index of tuples.

use super::Tuple;
use crate::ownership::Ownership;
use model::Direction;
use parts::epoch::{self, Guard};
use parts::index::hash::HashCursor;
use parts::index::ordered::Cursor;
use parts::index::{Hash, Insert, Ordered};
use std::fmt;
use std::ops::Bound;
use std::ptr::NonNull;

/// A set of keys under the protocol.
pub enum Space {
    /// In order.
    Ordered(Ordered<Tuple>),
    /// By hash.
    Hash(Hash<Tuple>),
}

impl Space {
    /// The tuple of a key. No stamp is touched.
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g Tuple> {
        match self {
            Space::Ordered(index) => index.get(key, guard),
            Space::Hash(index) => index.get(key, guard),
        }
    }

    /// The tuple of a key; if there is none, the gap is stamped with `at` first, and then it is certain (M6).
    pub fn get_or_stamp<'g>(&self, key: &[u8], at: u64, guard: &'g Guard) -> Option<&'g Tuple> {
        match self {
            Space::Ordered(index) => index.get_or_stamp(key, at, guard),
            Space::Hash(index) => index.get_or_stamp(key, at, guard),
        }
    }

    /// Places a tuple, pinned once, if the key has none and nobody above `at` has seen the gap (M6).
    pub fn insert<'g>(&self, key: &[u8], at: u64, guard: &'g Guard, ownership: Ownership) -> Insert<'g, Tuple> {
        let make = || Tuple::allocate(key, ownership, 1);
        // SAFETY: `make` allocates a tuple with this key; tuples stay allocated until they are removed and then retired
        // through the epoch, or drained with the space.
        unsafe {
            match self {
                Space::Ordered(index) => index.insert(key, at, guard, make),
                Space::Hash(index) => index.insert(key, at, guard, make),
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
        match self {
            Space::Ordered(index) => index.remove(key, guard, decide),
            Space::Hash(index) => index.remove(key, guard, decide),
        }
    }

    /// Visits every tuple that is in the index all the while, a batch under each guard. Stamps nothing.
    pub fn for_each<E>(&self, mut visit: impl FnMut(&Tuple, &Guard) -> Result<(), E>) -> Result<(), E> {
        let mut ordered = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let mut hashed = HashCursor::default();
        let mut more = true;
        while more {
            let guard = epoch::pin();
            let mut batch = Vec::new();
            more = match self {
                Space::Ordered(index) => index.scan_leaf(&mut ordered, None, &guard, &mut batch),
                Space::Hash(index) => index.scan_batch(&mut hashed, &guard, &mut batch),
            };
            batch.into_iter().try_for_each(|tuple| visit(tuple, &guard))?;
        }
        Ok(())
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: the table is gone from every catalog, so no transaction, scan or garbage entry can reach its tuples.
        let free = |tuple| unsafe { Tuple::free(tuple) };
        match self {
            Space::Ordered(index) => index.drain().for_each(free),
            Space::Hash(index) => index.drain(free),
        }
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Ordered(_) => "Space::Ordered(..)",
            Space::Hash(_) => "Space::Hash(..)",
        })
    }
}
