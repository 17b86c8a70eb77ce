//! Phases of a run, which its threads share.

use env::thread;
use env::time::{Duration, Instant};
use std::sync::atomic::{AtomicU8, Ordering};

/// Phase of a run, shared by its threads. It only ever moves forward.
#[derive(Debug)]
pub struct Control {
    phase: AtomicU8,
}

/// Clients wait to begin.
pub(crate) const WAITING: u8 = 0;
/// Clients run, uncounted.
pub(crate) const WARMING: u8 = 1;
/// Clients run, counted.
pub(crate) const COUNTING: u8 = 2;
/// Clients end their current transaction and stop.
pub(crate) const STOPPED: u8 = 3;

impl Control {
    /// All wait.
    pub fn new() -> Control {
        Control { phase: AtomicU8::new(WAITING) }
    }

    // Relaxed here and below: the phase publishes nothing else, and a client that sees it a little late is only late.
    pub(crate) fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }

    pub(crate) fn advance_to(&self, phase: u8) {
        self.phase.fetch_max(phase, Ordering::Relaxed);
    }

    /// Ends the run, from any phase.
    pub fn stop(&self) {
        self.advance_to(STOPPED);
    }

    /// Returns whether the run has ended.
    pub fn is_stopped(&self) -> bool {
        self.phase() == STOPPED
    }

    /// Returns when the run begins, or is called off.
    pub(crate) fn wait_for_start(&self) {
        while self.phase() == WAITING {
            thread::yield_now();
        }
    }

    /// Lets `duration` pass, unless the run stops first.
    pub(crate) fn let_pass(&self, duration: Duration) {
        const GLANCE: Duration = Duration::from_millis(20);
        let start = Instant::now();
        while let Some(left) = duration.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            if self.is_stopped() {
                return;
            }
            thread::sleep(left.min(GLANCE));
        }
    }
}

impl Default for Control {
    fn default() -> Control {
        Control::new()
    }
}

/// Ends the run when a client panics, so that no reader reads on for ever beside it.
pub(crate) struct StopsOnPanic<'a>(pub &'a Control);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
