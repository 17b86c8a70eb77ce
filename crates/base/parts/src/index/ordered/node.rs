//! The two kinds of node, and the state of their slots for readers in the middle of a change.
//!
//! Invariants:
//! - **N1** A pointer that is taken out of the tree is overwritten in every slot of every reachable node before it is
//!   handed to the epoch; slots at `count` and beyond hold null. So a reader that was pinned when it loaded a
//!   pointer from a slot may follow it, whether or not its version validates later.
//! - **N2** `count` is at most the fan-out at every instant, so a torn read never leaves the arrays.
//! - **N3** Only the holder of a node's latch stores into it, after [`Latched::change`](crate::index::leaf::Latched).

use super::key::{SearchKey, Separator};
use crate::{
    index::{Entry, leaf::StampedLatch, prefetch::prefetch},
    sync::atomic::{
        AtomicPtr, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::{
    array,
    marker::PhantomData,
    ptr::{self, NonNull},
};

/// The cache line that a node begins with: its latch, its count; the prefixes follow.
const HEADER_BYTES: usize = 64;

/// A word of a slot, read by optimistic readers while the latch's holder stores.
trait Word {
    type Value: Copy;
    const VACANT: Self::Value;
    fn get(&self) -> Self::Value;
    fn set(&self, value: Self::Value);
}

/// Prefixes are only compared: a wrong one is repaired by validation, so nothing is ordered by them.
impl Word for AtomicU64 {
    type Value = u64;
    const VACANT: u64 = 0;

    #[inline]
    fn get(&self) -> u64 {
        self.load(Relaxed)
    }

    #[inline]
    fn set(&self, value: u64) {
        self.store(value, Relaxed);
    }
}

/// Pointers are followed before validation: storing one publishes what it points to, loading it acquires that.
impl<T> Word for AtomicPtr<T> {
    type Value = *mut T;
    const VACANT: *mut T = ptr::null_mut();

    #[inline]
    fn get(&self) -> *mut T {
        self.load(Acquire)
    }

    #[inline]
    fn set(&self, value: *mut T) {
        self.store(value, Release);
    }
}

/// Makes room at slot `at` of a column of which `count` slots are taken, and stores `value` there.
fn open<W: Word>(column: &[W], at: usize, count: usize, value: W::Value) {
    for slot in (at..count).rev() {
        column[slot + 1].set(column[slot].get());
    }
    column[at].set(value);
}

/// Closes the gap at slot `at` of a column of which `count` slots are taken.
fn close<W: Word>(column: &[W], at: usize, count: usize) {
    for slot in at + 1..count {
        column[slot - 1].set(column[slot].get());
    }
    column[count - 1].set(W::VACANT);
}

/// Vacates the slots `from..to`.
fn vacate<W: Word>(column: &[W], from: usize, to: usize) {
    column[from..to].iter().for_each(|word| word.set(W::VACANT));
}

/// The prefix in one of the first `count` slots of a node.
#[inline]
fn prefix_in<const FANOUT: usize>(prefixes: &[AtomicU64; FANOUT], count: usize, slot: usize) -> u64 {
    debug_assert!(slot < count && count <= FANOUT, "N2");
    // SAFETY: searches ask for slots below `count`, which was loaded from the node, so it is at most the fan-out (N2).
    unsafe { prefixes.get_unchecked(slot) }.get()
}

/// Asks for a node's header and prefixes, all at once: a binary search would wait for one line after the other.
#[inline]
pub fn prefetch_node<N, const FANOUT: usize>(node: *const N) {
    prefetch(node, HEADER_BYTES + FANOUT * size_of::<u64>());
}

/// Boundary between the keys of one leaf and of the next.
#[derive(Clone, Copy)]
pub struct Fence {
    pub prefix: u64,
    /// The key's bytes; null in a tree of eight-byte keys, where the prefix says all.
    pub separator: *mut Separator,
}

impl Fence {
    pub const NONE: Self = Self { prefix: 0, separator: ptr::null_mut() };

    /// The bytes that its separator takes. The caller has the fence to itself, or holds the latch of its node.
    pub fn size(&self) -> usize {
        // SAFETY: a fence that is taken out or put in by the caller has a living separator (N1).
        NonNull::new(self.separator).map_or(0, |separator| unsafe { Separator::size(separator) })
    }
}

/// One child of an inner node: `fence` is its lowest key, without meaning in slot 0.
#[derive(Clone, Copy)]
pub struct Child {
    pub fence: Fence,
    pub node: *mut (),
}

/// Target of a descent.
#[derive(Clone, Copy)]
pub enum Target<'k> {
    /// The leaf of the lowest keys.
    First,
    /// The leaf in whose range the key lies.
    Covering(SearchKey<'k>),
    /// The leaf in whose range the keys just below the key lie.
    Below(SearchKey<'k>),
    /// The leaf of the highest keys.
    Last,
    /// Some leaf: the same number finds the same one again, as long as no node on the way changes.
    Some(u64),
}

/// One of the first `count` slots, chosen by a number: each with about the same frequency, and independently of what is chosen by the next
/// number. The levels of a tree pick by numbers that follow each other; if these went together, most entries would never be picked.
///
/// Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014), SplitMix64.
pub fn pick(number: u64, count: usize) -> usize {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(mixed ^ (mixed >> 31)) * count as u128) >> 64) as usize
}

/// A node above the leaves: child `i` covers the keys from fence `i` up to fence `i + 1`.
#[repr(C, align(64))]
pub struct Inner<const FANOUT: usize> {
    /// Its stamp is not used: only leaves are stamped.
    pub latch: StampedLatch,
    count: AtomicUsize,
    /// Height above the leaves, immutable: the children of level 1 are leaves.
    pub level: usize,
    prefixes: [AtomicU64; FANOUT],
    separators: [AtomicPtr<Separator>; FANOUT],
    children: [AtomicPtr<()>; FANOUT],
}

impl<const FANOUT: usize> Inner<FANOUT> {
    /// A node of these children, not yet reachable.
    pub fn new(latch: StampedLatch, level: usize, children: &[Child]) -> Box<Self> {
        let node = Box::new(Self {
            latch,
            count: AtomicUsize::new(0),
            level,
            prefixes: array::from_fn(|_| AtomicU64::new(0)),
            separators: array::from_fn(|_| AtomicPtr::default()),
            children: array::from_fn(|_| AtomicPtr::default()),
        });
        node.store(children);
        node
    }

    /// Returns the number of children; at least one in a node that was validated.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    #[inline]
    pub fn fence(&self, slot: usize) -> Fence {
        Fence { prefix: self.prefixes[slot].get(), separator: self.separators[slot].get() }
    }

    /// The child in a slot; null in the middle of a change only.
    #[inline]
    pub fn child(&self, slot: usize) -> *mut () {
        self.children[slot].get()
    }

    /// The slot of the child on the way to `target`.
    #[inline]
    pub fn slot_of(&self, target: Target<'_>) -> usize {
        let (sought, inclusive) = match target {
            Target::First => return 0,
            Target::Last => return self.count().saturating_sub(1),
            Target::Some(number) => return pick(number.wrapping_add(self.level as u64), self.count()),
            Target::Covering(sought) => (sought, true),
            Target::Below(sought) => (sought, false),
        };
        let count = self.count();
        // The fence of slot 0 has no meaning, so the search is among the others.
        sought.partition_point(
            count.saturating_sub(1),
            inclusive,
            |slot| prefix_in(&self.prefixes, count, slot + 1),
            |slot| {
                let separator = NonNull::new(self.separators[slot + 1].get())?;
                // SAFETY: loaded from a slot while the caller's guard is pinned (N1).
                Some(unsafe { Separator::bytes(separator) })
            },
        )
    }

    /// All children, with the latch held or alone.
    pub fn load(&self) -> Vec<Child> {
        (0..self.count()).map(|slot| Child { fence: self.fence(slot), node: self.child(slot) }).collect()
    }

    /// Replaces all children. Latch held, or not yet reachable (N3).
    pub fn store(&self, children: &[Child]) {
        for (slot, child) in children.iter().enumerate() {
            let fence = if slot == 0 { Fence::NONE } else { child.fence };
            self.put_fence(slot, fence);
            self.children[slot].set(child.node);
        }
        self.count.store(children.len(), Relaxed);
        vacate(&self.separators, children.len(), FANOUT);
        vacate(&self.children, children.len(), FANOUT);
    }

    /// Replaces the fence of a slot. Latch held, or not yet reachable (N3).
    pub fn put_fence(&self, slot: usize, fence: Fence) {
        self.prefixes[slot].set(fence.prefix);
        self.separators[slot].set(fence.separator);
    }

    /// Adds a child at a slot above 0. Latch held (N3), count below the fan-out.
    pub fn insert(&self, slot: usize, child: Child) {
        let count = self.count();
        debug_assert!(self.latch.is_latched() && slot > 0 && count < FANOUT, "N2, N3");
        open(&self.prefixes, slot, count, child.fence.prefix);
        open(&self.separators, slot, count, child.fence.separator);
        open(&self.children, slot, count, child.node);
        self.count.store(count + 1, Relaxed);
    }

    /// Takes out the child in a slot above 0, so that the one before it covers its keys. Latch held (N3).
    pub fn remove(&self, slot: usize) -> Child {
        let count = self.count();
        debug_assert!(self.latch.is_latched() && slot > 0 && slot < count, "N3");
        let child = Child { fence: self.fence(slot), node: self.child(slot) };
        close(&self.prefixes, slot, count);
        close(&self.separators, slot, count);
        close(&self.children, slot, count);
        self.count.store(count - 1, Relaxed);
        child
    }
}

/// Entries in the order of their keys, and the stamp of the gaps between them.
#[repr(C, align(64))]
pub struct Leaf<E, const FANOUT: usize> {
    pub latch: StampedLatch,
    count: AtomicUsize,
    prefixes: [AtomicU64; FANOUT],
    entries: [AtomicPtr<E>; FANOUT],
}

/// An entry that was loaded from a slot of a leaf, which was reached under a guard that lives for `'g`.
pub struct Found<'g, E: Entry> {
    entry: NonNull<E>,
    leaf: PhantomData<&'g E>,
}

impl<E: Entry> Clone for Found<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Entry> Copy for Found<'_, E> {}

impl<'g, E: Entry> Found<'g, E> {
    /// The entry; also before the leaf's version was validated.
    #[inline]
    pub fn shared(self) -> &'g E {
        // SAFETY: loaded from a slot under the guard (N1), and an entry stays alive for the guards that were pinned
        // when it was removed (contract of `Ordered::insert`).
        unsafe { self.entry.as_ref() }
    }

    /// The entry's key; also before the leaf's version was validated.
    #[inline]
    pub fn key(self) -> &'g [u8] {
        self.shared().key()
    }

    /// The pointer as it came from the entry's owner.
    #[inline]
    pub fn pointer(self) -> NonNull<E> {
        self.entry
    }
}

impl<E: Entry, const FANOUT: usize> Leaf<E, FANOUT> {
    /// An empty leaf, not yet reachable.
    pub fn new(latch: StampedLatch) -> Box<Self> {
        Box::new(Self {
            latch,
            count: AtomicUsize::new(0),
            prefixes: array::from_fn(|_| AtomicU64::new(0)),
            entries: array::from_fn(|_| AtomicPtr::default()),
        })
    }

    /// Returns the number of entries.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// The entry in a slot; `None` in the middle of a change only.
    #[inline]
    pub fn entry(&self, slot: usize) -> Option<Found<'_, E>> {
        NonNull::new(self.entries[slot].get()).map(|entry| Found { entry, leaf: PhantomData })
    }

    /// Returns how many entries lie before the key (and at it, if `inclusive`).
    #[inline]
    pub fn partition_point(&self, sought: SearchKey<'_>, inclusive: bool) -> usize {
        self.partition_point_among(self.count(), sought, inclusive)
    }

    /// The same among the first `count` entries: so many as there were.
    #[inline]
    fn partition_point_among(&self, count: usize, sought: SearchKey<'_>, inclusive: bool) -> usize {
        sought.partition_point(
            count,
            inclusive,
            |slot| prefix_in(&self.prefixes, count, slot),
            |slot| self.entry(slot).map(Found::key),
        )
    }

    /// The key's slot, or the one that it would have, and the entry that is there if it is the key's.
    #[inline]
    pub fn search(&self, sought: SearchKey<'_>) -> (usize, Option<Found<'_, E>>) {
        let count = self.count();
        let slot = self.partition_point_among(count, sought, false);
        if slot == count || prefix_in(&self.prefixes, count, slot) != sought.prefix {
            return (slot, None);
        }
        (slot, self.entry(slot).filter(|entry| sought.is(|| Some(entry.key()))))
    }

    /// The slot that holds a key whose prefix is the wanted one's, if there is one: most likely the key itself.
    pub fn likely_slot(&self, sought: SearchKey<'_>) -> Option<usize> {
        let count = self.count();
        let slot = self.partition_point_among(count, sought, false);
        (slot < count && prefix_in(&self.prefixes, count, slot) == sought.prefix).then_some(slot)
    }

    /// Asks for the entry pointer in a slot.
    pub fn prefetch_slot(&self, slot: usize) {
        prefetch(&raw const self.entries[slot], size_of::<AtomicPtr<E>>());
    }

    /// The fence between slot `cut - 1` and slot `cut`. Latch held.
    pub fn fence_at(&self, cut: usize, eight: bool) -> Fence {
        if eight {
            return Fence { prefix: self.prefixes[cut].get(), ..Fence::NONE };
        }
        let entries = self.entry(cut - 1).zip(self.entry(cut));
        let (left, right) = entries.expect("slots below the count are taken while the latch is held");
        let bytes = super::key::shortest_between(left.key(), right.key());
        Fence { prefix: super::key::prefix(bytes), separator: Separator::allocate(bytes).as_ptr() }
    }

    /// Adds an entry at a slot. Latch held (N3), count below the fan-out.
    pub fn insert(&self, slot: usize, prefix: u64, entry: NonNull<E>) {
        let count = self.count();
        debug_assert!(self.latch.is_latched() && count < FANOUT, "N2, N3");
        open(&self.prefixes, slot, count, prefix);
        open(&self.entries, slot, count, entry.as_ptr());
        self.count.store(count + 1, Relaxed);
    }

    /// Takes out the entry in a slot. Latch held (N3).
    pub fn remove(&self, slot: usize) {
        let count = self.count();
        debug_assert!(self.latch.is_latched() && slot < count, "N3");
        close(&self.prefixes, slot, count);
        close(&self.entries, slot, count);
        self.count.store(count - 1, Relaxed);
    }

    /// Appends the entries of `other` from slot `from` on, which stay there. This leaf's latch held or not yet
    /// reachable (N3), the other's held.
    pub fn append(&self, other: &Self, from: usize) {
        let count = self.count();
        let added = other.count() - from;
        debug_assert!(count + added <= FANOUT, "N2");
        for slot in 0..added {
            self.prefixes[count + slot].set(other.prefixes[from + slot].get());
            self.entries[count + slot].set(other.entries[from + slot].get());
        }
        self.count.store(count + added, Relaxed);
    }

    /// Drops the entries from slot `from` on. Latch held (N3).
    pub fn truncate(&self, from: usize) {
        let count = self.count();
        self.count.store(from, Relaxed);
        vacate(&self.entries, from, count);
    }
}
