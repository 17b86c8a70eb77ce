//! Ordered index: a B+tree with optimistic latching, whose leaves refuse phantoms.
//!
//! ```text
//!            root (inner, level 2)          slot i covers the keys from fence i up to fence i + 1
//!             |  fence 1  fence 2
//!      inner  |  inner    inner             a fence owns its bytes; eight of them are in the slot
//!       |  ...
//!      leaf  leaf  leaf ...                 slots (prefix, entry) in key order, one version, one stamp
//! ```
//!
//! Going down takes no latch: a node's version is noted before the parent's is confirmed, so that at that instant the
//! node covered the range of keys that the parent's fences say; and a node whose range changes gets a new version.
//! Leaves have no links: the next one is found from the root, by the fence where the last one ended.
//!
//! Invariants, beside those of the [leaf kernel](super::leaf) and of the nodes (N1 to N3, `node.rs`):
//! - **O1** At one version of a node its range of keys is one and the same. The ranges of the leaves partition all
//!   keys, at every instant: there is no gap without a leaf.
//! - **O2** Latches are taken by attempt only, at a version that was read, parents before children; a failed attempt
//!   releases all and begins again. Hence no deadlock.
//! - **O3** Inner nodes other than the root have at least two children, and every leaf an entry, once the thread
//!   that took out the last one has returned; a leaf that is alone under the root may be empty.
//!
//! Deliberately absent: versions, transactions, and any idea of what a stamp means but that it grows.
//!
//! Source: optimistic lock coupling, Leis et al., "The ART of Practical Synchronization", 2016, section 4.

mod cursor;
mod drain;
mod estimate;
mod key;
mod merge;
mod node;
mod prefetch;
#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod shape;
mod split;

pub use cursor::Cursor;
pub use drain::Drain;

use self::{
    key::{SearchKey, Separator},
    node::{Fence, Found, Inner, Leaf, Target, prefetch_node},
};
use super::{
    Entry, Insert, KeyWidth, LeafChange, LeafCount,
    leaf::{StampedLatch, Version},
    prefetch::prefetch,
};
use crate::{
    epoch::Guard,
    memory::Meter,
    spin::Backoff,
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Release},
    },
};
use model::Direction;
use std::{
    marker::PhantomData,
    ops::Bound,
    ptr::{self, NonNull},
    sync::Arc,
};

/// An ordered index over entries that somebody else allocates and frees.
///
/// `FANOUT` is the number of slots of a node, at least 4: fewer mean shorter searches and cheaper inserts, but a
/// taller tree; 64 measured best. Tests shrink it, so that splits and merges are the common path.
///
/// Dropping the index frees its nodes and leaks the entries that are still in it: see [`Self::drain`].
pub struct Ordered<E: Entry, const FANOUT: usize = 64> {
    /// Published with `Release` under the latch of the old root, which changes or retires with it.
    root: AtomicPtr<Inner<FANOUT>>,
    width: KeyWidth,
    /// Counts the nodes and their separators, until they are handed to the epoch.
    meter: Arc<Meter>,
    entries: PhantomData<NonNull<E>>,
}

// SAFETY: the index holds pointers to entries and hands out shared references only, and an `Entry` is Send and Sync;
// its nodes are atomics, and immutable from allocation otherwise.
unsafe impl<E: Entry, const FANOUT: usize> Send for Ordered<E, FANOUT> {}
// SAFETY: as for Send.
unsafe impl<E: Entry, const FANOUT: usize> Sync for Ordered<E, FANOUT> {}

/// A leaf, the version at which it covered the wanted keys, and which keys those are.
struct Place<'g, E: Entry, const FANOUT: usize> {
    leaf: &'g Leaf<E, FANOUT>,
    seen: Version,
    low: Option<Fence>,
    high: Option<Fence>,
}

/// The fences of a leaf, gathered on the way down to it.
#[derive(Clone, Copy, Default)]
struct Fences {
    low: Option<Fence>,
    high: Option<Fence>,
}

impl Fences {
    fn pass<const FANOUT: usize>(&mut self, step: Step<'_, FANOUT>) {
        if step.slot > 0 {
            self.low = Some(step.node.fence(step.slot));
        }
        if step.slot + 1 < step.node.count() {
            self.high = Some(step.node.fence(step.slot + 1));
        }
    }
}

/// An inner node, the version at which it was on the way, and the slot of the child that comes next.
#[derive(Clone, Copy)]
struct Step<'g, const FANOUT: usize> {
    node: &'g Inner<FANOUT>,
    seen: Version,
    slot: usize,
}

impl<E: Entry> Ordered<E> {
    /// An empty index.
    pub fn new(width: KeyWidth) -> Self {
        Self::with_fanout(width)
    }

    /// An empty index whose nodes are counted there.
    pub fn metered(width: KeyWidth, meter: Arc<Meter>) -> Self {
        Self::with_fanout_metered(width, meter)
    }
}

impl<E: Entry, const FANOUT: usize> Ordered<E, FANOUT> {
    /// An empty index of a fan-out of the caller's choice.
    pub fn with_fanout(width: KeyWidth) -> Self {
        Self::with_fanout_metered(width, Arc::default())
    }

    /// The same, whose nodes are counted there.
    pub fn with_fanout_metered(width: KeyWidth, meter: Arc<Meter>) -> Self {
        const { assert!(FANOUT >= 4, "a node splits into two of at least two") };
        Self { root: AtomicPtr::new(Self::empty_root(&meter)), width, meter, entries: PhantomData }
    }

    /// Returns the width of the keys.
    pub fn width(&self) -> KeyWidth {
        self.width
    }

    /// The entry of `key`, if there is one. Leaves no trace: an absent key may be inserted anywhere in the serial order.
    #[inline]
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g E> {
        let sought = SearchKey::new(key, self.width);
        loop {
            let (leaf, seen) = self.leaf_of(sought, guard);
            let (_, found) = leaf.search(sought);
            if leaf.latch.validate(seen) {
                return found.map(Found::shared);
            }
        }
    }

    /// The entry of `key`; if there is none, every later insert of it at a position below `at` is refused.
    ///
    /// Raises the stamp of the leaf that covers the key to at least `at`, and only then confirms that the key is absent.
    #[inline]
    pub fn get_or_stamp<'g>(&self, key: &[u8], at: u64, guard: &'g Guard) -> Option<&'g E> {
        let sought = SearchKey::new(key, self.width);
        loop {
            let (leaf, seen) = self.leaf_of(sought, guard);
            let (_, found) = leaf.search(sought);
            if leaf.latch.validate(seen) && (found.is_some() || leaf.latch.stamp_and_validate(seen, at)) {
                return found.map(Found::shared);
            }
        }
    }

    /// The entry of `key`; if there is none, the count of the leaf that covers it. Writes nothing.
    ///
    /// # Errors
    /// The key is absent at that count.
    #[inline]
    pub fn get_or_count<'g>(&self, key: &[u8], guard: &'g Guard) -> Result<&'g E, LeafCount> {
        let sought = SearchKey::new(key, self.width);
        loop {
            let (leaf, seen) = self.leaf_of(sought, guard);
            let (_, found) = leaf.search(sought);
            let count = leaf.latch.stamp();
            if leaf.latch.validate(seen) {
                return found.map(Found::shared).ok_or(LeafCount(count));
            }
        }
    }

    /// The count now of the leaf that covers a key; `None`: of the first leaf.
    pub fn count_of(&self, key: Option<&[u8]>, guard: &Guard) -> LeafCount {
        let target = key.map_or(Target::First, |key| Target::Covering(SearchKey::new(key, self.width)));
        let mut backoff = Backoff::new();
        loop {
            if let Some((leaf, seen)) = self.descend(target, guard, |_| {}) {
                let count = leaf.latch.stamp();
                if leaf.latch.validate(seen) {
                    return LeafCount(count);
                }
            }
            backoff.pause();
        }
    }

    /// Inserts an entry at the position `at`, unless the key is taken or was found absent above `at`.
    ///
    /// `make` is called at most once, under the leaf's latch, and only if its entry is then published: it should be
    /// short, and must not enter this index.
    ///
    /// # Panics
    /// If the index has keys of eight bytes and `key` has not. If `make` panics, nothing was inserted.
    ///
    /// # Safety
    /// `make` must return a pointer to an entry whose key is `key`, valid for shared references until it was taken out
    /// of the index ([`Self::remove`], [`Self::drain`]) and every guard that was pinned at that time is gone: free
    /// it through the epoch.
    pub unsafe fn insert<'g>(
        &self,
        key: &[u8],
        at: u64,
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
    ) -> Insert<'g, E> {
        // SAFETY: the caller's promise.
        unsafe { self.insert_if::<false>((key, at), guard, make, |_| {}) }
    }

    /// Inserts an entry unless the key is taken, and counts that in the leaf, as well as splits on the way. Reports each change of a
    /// count. For indexes whose readers remember counts and raise no stamp.
    ///
    /// # Panics
    /// Same as [`Self::insert`].
    ///
    /// # Safety
    /// Same as [`Self::insert`].
    pub unsafe fn insert_counted<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
        changed: impl FnMut(LeafChange<'_>),
    ) -> Insert<'g, E> {
        // SAFETY: the caller's promise.
        unsafe { self.insert_if::<true>((key, u64::MAX), guard, make, changed) }
    }

    /// # Safety
    /// Same as [`Self::insert`].
    #[inline]
    unsafe fn insert_if<'g, const COUNTED: bool>(
        &self,
        (key, at): (&[u8], u64),
        guard: &'g Guard,
        make: impl FnOnce() -> NonNull<E>,
        mut changed: impl FnMut(LeafChange<'_>),
    ) -> Insert<'g, E> {
        assert!(self.width == KeyWidth::Any || key.len() == 8, "a key of eight bytes");
        let sought = SearchKey::new(key, self.width);
        let mut backoff = Backoff::new();
        loop {
            let (leaf, seen, fences) = match COUNTED {
                true => {
                    let Place { leaf, seen, low, high } = self.find(Target::Covering(sought), guard);
                    (leaf, seen, Fences { low, high })
                }
                false => {
                    let (leaf, seen) = self.leaf_of(sought, guard);
                    (leaf, seen, Fences::default())
                }
            };
            let (slot, found) = leaf.search(sought);
            if let Some(entry) = found {
                if leaf.latch.validate(seen) {
                    return Insert::Exists(entry.shared());
                }
                continue;
            }
            let Some(mut latched) = leaf.latch.latch_at(seen) else {
                backoff.pause();
                continue;
            };
            if latched.stamp() > at {
                return Insert::Stamped(latched.stamp());
            }
            if leaf.count() == FANOUT {
                drop(latched);
                self.make_room::<COUNTED>(sought, guard, &mut changed);
                continue;
            }
            debug_assert!(latched.stamp() <= at, "L2: an insert lies at or above every confirmed stamp");
            let entry = make();
            latched.change();
            leaf.insert(slot, sought.prefix, entry);
            if COUNTED {
                let (before, after) = latched.count_change();
                self.report((before, after), fences, None, guard, &mut changed);
            }
            // SAFETY: valid for as long as the guard lives, by the caller's promise.
            return Insert::Inserted(unsafe { entry.as_ref() });
        }
    }

    /// Takes an entry out if `decide`, called under the leaf's latch, returns the stamp that it leaves behind.
    ///
    /// The stamp stands for everyone who found the key absent in that very entry: inserts of the key below it are
    /// refused from here on. The entry is the caller's to free, through the epoch.
    pub fn remove<'g>(
        &self,
        key: &[u8],
        guard: &'g Guard,
        decide: impl FnOnce(&'g E) -> Option<u64>,
    ) -> Option<NonNull<E>> {
        let sought = SearchKey::new(key, self.width);
        let mut backoff = Backoff::new();
        loop {
            let (leaf, seen) = self.leaf_of(sought, guard);
            let (slot, found) = leaf.search(sought);
            let Some(entry) = found else {
                if leaf.latch.validate(seen) {
                    return None;
                }
                continue;
            };
            let Some(mut latched) = leaf.latch.latch_at(seen) else {
                backoff.pause();
                continue;
            };
            let stamp = decide(entry.shared())?;
            latched.fold(stamp);
            latched.change();
            leaf.remove(slot);
            let left = leaf.count();
            drop(latched);
            if left == 0 || left == Self::UNDERFULL {
                self.shrink(sought, 0, guard);
            }
            return Some(entry.pointer());
        }
    }

    /// Moves the next leaf's entries that lie in the cursor's range into `batch`, in the cursor's direction and `most` of them at
    /// most, and the cursor behind the last of them, or behind the leaf. Returns whether more may follow.
    ///
    /// The batch may be empty before the end. With `at`, the leaf's stamp is raised to at least `at` before it is
    /// confirmed that the entries are still all of them: every later insert into this leaf's part of the range at a
    /// position below `at` is refused. Consecutive calls cover the range without a gap, whatever happens to the
    /// tree in between.
    pub fn scan_leaf<'g>(
        &self,
        cursor: &mut Cursor,
        at: Option<u64>,
        most: usize,
        guard: &'g Guard,
        batch: &mut Vec<&'g E>,
    ) -> bool {
        self.scan_leaf_if((cursor, most, guard), batch, |place| {
            let latch = &place.leaf.latch;
            latch.validate(place.seen) && at.is_none_or(|at| latch.stamp_and_validate(place.seen, at))
        })
    }

    /// Same as [`Self::scan_leaf`], and shows each leaf's count to `note` with the lowest key that the leaf covers (`None`: no
    /// limit), instead of raising its stamp. Writes nothing.
    pub fn scan_leaf_counted<'g>(
        &self,
        cursor: &mut Cursor,
        most: usize,
        guard: &'g Guard,
        batch: &mut Vec<&'g E>,
        mut note: impl FnMut(LeafCount, Option<&[u8]>),
    ) -> bool {
        self.scan_leaf_if((cursor, most, guard), batch, |place| {
            let count = place.leaf.latch.stamp();
            let confirmed = place.leaf.latch.validate(place.seen);
            if confirmed {
                let mut low = [0; 8];
                note(LeafCount(count), place.low.map(|fence| self.fence_bytes(fence, &mut low, guard)));
            }
            confirmed
        })
    }

    #[inline]
    fn scan_leaf_if<'g>(
        &self,
        (cursor, most, guard): (&mut Cursor, usize, &'g Guard),
        batch: &mut Vec<&'g E>,
        mut confirm: impl FnMut(&Place<'g, E, FANOUT>) -> bool,
    ) -> bool {
        assert!(most > 0, "a scan goes on");
        batch.clear();
        while !cursor.is_finished() {
            let place = self.find(cursor.target(self.width), guard);
            let is_cut = self.collect(place.leaf, cursor, most, batch);
            let confirmed = confirm(&place);
            if confirmed && is_cut {
                batch.last().inspect(|last| cursor.leave(last.key()));
                break;
            }
            if confirmed {
                let (mut low, mut high) = ([0; 8], [0; 8]);
                let low = place.low.map(|fence| self.fence_bytes(fence, &mut low, guard));
                let high = place.high.map(|fence| self.fence_bytes(fence, &mut high, guard));
                cursor.pass(low, high);
                break;
            }
            batch.clear();
        }
        !cursor.is_finished()
    }

    /// Counts the entries leaf by leaf: exact if no thread inserts or removes meanwhile.
    pub fn len(&self, guard: &Guard) -> usize {
        let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let (mut batch, mut count) = (Vec::with_capacity(FANOUT), 0);
        while self.scan_leaf(&mut cursor, None, usize::MAX, guard, &mut batch) {
            count += batch.len();
        }
        count + batch.len()
    }

    /// Returns whether there is no entry, as exactly as [`Self::len`].
    pub fn is_empty(&self, guard: &Guard) -> bool {
        self.len(guard) == 0
    }

    /// Takes all entries out, in the order of their keys. Whoever drops the iterator early leaks the rest of them.
    pub fn drain(&mut self) -> Drain<E, FANOUT> {
        let root = self.root.swap(Self::empty_root(&self.meter), Acquire);
        // SAFETY: the root of a well-formed tree, reachable by nobody else: the index is borrowed exclusively, and
        // its other methods keep no node beyond their call.
        unsafe { Drain::new(root, self.meter.clone()) }
    }

    /// A root over one empty leaf.
    fn empty_root(meter: &Meter) -> *mut Inner<FANOUT> {
        meter.charge(size_of::<Leaf<E, FANOUT>>() + size_of::<Inner<FANOUT>>());
        let leaf = Box::into_raw(Leaf::<E, FANOUT>::new(StampedLatch::new(0)));
        let child = node::Child { fence: Fence::NONE, node: leaf.cast() };
        Box::into_raw(Inner::new(StampedLatch::new(0), 1, &[child]))
    }

    /// The leaf that covers a key, at a version at which it did.
    #[inline]
    fn leaf_of<'g>(&self, sought: SearchKey<'_>, guard: &'g Guard) -> (&'g Leaf<E, FANOUT>, Version) {
        let mut backoff = Backoff::new();
        loop {
            if let Some(found) = self.descend(Target::Covering(sought), guard, |_| {}) {
                return found;
            }
            backoff.pause();
        }
    }

    /// The leaf on the way to `target`, and which keys it covers.
    #[inline]
    fn find<'g>(&self, target: Target<'_>, guard: &'g Guard) -> Place<'g, E, FANOUT> {
        let mut backoff = Backoff::new();
        loop {
            let mut fences = Fences::default();
            let found = self.descend(target, guard, |step| fences.pass(step));
            if let Some((leaf, seen)) = found {
                return Place { leaf, seen, low: fences.low, high: fences.high };
            }
            backoff.pause();
        }
    }

    /// The leaf on the way to `target`, at a version at which it was that leaf, unless a node on the way changed meanwhile.
    /// `pass` sees each step before it is confirmed.
    #[inline]
    fn descend<'g>(
        &self,
        target: Target<'_>,
        guard: &'g Guard,
        mut pass: impl FnMut(Step<'g, FANOUT>),
    ) -> Option<(&'g Leaf<E, FANOUT>, Version)> {
        let mut step = self.root_step(target, guard)?;
        pass(step);
        while step.node.level > 1 {
            step = self.inner_below(step, target, guard)?;
            pass(step);
        }
        self.leaf_below(step, guard)
    }

    /// The root and the way on from it.
    #[inline]
    fn root_step<'g>(&self, target: Target<'_>, _guard: &'g Guard) -> Option<Step<'g, FANOUT>> {
        let root = self.root.load(Acquire);
        // SAFETY: loaded while the guard is pinned, and freed through the epoch after the root was replaced (N1).
        let node: &'g Inner<FANOUT> = unsafe { &*root };
        let seen = node.latch.begin();
        // A root that was split or retired before `begin` had been replaced by then.
        if seen.is_retired() || !ptr::eq(self.root.load(Acquire), root) {
            return None;
        }
        Some(Step { node, seen, slot: node.slot_of(target) })
    }

    /// The inner node below a step, whose own node is validated, and the way on from it (O1).
    #[inline]
    fn inner_below<'g>(
        &self,
        step: Step<'g, FANOUT>,
        target: Target<'_>,
        _guard: &'g Guard,
    ) -> Option<Step<'g, FANOUT>> {
        debug_assert!(step.node.level > 1, "levels are immutable");
        let child = NonNull::new(step.node.child(step.slot))?.cast::<Inner<FANOUT>>();
        // The few nodes above are in the cache; a hint for each of their lines would cost more than it brings.
        if step.node.level == 2 {
            prefetch_node::<_, FANOUT>(child.as_ptr());
        }
        // SAFETY: the children of level 2 and above are inner nodes; loaded while the guard is pinned (N1).
        let node: &'g Inner<FANOUT> = unsafe { child.as_ref() };
        let seen = node.latch.begin();
        step.node.latch.validate(step.seen).then(|| Step { node, seen, slot: node.slot_of(target) })
    }

    /// The leaf below a step of level 1, whose own node is validated (O1).
    #[inline]
    fn leaf_below<'g>(&self, step: Step<'g, FANOUT>, _guard: &'g Guard) -> Option<(&'g Leaf<E, FANOUT>, Version)> {
        debug_assert_eq!(step.node.level, 1, "levels are immutable");
        let child = NonNull::new(step.node.child(step.slot))?.cast::<Leaf<E, FANOUT>>();
        // With the pointers: which of them is wanted is known only after a miss on the prefixes.
        prefetch(child.as_ptr(), size_of::<Leaf<E, FANOUT>>());
        // SAFETY: the children of level 1 are leaves; loaded while the guard is pinned (N1).
        let leaf: &'g Leaf<E, FANOUT> = unsafe { child.as_ref() };
        let seen = leaf.latch.begin();
        step.node.latch.validate(step.seen).then_some((leaf, seen))
    }

    /// Collects a leaf's entries in the cursor's range, `most` of them at most, or some nonsense if the leaf changes meanwhile.
    /// Returns whether some are left out.
    #[inline]
    fn collect<'g>(&self, leaf: &'g Leaf<E, FANOUT>, cursor: &Cursor, most: usize, batch: &mut Vec<&'g E>) -> bool {
        let before = |key, inclusive| leaf.partition_point(SearchKey::new(key, self.width), inclusive);
        let from = match cursor.lower() {
            Bound::Unbounded => 0,
            Bound::Included(key) => before(key, false),
            Bound::Excluded(key) => before(key, true),
        };
        let to = match cursor.upper() {
            Bound::Unbounded => leaf.count(),
            Bound::Included(key) => before(key, true),
            Bound::Excluded(key) => before(key, false),
        };
        let taken = to.saturating_sub(from).min(most);
        let entry = |slot| leaf.entry(slot).map(Found::shared);
        match cursor.direction() {
            Direction::Forward => batch.extend((from..from + taken).filter_map(entry)),
            Direction::Backward => batch.extend((to - taken..to).rev().filter_map(entry)),
        }
        from + taken < to
    }

    /// Reports a change of the count of a leaf between two fences.
    fn report(
        &self,
        (before, after): (u64, u64),
        fences: Fences,
        split: Option<Fence>,
        guard: &Guard,
        changed: &mut impl FnMut(LeafChange<'_>),
    ) {
        let (mut low, mut high, mut middle) = ([0; 8], [0; 8], [0; 8]);
        let low = fences.low.map(|fence| self.fence_bytes(fence, &mut low, guard));
        let high = fences.high.map(|fence| self.fence_bytes(fence, &mut high, guard));
        let split = split.map(|fence| self.fence_bytes(fence, &mut middle, guard));
        let covered = |key: Option<&[u8]>| match key {
            None => low.is_none(),
            Some(key) => low.is_none_or(|low| low <= key) && high.is_none_or(|high| key < high),
        };
        changed(LeafChange { before: LeafCount(before), after: LeafCount(after), covered: &covered, split });
    }

    /// The key of a fence that was read on the way down.
    fn fence_bytes<'a>(&self, fence: Fence, buffer: &'a mut [u8; 8], _guard: &'a Guard) -> &'a [u8] {
        match NonNull::new(fence.separator) {
            // SAFETY: loaded from a slot while the guard is pinned (N1).
            Some(separator) => unsafe { Separator::bytes(separator) },
            None => {
                *buffer = fence.prefix.to_be_bytes();
                buffer
            }
        }
    }

    /// Replaces the root. The latch of the old one is held.
    fn replace_root(&self, root: *mut Inner<FANOUT>) {
        self.root.store(root, Release);
    }
}

impl<E: Entry, const FANOUT: usize> Drop for Ordered<E, FANOUT> {
    fn drop(&mut self) {
        // SAFETY: as in `drain`; nothing refers to the root any more.
        drop(unsafe { Drain::<E, FANOUT>::new(self.root.load(Acquire), self.meter.clone()) });
    }
}
