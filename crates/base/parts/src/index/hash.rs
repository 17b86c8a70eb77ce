//! A hash index: point reads without a latch, and a stamp in each bucket for the keys that were found absent.
//!
//! Entries hang in buckets of one cache line, and a read of a key that is there costs the line of its bucket and the
//! entry itself; it takes no latch and confirms no version. A read that finds nothing must be sure of it, so it goes
//! by the bucket's [`StampedLatch`](super::leaf::StampedLatch), as a leaf of the ordered index does.
//!
//! ```text
//! hash of a key  = [ shard: 6 bits | bucket: the others, the lowest first; the tag is taken from the next ones ]
//! shard          = how many buckets, where they are
//! bucket (64 B)  = [ version | stamp | overflow | slot x 5 ]      slot = [ tag | address of the entry ]
//! ```
//!
//! **It grows by one bucket at a time** (linear hashing), so no insert ever pays for more than the split of one
//! bucket and now and then the allocation of a segment of empty ones. Bucket `n` takes from bucket `n` without its
//! top bit the entries whose hash has that bit. Segments double in size and never move, so a reader can hold on to a
//! bucket without a pin, and nothing but overflow blocks is ever retired while the index lives. It never shrinks.
//! A shard is made for the first key that is put there, or found absent for good, so that a small table has few.
//!
//! Invariants:
//! - **H1** An entry is in the index while its address is in a slot, and it is in the slots of one bucket only, the
//!   one that the number of buckets assigns to its hash, except under both latches of a split.
//! - **H2** The number of buckets changes under the latch of the bucket that it splits, before its entries move:
//!   a reader that has begun to read a bucket, and then finds the key still assigned to it, looks in the right place until
//!   the bucket's version changes.
//! - **H3** A bucket never retires, and its address never changes.
//! - **H4** Addresses of entries fit in 48 bits; the tag is above them, and odd, so that no empty slot matches it.
//! - **H5** A shard that is not there yet has no entry, no stamp and no count.
//!
//! Source: linear hashing is Litwin, "Linear hashing: a new tool for file and table addressing", 1980.

mod bucket;
mod key;
mod scan;
mod shard;

use self::{
    key::{KeyHasher, Probe, shard_of},
    shard::{AssignedBucket, Shard},
};
use super::{Entry, Insert, KeyWidth, LeafChange, LeafCount, prefetch::SIDE_BY_SIDE};
use crate::{epoch::Guard, memory::Meter, sync::OnceLock};
use std::{
    hash::{BuildHasher, RandomState},
    ptr::NonNull,
    sync::Arc,
};

pub use self::scan::HashCursor;

/// Default number of independently growing parts.
pub(super) const SHARDS: usize = 64;

/// An index from keys to entries for point access. It never frees an entry.
///
/// The guards given to its methods come from [`crate::epoch::pin`]. The closures that run under a bucket's latch
/// must be short and must not call into the same index.
///
/// # Panics
/// Every method that takes a key, if the index is for keys of eight bytes and this one has another length.
pub struct Hash<E: Entry> {
    hasher: KeyHasher,
    /// A power of two of them, chosen by the hash's top bits (H5).
    shards: Box<[LazyShard<E>]>,
    meter: Arc<Meter>,
}

type LazyShard<E> = OnceLock<Box<Shard<E>>>;

/// Hash of a key in one index: the first step of a lookup in steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyHash(u64);

impl<E: Entry> Hash<E> {
    /// An empty index, hashing by a seed of its own from the system's randomness: who chooses the keys cannot choose
    /// their buckets.
    pub fn new(width: KeyWidth) -> Self {
        Self::metered(width, SHARDS, None, &Arc::default())
    }

    /// Creates an empty index of at least `shards` shards (rounded up to a power of two), hashing by `seed`: for runs that
    /// must repeat exactly.
    ///
    /// # Panics
    /// If `shards` is zero or more than 64.
    pub fn with_shape(width: KeyWidth, shards: usize, seed: u64) -> Self {
        Self::metered(width, shards, seed, &Arc::default())
    }

    /// Same as [`Self::with_shape`], or with a random seed of the system; `meter` counts the bytes of its buckets.
    ///
    /// # Panics
    /// Same as [`Self::with_shape`].
    pub fn metered(width: KeyWidth, shards: usize, seed: impl Into<Option<u64>>, meter: &Arc<Meter>) -> Self {
        assert!((1..=SHARDS).contains(&shards), "between 1 and {SHARDS} shards");
        let seed = seed.into().unwrap_or_else(|| RandomState::new().hash_one(0_u64));
        let shards: Box<[LazyShard<E>]> = (0..shards.next_power_of_two()).map(|_| OnceLock::new()).collect();
        meter.charge(size_of_val(&*shards));
        if cfg!(any(loom, feature = "shuttle")) {
            // Models do not see what `OnceLock` orders, nor that it waits: theirs have all shards from the beginning.
            for shard in &shards {
                shard.get_or_init(|| Box::new(Shard::new(meter.clone())));
            }
        }
        Self { hasher: KeyHasher::new(width, seed), shards, meter: meter.clone() }
    }

    /// The entry of `key`, if there is one. Absence is certain for one instant during the call, but leaves no trace:
    /// see [`Self::get_or_stamp`].
    #[inline]
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g E> {
        let probe = self.hasher.probe(key);
        let shard = self.shard(&probe)?;
        shard.peek(&probe, guard).or_else(|| shard.find(&probe, guard, None))
    }

    /// The entry of `key`, or the promise that every insert of `key` from here on finds its bucket stamped with at
    /// least `at`.
    #[inline]
    pub fn get_or_stamp<'g>(&self, key: &[u8], at: u64, guard: &'g Guard) -> Option<&'g E> {
        let probe = self.hasher.probe(key);
        let shard = self.shard_or_new(&probe);
        shard.peek(&probe, guard).or_else(|| shard.find(&probe, guard, Some(at)))
    }

    /// The entry of `key`; if there is none, the count of its bucket. Writes nothing.
    ///
    /// # Errors
    /// The key is absent at that count.
    #[inline]
    pub fn get_or_count<'g>(&self, key: &[u8], guard: &'g Guard) -> Result<&'g E, LeafCount> {
        let probe = self.hasher.probe(key);
        let shard = self.shard_or_new(&probe);
        shard.peek(&probe, guard).map_or_else(|| shard.find_or_count(&probe, guard), Ok)
    }

    /// The count now of the bucket that `key` is assigned to.
    pub fn count_of(&self, key: &[u8]) -> LeafCount {
        let probe = self.hasher.probe(key);
        self.shard_or_new(&probe).count_of(&probe)
    }

    /// Puts the entry that `make` returns under `key`, unless the key is taken or was found absent above `at`.
    ///
    /// `make` is called at most once, under the bucket's latch, and only if its entry then goes into the index.
    ///
    /// # Safety
    /// `make` returns a pointer to an entry whose key is `key`, and the entry stays valid and shared until it has
    /// been removed and every guard that was pinned at the removal is gone (free it by [`Guard::defer_unchecked`]
    /// or later), or until the index is no longer used.
    ///
    /// # Panics
    /// If the entry's address takes more than 48 bits (H4).
    #[inline]
    pub unsafe fn insert<'g>(
        &self,
        key: &[u8],
        at: u64,
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
    ) -> Insert<'g, E> {
        let probe = self.hasher.probe(key);
        let shard = self.shard_or_new(&probe);
        let inserted = shard.insert::<false>((&probe, at), guard, make, &mut |_| {});
        if matches!(inserted, Insert::Inserted(_)) && shard.is_crowded() {
            shard.grow::<false>(&self.hasher, guard, &mut |_| {});
        }
        inserted
    }

    /// Puts the entry that `make` returns under `key`, unless the key is taken, and counts that in the bucket, as well as the split
    /// that may follow. Reports each change of a count. For indexes whose readers remember counts and raise no stamp.
    ///
    /// # Safety
    /// Same as [`Self::insert`].
    ///
    /// # Panics
    /// Same as [`Self::insert`].
    #[inline]
    pub unsafe fn insert_counted<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
        mut changed: impl FnMut(LeafChange<'_>),
    ) -> Insert<'g, E> {
        let probe = self.hasher.probe(key);
        let shard = self.shard_or_new(&probe);
        let mut report = |(before, after), (hash, buckets): (u64, usize)| {
            let home = AssignedBucket::of(hash, buckets);
            let covers = |key: &[u8]| {
                let other = self.hasher.probe(key);
                self.number_of(other.hash) == self.number_of(probe.hash)
                    && AssignedBucket::of(other.hash, buckets) == home
            };
            let covered = |key: Option<&[u8]>| key.is_some_and(covers);
            changed(LeafChange { before: LeafCount(before), after: LeafCount(after), covered: &covered, split: None });
        };
        let inserted = shard.insert::<true>((&probe, u64::MAX), guard, make, &mut |change| report(change.0, change.1));
        if matches!(inserted, Insert::Inserted(_)) && shard.is_crowded() {
            shard.grow::<true>(&self.hasher, guard, &mut |change| report(change.0, change.1));
        }
        inserted
    }

    /// Takes the entry of `key` out of the index if `decide` says so, and returns it to be retired by its owner.
    ///
    /// `decide` runs under the bucket's latch. If it returns a stamp, the entry goes, and every insert of the key
    /// from here on finds its bucket stamped with at least that.
    #[inline]
    pub fn remove<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        decide: impl FnOnce(&'g E) -> Option<u64>,
    ) -> Option<NonNull<E>> {
        let probe = self.hasher.probe(key);
        self.shard(&probe)?.remove(&probe, guard, decide)
    }

    /// Appends the entries of the next few buckets (some hundreds of entries) to `batch`, and returns whether there
    /// is more to come. Start with a default cursor; each batch may be taken under a guard of its own.
    ///
    /// An entry that is in the index from the first batch to the last is visited exactly once, whatever else is
    /// inserted and however the index grows; one that comes or goes meanwhile is visited at most once.
    pub fn scan_batch<'g>(&self, cursor: &mut HashCursor, guard: &'g Guard, batch: &mut Vec<&'g E>) -> bool {
        cursor.advance(&self.shards, guard, batch)
    }

    /// Returns the number of entries. Exact while no thread inserts or removes.
    pub fn len(&self) -> usize {
        self.shards.iter().filter_map(OnceLock::get).map(|shard| shard.len()).sum()
    }

    /// Returns whether there are no entries, as exactly as [`Self::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks the processor to fetch the bucket of `key` now, for an operation on it soon.
    #[inline]
    pub fn prefetch(&self, key: &[u8]) {
        self.prefetch_bucket(self.hash_of(key));
    }

    /// The hash of a key. A lookup in steps, each some other lookups after the one before so that their misses overlap, is this, then
    /// [`Self::prefetch_bucket`], [`Self::prefetch_entry`] and [`Self::get_hashed`].
    #[inline]
    pub fn hash_of(&self, key: &[u8]) -> KeyHash {
        KeyHash(self.hasher.probe(key).hash)
    }

    /// Asks for the bucket of a key.
    #[inline]
    pub fn prefetch_bucket(&self, hash: KeyHash) {
        self.shard_of(hash.0).inspect(|shard| shard.prefetch(hash.0));
    }

    /// Asks for the first line of the entry that a key may have, whose bucket is near. Looks at no entry.
    #[inline]
    pub fn prefetch_entry(&self, hash: KeyHash) {
        self.shard_of(hash.0).inspect(|shard| shard.prefetch_entry(hash.0));
    }

    /// As [`Self::get`], with the key's hash.
    #[inline]
    pub fn get_hashed<'g>(&self, key: &[u8], hash: KeyHash, guard: &'g Guard) -> Option<&'g E> {
        let probe = self.hasher.probe_hashed(key, hash.0);
        let shard = self.shard(&probe)?;
        shard.peek(&probe, guard).or_else(|| shard.find(&probe, guard, None))
    }

    /// Brings the entries of the first [`SIDE_BY_SIDE`] keys near, and their buckets, and shows them to `found`. A hint for lookups
    /// that follow: no key is confirmed to be there or not, nor is a trace left.
    ///
    /// # Panics
    /// As every method that takes a key.
    pub fn prefetch_entries<'g>(&self, keys: &[impl AsRef<[u8]>], guard: &'g Guard, mut found: impl FnMut(&'g E)) {
        let keys = &keys[..keys.len().min(SIDE_BY_SIDE)];
        keys.iter().for_each(|key| self.prefetch(key.as_ref()));
        let mut entries = [None; SIDE_BY_SIDE];
        for (entry, key) in entries.iter_mut().zip(keys) {
            let probe = self.hasher.probe(key.as_ref());
            *entry = self.shard(&probe).and_then(|shard| shard.peek(&probe, guard));
        }
        entries.into_iter().flatten().for_each(&mut found);
    }

    /// Empties the index and hands every entry to `take`, for the owner to free.
    pub fn drain(&mut self, mut take: impl FnMut(NonNull<E>)) {
        self.shards.iter_mut().filter_map(OnceLock::get_mut).for_each(|shard| shard.drain(&mut take));
    }

    #[inline]
    fn shard(&self, probe: &Probe<'_>) -> Option<&Shard<E>> {
        self.shard_of(probe.hash)
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> Option<&Shard<E>> {
        self.shards[self.number_of(hash)].get().map(|shard| &**shard)
    }

    /// The shard of a key that is put there, or whose absence leaves a trace.
    #[inline]
    fn shard_or_new(&self, probe: &Probe<'_>) -> &Shard<E> {
        self.shards[self.number_of(probe.hash)].get_or_init(|| Box::new(Shard::new(self.meter.clone())))
    }

    #[inline]
    fn number_of(&self, hash: u64) -> usize {
        shard_of(hash, self.shards.len())
    }
}

impl<E: Entry> Drop for Hash<E> {
    fn drop(&mut self) {
        self.meter.credit(size_of_val(&*self.shards));
    }
}
