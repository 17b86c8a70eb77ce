//! Clocks of simulated nodes.

use env::{Moment, Randomness};

/// Nanoseconds in a millisecond of a clock that is right.
const RIGHT_RATE: u64 = 1_000_000;

/// A clock that starts anywhere and runs a little fast or slow.
#[derive(Clone, Copy, Debug)]
pub struct DriftingClock {
    offset: u64,
    /// Its nanoseconds in a millisecond.
    rate: u64,
}

impl DriftingClock {
    /// A clock whose rate is off by at most `drift_ppm` parts in a million.
    pub fn draw(drift_ppm: u64, randomness: &mut Randomness) -> Self {
        let rate = RIGHT_RATE - drift_ppm + randomness.in_range(0..2 * drift_ppm + 1);
        Self { offset: randomness.in_range(0..1 << 40), rate }
    }

    /// Returns the reading of this clock at a moment of virtual time.
    #[must_use]
    pub fn shows(&self, now: u64) -> Moment {
        Moment(self.offset + (u128::from(now) * u128::from(self.rate) / u128::from(RIGHT_RATE)) as u64)
    }

    /// The virtual time at which it shows that, or more.
    #[must_use]
    pub fn when(&self, shown: Moment) -> u64 {
        if shown == Moment::NEVER {
            return u64::MAX;
        }
        let passed = u128::from(shown.0.saturating_sub(self.offset)) * u128::from(RIGHT_RATE);
        u64::try_from(passed.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_a_moment_at_the_time_at_which_it_is_due() {
        for seed in 0..200 {
            let mut randomness = Randomness::from_seed(seed);
            let clock = DriftingClock::draw(50_000, &mut randomness);
            let now = randomness.in_range(0..1 << 50);
            let (shown, wanted) = (clock.shows(now), Moment(clock.shows(now).0 + randomness.in_range(0..1 << 30)));
            assert!(clock.when(shown) <= now, "it shows that now");
            assert!(clock.shows(clock.when(wanted)) >= wanted, "not earlier than it is due");
        }
        assert_eq!(DriftingClock::draw(0, &mut Randomness::from_seed(1)).when(Moment::NEVER), u64::MAX);
    }
}
