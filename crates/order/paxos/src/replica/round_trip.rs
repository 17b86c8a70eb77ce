//! Measured times: how long an answer takes, and how long to wait before asking again.

use std::time::Duration;

/// A smoothed time and its mean deviation. Source: Jacobson and Karels, "Congestion avoidance and control" (1988); RFC 6298.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    /// `None` before the first sample.
    smoothed: Option<Duration>,
    deviation: Duration,
}

impl RoundTrip {
    /// An answer took so long.
    pub(super) fn sample(&mut self, time: Duration) {
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.deviation) = (Some(time), time / 2);
            return;
        };
        self.deviation = self.deviation * 3 / 4 + smoothed.abs_diff(time) / 4;
        self.smoothed = Some(smoothed * 7 / 8 + time / 8);
    }

    /// The smoothed time; zero before the first sample.
    pub(super) fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or_default()
    }

    /// Returns the time to wait for an answer: at least `floor`, doubled with each attempt that failed, at most `cap`; `untold`
    /// before the first sample.
    pub(super) fn timeout(&self, attempts: u32, untold: Duration, floor: Duration, cap: Duration) -> Duration {
        let once = self.smoothed.map_or(untold, |smoothed| smoothed + self.deviation * 4).max(floor);
        once.saturating_mul(1_u32.checked_shl(attempts).unwrap_or(u32::MAX)).min(cap.max(floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_what_is_measured_within_its_bounds() {
        let timeout = |trip: &RoundTrip, attempts| trip.timeout(attempts, 50 * MS, 10 * MS, 400 * MS);
        let mut trip = RoundTrip::default();
        assert_eq!(timeout(&trip, 0), 50 * MS, "nothing is measured yet");
        trip.sample(20 * MS);
        assert_eq!((trip.smoothed(), timeout(&trip, 0)), (20 * MS, 60 * MS));
        assert_eq!([1, 2, 3, 60].map(|n| timeout(&trip, n)), [120 * MS, 240 * MS, 400 * MS, 400 * MS]);
        (0..100).for_each(|_| trip.sample(20 * MS));
        assert!(timeout(&trip, 0) < 21 * MS, "no deviation is left");
        (0..100).for_each(|_| trip.sample(MS / 10));
        assert_eq!(timeout(&trip, 0), 10 * MS, "the floor");
    }
}
