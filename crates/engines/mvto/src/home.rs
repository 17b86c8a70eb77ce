//! The kernel of a tuple's home, where one version lives behind the key: when it may be used again. Checked by loom
//! (`tests/loom_home.rs`).
//!
//! A version leaves its home in one of three ways:
//! - It is replaced at `r`, and *retired*: readers at or below `r` look at it (S2).
//! - It is spliced out from between two others. It began at `b`: readers at or below `b` walk over it, and nobody returns it (S4).
//! - It is cut off: nobody looks at it, and nobody walks over it.
//!
//! So the home remembers one timestamp, the last of those who may look there, and is free when the bound has passed it (M5). Whoever
//! has acquired such a bound has acquired the ends of all who did look.

use crate::retired::has_passed;
use model::Timestamp;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Whether a tuple's home may be used. Relaxed: who owns or holds the tuple accesses it, and hands it on with the tuple.
#[derive(Debug)]
pub struct Home {
    /// The home may be used once the bound is above this: [`EMPTY`], [`LIVED_IN`], or the last timestamp of those who may look at the
    /// version that was there.
    left_at: AtomicU64,
}

/// The home of no version: below every bound.
const EMPTY: u64 = 0;
/// The home of the newest version, or of a kept one.
const LIVED_IN: u64 = u64::MAX;

impl Home {
    /// The home of a tuple without versions.
    pub fn empty() -> Home {
        Home { left_at: AtomicU64::new(EMPTY) }
    }

    /// Takes the home for a new version, if nobody looks at it any more: what was there may be overwritten.
    #[inline]
    pub fn try_move_in(&self, bound: Timestamp) -> bool {
        let is_free = has_passed(bound, Timestamp(self.left_at.load(Relaxed)));
        if is_free {
            self.left_at.store(LIVED_IN, Relaxed);
        }
        is_free
    }

    /// The version that lives there is retired or spliced out. Readers at or below `last` may look at it.
    #[inline]
    pub fn leave(&self, last: Timestamp) {
        self.left_at.store(last.0, Relaxed);
    }

    /// The version that lived there was cut off: nobody looks at it.
    pub fn clear(&self) {
        self.left_at.store(EMPTY, Relaxed);
    }
}
