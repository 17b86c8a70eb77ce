//! Maps from instances, dense.

use std::collections::VecDeque;

/// The most that the keys of one map may lie apart. A configuration's span is below it.
const WIDTH: u64 = 1 << 22;

/// A map from instances that lie near each other: one slot for each key from the lowest to the highest.
///
/// It is not `Clone`: a model that would copy one is refused by the compiler.
#[derive(Debug)]
pub struct InstanceMap<V> {
    /// The key of the first slot.
    base: u64,
    slots: VecDeque<Option<V>>,
}

impl<V> InstanceMap<V> {
    fn get(&self, i: u64) -> Option<&V> {
        let offset = usize::try_from(i.checked_sub(self.base)?).ok()?;
        self.slots.get(offset)?.as_ref()
    }

    /// Keys and elements, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.slots.iter().enumerate().filter_map(|(offset, slot)| Some((self.base + offset as u64, slot.as_ref()?)))
    }

    /// Returns the slot of `i`, created if it is missing.
    fn slot(&mut self, i: u64) -> &mut Option<V> {
        if self.slots.is_empty() {
            self.base = i;
        }
        let below = self.base.saturating_sub(i);
        let offset = i.saturating_sub(self.base);
        assert!(offset < WIDTH && below <= WIDTH - self.len(), "instance {i} lies too far from {}", self.base);
        for _ in 0..below {
            self.slots.push_front(None);
        }
        self.base -= below;
        if offset >= self.len() {
            self.slots.resize_with(offset as usize + 1, || None);
        }
        &mut self.slots[offset as usize]
    }

    fn len(&self) -> u64 {
        self.slots.len() as u64
    }
}

/// The same keys with the same elements; where the slots begin does not matter.
impl<V: PartialEq> PartialEq for InstanceMap<V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<V: Eq> Eq for InstanceMap<V> {}

/// No instance.
pub fn im_empty<V>() -> InstanceMap<V> {
    InstanceMap { base: 0, slots: VecDeque::new() }
}

/// Returns the value of `m` at `i`.
pub fn im_get<V>(i: u64, m: &InstanceMap<V>) -> Option<&V> {
    m.get(i)
}

/// Has `m` something for `i`?
pub fn im_has<V>(i: u64, m: &InstanceMap<V>) -> bool {
    m.get(i).is_some()
}

/// `m` with `v` for `i`.
///
/// # Panics
/// If `i` lies millions of instances from another key of `m`: instead of the memory for all between.
pub fn im_set<V>(i: u64, v: V, mut m: InstanceMap<V>) -> InstanceMap<V> {
    *m.slot(i) = Some(v);
    m
}

/// `m` without what it has below `k`.
pub fn im_drop_below<V>(k: u64, mut m: InstanceMap<V>) -> InstanceMap<V> {
    while m.base < k && m.slots.pop_front().is_some() {
        m.base += 1;
    }
    m
}

/// Returns the values of `m` from `lo` to `hi - 1`, in ascending order.
pub fn im_range<V: Clone>(lo: u64, hi: u64, m: &InstanceMap<V>) -> Vec<(u64, V)> {
    let keys = lo.max(m.base)..hi.min(m.base.saturating_add(m.len()));
    keys.filter_map(|i| Some((i, m.get(i)?.clone()))).collect()
}
