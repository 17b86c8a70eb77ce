//! Carrying a retry policy out: delays, and the limit on time.

use crate::random::{Backoff, Randomness};
use crate::thread::stand_back;
use crate::time::Instant;
use model::{Retry, RetryPolicy};
use std::time::Duration;

/// Follows a [`RetryPolicy`] for one transaction after another.
///
/// With randomness of a seed and without a limit on time the delays are a function of the seed.
#[derive(Clone, Debug)]
pub struct Retries {
    policy: RetryPolicy,
    backoff: Backoff,
    /// Drawn at the first conflict, unless it was given.
    randomness: Option<Randomness>,
    /// Time of the first conflict: transactions without one read no clock.
    since: Option<Instant>,
}

impl Retries {
    /// Delays with an unpredictable seed.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        let backoff = Backoff::new(policy.first_delay, policy.longest_delay);
        Self { policy, backoff, randomness: None, since: None }
    }

    /// Delays that follow from `randomness`.
    #[must_use]
    pub fn with_randomness(policy: RetryPolicy, randomness: Randomness) -> Self {
        Self { randomness: Some(randomness), ..Self::new(policy) }
    }

    /// Returns the time since the transaction's first conflict; zero if it had none, or if the policy has no limit on time.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns the delay after `failed` failed attempts (1: a transaction begins to retry); `None` at the policy's limits.
    pub fn delay(&mut self, failed: u32) -> Option<Duration> {
        if failed <= 1 {
            self.backoff.reset();
            self.since = (self.policy.max_elapsed < Duration::MAX).then(Instant::now);
        }
        let randomness = self.randomness.get_or_insert_with(Randomness::from_entropy);
        let delay = self.backoff.next_delay(randomness);
        self.policy.allows(failed, self.elapsed() + delay).then_some(delay)
    }
}

impl<C> Retry<C> for Retries {
    fn again(&mut self, failed: u32, _: &C) -> bool {
        self.delay(failed).inspect(|delay| stand_back(*delay)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(policy: RetryPolicy, seed: u64) -> Vec<Option<Duration>> {
        let mut retries = Retries::with_randomness(policy, Randomness::from_seed(seed));
        (1..=12).map(|failed| retries.delay(failed)).collect()
    }

    #[test]
    fn delays_follow_from_the_seed() {
        let policy = RetryPolicy::unlimited();
        assert_eq!(delays(policy, 5), delays(policy, 5));
        assert_ne!(delays(policy, 5), delays(policy, 6));
    }

    #[test]
    fn delays_grow_and_start_again_with_the_next_transaction() {
        let (first, longest) = (Duration::from_micros(10), Duration::from_millis(1));
        let policy = RetryPolicy::unlimited().with_delays(first, longest);
        let mut retries = Retries::with_randomness(policy, Randomness::from_seed(1));
        for _ in 0..3 {
            assert!(retries.delay(1).expect("no limit") <= first);
            let grown = (2..=50).filter_map(|failed| retries.delay(failed)).max().expect("no limit");
            assert!(grown > first * 10 && grown <= longest, "{grown:?}");
        }
    }

    #[test]
    fn retries_end_at_the_limits() {
        assert_eq!(delays(RetryPolicy::attempts(4), 1).iter().flatten().count(), 3);
        assert_eq!(delays(RetryPolicy::never(), 1).iter().flatten().count(), 0);
        let at_once = RetryPolicy::elapsed(Duration::ZERO).with_delays(Duration::from_secs(1), Duration::from_secs(1));
        assert_eq!(delays(at_once, 1).iter().flatten().count(), 0);
    }

    /// The loop of the doors with this policy: as many attempts as allowed, then the last conflict.
    #[test]
    fn the_loop_makes_as_many_attempts_as_the_policy_allows() {
        let policy = RetryPolicy::attempts(5).with_delays(Duration::ZERO, Duration::ZERO);
        let mut attempts = 0;
        let ended = model::retry::run(&mut Retries::new(policy), |failed| {
            attempts += 1;
            Err::<(), _>(model::retry::Failure::<u32, ()>::Conflict(failed))
        });
        assert_eq!(attempts, 5);
        assert!(matches!(ended, Err(model::retry::Failure::Conflict(4))));
    }
}
