//! Indexes from keys to entries, with the stamp that phantom protection needs.

mod any;
pub mod hash;
pub mod leaf;
pub mod ordered;
pub mod prefetch;

pub use any::{AnyIndex, Walk};
pub use hash::{Hash, KeyHash};
pub use ordered::Ordered;

/// Entry of an index: a pointer to a shared record that carries its own key.
///
/// # Safety
/// `key` returns the same bytes for as long as the entry lives, whatever other threads do to the entry.
pub unsafe trait Entry: Send + Sync + 'static {
    /// The entry's key, immutable.
    fn key(&self) -> &[u8];
}

/// Width of the keys of one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyWidth {
    /// Every key has exactly eight bytes: a comparison never looks at the entry.
    Eight,
    /// Any length up to the engine's limit.
    Any,
}

/// Number of changes of a leaf (or bucket) that readers of absent keys must notice: inserts and splits. What optimistic
/// readers remember of the leaf of a key that they found absent, or of a leaf that they scanned ([`leaf`], L5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafCount(u64);

/// Change of a leaf by an insert, reported under the leaf's latch: for an inserter that remembers counts, and would
/// take its own change for another's.
pub struct LeafChange<'a> {
    /// The count before.
    pub before: LeafCount,
    /// The count after, of both halves if the leaf was split.
    pub after: LeafCount,
    /// Returns whether the leaf covered a key before; `None`: whether it was the first one.
    pub covered: &'a dyn Fn(Option<&[u8]>) -> bool,
    /// The lowest key of the new half, if a leaf of an ordered index was split.
    pub split: Option<&'a [u8]>,
}

/// Result of an insert.
#[derive(Debug)]
pub enum Insert<'g, E> {
    /// The key was absent and nobody had found it so above the insert's position: this entry is in the index now.
    Inserted(&'g E),
    /// The key is taken by this entry; nothing was inserted.
    Exists(&'g E),
    /// Somebody found keys of this leaf absent at this position, above the insert's own; nothing was inserted.
    Stamped(u64),
}
