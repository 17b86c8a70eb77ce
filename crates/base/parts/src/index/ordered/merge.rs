//! Shrinking: a node that has become small joins a neighbour under the same parent, from the leaf up.

use super::{
    Ordered, Step,
    key::{SearchKey, Separator},
    node::{Child, Inner, Leaf, Target},
};
use crate::{
    epoch::{self, Guard},
    index::{Entry, leaf::Version},
    spin::Backoff,
    sync::atomic::Ordering::Acquire,
};
use std::ptr::NonNull;

/// Result of one attempt to join a node with a neighbour.
enum Shrink {
    /// Nothing is left to do at this level or above.
    Done,
    /// The parent has become small in turn.
    ParentUnderfull,
    /// The node is its parent's only child: the parent needs a neighbour's children first.
    Alone,
}

impl<E: Entry, const FANOUT: usize> Ordered<E, FANOUT> {
    /// A node of this many slots or fewer looks for a neighbour to join.
    pub(super) const UNDERFULL: usize = FANOUT / 4;
    /// Two nodes of together this many slots or fewer join; more would soon split again.
    const JOINED: usize = FANOUT - FANOUT / 4;

    /// Joins the node at `level` (0 for the leaf) on the way to a key with a neighbour, if both are small enough or
    /// one has nothing left, and then its parent likewise.
    #[cold]
    pub(super) fn shrink(&self, sought: SearchKey<'_>, mut level: usize, guard: &Guard) {
        let mut backoff = Backoff::new();
        loop {
            match self.try_shrink(sought, level, guard) {
                Some(Shrink::Done) => return,
                Some(Shrink::ParentUnderfull) => level += 1,
                Some(Shrink::Alone) => self.shrink(sought, level + 1, guard),
                None => backoff.pause(),
            }
        }
    }

    /// One attempt. `None`: a node changed meanwhile.
    fn try_shrink(&self, sought: SearchKey<'_>, level: usize, guard: &Guard) -> Option<Shrink> {
        let target = Target::Covering(sought);
        let mut step = self.root_step(target, guard)?;
        let height = step.node.level;
        if height <= level {
            return self.lower_root(step, guard);
        }
        while step.node.level > level + 1 {
            step = self.inner_below(step, target, guard)?;
        }
        let children = step.node.count();
        if children < 2 {
            return match step.node.level == height {
                true => self.lower_root(step, guard),
                false => step.node.latch.validate(step.seen).then_some(Shrink::Alone),
            };
        }
        let lefts = [step.slot.checked_sub(1), (step.slot + 1 < children).then_some(step.slot)];
        for slot in lefts.into_iter().flatten() {
            let left = Step { slot, ..step };
            let joined = match level {
                0 => self.join_leaves(left, guard)?,
                _ => self.join_inner(left, guard)?,
            };
            if joined {
                let underfull = step.node.count() <= Self::UNDERFULL;
                return Some(if underfull { Shrink::ParentUnderfull } else { Shrink::Done });
            }
        }
        Some(Shrink::Done)
    }

    /// Joins the leaf below a step with the next one, if they fit into one. `None`: one of the three changed.
    fn join_leaves(&self, step: Step<'_, FANOUT>, guard: &Guard) -> Option<bool> {
        let (left, left_seen) = self.leaf_below(step, guard)?;
        let (right, right_seen) = self.leaf_below(Step { slot: step.slot + 1, ..step }, guard)?;
        let counts = [left.count(), right.count()];
        if counts[0] + counts[1] > Self::JOINED && !counts.contains(&0) {
            return Some(false);
        }
        let mut parent_latched = step.node.latch.latch_at(step.seen)?;
        let mut left_latched = left.latch.latch_at(left_seen)?;
        let right_latched = right.latch.latch_at(right_seen)?;
        left_latched.fold(right_latched.stamp());
        left_latched.change();
        left.append(right, 0);
        parent_latched.change();
        let removed = step.node.remove(step.slot + 1);
        right_latched.retire();
        // SAFETY: the leaf's pointer and its fence's were in this slot of the parent only, and the leaf is retired.
        unsafe { self.free_leaf_later(removed, guard) };
        Some(true)
    }

    /// Joins the inner node below a step with the next one if they fit into one, and shares their children evenly if
    /// they do not and one has a single child left (O3). Returns whether either. `None`: one of the three changed.
    fn join_inner(&self, step: Step<'_, FANOUT>, guard: &Guard) -> Option<bool> {
        let (left, left_seen) = self.inner_at(step, guard)?;
        let (right, right_seen) = self.inner_at(Step { slot: step.slot + 1, ..step }, guard)?;
        let counts = [left.count(), right.count()];
        let fits = counts[0] + counts[1] <= Self::JOINED;
        if !fits && !counts.contains(&1) {
            return Some(false);
        }
        let mut parent_latched = step.node.latch.latch_at(step.seen)?;
        let mut left_latched = left.latch.latch_at(left_seen)?;
        let mut right_latched = right.latch.latch_at(right_seen)?;
        parent_latched.change();
        left_latched.change();
        let mut children = left.load();
        let middle = children.len();
        children.extend(right.load());
        children[middle].fence = step.node.fence(step.slot + 1);
        if fits {
            left.store(&children);
            let removed = step.node.remove(step.slot + 1);
            right_latched.retire();
            // SAFETY: the node's pointer was in this slot of the parent only, and the node is retired.
            unsafe { self.free_inner_later(removed.node.cast(), guard) };
        } else {
            right_latched.change();
            let (lower, upper) = children.split_at(children.len() / 2);
            left.store(lower);
            right.store(upper);
            step.node.put_fence(step.slot + 1, upper[0].fence);
        }
        Some(true)
    }

    /// Makes a root's only child the root, unless that is a leaf. `None`: the root changed meanwhile.
    fn lower_root(&self, root: Step<'_, FANOUT>, guard: &Guard) -> Option<Shrink> {
        if root.node.level == 1 || root.node.count() > 1 {
            return root.node.latch.validate(root.seen).then_some(Shrink::Done);
        }
        let latched = root.node.latch.latch_at(root.seen)?;
        let old = self.root.load(Acquire);
        self.replace_root(root.node.child(0).cast());
        latched.retire();
        // SAFETY: the old root's pointer was nowhere else, and it is retired.
        unsafe { self.free_inner_later(old, guard) };
        Some(Shrink::Done)
    }

    /// The inner node below a step, validated, with no way on.
    fn inner_at<'g>(&self, step: Step<'g, FANOUT>, guard: &'g Guard) -> Option<(&'g Inner<FANOUT>, Version)> {
        let below = self.inner_below(step, Target::First, guard)?;
        Some((below.node, below.seen))
    }

    /// Frees a leaf and its fence when no guard of now is left.
    ///
    /// # Safety
    /// Neither is in any slot of a reachable node any more, and this is said of them once.
    unsafe fn free_leaf_later(&self, removed: Child, guard: &Guard) {
        let bytes = size_of::<Leaf<E, FANOUT>>() + removed.fence.size();
        self.meter.credit(bytes);
        // SAFETY: whoever still looks at them is pinned now (N1); nobody else frees them.
        unsafe {
            epoch::retire(guard, bytes, move || {
                drop(Box::from_raw(removed.node.cast::<Leaf<E, FANOUT>>()));
                if let Some(separator) = NonNull::new(removed.fence.separator) {
                    Separator::free(separator);
                }
            });
        }
    }

    /// Frees an inner node, without its fences and children, when no guard that is pinned now is left.
    ///
    /// # Safety
    /// Same as [`Self::free_leaf_later`].
    unsafe fn free_inner_later(&self, node: *mut Inner<FANOUT>, guard: &Guard) {
        let bytes = size_of::<Inner<FANOUT>>();
        self.meter.credit(bytes);
        // SAFETY: whoever still looks at it is pinned now (N1); nobody else frees it.
        unsafe { epoch::retire(guard, bytes, move || drop(Box::from_raw(node))) }
    }
}
