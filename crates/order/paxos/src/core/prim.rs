//! The primitives of the model: the only functions of the core that are written by hand and trusted.
//!
//! Their definitions are in `proofs/paxos/Prim.v` and in Coq's library, over numbers without bound and maps that never
//! change. Here a number has 64 bits, a map is changed in place, and both say so where that would show: arithmetic stops
//! at an overflow, and a map of instances stops where its keys lie too far apart. The model keeps them together (theorems of
//! `StatementsBounds.v`), and the runtime takes no number above [`NUMBER_LIMIT`] from outside, so neither happens.
//!
//! The tests compare each with its definition, read anew over ordered maps; `make proofs` compares them with what Coq
//! extracts from the definitions.

mod instances;
mod sessions;
#[cfg(test)]
mod tests;

pub use instances::{InstanceMap, im_drop_below, im_empty, im_get, im_has, im_range, im_set};
pub use sessions::{SessionMap, sm_empty, sm_get, sm_remove, sm_set};

/// Ballots, instances and sequence numbers from outside must be below this: then no step can exceed 64 bits.
pub const NUMBER_LIMIT: u64 = 1 << 62;

/// Value that replicas agree on: a batch of requests, opaque, cheap to clone.
pub type Value = bytes::Bytes;

/// Fills an instance for which nobody has a value.
pub fn noop() -> Value {
    Value::new()
}

pub use crate::image::Image;

/// The service's state before the first instance.
pub fn blank() -> Image {
    Image::blank()
}

/// `a + b`.
///
/// # Panics
/// If that needs more than 64 bits.
pub fn n_add(a: u64, b: u64) -> u64 {
    a.checked_add(b).expect("a number of the model exceeds 64 bits")
}

/// `a * b`.
///
/// # Panics
/// If that needs more than 64 bits.
pub fn n_mul(a: u64, b: u64) -> u64 {
    a.checked_mul(b).expect("a number of the model exceeds 64 bits")
}

/// `a / b`, and 0 where `b` is 0, as in Coq.
pub fn n_div(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or(0)
}

/// `a mod b`, and `a` where `b` is 0, as in Coq.
pub fn n_mod(a: u64, b: u64) -> u64 {
    a.checked_rem(b).unwrap_or(a)
}

/// The greater one.
pub fn n_max(a: u64, b: u64) -> u64 {
    a.max(b)
}

/// The lesser one.
pub fn n_min(a: u64, b: u64) -> u64 {
    a.min(b)
}

/// `lo, lo + 1, ..., hi - 1`.
pub fn n_range(lo: u64, hi: u64) -> Vec<u64> {
    (lo..hi).collect()
}

/// The elements of `a`, then those of `b`.
pub fn list_append<T>(mut a: Vec<T>, mut b: Vec<T>) -> Vec<T> {
    a.append(&mut b);
    a
}

/// A set of replicas, each below 64: one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSet(u64);

/// No replica.
pub fn ns_empty() -> ReplicaSet {
    ReplicaSet(0)
}

/// `s` with `a`.
///
/// # Panics
/// If `a` is 64 or more. The model adds voting replicas only, and a configuration has no more than 64.
pub fn ns_add(a: u64, s: ReplicaSet) -> ReplicaSet {
    assert!(a < 64, "replica {a} is beyond the 64 that a set holds");
    ReplicaSet(s.0 | 1 << a)
}

/// Is `a` in `s`?
pub fn ns_mem(a: u64, s: ReplicaSet) -> bool {
    a < 64 && s.0 >> a & 1 == 1
}

/// Returns the number of replicas in `s`.
pub fn ns_size(s: ReplicaSet) -> u64 {
    u64::from(s.0.count_ones())
}
