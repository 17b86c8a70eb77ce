//! Buckets: a latch with version and stamp, five slots, and a chain of overflow blocks for the unlucky.

use super::{
    super::{Entry, leaf::StampedLatch},
    key::{Probe, TAG_BITS},
};
use crate::{
    epoch::Guard,
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::ptr::{self, NonNull};

/// How many slots fit into a bucket of one cache line.
const SLOTS: usize = 5;
/// How many slots fit into an overflow block of one cache line.
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

/// What a slot holds: the address of an entry, tagged.
#[derive(Debug)]
pub(super) struct Tagged<E>(*mut E);

impl<E> Clone for Tagged<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Tagged<E> {}

impl<E: Entry> Tagged<E> {
    /// The slot's form of `entry`, which `probe` leads to.
    #[inline]
    pub(super) fn new(entry: NonNull<E>, probe: &Probe<'_>) -> Self {
        let entry = entry.as_ptr();
        assert!(entry.addr() >> ADDRESS_BITS == 0, "H4");
        Self(entry.map_addr(|address| address | probe.tag() << ADDRESS_BITS))
    }

    #[inline]
    fn matches(self, tag: usize) -> bool {
        self.0.addr() >> ADDRESS_BITS == tag
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
    fn put(&self, entry: Tagged<E>) {
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

    /// The slot and the entry that `probe` looks for. Finding nothing means nothing until the bucket's version has
    /// been confirmed, or under its latch.
    #[inline]
    pub(super) fn find<'b, 'g: 'b>(&'b self, probe: &Probe<'_>, _: &'g Guard) -> Option<(&'b Slot<E>, &'g E)> {
        let tag = probe.tag();
        self.blocks().flatten().find_map(|slot| {
            let tagged = slot.load();
            if !tagged.matches(tag) {
                return None;
            }
            // SAFETY: read under the guard.
            let entry = unsafe { tagged.entry() }?;
            probe.is_of(entry).then_some((slot, entry))
        })
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
            unsafe { guard.defer_unchecked(move || drop(Box::from_raw(old))) };
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
