//! Drains a tree: yields its entries in order, and frees its nodes on the way.

use super::{
    key::Separator,
    node::{Found, Inner, Leaf},
};
use crate::{index::Entry, memory::Meter};
use std::{ptr::NonNull, sync::Arc};

/// The entries of an index that is no more, in the order of their keys. See [`Ordered::drain`](super::Ordered::drain).
pub struct Drain<E: Entry, const FANOUT: usize = 64> {
    /// Nodes whose turn has not come, the next one last, with their levels (0 for a leaf). Owned.
    pending: Vec<(usize, *mut ())>,
    leaf: Option<Box<Leaf<E, FANOUT>>>,
    slot: usize,
    /// Counted the nodes.
    meter: Arc<Meter>,
}

impl<E: Entry, const FANOUT: usize> Drain<E, FANOUT> {
    /// # Safety
    /// `root` is the root of a whole tree, which is the drain's own from here on: nobody reads its nodes any more.
    pub(super) unsafe fn new(root: *mut Inner<FANOUT>, meter: Arc<Meter>) -> Self {
        // SAFETY: alive by the caller's promise.
        let level = unsafe { (*root).level };
        Self { pending: vec![(level, root.cast())], leaf: None, slot: 0, meter }
    }

    /// Frees the leaf at hand and goes on to the next one.
    fn next_leaf(&mut self) -> bool {
        self.leaf = None;
        self.slot = 0;
        while let Some((level, node)) = self.pending.pop() {
            if level == 0 {
                self.meter.credit(size_of::<Leaf<E, FANOUT>>());
                // SAFETY: level 0 is a leaf, allocated as a box of this type, owned by the drain and taken once.
                self.leaf = Some(unsafe { Box::from_raw(node.cast()) });
                return true;
            }
            // SAFETY: as above, for an inner node.
            let inner = unsafe { Box::from_raw(node.cast::<Inner<FANOUT>>()) };
            self.meter.credit(size_of::<Inner<FANOUT>>());
            for child in inner.load().into_iter().rev() {
                self.meter.credit(child.fence.size());
                self.pending.push((level - 1, child.node));
                if let Some(separator) = NonNull::new(child.fence.separator) {
                    // SAFETY: a separator is in one slot of one node, which is owned by the drain and gone now.
                    unsafe { Separator::free(separator) };
                }
            }
        }
        false
    }
}

impl<E: Entry, const FANOUT: usize> Iterator for Drain<E, FANOUT> {
    type Item = NonNull<E>;

    fn next(&mut self) -> Option<NonNull<E>> {
        loop {
            if let Some(leaf) = self.leaf.as_ref().filter(|leaf| self.slot < leaf.count()) {
                self.slot += 1;
                return leaf.entry(self.slot - 1).map(Found::pointer);
            }
            if !self.next_leaf() {
                return None;
            }
        }
    }
}

impl<E: Entry, const FANOUT: usize> Drop for Drain<E, FANOUT> {
    fn drop(&mut self) {
        while self.next_leaf() {}
    }
}

// SAFETY: owns its nodes, and an `Entry` is Send and Sync.
unsafe impl<E: Entry, const FANOUT: usize> Send for Drain<E, FANOUT> {}
