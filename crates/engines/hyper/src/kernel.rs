//! The counter, the starts and the status words without rows, for models of all their interleavings (`tests/loom_order.rs`).

use crate::order::{Order, Seat, Starts};
use crate::tables::{Probe, Tables};
use crate::undo::Undo;
use crate::writer::Writer;
use model::Timestamp;
use parts::sync::{Mutex, thread};
use std::sync::{Arc, PoisonError};

/// What an engine's transactions share beside rows.
#[derive(Debug)]
pub struct Kernel {
    order: Order,
    starts: Starts,
    tables: Tables<Probe>,
    freed: Mutex<Vec<Arc<Probe>>>,
}

/// A version of a row, and its writer.
#[derive(Debug)]
pub struct Version(Undo);

impl Kernel {
    /// A kernel with room for a few transactions, in which nothing has happened.
    pub fn new() -> Kernel {
        let (order, starts, tables) = (Order::new(0), Starts::new(1, false), Tables::default());
        Kernel { order, starts, tables, freed: Mutex::default() }
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

    /// Adds a table.
    pub fn add_table(&self, number: u32) {
        self.tables.set(number, Probe::default());
    }

    /// Looks for a table and at it, in a transaction that has started. Returns whether it is there.
    ///
    /// # Panics
    /// If it was freed.
    pub fn look_at_table(&self, number: u32) -> bool {
        self.tables.look(number)
    }

    /// Ends a transaction.
    pub fn leave(&self, slot: u64) {
        self.starts.leave(slot);
    }

    /// Drops a table, and frees it if nobody can use it. Returns whether it did.
    pub fn drop_table(&self, number: u32) -> bool {
        self.tables.mark_dropped(number);
        let is_over = self.order.draw() <= self.starts.lowest_first(&self.order);
        if is_over {
            let freed = self.tables.free(number);
            self.freed.lock().unwrap_or_else(PoisonError::into_inner).extend(freed);
        }
        is_over
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
                Err(undecided) => {
                    while undecided.0.status.is_deciding() {
                        thread::yield_now();
                    }
                }
            }
        }
    }
}

impl Default for Version {
    fn default() -> Version {
        Version::new()
    }
}
