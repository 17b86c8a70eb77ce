//! One independently growing part of the index: the addresses of its buckets, and how a bucket is added.

use super::{
    super::{Entry, Insert, LeafCount, leaf::Latched, prefetch::prefetch},
    bucket::{Bucket, Tagged},
    key::{KeyHasher, Probe, goes_up, is_last_of_window, tag},
};
use crate::{
    CachePadded,
    epoch::Guard,
    memory::Meter,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::{
    ptr::{self, NonNull},
    sync::Arc,
};

/// The first segment has two to this many buckets.
const FIRST_BITS: u32 = 2;
/// The second segment is as large as the first, each later one as large as all before it: enough for 2^32 buckets.
const SEGMENTS: usize = 31;
/// A bucket is split for every so many entries. Of the buckets that wait for their split, the fullest hold up to
/// twice that on average, still less than their five slots.
const ENTRIES_PER_BUCKET: usize = 2;

pub(super) struct Shard<E: Entry> {
    /// Read by everybody, written once in `ENTRIES_PER_BUCKET` inserts.
    directory: CachePadded<Directory<E>>,
    /// Written by every insert and removal.
    tally: CachePadded<Tally>,
    /// Counts the shard and its buckets in use. Overflow blocks, a few for each hundred buckets, are not worth it.
    meter: Arc<Meter>,
}

struct Directory<E> {
    /// Number of buckets: at least the first segment's. Publishes, with `Release`, the segment of the
    /// newest bucket; loaded with `Acquire`.
    buckets: AtomicUsize,
    /// Null, or the first bucket of a segment. Published by `buckets`.
    segments: [AtomicPtr<Bucket<E>>; SEGMENTS],
}

/// The count of a bucket before and after a change, with a hash that it covers among so many buckets.
pub(super) type Recount = ((u64, u64), (u64, usize));

struct Tally {
    /// Number of entries.
    entries: AtomicUsize,
    /// Whether a thread is splitting a bucket. Its `Release` publishes the split to the next splitter's
    /// `Acquire`.
    growing: AtomicBool,
}

impl<E: Entry> Shard<E> {
    pub(super) fn new(meter: Arc<Meter>) -> Self {
        meter.charge(size_of::<Self>() + segment_len(0) * size_of::<Bucket<E>>());
        let segments = std::array::from_fn(|segment| match segment {
            0 => AtomicPtr::new(allocate(segment_len(0))),
            _ => AtomicPtr::new(ptr::null_mut()),
        });
        Self {
            directory: CachePadded::new(Directory { buckets: AtomicUsize::new(segment_len(0)), segments }),
            tally: CachePadded::new(Tally { entries: AtomicUsize::new(0), growing: AtomicBool::new(false) }),
            meter,
        }
    }

    /// Searches once without validation: an entry that is found is in the index (H1); a miss proves nothing.
    #[inline]
    pub(super) fn peek<'g>(&self, probe: &Probe<'_>, guard: &'g Guard) -> Option<&'g E> {
        let (home, bucket) = self.locate(probe.hash);
        Some(bucket.find(probe, tag(probe.hash, home.depth), guard)?.1)
    }

    /// The entry that `probe` looks for, or the certainty that there was none at one instant, after which, if `at`
    /// is given, every insert finds at least that stamp.
    pub(super) fn find<'g>(&self, probe: &Probe<'_>, guard: &'g Guard, at: Option<u64>) -> Option<&'g E> {
        loop {
            let (home, bucket) = self.locate(probe.hash);
            let seen = bucket.latch.begin();
            if let Some((_, entry)) = bucket.find(probe, tag(probe.hash, home.depth), guard) {
                return Some(entry);
            }
            let absent = self.home(probe.hash) == home
                && match at {
                    Some(at) => bucket.latch.stamp_and_validate(seen, at),
                    None => bucket.latch.validate(seen),
                };
            if absent {
                return None;
            }
        }
    }

    /// The entry that `probe` looks for, or the count of its bucket at which there is none.
    pub(super) fn find_or_count<'g>(&self, probe: &Probe<'_>, guard: &'g Guard) -> Result<&'g E, LeafCount> {
        loop {
            let (home, bucket) = self.locate(probe.hash);
            let seen = bucket.latch.begin();
            if let Some((_, entry)) = bucket.find(probe, tag(probe.hash, home.depth), guard) {
                return Ok(entry);
            }
            let count = bucket.latch.stamp();
            if self.home(probe.hash) == home && bucket.latch.validate(seen) {
                return Err(LeafCount(count));
            }
        }
    }

    /// The count now of the bucket that `probe` is assigned to.
    pub(super) fn count_of(&self, probe: &Probe<'_>) -> LeafCount {
        loop {
            let (home, bucket) = self.locate(probe.hash);
            let seen = bucket.latch.begin();
            let count = bucket.latch.stamp();
            if self.home(probe.hash) == home && bucket.latch.validate(seen) {
                return LeafCount(count);
            }
        }
    }

    /// Inserts an entry. If `COUNTED`, counts that in the bucket, and reports the count before and after, with a hash that the
    /// bucket covers among so many buckets.
    #[inline]
    pub(super) fn insert<'g, const COUNTED: bool>(
        &self,
        (probe, at): (&Probe<'_>, u64),
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
        report: &mut impl FnMut(Recount),
    ) -> Insert<'g, E> {
        let (bucket, tag, mut latched) = self.latch(probe.hash);
        if let Some((_, entry)) = bucket.find(probe, tag, guard) {
            return Insert::Exists(entry);
        }
        if latched.stamp() > at {
            return Insert::Stamped(latched.stamp());
        }
        let entry = Tagged::new(make(), tag);
        latched.change();
        bucket.place(entry, guard);
        if COUNTED {
            // The bucket is not split under its latch, so other buckets do not change what it covers.
            report((latched.count_change(), (probe.hash, self.buckets())));
        }
        // Relaxed: a count. Under the latch, so that the removal of this entry is counted after it.
        self.tally.entries.fetch_add(1, Relaxed);
        // SAFETY: in a slot, and the guard is pinned.
        Insert::Inserted(unsafe { entry.entry() }.expect("not null"))
    }

    #[inline]
    pub(super) fn remove<'g>(
        &self,
        probe: &Probe<'_>,
        guard: &'g Guard,
        decide: impl FnOnce(&'g E) -> Option<u64>,
    ) -> Option<NonNull<E>> {
        let (bucket, tag, mut latched) = self.latch(probe.hash);
        let (slot, entry) = bucket.find(probe, tag, guard)?;
        let stamp = decide(entry)?;
        let removed = slot.load().pointer();
        latched.change();
        latched.fold(stamp);
        slot.clear();
        self.tally.entries.fetch_sub(1, Relaxed);
        removed
    }

    pub(super) fn len(&self) -> usize {
        self.tally.entries.load(Relaxed)
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        let (_, bucket) = self.locate(hash);
        prefetch(ptr::from_ref(bucket), size_of::<Bucket<E>>());
    }

    #[inline]
    pub(super) fn prefetch_entry(&self, hash: u64) {
        let (home, bucket) = self.locate(hash);
        bucket.prefetch_entry(tag(hash, home.depth));
    }

    pub(super) fn drain(&mut self, take: &mut impl FnMut(NonNull<E>)) {
        for segment in 0..SEGMENTS {
            let first = self.directory.segments[segment].load(Relaxed);
            if !first.is_null() {
                // SAFETY: allocated with this length by `allocate`, and borrowed from `&mut self`.
                let buckets = unsafe { std::slice::from_raw_parts_mut(first, segment_len(segment)) };
                buckets.iter_mut().for_each(|bucket| bucket.drain(&mut *take));
            }
        }
        self.tally.entries.store(0, Relaxed);
    }
}

/// Finding and latching buckets.
impl<E: Entry> Shard<E> {
    /// The bucket that `hash` is assigned to at this moment.
    #[inline]
    pub(super) fn locate(&self, hash: u64) -> (AssignedBucket, &Bucket<E>) {
        let home = self.home(hash);
        (home, self.bucket(home.position))
    }

    /// Returns the bucket to which `hash` is assigned now. If a second call after the bucket's `begin` returns the same, it
    /// holds until the bucket's version changes (H2): a split stores the number of buckets before it unlatches the bucket.
    #[inline]
    pub(super) fn home(&self, hash: u64) -> AssignedBucket {
        AssignedBucket::of(hash, self.buckets())
    }

    /// Returns the number of buckets.
    #[inline]
    fn buckets(&self) -> usize {
        self.directory.buckets.load(Acquire)
    }

    /// The bucket at a position below the number of buckets, as that was loaded.
    #[inline]
    fn bucket(&self, position: usize) -> &Bucket<E> {
        let segment = segment_of(position);
        let offset = if segment == 0 { position } else { position - (1 << position.ilog2()) };
        // Relaxed: published by the number of buckets.
        let first = self.directory.segments[segment].load(Relaxed);
        debug_assert!(!first.is_null(), "H3");
        // SAFETY: the segment was allocated before any of its buckets was counted, has more than `offset` of them,
        // and is freed with the shard only (H3).
        unsafe { &*first.add(offset) }
    }

    /// Latches the bucket that `hash` is assigned to, and says what the hash's tag is there.
    #[inline]
    fn latch(&self, hash: u64) -> (&Bucket<E>, usize, Latched<'_>) {
        loop {
            let (home, bucket) = self.locate(hash);
            let latched = bucket.latch.latch().expect("H3");
            if self.home(hash) == home {
                return (bucket, tag(hash, home.depth), latched);
            }
        }
    }
}

/// Growing.
impl<E: Entry> Shard<E> {
    /// Returns whether there should be more buckets.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.len() > self.buckets() * ENTRIES_PER_BUCKET
    }

    /// Adds one bucket, unless somebody else is at it: then the next insert will see whether that was enough.
    #[cold]
    pub(super) fn grow<const COUNTED: bool>(
        &self,
        hasher: &KeyHasher,
        guard: &Guard,
        report: &mut impl FnMut(Recount),
    ) {
        if self.tally.growing.swap(true, Acquire) {
            return;
        }
        let position = self.buckets();
        if self.provide(position) {
            self.meter.charge(size_of::<Bucket<E>>());
            self.split_into::<COUNTED>(position, hasher, guard, report);
        }
        self.tally.growing.store(false, Release);
    }

    /// Sees to it that there is memory for the bucket at `position`. Says no at the limit of the directory, beyond
    /// which the buckets get longer instead of more.
    fn provide(&self, position: usize) -> bool {
        let Some(segment) = self.directory.segments.get(segment_of(position)) else {
            return false;
        };
        if segment.load(Relaxed).is_null() {
            segment.store(allocate(segment_len(segment_of(position))), Release);
        }
        true
    }

    /// Makes the bucket at `position` the next one, and moves to it what the bucket without the position's top bit
    /// holds of it. Only by who is growing the shard.
    fn split_into<const COUNTED: bool>(
        &self,
        position: usize,
        hasher: &KeyHasher,
        guard: &Guard,
        report: &mut impl FnMut(Recount),
    ) {
        let depth = position.ilog2();
        let (source, target) = (self.bucket(position - (1 << depth)), self.bucket(position));
        let mut low = source.latch.latch().expect("H3");
        let mut high = target.latch.latch().expect("H3");
        low.change();
        high.change();
        if COUNTED {
            report((low.count_change(), ((position - (1 << depth)) as u64, position)));
        }
        high.fold(low.stamp());
        // Before the entries move (H2): who looks for one in its new place too early waits for its latch.
        self.directory.buckets.store(position + 1, Release);
        for slot in source.slots(guard) {
            // SAFETY: in a slot, under the latch.
            let Some((entry, goes_up)) = (unsafe { resettle(slot.load(), depth, hasher) }) else { continue };
            if goes_up {
                target.place(entry, guard);
                slot.clear();
            } else {
                slot.put(entry);
            }
        }
        source.compact(guard);
    }
}

impl<E: Entry> Drop for Shard<E> {
    fn drop(&mut self) {
        self.drain(&mut |_| ());
        self.meter.credit(size_of::<Self>() + self.buckets() * size_of::<Bucket<E>>());
        for segment in 0..SEGMENTS {
            let first = self.directory.segments[segment].load(Relaxed);
            if !first.is_null() {
                // SAFETY: allocated with this length by `allocate`; nobody else has a reference to the shard.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(first, segment_len(segment))) });
            }
        }
    }
}

/// The bucket that a hash is assigned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AssignedBucket {
    /// The low `depth` bits of the hash.
    pub(super) position: usize,
    /// Number of bits that decide: one more once the bucket has been split.
    pub(super) depth: u32,
}

impl AssignedBucket {
    /// The home of `hash` among so many buckets.
    #[inline]
    pub(super) fn of(hash: u64, buckets: usize) -> Self {
        let (bits, low) = ((buckets - 1).ilog2(), hash as usize);
        let top = 1 << bits;
        let is_split = (low & (top - 1) | top) < buckets;
        let depth = bits + u32::from(is_split);
        Self { position: low & ((1 << depth) - 1), depth }
    }
}

/// Returns what becomes of the entry in a slot when its bucket, which `depth` bits decide, is split: its slot's new form, and
/// whether it goes to the new bucket. Looks at the entry itself only when its tag has to be taken anew.
///
/// # Safety
/// Same as [`Tagged::entry`].
unsafe fn resettle<E: Entry>(old: Tagged<E>, depth: u32, hasher: &KeyHasher) -> Option<(Tagged<E>, bool)> {
    let pointer = old.pointer()?;
    if !is_last_of_window(depth) {
        return Some((old, goes_up(old.tag(), depth)));
    }
    // SAFETY: this function's contract.
    let hash = hasher.probe(unsafe { old.entry() }?.key()).hash;
    Some((Tagged::new(pointer, tag(hash, depth + 1)), hash >> depth & 1 == 1))
}

/// Which segment the bucket at a position belongs to.
#[inline]
fn segment_of(position: usize) -> usize {
    (usize::BITS - (position >> FIRST_BITS).leading_zeros()) as usize
}

/// Returns the number of buckets of a segment.
fn segment_len(segment: usize) -> usize {
    1 << (FIRST_BITS as usize + segment.saturating_sub(1))
}

/// Empty buckets. The system's zeroed pages come when they are first touched, so a large segment is no stall.
#[cfg(not(any(loom, feature = "shuttle")))]
fn allocate<E: Entry>(buckets: usize) -> *mut Bucket<E> {
    let zeroed = Box::<[Bucket<E>]>::new_zeroed_slice(buckets);
    // SAFETY: a bucket consists of integers and pointers, for which zero is a value.
    Box::into_raw(unsafe { zeroed.assume_init() }).cast()
}

/// Empty buckets, one by one, since a model checker's atomics know where they were made.
#[cfg(any(loom, feature = "shuttle"))]
fn allocate<E: Entry>(buckets: usize) -> *mut Bucket<E> {
    Box::into_raw((0..buckets).map(|_| Bucket::<E>::new()).collect::<Box<[_]>>()).cast()
}
