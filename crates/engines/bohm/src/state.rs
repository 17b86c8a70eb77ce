//! The kernel of the hand-off: what has become of a procedure, in one word.
//!
//! ```text
//! Unprocessed --begin--> Executing --complete--> Complete
//!      ^                     |
//!      +------ put_back -----+        the waiters bit: somebody sleeps until it is no longer Executing
//! ```
//!
//! Whoever has begun owns the procedure's job and its placeholders until it completes or puts back (B6).

use parts::sync::atomic::{
    AtomicU8,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use parts::wait::{WaitTable, Waited};

const UNPROCESSED: u8 = 0;
const EXECUTING: u8 = 1;
const COMPLETE: u8 = 2;
/// Beside [`EXECUTING`] only.
const WAITED_FOR: u8 = 4;

/// State of a procedure.
#[derive(Debug)]
pub struct CallState(AtomicU8);

/// Result of an attempt to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The caller executes it now, and must complete it or put it back.
    Mine,
    /// Another thread executes it.
    Busy,
    /// Its versions are there.
    Complete,
}

impl Default for CallState {
    fn default() -> CallState {
        CallState(AtomicU8::new(UNPROCESSED))
    }
}

impl CallState {
    /// Begins to execute, if nobody does or has. Acquires what the last one to put it back, or to complete it, has
    /// released.
    #[inline]
    pub fn begin(&self) -> Begun {
        match self.0.compare_exchange(UNPROCESSED, EXECUTING, Acquire, Acquire) {
            Ok(_) => Begun::Mine,
            Err(COMPLETE) => Begun::Complete,
            Err(_) => Begun::Busy,
        }
    }

    /// Gives it up unexecuted. `table` is where others wait for it.
    pub fn put_back(&self, table: &WaitTable) {
        self.leave(UNPROCESSED, table);
    }

    /// Publishes that all its versions are there.
    #[inline]
    pub fn complete(&self, table: &WaitTable) {
        self.leave(COMPLETE, table);
    }

    #[inline]
    fn leave(&self, next: u8, table: &WaitTable) {
        let before = self.0.swap(next, Release);
        assert!(before & EXECUTING != 0, "B6: only a procedure that executes is completed or put back");
        if before & WAITED_FOR != 0 {
            table.wake(self.address());
        }
    }

    /// Returns whether nobody has begun it, or the last one has put it back.
    pub fn is_unprocessed(&self) -> bool {
        self.0.load(Acquire) == UNPROCESSED
    }

    /// Returns whether its versions are there.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.0.load(Acquire) == COMPLETE
    }

    /// Sleeps while another thread executes it.
    pub fn wait(&self, table: &WaitTable) {
        let seen = self.0.load(Relaxed);
        let is_marked = seen & WAITED_FOR != 0
            || seen == EXECUTING && self.0.compare_exchange(EXECUTING, EXECUTING | WAITED_FOR, AcqRel, Relaxed).is_ok();
        if seen & EXECUTING == 0 || !is_marked {
            return; // It has just changed: the caller looks again.
        }
        let still = || self.0.load(Acquire) == EXECUTING | WAITED_FOR;
        let waited = table.wait(self.address(), || None, still);
        debug_assert_eq!(waited, Waited::Released);
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}
