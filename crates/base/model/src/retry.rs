//! Running a transaction again after conflicts: the policy, and the one loop that every door and front end uses.
//!
//! A policy is data. Applying it takes a clock and randomness, which `env::Retries` has.

use crate::{Error, Mode};
use std::time::Duration;

/// Limits on the number and the duration of retries after conflicts.
///
/// The delay before the next attempt is drawn uniformly between zero and a ceiling that starts at `first_delay`, doubles
/// with each attempt and ends at `longest_delay`, so that two transactions that conflicted do not retry at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts at most; 1 never retries. Default 1,000.
    pub max_attempts: u32,
    /// No new attempt begins later than this after the first conflict. Default 30 s.
    pub max_elapsed: Duration,
    /// Ceiling of the first delay. Default 20 µs, the order of a short transaction: shorter and the same two meet again,
    /// longer and a hot row idles.
    pub first_delay: Duration,
    /// Ceiling of every delay. Default 5 ms.
    pub longest_delay: Duration,
    /// Failed attempts after which the next ones own their rows at the statement ([`Mode::OwnAtStatement`]), so that a
    /// transaction on a hot row queues for it. Default 3.
    pub own_after_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 1_000,
            max_elapsed: Duration::from_secs(30),
            first_delay: Duration::from_micros(20),
            longest_delay: Duration::from_millis(5),
            own_after_attempts: 3,
        }
    }
}

impl RetryPolicy {
    /// Gives up at the first conflict.
    pub fn never() -> RetryPolicy {
        RetryPolicy::attempts(1)
    }

    /// The default with another limit on attempts.
    pub fn attempts(max_attempts: u32) -> RetryPolicy {
        RetryPolicy { max_attempts, ..RetryPolicy::default() }
    }

    /// The default with another limit on time.
    pub fn elapsed(max_elapsed: Duration) -> RetryPolicy {
        RetryPolicy { max_elapsed, ..RetryPolicy::default() }
    }

    /// Retries without a limit: for callers that stop for a reason of their own.
    pub fn unlimited() -> RetryPolicy {
        RetryPolicy { max_attempts: u32::MAX, max_elapsed: Duration::MAX, ..RetryPolicy::default() }
    }

    /// Sets the ceilings of the first delay and of every delay.
    pub fn with_delays(self, first_delay: Duration, longest_delay: Duration) -> RetryPolicy {
        RetryPolicy { first_delay, longest_delay, ..self }
    }

    /// Sets [`own_after_attempts`](Self::own_after_attempts).
    pub fn with_own_after(self, own_after_attempts: u32) -> RetryPolicy {
        RetryPolicy { own_after_attempts, ..self }
    }

    /// Mode of the attempt after `failed` failed ones, for a transaction that requested `mode`.
    pub fn mode(&self, mode: Mode, failed: u32) -> Mode {
        if mode == Mode::ReadWrite && failed >= self.own_after_attempts { Mode::OwnAtStatement } else { mode }
    }

    /// Returns whether another attempt may follow `failed` failed ones, if it would begin `elapsed` after the first conflict.
    pub fn allows(&self, failed: u32, elapsed: Duration) -> bool {
        failed < self.max_attempts && elapsed <= self.max_elapsed
    }
}

/// Decides what follows an attempt that met a conflict (`C`).
pub trait Retry<C = Error> {
    /// Returns whether to run again after `failed` failed attempts; may wait before it returns.
    fn again(&mut self, failed: u32, conflict: &C) -> bool;
}

impl<C, F: FnMut(u32, &C) -> bool> Retry<C> for F {
    fn again(&mut self, failed: u32, conflict: &C) -> bool {
        self(failed, conflict)
    }
}

/// Reason why an attempt failed.
#[derive(Clone, Debug)]
pub enum Failure<C, E> {
    /// A conflict: another attempt may succeed.
    Conflict(C),
    /// Anything else: another attempt would end the same way, or must not be made.
    Final(E),
}

impl<C: Into<E>, E> Failure<C, E> {
    /// The error inside.
    pub fn into_error(self) -> E {
        match self {
            Failure::Conflict(conflict) => conflict.into(),
            Failure::Final(error) => error,
        }
    }
}

/// Splits an engine's errors into conflicts and the rest.
impl<E: From<Error>> From<Error> for Failure<Error, E> {
    fn from(error: Error) -> Failure<Error, E> {
        if error.is_retryable() { Failure::Conflict(error) } else { Failure::Final(error.into()) }
    }
}

/// Runs `attempt` until it succeeds, fails for good, or `retry` gives up. `attempt` is given the number of failed attempts so
/// far.
///
/// # Errors
/// The last attempt's failure; a [`Failure::Conflict`] only if `retry` gave up.
pub fn run<T, C, E>(
    retry: &mut (impl Retry<C> + ?Sized),
    mut attempt: impl FnMut(u32) -> Result<T, Failure<C, E>>,
) -> Result<T, Failure<C, E>> {
    let mut failed = 0_u32;
    loop {
        let failure = match attempt(failed) {
            Ok(output) => return Ok(output),
            Err(failure) => failure,
        };
        failed = failed.saturating_add(1);
        match failure {
            Failure::Conflict(conflict) if retry.again(failed, &conflict) => {}
            failure => return Err(failure),
        }
    }
}
