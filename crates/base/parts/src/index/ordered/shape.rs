//! Inspection of the tree, for tests: walks it with exclusive access and asserts its invariants.

use super::{
    Ordered,
    key::{SearchKey, Separator, prefix},
    node::{Fence, Found, Inner, Leaf},
};
use crate::{
    epoch,
    index::{Entry, KeyWidth},
    sync::atomic::Ordering::Acquire,
};
use std::ptr::NonNull;

/// Number of nodes of each kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shape {
    height: usize,
    inner: usize,
    leaves: usize,
    entries: usize,
}

/// The keys that a node covers: from the first to below the second.
type Range = (Option<Vec<u8>>, Option<Vec<u8>>);

impl<E: Entry, const FANOUT: usize> Ordered<E, FANOUT> {
    /// Counts the nodes, asserting N1 (vacant slots are null), N2, O1 and O3 of each.
    fn shape(&mut self) -> Shape {
        let root = self.root.load(Acquire);
        // SAFETY: exclusive access, for as long as this borrow lives.
        let level = unsafe { &*root }.level;
        let mut shape = Shape { height: level + 1, ..Shape::default() };
        let separators = self.walk(level, root.cast(), (None, None), &mut shape);
        let nodes = shape.inner * size_of::<Inner<FANOUT>>() + shape.leaves * size_of::<Leaf<E, FANOUT>>();
        assert_eq!(self.meter.used(), nodes + separators, "every node and separator is counted once");
        shape
    }

    /// Returns the bytes of the separators.
    fn walk(&self, level: usize, node: *mut (), range: Range, shape: &mut Shape) -> usize {
        if level == 0 {
            // SAFETY: exclusive access; level 0 is a leaf.
            Self::check_leaf(unsafe { &*node.cast::<Leaf<E, FANOUT>>() }, &range, shape);
            return 0;
        }
        // SAFETY: exclusive access; a higher level is an inner node.
        let inner = unsafe { &*node.cast::<Inner<FANOUT>>() };
        let count = inner.count();
        let is_root = range == (None, None);
        assert!(inner.level == level && count <= FANOUT && (count >= 2 || (is_root && level == 1)), "O3");
        shape.inner += 1;
        let fence = |slot: usize| (slot < count).then(|| self.owned_key(inner.fence(slot)));
        let mut separators = 0;
        for slot in 0..count {
            separators += inner.fence(slot).size();
            let low = if slot == 0 { range.0.clone() } else { fence(slot) };
            let high = fence(slot + 1).or_else(|| range.1.clone());
            separators += self.walk(level - 1, inner.child(slot), (low, high), shape);
        }
        for slot in count..FANOUT {
            assert!(inner.child(slot).is_null() && inner.fence(slot).separator.is_null(), "N1");
        }
        separators
    }

    fn check_leaf(leaf: &Leaf<E, FANOUT>, range: &Range, shape: &mut Shape) {
        let count = leaf.count();
        assert!(count <= FANOUT && (count > 0 || *range == (None, None)), "O3");
        let keys: Vec<_> = (0..count).map(|slot| leaf.entry(slot).map(Found::key).expect("taken")).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        let within = |key: &[u8]| {
            range.0.as_deref().is_none_or(|low| low <= key) && range.1.as_deref().is_none_or(|high| key < high)
        };
        assert!(keys.iter().all(|key| within(key)), "O1");
        assert!((count..FANOUT).all(|slot| leaf.entry(slot).is_none()), "N1");
        shape.leaves += 1;
        shape.entries += count;
    }

    fn owned_key(&self, fence: Fence) -> Vec<u8> {
        let Some(separator) = NonNull::new(fence.separator) else {
            assert_eq!(self.width, KeyWidth::Eight);
            return fence.prefix.to_be_bytes().to_vec();
        };
        // SAFETY: exclusive access to the tree that owns it.
        let bytes = unsafe { Separator::bytes(separator) };
        assert_eq!(prefix(bytes), fence.prefix);
        bytes.to_vec()
    }
}

struct Record(Box<[u8]>);

// SAFETY: the key is immutable.
unsafe impl Entry for Record {
    fn key(&self) -> &[u8] {
        &self.0
    }
}

const FANOUT: usize = 4;
// The interpreter that checks for undefined behaviour is a thousand times slower.
const COUNT: u64 = if cfg!(miri) { 120 } else { 600 };

fn key(width: KeyWidth, number: u64) -> Vec<u8> {
    match width {
        KeyWidth::Eight => number.to_be_bytes().to_vec(),
        KeyWidth::Any => format!("a long prefix that all share {number:08}").into_bytes(),
    }
}

fn insert(index: &Ordered<Record, FANOUT>, number: u64) {
    let key = key(index.width(), number);
    let make = || NonNull::from(Box::leak(Box::new(Record(key.clone().into()))));
    // SAFETY: freed by `remove`, which nobody else's reference survives in these tests.
    unsafe { index.insert(&key, 0, &epoch::pin(), make) };
}

fn remove(index: &Ordered<Record, FANOUT>, number: u64) {
    let guard = &epoch::pin();
    let record = index.remove(&key(index.width(), number), guard, |_| Some(0)).expect("inserted before");
    // SAFETY: one thread, and the reference given to the closure is gone.
    drop(unsafe { Box::from_raw(record.as_ptr()) });
}

const EMPTY: Shape = Shape { height: 2, inner: 1, leaves: 1, entries: 0 };

/// Fills and empties an index in these orders, looking at its shape after every step.
fn fill_and_empty(width: KeyWidth, insert_order: impl Fn(u64) -> u64, remove_order: impl Fn(u64) -> u64) {
    let mut index = Ordered::with_fanout(width);
    for step in 0..COUNT {
        insert(&index, insert_order(step));
        assert_eq!(index.shape().entries as u64, step + 1);
    }
    assert!(index.shape().height > 4);
    for step in 0..COUNT {
        remove(&index, remove_order(step));
        assert_eq!(index.shape().entries as u64, COUNT - step - 1);
    }
    assert_eq!(index.shape(), EMPTY);
}

#[test]
fn the_tree_is_well_formed_at_every_step() {
    let orders: [fn(u64) -> u64; 3] = [|step| step, |step| COUNT - 1 - step, |step| step * 7_919 % COUNT];
    for width in [KeyWidth::Eight, KeyWidth::Any] {
        for insert_order in orders {
            for remove_order in orders {
                fill_and_empty(width, insert_order, remove_order);
            }
        }
    }
}

#[test]
fn a_queue_stays_as_small_as_its_contents() {
    let mut index = Ordered::with_fanout(KeyWidth::Eight);
    (0..20).for_each(|number| insert(&index, number));
    for number in 20..2_000 {
        insert(&index, number);
        remove(&index, number - 20);
        let shape = index.shape();
        assert!(shape.leaves <= 20 && shape.height <= 6, "{shape:?}");
    }
    (1_980..2_000).for_each(|number| remove(&index, number));
    assert_eq!(index.shape(), EMPTY);
}

#[test]
fn ascending_keys_fill_their_leaves() {
    let mut index = Ordered::<Record, 16>::with_fanout(KeyWidth::Eight);
    for number in 0..1_000_u64 {
        let key = number.to_be_bytes();
        let make = || NonNull::from(Box::leak(Box::new(Record(key.into()))));
        // SAFETY: freed after draining.
        unsafe { index.insert(&key, 0, &epoch::pin(), make) };
    }
    let shape = index.shape();
    assert!(shape.leaves <= 1_000 / 14 + 1, "{shape:?}");
    for record in index.drain() {
        // SAFETY: drained, and nobody reads the index.
        drop(unsafe { Box::from_raw(record.as_ptr()) });
    }
}

#[test]
fn a_key_between_two_leaves_belongs_to_the_left_one_from_below() {
    let mut index = Ordered::with_fanout(KeyWidth::Any);
    (0..5).for_each(|number| insert(&index, number));
    assert_eq!(index.shape().leaves, 2);
    let guard = &epoch::pin();
    let fence = index.find(super::node::Target::First, guard).high.map(|fence| index.owned_key(fence));
    let fence = fence.expect("there are two leaves");
    let sought = SearchKey::new(&fence, KeyWidth::Any);
    assert!(index.find(super::node::Target::Covering(sought), guard).high.is_none());
    assert!(index.find(super::node::Target::Below(sought), guard).low.is_none());
    (0..5).for_each(|number| remove(&index, number));
}
