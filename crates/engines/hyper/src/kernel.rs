//! The counter, the starts and the status words without rows, for models of all their interleavings (`tests/loom_order.rs`).

use crate::order::{Order, Seat, Starts};
use crate::undo::Undo;
use crate::writer::Writer;
use model::Timestamp;
use std::sync::Arc;

/// What an engine's transactions share beside rows.
#[derive(Debug)]
pub struct Kernel {
    order: Order,
    starts: Starts,
}

/// A version of a row, and its writer.
#[derive(Debug)]
pub struct Version(Undo);

impl Kernel {
    /// A kernel with room for a few transactions, in which nothing has happened.
    pub fn new() -> Kernel {
        Kernel { order: Order::new(0), starts: Starts::new(1, false) }
    }

    /// A place among the starts.
    ///
    /// # Panics
    /// If there is no room.
    pub fn slot(&self) -> u64 {
        self.starts.add().expect("room for a few")
    }

    /// Starts a transaction that may validate.
    pub fn start(&self, slot: u64, claims: bool) -> u64 {
        self.starts.start(slot, &self.order, claims, false)
    }

    /// Draws a start that is nobody's.
    pub fn draw(&self) -> u64 {
        self.order.draw()
    }

    /// The bound below which nobody reads, and forgets whom nobody validates against.
    pub fn collect(&self) -> u64 {
        let lowest = self.starts.lowest(&self.order);
        self.order.forget(lowest.writing);
        lowest.any
    }

    /// Draws a commit timestamp, and finds who has drawn theirs since a start.
    pub fn decide(&self, version: &Version, start: u64) -> (u64, Vec<u64>) {
        let drawn = self.order.draw_for(version.0.writer().clone(), Vec::new(), start, 0);
        (drawn.commit.at, drawn.others.iter().map(|other| other.at).collect())
    }
}

impl Default for Kernel {
    fn default() -> Kernel {
        Kernel::new()
    }
}

impl Version {
    /// The version of a writer of its own.
    pub fn new() -> Version {
        Version(Undo::of(&Arc::new(Writer::new(Timestamp::ZERO, Seat::default()))))
    }

    /// Commits it, after [`Kernel::decide`].
    pub fn commit(&self) {
        assert!(!self.0.writer().status.commits(), "nobody sleeps here");
    }

    /// Returns whether a transaction of this start reads it. Waits for a decision, as readers do.
    pub fn is_visible(&self, start: u64) -> bool {
        loop {
            match self.0.is_visible(start, None) {
                Ok(is_visible) => return is_visible,
                Err(undecided) => undecided.0.status.decided(),
            };
        }
    }
}

impl Default for Version {
    fn default() -> Version {
        Version::new()
    }
}
