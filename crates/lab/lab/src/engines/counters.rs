//! Counters in place of a clock: what `mvto` is without the CPU's time stamp counter.
//!
//! Source: vMVCC (OSDI '23), section 6.4: identifiers of transactions by a counter under a mutex, by fetch-and-add, by the time stamp
//! counter.

use env::Clock;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far `mvto` is up the paper's ladder of optimizations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ladder {
    /// One site, timestamps from a counter under a mutex.
    LockedCounterOneSite,
    /// Many sites.
    LockedCounter,
    /// And the counter by fetch-and-add.
    Counter,
    /// And the time stamp counter instead: the engine as it is.
    #[default]
    Whole,
}

/// Steps in a second, for limits on time. Nothing here waits for any.
const PER_SECOND: u64 = 1_000_000_000;

/// Goes on by one step each time that it is read. A step is the number of sites, so that a timestamp that is rounded up to its
/// site's residue has passed at the next reading.
#[derive(Debug)]
pub struct Counter {
    next: AtomicU64,
    step: u64,
}

impl Counter {
    /// From one step on.
    pub fn new(step: u64) -> Counter {
        Counter { next: AtomicU64::new(step), step }
    }
}

impl Clock for Counter {
    fn now(&self) -> u64 {
        // Sequentially consistent, as a clock that all threads read.
        self.next.fetch_add(self.step, Ordering::SeqCst)
    }

    fn ticks_per_second(&self) -> u64 {
        PER_SECOND
    }
}

/// The same, under a mutex.
#[derive(Debug)]
pub struct LockedCounter {
    next: Mutex<u64>,
    step: u64,
}

impl LockedCounter {
    /// From one step on.
    pub fn new(step: u64) -> LockedCounter {
        LockedCounter { next: Mutex::new(step), step }
    }
}

impl Clock for LockedCounter {
    fn now(&self) -> u64 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next += self.step;
        *next
    }

    fn ticks_per_second(&self) -> u64 {
        PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_go_on_with_each_reading() {
        let (counter, locked) = (Counter::new(64), LockedCounter::new(64));
        for clock in [&counter as &dyn Clock, &locked] {
            let readings: Vec<u64> = (0..4).map(|_| clock.now()).collect();
            assert!(readings.windows(2).all(|pair| pair[1] == pair[0] + 64), "{readings:?}");
        }
    }
}
