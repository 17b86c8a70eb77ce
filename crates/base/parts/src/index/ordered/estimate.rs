//! Estimates from the tree's shape: about how many entries a range has, and entries from all over the tree.
//!
//! A descent to each end of the range says how many children lie before the way at each level. What lies between two ways that
//! part is counted by the children between them, and by how full the nodes are that some descents have met. It costs the
//! descents, nothing at writes, and leaves no trace. A small range, whose ends lie in one leaf, is counted exactly.

use super::{
    Ordered,
    key::SearchKey,
    node::{Leaf, Target, pick},
};
use crate::{epoch::Guard, index::Entry, spin::Backoff};
use std::ops::Bound;

/// Descents that look at how full the nodes are in the middle of the tree.
const PROBES: u64 = 6;

/// A way from the root to a leaf, and on to a slot of the leaf.
#[derive(Default)]
struct Way {
    /// The slot at each level, and how many there are, from the root to the leaf.
    slots: Vec<(usize, usize)>,
}

impl<E: Entry, const FANOUT: usize> Ordered<E, FANOUT> {
    /// About how many entries lie between two bounds.
    pub fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, guard: &Guard) -> u64 {
        let key = |bytes| SearchKey::new(bytes, self.width());
        let from = match lower {
            Bound::Unbounded => self.way(Target::First, |_| 0, guard),
            Bound::Included(bytes) => {
                self.way(Target::Covering(key(bytes)), |leaf| leaf.partition_point(key(bytes), false), guard)
            }
            Bound::Excluded(bytes) => {
                self.way(Target::Covering(key(bytes)), |leaf| leaf.partition_point(key(bytes), true), guard)
            }
        };
        let to = match upper {
            Bound::Unbounded => self.way(Target::Last, Leaf::count, guard),
            Bound::Included(bytes) => {
                self.way(Target::Covering(key(bytes)), |leaf| leaf.partition_point(key(bytes), true), guard)
            }
            Bound::Excluded(bytes) => {
                self.way(Target::Covering(key(bytes)), |leaf| leaf.partition_point(key(bytes), false), guard)
            }
        };
        let levels = from.slots.len();
        // The root was replaced in between; or the bounds exclude each other.
        if levels != to.slots.len() || from.slots.iter().map(|slot| slot.0).gt(to.slots.iter().map(|slot| slot.0)) {
            return 0;
        }
        let Some(parting) = (0..levels).find(|&level| from.slots[level].0 != to.slots[level].0) else { return 0 };
        if parting + 1 == levels {
            return (to.slots[parting].0 - from.slots[parting].0) as u64;
        }
        let below = self.entries_below(&from, &to, guard);
        let mut entries = (to.slots[parting].0 - from.slots[parting].0) as f64 * below[parting];
        for ((left, right), below) in from.slots.iter().zip(&to.slots).zip(&below).skip(parting + 1) {
            // The level above counts the child on the left way as a whole, and the one on the right way not at all.
            entries += (right.0 as f64 - left.0 as f64) * below;
        }
        // What the left leaf has behind its slot and the right one before lies there for certain.
        entries.max(in_the_end_leaves(&from, &to)).round() as u64
    }

    /// Entries from all over the tree, `most` of them: one of the same number is the same one again.
    pub fn sample<'g>(&self, most: usize, guard: &'g Guard) -> Vec<&'g E> {
        let of = |number: u64| {
            let mut backoff = Backoff::new();
            loop {
                if let Some((leaf, seen)) = self.descend(Target::Some(number), guard, |_| {}) {
                    let entry = leaf.entry(pick(number, leaf.count()));
                    if leaf.latch.validate(seen) {
                        return entry.map(super::node::Found::shared);
                    }
                }
                backoff.pause();
            }
        };
        (0..most as u64).filter_map(|number| of(number << 8)).collect()
    }

    /// The way to a target, and to a slot of the leaf there.
    fn way(&self, target: Target<'_>, slot: impl Fn(&Leaf<E, FANOUT>) -> usize, guard: &Guard) -> Way {
        let mut backoff = Backoff::new();
        loop {
            let mut way = Way::default();
            if let Some((leaf, seen)) =
                self.descend(target, guard, |step| way.slots.push((step.slot, step.node.count().max(1))))
            {
                way.slots.push((slot(leaf), leaf.count()));
                if leaf.latch.validate(seen) {
                    return way;
                }
            }
            backoff.pause();
        }
    }

    /// About how many entries lie below one slot of each level, of a tree through which these two ways lead.
    fn entries_below(&self, from: &Way, to: &Way, guard: &Guard) -> Vec<f64> {
        let levels = from.slots.len();
        // The ends of the tree are fuller or emptier than the rest.
        let probes = (0..PROBES).map(|number| self.way(Target::Some(number << 8), |_| 0, guard));
        let probes: Vec<Way> = probes.filter(|way| way.slots.len() == levels).collect();
        let ways: Vec<&Way> = if probes.is_empty() { vec![from, to] } else { probes.iter().collect() };
        let fill = |level: usize| ways.iter().map(|way| way.slots[level].1 as f64).sum::<f64>() / ways.len() as f64;
        let mut below = vec![1.0; levels];
        for level in (1..levels).rev() {
            below[level - 1] = below[level] * fill(level).max(1.0);
        }
        below
    }
}

fn in_the_end_leaves(from: &Way, to: &Way) -> f64 {
    let behind = from.slots.last().map_or(0, |&(slot, count)| count.saturating_sub(slot));
    let before = to.slots.last().map_or(0, |&(slot, _)| slot);
    (behind + before) as f64
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::{epoch, index::KeyWidth};
    use std::ptr::NonNull;

    struct Record([u8; 8]);

    // SAFETY: the key is immutable.
    unsafe impl Entry for Record {
        fn key(&self) -> &[u8] {
            &self.0
        }
    }

    fn index(numbers: impl Iterator<Item = u64>) -> Ordered<Record, 8> {
        let index = Ordered::with_fanout(KeyWidth::Eight);
        for number in numbers {
            let key = number.to_be_bytes();
            let make = || NonNull::from(Box::leak(Box::new(Record(key))));
            // SAFETY: the records are freed after the last use of the index.
            unsafe { index.insert(&key, 0, &epoch::pin(), make) };
        }
        index
    }

    fn free(mut index: Ordered<Record, 8>) {
        // SAFETY: one thread, and no reference is left.
        index.drain().for_each(|record| drop(unsafe { Box::from_raw(record.as_ptr()) }));
    }

    /// Orders of insertion, each of the numbers below the count once.
    const ORDERS: [fn(u64) -> u64; 3] = [|step| step, |step| COUNT - 1 - step, |step| step * 7_919 % COUNT];
    const COUNT: u64 = if cfg!(miri) { 120 } else { 20_000 };

    #[test]
    fn estimates_are_near_the_counts() {
        for order in ORDERS {
            let index = index((0..COUNT).map(order));
            let guard = &epoch::pin();
            for (from, to) in [(0, COUNT), (COUNT / 10, COUNT / 5), (COUNT / 3, COUNT), (7, 7 + COUNT / 40)] {
                let (lower, upper) = (from.to_be_bytes(), to.to_be_bytes());
                let found = index.estimate(Bound::Included(&lower), Bound::Excluded(&upper), guard) as f64;
                let exact = (to - from) as f64;
                assert!(found > exact / 2.5 && found < exact * 2.5, "{found} for {exact}");
            }
            let all = index.estimate(Bound::Unbounded, Bound::Unbounded, guard) as f64;
            assert!(all > COUNT as f64 / 2.5 && all < COUNT as f64 * 2.5, "{all}");
            free(index);
        }
    }

    #[test]
    fn a_range_within_a_leaf_is_counted() {
        let index = index(0..5);
        let guard = &epoch::pin();
        let key = |number: u64| number.to_be_bytes();
        for (from, to, expected) in [(0, 5, 5), (1, 3, 2), (2, 2, 0), (4, 100, 1), (3, 1, 0), (9, 12, 0)] {
            let found = index.estimate(Bound::Included(&key(from)), Bound::Excluded(&key(to)), guard);
            assert_eq!(found, expected, "{from}..{to}");
        }
        assert_eq!(index.estimate(Bound::Excluded(&key(1)), Bound::Included(&key(3)), guard), 2);
        free(index);
        assert_eq!(self::index(0..0).estimate(Bound::Unbounded, Bound::Unbounded, guard), 0);
    }

    #[test]
    fn samples_come_from_all_over() {
        let index = index((0..COUNT).map(ORDERS[2]));
        let guard = &epoch::pin();
        let numbers =
            || -> Vec<u64> { index.sample(64, guard).iter().map(|record| u64::from_be_bytes(record.0)).collect() };
        let found = numbers();
        assert_eq!(found, numbers(), "the same while nothing changes");
        for quarter in 0..4 {
            let inside = found.iter().filter(|&&number| number * 4 / COUNT == quarter).count();
            assert!((4..=40).contains(&inside), "{inside} of 64 in quarter {quarter}");
        }
        free(index);
        assert!(self::index(0..0).sample(3, guard).is_empty());
    }
}
