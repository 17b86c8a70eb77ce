//! Index entries: a key and the place of its row, both for ever.

use crate::writer::Place;
use model::Key;
use parts::index::Entry;
use std::ptr::NonNull;

/// An index entry.
#[derive(Debug)]
pub(crate) struct Node {
    pub key: Key,
    pub place: Place,
}

// SAFETY: the key is immutable.
unsafe impl Entry for Node {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

/// An index entry by its address. Whoever looks at it has found it in its slot, under the latch of the slot's block, or in the
/// index, under an epoch guard (Y6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRef(NonNull<Node>);

// SAFETY: a node is Send and Sync, and shared only.
unsafe impl Send for NodeRef {}
// SAFETY: as for Send.
unsafe impl Sync for NodeRef {}

impl NodeRef {
    /// A node that the index has shown.
    pub fn of(node: &Node) -> NodeRef {
        NodeRef(NonNull::from(node))
    }

    /// A node that has left the index.
    pub fn at(address: NonNull<Node>) -> NodeRef {
        NodeRef(address)
    }

    /// A new node: [`NodeRef::free`] frees it.
    pub fn allocate(key: &[u8], place: Place) -> NodeRef {
        NodeRef(NonNull::from(Box::leak(Box::new(Node { key: Key::from_bytes(key), place }))))
    }

    /// Its address, for the index.
    pub fn pointer(self) -> NonNull<Node> {
        self.0
    }

    /// Its key.
    pub fn key(&self) -> &Key {
        // SAFETY: Y6, as the type says.
        unsafe { &self.0.as_ref().key }
    }

    /// Returns the bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        size_of::<Node>() + self.key().memory()
    }

    /// Frees the node, which has left the index and its slot, and which nobody can be looking at any more (Y6).
    pub fn free(self) {
        // SAFETY: made by `allocate`, and freed once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
