//! Buckets: a latch with version and stamp, five slots, and a chain of overflow blocks.

use super::{
    super::{Entry, leaf::StampedLatch, prefetch::prefetch},
    key::{Probe, TAG_BITS},
};
use crate::{
    epoch::{self, Guard},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::ptr::{self, NonNull};

/// Slots of a bucket of one cache line.
const SLOTS: usize = 5;
/// Slots of an overflow block of one cache line.
const OVERFLOW_SLOTS: usize = 7;
/// Addresses are below this bit, tags above (H4).
const ADDRESS_BITS: u32 = usize::BITS - TAG_BITS;

const _: () = assert!(usize::BITS == 64, "tags live in the upper bits of 64-bit addresses");

/// The entries whose hashes are assigned to one position. Zeroed memory is an empty bucket.
#[repr(C, align(64))]
pub(super) struct Bucket<E> {
    pub(super) latch: StampedLatch,
    /// Published with `Release` by the holder of the latch, followed with `Acquire`.
    overflow: AtomicPtr<Overflow<E>>,
    slots: [Slot<E>; SLOTS],
}

/// More slots for a bucket that is full; unlinked and retired when the bucket is split.
#[repr(C, align(64))]
struct Overflow<E> {
    /// Written before the block is published.
    next: AtomicPtr<Overflow<E>>,
    slots: [Slot<E>; OVERFLOW_SLOTS],
}

/// The tagged address of an entry, or null. Stored with `Release` by the holder of the bucket's latch, to publish the
/// entry to readers, who load it with `Acquire`.
#[repr(transparent)]
pub(super) struct Slot<E>(AtomicPtr<E>);

/// Contents of a slot: the address of an entry, tagged.
#[derive(Debug)]
pub(super) struct Tagged<E>(*mut E);

impl<E> Clone for Tagged<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Tagged<E> {}

impl<E: Entry> Tagged<E> {
    /// The slot's form of `entry`.
    #[inline]
    pub(super) fn new(entry: NonNull<E>, tag: usize) -> Self {
        let entry = entry.as_ptr();
        assert!(entry.addr() >> ADDRESS_BITS == 0, "H4");
        Self(entry.map_addr(|address| address | tag << ADDRESS_BITS))
    }

    /// The tag, zero if there is no entry.
    #[inline]
    pub(super) fn tag(self) -> usize {
        self.0.addr() >> ADDRESS_BITS
    }

    /// The entry's address, null if there is none.
    #[inline]
    fn address(self) -> *mut E {
        self.0.map_addr(|address| address & ((1 << ADDRESS_BITS) - 1))
    }

    /// The entry, if there is one.
    ///
    /// # Safety
    /// The value was read from a slot while `'g`'s guard was pinned, or is in a slot of a bucket whose latch is held
    /// for `'g`: the contract of `Hash::insert` then keeps the entry valid.
    #[inline]
    pub(super) unsafe fn entry<'g>(self) -> Option<&'g E> {
        // SAFETY: null, or an entry that is valid by this function's contract and only ever shared.
        unsafe { self.address().as_ref() }
    }

    /// The entry's address, if there is an entry.
    pub(super) fn pointer(self) -> Option<NonNull<E>> {
        NonNull::new(self.address())
    }
}

impl<E: Entry> Slot<E> {
    fn empty() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(super) fn load(&self) -> Tagged<E> {
        Tagged(self.0.load(Acquire))
    }

    /// Stores an entry into a slot. Only under the latch.
    #[inline]
    pub(super) fn put(&self, entry: Tagged<E>) {
        self.0.store(entry.0, Release);
    }

    /// Empties the slot. Only under the latch.
    #[inline]
    pub(super) fn clear(&self) {
        // Release, so that whoever sees the slot empty also sees where a split has put the entry.
        self.0.store(ptr::null_mut(), Release);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        // Relaxed: asked under the latch, which orders it after every earlier store.
        self.0.load(Relaxed).is_null()
    }
}

impl<E: Entry> Bucket<E> {
    /// An empty bucket; the same as zeroed memory, for where that is no bucket (model checkers' atomics).
    #[cfg(any(loom, feature = "shuttle"))]
    pub(super) fn new() -> Self {
        let slots = std::array::from_fn(|_| Slot::empty());
        Self { latch: StampedLatch::new(0), overflow: AtomicPtr::new(ptr::null_mut()), slots }
    }

    /// The slot and the entry that `probe` looks for, by its tag in this bucket. Finding nothing means nothing until
    /// the bucket's version has been confirmed, or under its latch.
    #[inline]
    pub(super) fn find<'b, 'g: 'b>(
        &'b self,
        probe: &Probe<'_>,
        tag: usize,
        guard: &'g Guard,
    ) -> Option<(&'b Slot<E>, &'g E)> {
        find_in(&self.slots, probe, tag, guard).or_else(|| {
            if self.overflow.load(Acquire).is_null() {
                return None;
            }
            self.blocks().skip(1).find_map(|block| find_in(block, probe, tag, guard))
        })
    }

    /// Asks for the first lines of the entries with this tag, without a look at them. Those of overflow blocks are left out.
    #[inline]
    pub(super) fn prefetch_entry(&self, tag: usize) {
        for tagged in self.slots.iter().map(Slot::load).filter(|tagged| tagged.tag() == tag) {
            prefetch(tagged.address(), 1);
        }
    }

    /// Every slot, block by block.
    #[inline]
    pub(super) fn slots<'b>(&'b self, _: &'b Guard) -> impl Iterator<Item = &'b Slot<E>> {
        self.blocks().flatten()
    }

    /// The slots of the bucket, then those of each overflow block, newest first.
    ///
    /// The caller has a guard pinned, or the latch, or the whole index for itself: see the callers.
    #[inline]
    fn blocks<'b>(&'b self) -> impl Iterator<Item = &'b [Slot<E>]> {
        let mut next = Some(&self.overflow);
        std::iter::once(&self.slots[..]).chain(std::iter::from_fn(move || {
            // SAFETY: null, or a block that is freed only after it has been unlinked and the guards of that time
            // are gone (`compact`), or with the whole index.
            let block: &'b Overflow<E> = unsafe { next?.load(Acquire).as_ref() }?;
            next = Some(&block.next);
            Some(&block.slots[..])
        }))
    }

    /// Puts an entry into the first empty slot, of a new overflow block if need be. Only under the latch.
    pub(super) fn place(&self, entry: Tagged<E>, guard: &Guard) {
        match self.slots(guard).find(|slot| slot.is_empty()) {
            Some(slot) => slot.put(entry),
            None => self.overflow.store(Overflow::with(entry, self.overflow.load(Relaxed)), Release),
        }
    }

    /// Gathers what is left in overflow blocks into as few blocks as hold it, and retires the old ones. Only under
    /// the latch, and after the change was announced: readers that miss an entry on its way look again.
    pub(super) fn compact(&self, guard: &Guard) {
        let mut old = self.overflow.load(Relaxed);
        if old.is_null() {
            return;
        }
        self.overflow.store(ptr::null_mut(), Release);
        // SAFETY: blocks of this bucket's chain, which only the holder of the latch changes and retires.
        while let Some(block) = unsafe { old.as_ref() } {
            for slot in block.slots.iter().filter(|slot| !slot.is_empty()) {
                self.place(slot.load(), guard);
                slot.clear();
            }
            let next = block.next.load(Relaxed);
            // SAFETY: allocated by `Overflow::with`; just unlinked, so only who is pinned now can still look at it.
            unsafe { epoch::retire(guard, size_of::<Overflow<E>>(), move || drop(Box::from_raw(old))) };
            old = next;
        }
    }

    /// Hands out every entry and frees the overflow blocks, as nobody else is looking.
    pub(super) fn drain(&mut self, mut take: impl FnMut(NonNull<E>)) {
        for slot in self.blocks().flatten() {
            if let Some(entry) = slot.load().pointer() {
                take(entry);
            }
        }
        for slot in &self.slots {
            slot.clear();
        }
        let mut block = self.overflow.load(Relaxed);
        self.overflow.store(ptr::null_mut(), Relaxed);
        while !block.is_null() {
            // SAFETY: allocated by `Overflow::with`, and now reachable from here only.
            let owned = unsafe { Box::from_raw(block) };
            block = owned.next.load(Relaxed);
        }
    }
}

/// Compares all the tags first: which slot it is, is no branch to be mispredicted, so the processor can go on to the
/// next operation while the bucket's line is still on its way (absent keys among 1 M: 90 ns instead of 130).
#[inline]
fn find_in<'b, 'g: 'b, E: Entry>(
    slots: &'b [Slot<E>],
    probe: &Probe<'_>,
    tag: usize,
    _: &'g Guard,
) -> Option<(&'b Slot<E>, &'g E)> {
    let matches = |(place, slot): (usize, &Slot<E>)| usize::from(slot.load().tag() == tag) << place;
    let mut candidates = slots.iter().enumerate().map(matches).fold(0, |all, one| all | one);
    while candidates != 0 {
        let slot = &slots[candidates.trailing_zeros() as usize];
        // SAFETY: read under the guard. It may be another entry than the one whose tag matched, or none.
        if let Some(entry) = unsafe { slot.load().entry() }
            && probe.is_of(entry)
        {
            return Some((slot, entry));
        }
        candidates &= candidates - 1;
    }
    None
}

impl<E: Entry> Overflow<E> {
    /// A block of its own for one entry, in front of `next`.
    #[cold]
    fn with(entry: Tagged<E>, next: *mut Self) -> *mut Self {
        let slots = std::array::from_fn(|_| Slot::empty());
        let block = Box::new(Self { next: AtomicPtr::new(next), slots });
        block.slots[0].put(entry);
        Box::into_raw(block)
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::{
        epoch::pin,
        index::{KeyWidth, hash::key::KeyHasher},
    };

    #[repr(align(8))]
    struct Row([u8; 8]);

    // SAFETY: the key never changes.
    unsafe impl Entry for Row {
        fn key(&self) -> &[u8] {
            &self.0
        }
    }

    fn bucket() -> Bucket<Row> {
        let slots = std::array::from_fn(|_| Slot::empty());
        Bucket { latch: StampedLatch::new(0), overflow: AtomicPtr::new(ptr::null_mut()), slots }
    }

    #[test]
    fn buckets_and_overflow_blocks_are_cache_lines() {
        assert_eq!(size_of::<Bucket<Row>>(), 64);
        assert_eq!(size_of::<Overflow<Row>>(), 64);
    }

    /// All under one tag, so that only the keys tell them apart.
    #[test]
    fn a_crowded_bucket_finds_its_entries_and_compacts_to_what_is_left() {
        const TAG: usize = 7;
        let (rows, hasher, guard) = (
            (0..30_u64).map(|key| Row(key.to_be_bytes())).collect::<Vec<_>>(),
            KeyHasher::new(KeyWidth::Eight, 1),
            pin(),
        );
        let mut bucket = bucket();
        for row in &rows {
            bucket.place(Tagged::new(NonNull::from(row), TAG), &guard);
        }
        assert_eq!(bucket.blocks().count(), 1 + (30_usize - SLOTS).div_ceil(OVERFLOW_SLOTS));
        for (number, row) in rows.iter().enumerate() {
            let (slot, found) = bucket.find(&hasher.probe(row.key()), TAG, &guard).expect("placed");
            assert!(ptr::eq(found, row));
            if number % 3 != 0 {
                slot.clear();
            }
        }
        bucket.compact(&guard);
        assert_eq!(bucket.blocks().count(), 2, "ten entries: five slots and one block");
        for (number, row) in rows.iter().enumerate() {
            let found = bucket.find(&hasher.probe(row.key()), TAG, &guard);
            assert_eq!(found.is_some(), number % 3 == 0);
        }
        let mut left = 0;
        bucket.drain(|_| left += 1);
        assert_eq!((left, bucket.blocks().count()), (10, 1));
    }
}
