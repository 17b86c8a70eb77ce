//! Clocks: sources of ticks from which engines make timestamps and measure ages.

mod sim;
mod skew;
mod tsc;

use std::fmt;
use std::time::{Duration, Instant};

pub use sim::SimClock;
pub use skew::{BadSkew, Skew, SkewedClock, believed, real, skew_clocks, wall_clock};
pub use tsc::TscClock;

/// A source of ticks.
///
/// A healthy clock never goes back: a read that starts after another has ended, on whatever thread, returns at least as
/// much. Two reads may be equal. Engines must survive a clock that breaks this (it stalls or steps back: firmware, a machine
/// that was paused and moved, a fault of [`SimClock`]) and name the fault instead of waiting for ever.
///
/// Engines are generic over it: a call through `dyn` would cost as much as the read.
pub trait Clock: Send + Sync + 'static {
    /// The present, in ticks since an arbitrary start. Not executed ahead of the calling thread's earlier loads, so that a
    /// timestamp is never older than what its transaction has already seen.
    fn now(&self) -> u64;

    /// Returns the number of ticks per second.
    fn ticks_per_second(&self) -> u64;

    /// The ticks that `duration` lasts, rounded up.
    fn ticks_in(&self, duration: Duration) -> u64 {
        let ticks = (duration.as_nanos() * u128::from(self.ticks_per_second())).div_ceil(1_000_000_000);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Converts `ticks` to a duration, rounded down.
    fn duration_of(&self, ticks: u64) -> Duration {
        let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_second());
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// The operating system's monotonic clock, in nanoseconds since this value was made. About 22 ns a read.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    anchor: Instant,
}

impl MonotonicClock {
    /// A clock that starts at zero now. Copies share the start; two separate calls do not.
    #[must_use]
    pub fn new() -> Self {
        Self { anchor: Instant::now() }
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> u64 {
        // 2^64 nanoseconds are 584 years.
        self.anchor.elapsed().as_nanos() as u64
    }

    fn ticks_per_second(&self) -> u64 {
        1_000_000_000
    }
}

/// Which clock [`SystemClock::new`] takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockChoice {
    /// The CPU's counter where it can be trusted, else the monotonic clock.
    #[default]
    Best,
    /// The CPU's counter, or an error.
    Tsc,
    /// The operating system's monotonic clock.
    Monotonic,
}

/// Reason why a clock cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockError {
    /// The machine has no time stamp counter that this crate can read.
    NoCounter,
    /// The counter changes its rate or stops in sleep states (CPUID does not call it invariant).
    NotInvariant,
    /// The operating system has measured that the counter cannot be trusted: it uses the named source instead.
    Distrusted(String),
    /// The counter's rate could not be measured: it did not advance.
    Stopped,
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCounter => write!(f, "this machine has no time stamp counter that can be read"),
            Self::NotInvariant => write!(f, "the CPU's time stamp counter does not run at a constant rate"),
            Self::Distrusted(source) => {
                write!(f, "the operating system keeps time by {source:?} and not by the CPU's time stamp counter")
            }
            Self::Stopped => write!(f, "the CPU's time stamp counter does not advance"),
        }
    }
}

impl std::error::Error for ClockError {}

/// The machine's clock, chosen once at start.
#[derive(Clone, Copy, Debug)]
pub enum SystemClock {
    /// The CPU's time stamp counter.
    Tsc(TscClock),
    /// The operating system's monotonic clock.
    Monotonic(MonotonicClock),
    /// One of them, made wrong for a test.
    Skewed(SkewedClock),
}

impl SystemClock {
    /// The clock that `choice` names.
    ///
    /// # Errors
    /// Only for [`ClockChoice::Tsc`]: why the counter cannot be used here.
    pub fn new(choice: ClockChoice) -> Result<Self, ClockError> {
        match choice {
            ClockChoice::Best => Ok(Self::best()),
            ClockChoice::Tsc => TscClock::new().map(Self::Tsc),
            ClockChoice::Monotonic => Ok(Self::Monotonic(MonotonicClock::new())),
        }
    }

    /// The CPU's counter where it can be trusted, else the monotonic clock. Takes up to 10 ms, once in a process.
    #[must_use]
    pub fn best() -> Self {
        if let Some(skewed) = SkewedClock::of_process(TscClock::new()) {
            return Self::Skewed(skewed);
        }
        TscClock::new().map_or_else(|_| Self::Monotonic(MonotonicClock::new()), Self::Tsc)
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> u64 {
        match self {
            Self::Tsc(clock) => clock.now(),
            Self::Monotonic(clock) => clock.now(),
            Self::Skewed(clock) => clock.now(),
        }
    }

    fn ticks_per_second(&self) -> u64 {
        match self {
            Self::Tsc(clock) => clock.ticks_per_second(),
            Self::Monotonic(clock) => clock.ticks_per_second(),
            Self::Skewed(clock) => clock.ticks_per_second(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never_goes_back(clock: &impl Clock) {
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
    }

    #[test]
    fn system_clocks_never_go_back() {
        never_goes_back(&SystemClock::best());
        never_goes_back(&SystemClock::new(ClockChoice::Monotonic).unwrap());
        if let Ok(clock) = SystemClock::new(ClockChoice::Tsc) {
            never_goes_back(&clock);
        }
    }

    /// A read that another thread has published happened before the reads of whoever saw it.
    #[test]
    fn a_clock_read_is_not_older_than_one_that_was_seen() {
        use std::sync::atomic::{AtomicU64, Ordering};
        let clock = SystemClock::best();
        let published = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        let seen = published.load(Ordering::Acquire);
                        let now = clock.now();
                        assert!(now >= seen, "drew {now} after having seen {seen}");
                        published.fetch_max(now, Ordering::AcqRel);
                    }
                });
            }
        });
    }

    #[test]
    fn durations_convert_to_ticks_and_back() {
        let clock = SimClock::new(0, 1);
        assert_eq!(clock.ticks_in(Duration::from_millis(3)), 3_000_000);
        assert_eq!(clock.duration_of(3_000_000), Duration::from_millis(3));
        assert_eq!(clock.ticks_in(Duration::MAX), u64::MAX);
    }
}
