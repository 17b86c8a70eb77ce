//! Waits for a thread that is about to finish: spins, but not for a whole time slice of a core that the other thread needs.

use crate::sync::{spin_loop, thread};

/// Looks of a waiting thread before it offers its core to others.
const SPINS_BEFORE_YIELD: u32 = 64;

/// A few looks, then the core is offered to others before each further one. For waits of nanoseconds, on somebody who holds
/// something between two instructions; whoever waits for more sleeps ([`crate::wait`]).
#[derive(Debug, Default)]
pub struct Backoff(u32);

impl Backoff {
    /// Returns a spinner that has not waited yet.
    #[inline]
    pub fn new() -> Self {
        Self(0)
    }

    /// Waits a little.
    pub fn pause(&mut self) {
        // A model checker runs one thread at a time: only yielding lets the holder go on.
        if cfg!(any(loom, feature = "shuttle")) || self.0 >= SPINS_BEFORE_YIELD {
            thread::yield_now();
        } else {
            self.0 += 1;
            spin_loop();
        }
    }
}
