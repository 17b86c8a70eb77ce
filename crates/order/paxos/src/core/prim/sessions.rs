//! Maps from sessions, sparse.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// A map from sessions: they come and go in any order.
///
/// Sessions are numbered by the log, so nobody chooses keys that collide, and a fixed seed makes every replica alike. It is
/// not `Clone`: a model that would copy one is refused by the compiler.
#[derive(Debug)]
pub struct SessionMap<V>(HashMap<u64, V, FixedState>);

impl<V> SessionMap<V> {
    /// Keys and elements, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.0.iter().map(|(key, element)| (*key, element))
    }

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Has it none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: PartialEq> PartialEq for SessionMap<V> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<V: Eq> Eq for SessionMap<V> {}

/// No session.
pub fn sm_empty<V>() -> SessionMap<V> {
    SessionMap(HashMap::default())
}

/// Returns the value of `m` at `i`.
pub fn sm_get<V>(i: u64, m: &SessionMap<V>) -> Option<&V> {
    m.0.get(&i)
}

/// `m` with `v` for `i`.
pub fn sm_set<V>(i: u64, v: V, mut m: SessionMap<V>) -> SessionMap<V> {
    m.0.insert(i, v);
    m
}

/// `m` without what it has for `i`.
pub fn sm_remove<V>(i: u64, mut m: SessionMap<V>) -> SessionMap<V> {
    m.0.remove(&i);
    m
}
