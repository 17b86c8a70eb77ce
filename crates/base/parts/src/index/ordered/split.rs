//! Growing: a full node gives its upper part to a new one, from the root down, so that each parent has room.

use super::{
    Fences, Ordered, Step,
    key::SearchKey,
    node::{Child, Fence, Inner, Leaf, Target},
};
use crate::{
    epoch::Guard,
    index::{
        Entry, KeyWidth, LeafChange,
        leaf::{StampedLatch, Version},
    },
    spin::Backoff,
    sync::atomic::Ordering::Acquire,
};

impl<E: Entry, const FANOUT: usize> Ordered<E, FANOUT> {
    /// Splits the full nodes on the way to a key, until its leaf has room.
    #[cold]
    pub(super) fn make_room<const COUNTED: bool>(
        &self,
        sought: SearchKey<'_>,
        guard: &Guard,
        changed: &mut impl FnMut(LeafChange<'_>),
    ) {
        let mut backoff = Backoff::new();
        while self.try_make_room::<COUNTED>(sought, guard, changed).is_none() {
            backoff.pause();
        }
    }

    /// One way down. `None`: a node changed meanwhile, or an inner node was split; go down again.
    fn try_make_room<const COUNTED: bool>(
        &self,
        sought: SearchKey<'_>,
        guard: &Guard,
        changed: &mut impl FnMut(LeafChange<'_>),
    ) -> Option<()> {
        let target = Target::Covering(sought);
        let mut parent = None;
        let mut step = self.root_step(target, guard)?;
        let mut fences = Fences::default();
        loop {
            fences.pass(step);
            if step.node.count() == FANOUT {
                self.split_inner(parent, step);
                return None;
            }
            if step.node.level == 1 {
                let (leaf, seen) = self.leaf_below(step, guard)?;
                let counts = |latched: (u64, u64), fence| self.report(latched, fences, Some(fence), guard, changed);
                return self.split_leaf::<COUNTED>(step, (leaf, seen), sought, counts);
            }
            let below = self.inner_below(step, target, guard)?;
            parent = Some(step);
            step = below;
        }
    }

    /// Splits a leaf, if it is full, under a parent that has room. `None`: one of them changed meanwhile.
    fn split_leaf<const COUNTED: bool>(
        &self,
        parent: Step<'_, FANOUT>,
        (leaf, seen): (&Leaf<E, FANOUT>, Version),
        sought: SearchKey<'_>,
        report: impl FnOnce((u64, u64), Fence),
    ) -> Option<()> {
        let mut parent_latched = parent.node.latch.latch_at(parent.seen)?;
        let mut leaf_latched = leaf.latch.latch_at(seen)?;
        if leaf.count() < FANOUT {
            return Some(());
        }
        let cut = Self::cut(leaf.partition_point(sought, false) == FANOUT);
        let fence = leaf.fence_at(cut, self.width == KeyWidth::Eight);
        if COUNTED {
            // Before the new half takes its count over.
            report(leaf_latched.count_change(), fence);
        }
        let right = Leaf::new(leaf_latched.split_off());
        self.meter.charge(size_of::<Leaf<E, FANOUT>>() + fence.size());
        right.append(leaf, cut);
        leaf.truncate(cut);
        parent_latched.change();
        parent.node.insert(parent.slot + 1, Child { fence, node: Box::into_raw(right).cast() });
        Some(())
    }

    /// Splits a full inner node under a parent that has room, or the root under a new one. `None`: as above.
    fn split_inner(&self, parent: Option<Step<'_, FANOUT>>, full: Step<'_, FANOUT>) -> Option<()> {
        let parent_latched = match parent {
            Some(parent) => Some((parent, parent.node.latch.latch_at(parent.seen)?)),
            None => None,
        };
        let mut latched = full.node.latch.latch_at(full.seen)?;
        let children = full.node.load();
        let (left, right) = children.split_at(Self::cut(full.slot + 1 == FANOUT));
        let node = Inner::<FANOUT>::new(latched.split_off(), full.node.level, right);
        self.meter.charge(size_of::<Inner<FANOUT>>());
        let right = Child { fence: right[0].fence, node: Box::into_raw(node).cast() };
        full.node.store(left);
        match parent_latched {
            Some((parent, mut latched)) => {
                latched.change();
                parent.node.insert(parent.slot + 1, right);
            }
            None => self.grow(right),
        }
        Some(())
    }

    /// Puts a new root above the old one, whose latch is held, and its new neighbour.
    fn grow(&self, right: Child) {
        let left = self.root.load(Acquire);
        // SAFETY: the root while its latch is held, so that nobody can replace or retire it.
        let level = unsafe { (*left).level } + 1;
        let children = [Child { fence: Fence::NONE, node: left.cast() }, right];
        self.meter.charge(size_of::<Inner<FANOUT>>());
        self.replace_root(Box::into_raw(Inner::<FANOUT>::new(StampedLatch::new(0), level, &children)));
    }

    /// Returns how many slots stay in the lower of the two nodes: nearly all when keys arrive in ascending order.
    fn cut(appending: bool) -> usize {
        if appending { FANOUT - (FANOUT / 8).max(2) } else { FANOUT / 2 }
    }
}
