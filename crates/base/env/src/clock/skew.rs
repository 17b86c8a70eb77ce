//! Clocks that are wrong on purpose, for tests of several processes: [`SimClock`](super::SimClock) is for those within one.
//!
//! A test starts each process with another [`Skew`]. From then on all that decides anything by time in it goes by a wrong clock: what SQL
//! shows as the time of day ([`wall_clock`]), the ticks of an engine ([`SystemClock`](super::SystemClock)), and the timers of the order
//! ([`believed`], [`real`]). What only measures, or bounds a wait for a client, stays as it is.

use super::{Clock, ClockError, MonotonicClock, TscClock};
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Rates that a clock can have, in percent: at the limits, a second seems to last 10 ms or 100 s.
const RATES: std::ops::RangeInclusive<u32> = 1..=10_000;

/// Ticks that a skewed engine's clock begins with, as if its machine had just been started.
const FIRST_TICK: u64 = 1;

/// How the clocks of a process are wrong. Written `SECONDS:PERCENT`: `-3600:150` is an hour late and gains half a second each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// Seconds by which the time of day is ahead at first.
    pub wall_seconds: i64,
    /// How fast time passes, in percent: 1 to 10,000.
    pub rate_percent: u32,
}

/// A text that is no [`Skew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSkew;

impl fmt::Display for BadSkew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it must be SECONDS:PERCENT, with {} to {} percent", RATES.start(), RATES.end())
    }
}

impl std::error::Error for BadSkew {}

impl FromStr for Skew {
    type Err = BadSkew;

    fn from_str(text: &str) -> Result<Skew, BadSkew> {
        let (seconds, percent) = text.split_once(':').ok_or(BadSkew)?;
        let wall_seconds = seconds.parse().map_err(|_| BadSkew)?;
        let rate_percent = percent.parse().map_err(|_| BadSkew)?;
        if RATES.contains(&rate_percent) { Ok(Skew { wall_seconds, rate_percent }) } else { Err(BadSkew) }
    }
}

impl Skew {
    /// What a clock of this rate shows when so much has passed.
    fn believed(self, passed: u128) -> u128 {
        passed * u128::from(self.rate_percent) / 100
    }

    /// What has passed when a clock of this rate shows so much, rounded up.
    fn real(self, shown: u128) -> u128 {
        (shown * 100).div_ceil(u128::from(self.rate_percent))
    }
}

/// The process' skew and when it began.
static SKEW: OnceLock<(Skew, Instant)> = OnceLock::new();

/// Skews the clocks of this process from now on. Only for tests, before anything reads a clock; a second call has no effect.
pub fn skew_clocks(skew: Skew) {
    // The first stays.
    let _ = SKEW.set((skew, Instant::now()));
}

/// Microseconds since 1970 by the clock of the system, which may be set back meanwhile; negative before.
#[must_use]
pub fn wall_clock() -> i64 {
    // Before 1970 the difference is the other way round.
    let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    };
    SKEW.get().map_or(micros, |(skew, begun)| {
        let passed = begun.elapsed().as_micros();
        let gained = skew.believed(passed) as i128 - passed as i128;
        let shown = i128::from(micros) + i128::from(skew.wall_seconds) * 1_000_000 + gained;
        i64::try_from(shown).unwrap_or(micros)
    })
}

/// What this process' timers take `passed` for.
#[must_use]
pub fn believed(passed: Duration) -> Duration {
    SKEW.get().map_or(passed, |(skew, _)| of_nanos(skew.believed(passed.as_nanos())))
}

/// How long it takes until this process' timers show `shown`.
#[must_use]
pub fn real(shown: Duration) -> Duration {
    SKEW.get().map_or(shown, |(skew, _)| of_nanos(skew.real(shown.as_nanos())))
}

fn of_nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A machine's clock at another rate, and with another beginning.
#[derive(Clone, Copy, Debug)]
pub struct SkewedClock {
    tsc: Option<TscClock>,
    monotonic: MonotonicClock,
    skew: Skew,
    /// What the clock underneath showed at the beginning.
    first: u64,
}

impl SkewedClock {
    /// The clock of this process, if its clocks are skewed.
    pub(super) fn of_process(tsc: Result<TscClock, ClockError>) -> Option<SkewedClock> {
        SKEW.get().map(|(skew, _)| SkewedClock::new(*skew, tsc.ok()))
    }

    fn new(skew: Skew, tsc: Option<TscClock>) -> SkewedClock {
        let monotonic = MonotonicClock::new();
        let first = tsc.map_or_else(|| monotonic.now(), |tsc| tsc.now());
        SkewedClock { tsc, monotonic, skew, first }
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> u64 {
        let now = self.tsc.map_or_else(|| self.monotonic.now(), |tsc| tsc.now());
        let passed = self.skew.believed(u128::from(now.saturating_sub(self.first)));
        u64::try_from(passed).unwrap_or(u64::MAX).saturating_add(FIRST_TICK)
    }

    /// What it takes itself for.
    fn ticks_per_second(&self) -> u64 {
        self.tsc.map_or_else(|| self.monotonic.ticks_per_second(), |tsc| tsc.ticks_per_second())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skew_is_written_as_seconds_and_percent() {
        assert_eq!("-3600:150".parse(), Ok(Skew { wall_seconds: -3600, rate_percent: 150 }));
        for text in ["", "5", "5:", ":100", "5:0", "5:10001", "5:-1", "x:100"] {
            assert_eq!(text.parse::<Skew>(), Err(BadSkew), "{text}");
        }
    }

    #[test]
    fn a_rate_is_applied_and_taken_back() {
        for rate_percent in [1, 50, 100, 130, 10_000] {
            let skew = Skew { wall_seconds: 0, rate_percent };
            for nanos in [0, 1, 99, 1_000_000_007, u128::from(u64::MAX)] {
                let real = skew.real(nanos);
                assert!(skew.believed(real) >= nanos, "a timer that fires then is due: {rate_percent}, {nanos}");
                assert!(real == 0 || skew.believed(real - 1) < nanos, "and not before: {rate_percent}, {nanos}");
            }
        }
    }

    #[test]
    fn a_skewed_clock_begins_anew_and_never_goes_back() {
        for tsc in [None, TscClock::new().ok()] {
            let slow = SkewedClock::new(Skew { wall_seconds: 0, rate_percent: 1 }, tsc);
            let fast = SkewedClock::new(Skew { wall_seconds: 0, rate_percent: 10_000 }, tsc);
            // The faster one was read first each time, and is ahead all the same, as soon as there is anything to see.
            let mut last = (0, 0);
            while last.0 < 1_000 {
                let now = (fast.now(), slow.now());
                assert!(now.0 >= last.0 && now.1 >= last.1, "{now:?} after {last:?}");
                last = now;
            }
            assert_eq!(slow.ticks_per_second(), fast.ticks_per_second());
        }
    }

    /// In a process of its own this would be another time: here nothing is skewed.
    #[test]
    fn without_a_skew_all_clocks_are_right() {
        let second = Duration::from_secs(1);
        assert_eq!((believed(second), real(second)), (second, second));
        assert!(wall_clock() > 1_700_000_000_000_000, "after 2023");
    }
}
