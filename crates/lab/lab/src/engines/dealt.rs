//! Engines of several nodes in this process: who is the client of which.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Nodes, and whose turn it is. `Relaxed`: it only deals clients out.
pub(super) struct Dealt<N> {
    pub nodes: Vec<N>,
    next: AtomicUsize,
}

thread_local! {
    /// The node of the client on this thread: a client has the same one for all its transactions.
    static NODE: Cell<Option<usize>> = const { Cell::new(None) };
}

impl<N> Dealt<N> {
    pub fn new(nodes: Vec<N>) -> Dealt<N> {
        Dealt { nodes, next: AtomicUsize::new(0) }
    }

    /// The node of this thread's client.
    pub fn node(&self) -> &N {
        let node = NODE.get().unwrap_or_else(|| self.next.fetch_add(1, Relaxed));
        NODE.set(Some(node));
        &self.nodes[node % self.nodes.len()]
    }
}
