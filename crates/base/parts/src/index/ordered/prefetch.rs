//! Looking several keys up side by side, level by level, so that the misses of one overlap those of the others.

use super::{
    Ordered, Step,
    key::SearchKey,
    node::{Leaf, Target, prefetch_node},
};
use crate::{
    epoch::Guard,
    index::{
        Entry,
        prefetch::{SIDE_BY_SIDE, prefetch},
    },
};

impl<E: Entry, const FANOUT: usize> Ordered<E, FANOUT> {
    /// Brings the entries of the first [`SIDE_BY_SIDE`] keys near, and the nodes on the way to them, and shows them to `found`. A
    /// hint for lookups that follow: no key is confirmed to be there or not, nor is a trace left.
    pub fn prefetch_entries<'g>(&self, keys: &[impl AsRef<[u8]>], guard: &'g Guard, found: impl FnMut(&'g E)) {
        let mut steps = [None; SIDE_BY_SIDE];
        for (step, key) in steps.iter_mut().zip(keys) {
            *step = self.root_step(self.target(key.as_ref()), guard);
        }
        while steps.iter().flatten().any(|step| step.node.level > 1) {
            prefetch_children(&steps);
            for (step, key) in steps.iter_mut().zip(keys) {
                *step = match *step {
                    Some(above) if above.node.level > 1 => self.inner_below(above, self.target(key.as_ref()), guard),
                    same => same,
                };
            }
        }
        prefetch_children(&steps);
        self.prefetch_below(keys, &steps, guard, found);
    }

    fn target<'k>(&self, key: &'k [u8]) -> Target<'k> {
        Target::Covering(SearchKey::new(key, self.width()))
    }

    /// The same from the leaves below these steps on.
    fn prefetch_below<'g>(
        &self,
        keys: &[impl AsRef<[u8]>],
        steps: &[Option<Step<'g, FANOUT>>; SIDE_BY_SIDE],
        guard: &'g Guard,
        mut found: impl FnMut(&'g E),
    ) {
        let mut slots: [Option<(&'g Leaf<E, FANOUT>, usize)>; SIDE_BY_SIDE] = [None; SIDE_BY_SIDE];
        for ((slot, step), key) in slots.iter_mut().zip(steps).zip(keys) {
            let Some((leaf, _)) = step.and_then(|step| self.leaf_below(step, guard)) else { continue };
            *slot = leaf.likely_slot(SearchKey::new(key.as_ref(), self.width())).map(|slot| (leaf, slot));
            slot.inspect(|(leaf, slot)| leaf.prefetch_slot(*slot));
        }
        for (leaf, slot) in slots.iter().flatten() {
            leaf.entry(*slot).inspect(|entry| prefetch(entry.pointer().as_ptr(), size_of::<E>()));
        }
        slots.iter().flatten().filter_map(|(leaf, slot)| leaf.entry(*slot)).for_each(|entry| found(entry.shared()));
    }
}

/// Asks for the nodes below these steps.
fn prefetch_children<const FANOUT: usize>(steps: &[Option<Step<'_, FANOUT>>]) {
    steps.iter().flatten().for_each(|step| prefetch_node::<_, FANOUT>(step.node.child(step.slot)));
}
