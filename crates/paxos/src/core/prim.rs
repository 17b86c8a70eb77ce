//! The primitives of the model, realised for speed. Their definitions are in `proofs/paxos/Prim.v`.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use foldhash::fast::FixedState;

/// What replicas agree on: a batch of requests, opaque.
pub type Value = bytes::Bytes;

/// Fills an instance for which nobody has a value.
#[must_use]
pub fn noop() -> Value {
    Value::new()
}

/// The service's state after a prefix of the log, opaque and cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Image(pub Arc<[u8]>);

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({} bytes)", self.0.len())
    }
}

/// The service's state before the first instance.
#[must_use]
pub fn blank() -> Image {
    Image(Arc::from([].as_slice()))
}

/// `a + b`; stops at an overflow.
#[must_use]
pub fn n_add(a: u64, b: u64) -> u64 {
    a.checked_add(b).expect("a number of the model exceeds 64 bits")
}

/// `a * b`; stops at an overflow.
#[must_use]
pub fn n_mul(a: u64, b: u64) -> u64 {
    a.checked_mul(b).expect("a number of the model exceeds 64 bits")
}

/// `a / b`, and 0 where `b` is 0, as in Coq.
#[must_use]
pub fn n_div(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(0)
}

/// `a mod b`, and `a` where `b` is 0, as in Coq.
#[must_use]
pub fn n_mod(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(a)
}

/// The greater one.
#[must_use]
pub fn n_max(a: u64, b: u64) -> u64 {
    a.max(b)
}

/// The lesser one.
#[must_use]
pub fn n_min(a: u64, b: u64) -> u64 {
    a.min(b)
}

/// `lo, lo + 1, ..., hi - 1`.
#[must_use]
pub fn n_range(lo: u64, hi: u64) -> Vec<u64> {
    (lo..hi).collect()
}

/// A set of replicas, each below 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaSet(u64);

/// No replica.
#[must_use]
pub fn ns_empty() -> ReplicaSet {
    ReplicaSet(0)
}

/// `s` with `a`.
#[must_use]
pub fn ns_add(a: u64, s: ReplicaSet) -> ReplicaSet {
    assert!(a < 64, "a replica of the model is 64 or more");
    ReplicaSet(s.0 | 1 << a)
}

/// Is `a` in `s`?
#[must_use]
pub fn ns_mem(a: u64, s: ReplicaSet) -> bool {
    a < 64 && s.0 >> a & 1 == 1
}

/// How many replicas are in `s`.
#[must_use]
pub fn ns_size(s: ReplicaSet) -> u64 {
    u64::from(s.0.count_ones())
}

/// A map from instances that lie within a span of each other: a deque with a base.
#[derive(Debug)]
pub struct InstanceMap<V> {
    base: u64,
    slots: VecDeque<Option<V>>,
}

/// No instance.
#[must_use]
pub fn im_empty<V>() -> InstanceMap<V> {
    InstanceMap { base: 0, slots: VecDeque::new() }
}

impl<V> InstanceMap<V> {
    fn get(&self, i: u64) -> Option<&V> {
        let offset = usize::try_from(i.checked_sub(self.base)?).ok()?;
        self.slots.get(offset)?.as_ref()
    }
}

/// What `m` has for `i`.
#[must_use]
pub fn im_get<V: Clone>(i: u64, m: &InstanceMap<V>) -> Option<V> {
    m.get(i).cloned()
}

/// Has `m` something for `i`?
#[must_use]
pub fn im_has<V>(i: u64, m: &InstanceMap<V>) -> bool {
    m.get(i).is_some()
}

/// `m` with `v` for `i`.
#[must_use]
pub fn im_set<V>(i: u64, v: V, mut m: InstanceMap<V>) -> InstanceMap<V> {
    if m.slots.is_empty() {
        m.base = i;
    }
    while i < m.base {
        m.slots.push_front(None);
        m.base -= 1;
    }
    let offset = usize::try_from(i - m.base).expect("an instance's offset fits the address space");
    while m.slots.len() <= offset {
        m.slots.push_back(None);
    }
    m.slots[offset] = Some(v);
    m
}

/// `m` without what it has for instances below `k`.
#[must_use]
pub fn im_drop_below<V>(k: u64, mut m: InstanceMap<V>) -> InstanceMap<V> {
    while m.base < k && m.slots.pop_front().is_some() {
        m.base += 1;
    }
    m
}

/// What `m` has for `lo` to `hi - 1`, in ascending order.
#[must_use]
pub fn im_range<V: Clone>(lo: u64, hi: u64, m: &InstanceMap<V>) -> Vec<(u64, V)> {
    (lo.max(m.base)..hi.min(m.base + m.slots.len() as u64)).filter_map(|i| Some((i, m.get(i)?.clone()))).collect()
}

/// A map from sessions: unordered and sparse.
#[derive(Debug)]
pub struct SessionMap<V>(HashMap<u64, V, FixedState>);

/// No session.
#[must_use]
pub fn sm_empty<V>() -> SessionMap<V> {
    SessionMap(HashMap::with_hasher(FixedState::default()))
}

/// What `m` has for `i`.
#[must_use]
pub fn sm_get<V: Clone>(i: u64, m: &SessionMap<V>) -> Option<V> {
    m.0.get(&i).cloned()
}

/// `m` with `v` for `i`.
#[must_use]
pub fn sm_set<V>(i: u64, v: V, mut m: SessionMap<V>) -> SessionMap<V> {
    m.0.insert(i, v);
    m
}

/// `m` without what it has for `i`.
#[must_use]
pub fn sm_remove<V>(i: u64, mut m: SessionMap<V>) -> SessionMap<V> {
    m.0.remove(&i);
    m
}
