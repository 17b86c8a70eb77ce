//! An index of the kind that a table asks for: ordered, or a hash table.

use super::hash::{HashCursor, KeyHash};
use super::ordered::Cursor;
use super::{Entry, Hash, Insert, KeyWidth, LeafChange, LeafCount, Ordered, hash};
use crate::epoch::{self, Guard};
use crate::memory::Meter;
use model::{Direction, Schema, Storage};
use std::ops::Bound;
use std::ptr::NonNull;
use std::sync::Arc;

/// The entries of a table by their keys. What only an ordered index can do, it says of each method.
pub enum AnyIndex<E: Entry> {
    /// In the order of the keys.
    Ordered(Ordered<E>),
    /// The same with nodes of four entries: tests make splits and merges common.
    Small(Ordered<E, 4>),
    /// Without an order.
    Hash(Hash<E>),
}

/// How far a walk over all entries has come.
pub enum Walk {
    /// In an ordered index.
    Ordered(Cursor),
    /// In a hash table.
    Hash(HashCursor),
}

/// Entries that a walk takes at a time from an ordered index, at most.
const WALKED_AT_ONCE: usize = 512;

/// Runs an expression on an ordered index, or another one on a hash table.
macro_rules! on {
    ($index:expr, $ordered:ident => $if_ordered:expr, $hash:ident => $if_hash:expr) => {
        match $index {
            AnyIndex::Ordered($ordered) => $if_ordered,
            AnyIndex::Small($ordered) => $if_ordered,
            AnyIndex::Hash($hash) => $if_hash,
        }
    };
    ($index:expr, $any:ident => $expression:expr) => {
        on!($index, $any => $expression, $any => $expression)
    };
}

impl<E: Entry> AnyIndex<E> {
    /// An empty index for the keys of a table. `has_small_nodes`: if it is ordered, its nodes hold four entries.
    pub fn new(schema: &Schema, has_small_nodes: bool) -> Self {
        Self::metered(schema, has_small_nodes, &Arc::default())
    }

    /// The same, whose nodes or buckets `meter` counts.
    pub fn metered(schema: &Schema, has_small_nodes: bool, meter: &Arc<Meter>) -> Self {
        let width = if schema.has_eight_byte_keys() { KeyWidth::Eight } else { KeyWidth::Any };
        match schema.storage() {
            Storage::Ordered if has_small_nodes => AnyIndex::Small(Ordered::with_fanout_metered(width, meter.clone())),
            Storage::Ordered => AnyIndex::Ordered(Ordered::metered(width, meter.clone())),
            Storage::Hash => AnyIndex::Hash(Hash::metered(width, hash::SHARDS, None, meter)),
        }
    }

    /// Returns whether its keys have an order.
    pub fn is_ordered(&self) -> bool {
        !matches!(self, AnyIndex::Hash(_))
    }

    /// The entry of a key.
    #[inline]
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g E> {
        on!(self, it => it.get(key, guard))
    }

    /// The hash of a key: the first step of a lookup in steps, see [`Hash::hash_of`]. An ordered index has one step only: the last.
    #[inline]
    pub fn hash_of(&self, key: &[u8]) -> KeyHash {
        on!(self, _it => KeyHash::default(), it => it.hash_of(key))
    }

    /// Asks for the bucket of a key.
    #[inline]
    pub fn prefetch_bucket(&self, hash: KeyHash) {
        on!(self, _it => (), it => it.prefetch_bucket(hash));
    }

    /// Asks for the entry of a key whose bucket is near.
    #[inline]
    pub fn prefetch_entry(&self, hash: KeyHash) {
        on!(self, _it => (), it => it.prefetch_entry(hash));
    }

    /// The entry of a key with this hash.
    #[inline]
    pub fn get_hashed<'g>(&self, key: &[u8], hash: KeyHash, guard: &'g Guard) -> Option<&'g E> {
        on!(self, it => it.get(key, guard), it => it.get_hashed(key, hash, guard))
    }

    /// The entry of a key; if there is none, the count of the leaf (or bucket) that would have it.
    ///
    /// # Errors
    /// The key is absent at that count.
    #[inline]
    pub fn get_or_count<'g>(&self, key: &[u8], guard: &'g Guard) -> Result<&'g E, LeafCount> {
        on!(self, it => it.get_or_count(key, guard))
    }

    /// The count now of the leaf (or bucket) that covers a key; without a key, of the first one.
    pub fn count_of(&self, key: Option<&[u8]>, guard: &Guard) -> LeafCount {
        on!(self, it => it.count_of(key, guard), it => it.count_of(key.unwrap_or_default()))
    }

    /// Puts the entry that `make` returns under `key`, unless the key is taken. `make` runs under the latch of the key's leaf.
    /// Leaves stamps out of account.
    ///
    /// # Errors
    /// It is: the entry that has it.
    ///
    /// # Safety
    /// Same as [`Ordered::insert`].
    #[inline]
    pub unsafe fn insert<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
    ) -> Result<&'g E, &'g E> {
        // SAFETY: the caller's promise.
        unstamped(unsafe { on!(self, it => it.insert(key, u64::MAX, guard, make)) })
    }

    /// The same, counted: see [`Ordered::insert_counted`].
    ///
    /// # Errors
    /// Same as [`Self::insert`].
    ///
    /// # Safety
    /// Same as [`Ordered::insert`].
    pub unsafe fn insert_counted<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
        changed: impl FnMut(LeafChange<'_>),
    ) -> Result<&'g E, &'g E> {
        // SAFETY: the caller's promise.
        unstamped(unsafe { on!(self, it => it.insert_counted(key, guard, make, changed)) })
    }

    /// Takes an entry out, to be retired by its owner. Returns whether it was there.
    #[must_use]
    pub fn remove(&self, key: &[u8], entry: NonNull<E>, guard: &Guard) -> bool {
        let is_it = |found: &E| std::ptr::addr_eq(found, entry.as_ptr()).then_some(0);
        on!(self, it => it.remove(key, guard, is_it)).is_some()
    }

    /// Puts the entries of the next leaf of a range into an empty batch, `most` at most. Returns whether more may follow.
    /// None without an order.
    pub fn scan_leaf<'g>(&self, cursor: &mut Cursor, most: usize, guard: &'g Guard, batch: &mut Vec<&'g E>) -> bool {
        on!(self, it => it.scan_leaf(cursor, None, most, guard, batch), _it => false)
    }

    /// The same; `note` is told the count of the leaf, and its lowest key.
    pub fn scan_leaf_counted<'g>(
        &self,
        cursor: &mut Cursor,
        most: usize,
        guard: &'g Guard,
        batch: &mut Vec<&'g E>,
        note: impl FnMut(LeafCount, Option<&[u8]>),
    ) -> bool {
        on!(self, it => it.scan_leaf_counted(cursor, most, guard, batch, note), _it => false)
    }

    /// Begins a walk over all entries.
    pub fn walk(&self) -> Walk {
        let all = || Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        on!(self, _it => Walk::Ordered(all()), _it => Walk::Hash(HashCursor::default()))
    }

    /// Puts the next entries of a walk that this index has begun into a batch. Returns whether more may follow. An entry that is in
    /// the index from the first batch to the last is visited once; one that comes or goes meanwhile, once at most.
    pub fn walk_on<'g>(&self, walk: &mut Walk, guard: &'g Guard, batch: &mut Vec<&'g E>) -> bool {
        match walk {
            Walk::Ordered(cursor) => self.scan_leaf(cursor, WALKED_AT_ONCE, guard, batch),
            Walk::Hash(cursor) => on!(self, _it => false, it => it.scan_batch(cursor, guard, batch)),
        }
    }

    /// Brings the entries of the first keys near, [`super::prefetch::SIDE_BY_SIDE`] of them, and shows them to `found`. A hint.
    pub fn prefetch_entries<'g>(&self, keys: &[impl AsRef<[u8]>], guard: &'g Guard, found: impl FnMut(&'g E)) {
        on!(self, it => it.prefetch_entries(keys, guard, found));
    }

    /// About how many keys lie between two bounds; `None` of some of those that have no order.
    pub fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        let is_whole = (lower, upper) == (Bound::Unbounded, Bound::Unbounded);
        on!(self, it => Some(it.estimate(lower, upper, &epoch::pin())), it => is_whole.then(|| it.len() as u64))
    }

    /// Some entries, `most` of them at most: from all over an ordered index, perhaps one several times; else from the first buckets that
    /// have any.
    pub fn sample<'g>(&self, most: usize, guard: &'g Guard) -> Vec<&'g E> {
        on!(self, it => it.sample(most, guard), it => {
            let (mut cursor, mut batch) = (HashCursor::default(), Vec::new());
            while batch.is_empty() && it.scan_batch(&mut cursor, guard, &mut batch) {}
            batch.truncate(most);
            batch
        })
    }

    /// Returns the number of entries. Exact while no thread inserts or removes.
    pub fn len(&self) -> usize {
        on!(self, it => it.len(&epoch::pin()), it => it.len())
    }

    /// Returns whether there are no entries, as exactly as [`Self::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Empties the index and hands every entry to `take`, for the owner to free.
    pub fn drain(&mut self, take: impl FnMut(NonNull<E>)) {
        on!(self, it => it.drain().for_each(take), it => it.drain(take));
    }
}

fn unstamped<E>(inserted: Insert<'_, E>) -> Result<&E, &E> {
    match inserted {
        Insert::Inserted(entry) => Ok(entry),
        Insert::Exists(entry) => Err(entry),
        Insert::Stamped(_) => unreachable!("no stamp is above the greatest"),
    }
}

impl<E: Entry> std::fmt::Debug for AnyIndex<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_ordered() { "ordered" } else { "hash" })
    }
}
