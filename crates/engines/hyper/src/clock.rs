//! The engine's clock, by which transactions have an age. It has no part in their order.

use env::time::Duration;
use env::{Clock, SystemClock};
use std::fmt;
use std::sync::Arc;

/// A clock of the caller's choice.
pub(crate) struct EngineClock(Arc<dyn Clock>);

impl EngineClock {
    pub fn new(clock: Arc<dyn Clock>) -> EngineClock {
        EngineClock(clock)
    }

    /// The system's.
    pub fn system() -> EngineClock {
        EngineClock(Arc::new(SystemClock::best()))
    }

    #[inline]
    pub fn now(&self) -> u64 {
        self.0.now()
    }

    pub fn ticks_in(&self, duration: Duration) -> u64 {
        self.0.ticks_in(duration)
    }

    /// Time since it showed `then`.
    pub fn since(&self, then: u64) -> Duration {
        self.0.duration_of(self.now().saturating_sub(then))
    }
}

impl fmt::Debug for EngineClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineClock")
    }
}
