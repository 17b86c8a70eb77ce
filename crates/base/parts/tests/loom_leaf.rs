//! The leaf kernel under loom: all interleavings, and all reorderings that its orderings allow.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p seriatim-parts --release --test loom_leaf`
//!
//! A leaf here is the kernel and one slot per key, used as the indexes use it: readers begin, look, stamp and validate;
//! writers latch, read the stamp, change. What must hold is always the same: of a reader at position 9 that found a
//! key absent and a writer that inserts it at a position below, one has seen the other.
//!
//! Two threads repeat their attempts until they succeed. Of three, readers and inserters make one: whoever was
//! disturbed claims nothing.
#![cfg(loom)]

use seriatim_parts::{
    index::leaf::{StampedLatch, Version},
    sync::{
        Arc,
        atomic::{
            AtomicPtr, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
        thread,
    },
};
use std::ptr;

/// Value of a slot whose key is absent.
const ABSENT: u64 = 0;
/// The entry of a key that was deleted, before the index forgets it.
const DEAD: u64 = 1;
/// Value that an inserter inserts.
const NEW: u64 = 7;

/// A leaf of two keys.
struct Leaf {
    latch: StampedLatch,
    slots: [AtomicU64; 2],
}

impl Leaf {
    fn new(latch: StampedLatch, slots: [u64; 2]) -> Self {
        Self { latch, slots: slots.map(AtomicU64::new) }
    }

    /// The contents of a slot, read at the position `at`.
    fn read(&self, key: usize, at: u64) -> Option<u64> {
        let seen = self.latch.try_begin()?;
        let found = self.slots[key].load(Relaxed);
        self.latch.stamp_and_validate(seen, at).then_some(found)
    }

    /// Inserts unless the key is there or the stamp is above `at`. Returns whether it did.
    fn insert(&self, key: usize, at: u64) -> Option<bool> {
        self.insert_seen(self.latch.try_begin()?, key, at)
    }

    fn insert_seen(&self, seen: Version, key: usize, at: u64) -> Option<bool> {
        let mut latched = self.latch.latch_at(seen)?;
        if latched.stamp() > at || self.slots[key].load(Relaxed) != ABSENT {
            return Some(false);
        }
        latched.change();
        self.slots[key].store(NEW, Relaxed);
        Some(true)
    }

    /// Removes the key, leaving `stamp` behind.
    fn remove(&self, key: usize, stamp: u64) {
        let mut latched = self.latch.latch().expect("not retired");
        latched.fold(stamp);
        latched.change();
        self.slots[key].store(ABSENT, Relaxed);
    }
}

/// A parent and up to two leaves: key 1 lives in the right one while there is one, and in the left one otherwise.
struct Tree {
    parent: StampedLatch,
    left: Leaf,
    right: AtomicPtr<Leaf>,
    /// A right leaf that is no longer reachable, until the end.
    retired: AtomicPtr<Leaf>,
}

impl Tree {
    fn new(right: Option<Leaf>) -> Arc<Self> {
        Arc::new(Self {
            parent: StampedLatch::new(0),
            left: Leaf::new(StampedLatch::new(0), [ABSENT; 2]),
            right: AtomicPtr::new(right.map_or(ptr::null_mut(), |leaf| Box::into_raw(Box::new(leaf)))),
            retired: AtomicPtr::new(ptr::null_mut()),
        })
    }

    /// The leaf of key 1, at a version at which it was that.
    fn find(&self) -> Option<(&Leaf, Version)> {
        let parent_seen = self.parent.try_begin()?;
        // SAFETY: leaves are freed when the tree is dropped.
        let leaf = unsafe { self.right.load(Acquire).as_ref() }.unwrap_or(&self.left);
        let seen = leaf.latch.try_begin()?;
        self.parent.validate(parent_seen).then_some((leaf, seen))
    }

    fn read(&self, at: u64) -> Option<u64> {
        let (leaf, seen) = self.find()?;
        let found = leaf.slots[1].load(Relaxed);
        leaf.latch.stamp_and_validate(seen, at).then_some(found)
    }

    fn insert(&self, at: u64) -> Option<bool> {
        let (leaf, seen) = self.find()?;
        leaf.insert_seen(seen, 1, at)
    }

    /// Gives key 1 to a new leaf.
    fn split(&self) {
        let mut parent = self.parent.latch().expect("not retired");
        let mut left = self.left.latch.latch().expect("not retired");
        let moved = self.left.slots[1].load(Relaxed);
        let right = Leaf::new(left.split_off(), [ABSENT, moved]);
        self.left.slots[1].store(ABSENT, Relaxed);
        parent.change();
        self.right.store(Box::into_raw(Box::new(right)), Release);
    }

    /// Takes key 1 back into the left leaf.
    fn merge(&self) {
        let mut parent = self.parent.latch().expect("not retired");
        let mut left = self.left.latch.latch().expect("not retired");
        // SAFETY: freed when the tree is dropped; the parent is latched.
        let leaf = unsafe { self.right.load(Acquire).as_ref() }.expect("split before");
        let right = leaf.latch.latch().expect("retired under the parent's latch only");
        left.fold(right.stamp());
        left.change();
        self.left.slots[1].store(leaf.slots[1].load(Relaxed), Relaxed);
        parent.change();
        self.retired.store(self.right.load(Relaxed), Relaxed);
        self.right.store(ptr::null_mut(), Release);
        right.retire();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        for leaf in [&self.right, &self.retired] {
            let leaf = leaf.load(Relaxed);
            if !leaf.is_null() {
                // SAFETY: allocated as a box, in one of the two places, and nobody is left.
                drop(unsafe { Box::from_raw(leaf) });
            }
        }
    }
}

/// Runs `model` under loom; with three threads, schedules of more than three preemptions add nothing but hours.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Repeats an attempt until nobody was in its way.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(done) = attempt() {
            return done;
        }
        thread::yield_now();
    }
}

/// A reader at 9 that found the key absent, and an inserter below: there is no new entry, if both came to an end.
fn assert_no_phantom(found: Option<u64>, inserted: Option<bool>) {
    assert!(found != Some(ABSENT) || inserted != Some(true), "found absent at 9, inserted below");
    assert!(found != Some(NEW) || inserted == Some(true), "found what nobody inserted");
}

#[test]
fn a_validated_look_is_of_one_instant() {
    check(|| {
        let leaf = Arc::new(Leaf::new(StampedLatch::new(0), [NEW, ABSENT]));
        let mover = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || {
                let mut latched = leaf.latch.latch().expect("not retired");
                latched.change();
                leaf.slots[0].store(ABSENT, Relaxed);
                leaf.slots[1].store(NEW, Relaxed);
            })
        };
        let seen = leaf.latch.begin();
        let found = [leaf.slots[0].load(Relaxed), leaf.slots[1].load(Relaxed)];
        if leaf.latch.validate(seen) {
            assert!(found == [NEW, ABSENT] || found == [ABSENT, NEW], "{found:?}");
        }
        mover.join().unwrap();
    });
}

#[test]
fn an_insert_and_a_scan_see_each_other() {
    check(|| {
        let leaf = Arc::new(Leaf::new(StampedLatch::new(0), [ABSENT; 2]));
        let inserter = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || until(|| leaf.insert(0, 5)))
        };
        let found = until(|| leaf.read(0, 9));
        let inserted = inserter.join().unwrap();
        assert_no_phantom(Some(found), Some(inserted));
    });
}

/// The second reader may find the stamp raised and not raise it: that must protect it as well.
#[test]
fn a_scan_may_rely_on_another_scans_stamp() {
    check(|| {
        let leaf = Arc::new(Leaf::new(StampedLatch::new(0), [ABSENT; 2]));
        let inserter = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || leaf.insert(0, 5))
        };
        let other = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || leaf.read(0, 9))
        };
        let found = leaf.read(0, 9);
        let inserted = inserter.join().unwrap();
        assert_no_phantom(found, inserted);
        assert_no_phantom(other.join().unwrap(), inserted);
    });
}

#[test]
fn a_scan_survives_a_split() {
    check(|| {
        let tree = Tree::new(None);
        let writer = {
            let tree = Arc::clone(&tree);
            thread::spawn(move || {
                tree.split();
                until(|| tree.insert(5))
            })
        };
        let found = until(|| tree.read(9));
        let inserted = writer.join().unwrap();
        assert_no_phantom(Some(found), Some(inserted));
    });
}

#[test]
fn a_scan_survives_a_split_by_a_third() {
    check(|| {
        let tree = Tree::new(None);
        let splitter = {
            let tree = Arc::clone(&tree);
            thread::spawn(move || tree.split())
        };
        let inserter = {
            let tree = Arc::clone(&tree);
            thread::spawn(move || tree.insert(5))
        };
        let found = tree.read(9);
        splitter.join().unwrap();
        assert_no_phantom(found, inserter.join().unwrap());
    });
}

#[test]
fn a_scan_survives_a_merge() {
    check(|| {
        let tree = Tree::new(Some(Leaf::new(StampedLatch::new(0), [ABSENT; 2])));
        let writer = {
            let tree = Arc::clone(&tree);
            thread::spawn(move || {
                tree.merge();
                until(|| tree.insert(5))
            })
        };
        let found = until(|| tree.read(9));
        let inserted = writer.join().unwrap();
        assert_no_phantom(Some(found), Some(inserted));
    });
}

/// Somebody found the key deleted at 7, in its entry; the entry's removal must not make room for an insert at 5.
#[test]
fn a_removed_entry_leaves_its_stamp() {
    check(|| {
        let leaf = Arc::new(Leaf::new(StampedLatch::new(0), [DEAD, ABSENT]));
        let remover = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || leaf.remove(0, 7))
        };
        assert!(!until(|| leaf.insert(0, 5)));
        remover.join().unwrap();
        assert!(!until(|| leaf.insert(0, 5)));
    });
}

/// Same as above, with an absent read at 9 in progress, of which the entry has no record any more.
#[test]
fn an_absent_read_while_the_entry_is_removed_is_not_lost() {
    check(|| {
        let leaf = Arc::new(Leaf::new(StampedLatch::new(0), [DEAD, ABSENT]));
        let remover = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || leaf.remove(0, 7))
        };
        let inserter = {
            let leaf = Arc::clone(&leaf);
            thread::spawn(move || leaf.insert(0, 8))
        };
        let found = leaf.read(0, 9);
        remover.join().unwrap();
        assert_no_phantom(found, inserter.join().unwrap());
        assert_ne!(leaf.insert(0, 5), Some(true), "below the stamp that the entry left");
    });
}
