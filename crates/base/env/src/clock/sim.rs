//! A clock that a test moves.

use super::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulated clock, in nanoseconds: each read advances it by a step; a test advances it by hand and makes it fail. Clones
/// are the same clock.
#[derive(Clone, Debug)]
pub struct SimClock {
    state: Arc<Mutex<State>>,
    reads: Arc<AtomicU64>,
}

#[derive(Debug)]
struct State {
    now: u64,
    step: u64,
    /// Reads that still return the same value; `u64::MAX` until [`SimClock::resume`].
    stalled_reads: u64,
}

impl SimClock {
    /// A clock whose first read returns `start + step`, and each further read `step` more.
    #[must_use]
    pub fn new(start: u64, step: u64) -> Self {
        let state = State { now: start, step, stalled_reads: 0 };
        Self { state: Arc::new(Mutex::new(state)), reads: Arc::default() }
    }

    /// Moves the clock forward by `ticks`, as time does: for a jump too far ahead, the same call serves as the fault.
    pub fn advance(&self, ticks: u64) {
        let mut state = self.lock();
        state.now = state.now.saturating_add(ticks);
    }

    /// From now on each read advances the clock by `step`; zero makes it move by hand only.
    pub fn set_step(&self, step: u64) {
        self.lock().step = step;
    }

    /// Fault: the clock steps back by `ticks` (at most to zero).
    pub fn step_back(&self, ticks: u64) {
        let mut state = self.lock();
        state.now = state.now.saturating_sub(ticks);
    }

    /// Fault: the next `reads` reads all return the present value.
    pub fn stall_for(&self, reads: u64) {
        self.lock().stalled_reads = reads;
    }

    /// Fault: the clock stands still until [`resume`](Self::resume).
    pub fn stall(&self) {
        self.stall_for(u64::MAX);
    }

    /// Ends a stall.
    pub fn resume(&self) {
        self.stall_for(0);
    }

    /// Returns the number of reads of the clock: shows that code under a stalled clock gives up instead of spinning.
    #[must_use]
    pub fn reads(&self) -> u64 {
        // Relaxed: a count for tests, it publishes nothing.
        self.reads.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Plain integers: a panic elsewhere cannot have left them half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for SimClock {
    fn now(&self) -> u64 {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        match state.stalled_reads {
            0 => state.now = state.now.saturating_add(state.step),
            u64::MAX => {}
            _ => state.stalled_reads -= 1,
        }
        state.now
    }

    fn ticks_per_second(&self) -> u64 {
        1_000_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_read_is_a_step_later() {
        let clock = SimClock::new(100, 5);
        assert_eq!([clock.now(), clock.now()], [105, 110]);
        clock.advance(1_000);
        assert_eq!(clock.now(), 1_115);
        clock.set_step(0);
        assert_eq!([clock.now(), clock.now()], [1_115, 1_115]);
        assert_eq!(clock.reads(), 5);
    }

    #[test]
    fn clones_are_one_clock() {
        let clock = SimClock::new(0, 1);
        let twin = clock.clone();
        assert_eq!([clock.now(), twin.now(), clock.now()], [1, 2, 3]);
    }

    #[test]
    fn faults_stall_and_step_back() {
        let clock = SimClock::new(10, 1);
        clock.stall_for(2);
        assert_eq!([clock.now(), clock.now(), clock.now()], [10, 10, 11]);
        clock.step_back(5);
        assert_eq!(clock.now(), 7);
        clock.stall();
        assert!((0..100).all(|_| clock.now() == 7));
        clock.resume();
        assert_eq!(clock.now(), 8);
        clock.step_back(1_000);
        assert_eq!(clock.now(), 1);
    }
}
