//! Client behaviour after an abort: count it by its rule; after the first few, wait a random time that grows with each.

use crate::control::Control;
use crate::counts::Counts;
use env::time::Duration;
use env::{Randomness, Retries};
use model::{Error, LimitKind, Retry, RetryPolicy};
use std::sync::{Arc, Mutex, PoisonError};

/// The name under which an unsuccessful attempt is counted: the protocol's own for its aborts, the limit's for limits.
pub fn reason(error: &Error) -> &'static str {
    match error {
        Error::Aborted(abort) => abort.rule,
        Error::Limit(limit) => match limit.kind {
            LimitKind::KeyBytes => "limit-key-bytes",
            LimitKind::RowBytes => "limit-row-bytes",
            LimitKind::WriteSetRows => "limit-write-set-rows",
            LimitKind::WriteSetBytes => "limit-write-set-bytes",
            LimitKind::Transactions => "limit-transactions",
            LimitKind::Locks => "limit-locks",
            LimitKind::ReadSet => "limit-read-set",
            LimitKind::Memory | LimitKind::MemoryHeld(_) => "limit-memory",
            _ => "limit-other",
        },
        Error::Duplicate(_) => "duplicate",
        Error::Invalid(_) => "invalid",
        Error::Fault(_) => "fault",
        _ => "other",
    }
}

/// Aborts in a row after which a client begins to wait.
const PATIENT_ATTEMPTS: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_micros(2);
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// One client's way of trying again. It allocates nothing but room for the names of reasons.
#[derive(Debug)]
pub struct Retrying {
    /// Failures since the last [`Counts::clear`].
    pub reasons: Counts,
    control: Arc<Control>,
    retries: Retries,
    /// Whether it waits at all.
    has_waits: bool,
}

impl Retrying {
    /// Tries again for as long as the run lasts.
    pub fn new(control: Arc<Control>, randomness: Randomness) -> Retrying {
        let policy = RetryPolicy::unlimited().with_delays(FIRST_WAIT, LONGEST_WAIT);
        let retries = Retries::with_randomness(policy, randomness);
        Retrying { reasons: Counts::default(), control, retries, has_waits: true }
    }

    /// The same without waits, for clients that share a thread: they give way to each other instead.
    pub fn without_waits(control: Arc<Control>, randomness: Randomness) -> Retrying {
        Retrying { has_waits: false, ..Retrying::new(control, randomness) }
    }
}

impl Retry for Retrying {
    fn again(&mut self, attempts: u32, error: &Error) -> bool {
        self.reasons.count(reason(error));
        if self.control.is_stopped() {
            return false;
        }
        !self.has_waits || attempts <= PATIENT_ATTEMPTS || self.retries.again(attempts - PATIENT_ATTEMPTS, error)
    }
}

/// The same for the procedures that a client submits: the engine has it while it runs one.
#[derive(Clone, Debug)]
pub struct SharedRetrying(Arc<Mutex<Retrying>>);

impl SharedRetrying {
    /// To be handed out.
    pub fn new(retrying: Retrying) -> SharedRetrying {
        SharedRetrying(Arc::new(Mutex::new(retrying)))
    }

    /// Does something with it while no procedure is running.
    pub fn with<T>(&self, task: impl FnOnce(&mut Retrying) -> T) -> T {
        task(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Retry for SharedRetrying {
    fn again(&mut self, attempts: u32, error: &Error) -> bool {
        self.with(|retrying| retrying.again(attempts, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Abort, AbortClass, Limit, Target, Timestamp};

    fn abort(rule: &'static str) -> Error {
        let (class, explanation) = (AbortClass::ReadWrite, "for the test");
        let (table, target, transaction, other) = (None, Target::None, Timestamp(1), None);
        Abort { class, rule, explanation, table, target, transaction, other, met: None }.into()
    }

    #[test]
    fn aborts_are_counted_by_rule_until_the_run_stops() {
        let control = Arc::new(Control::new());
        let mut retrying = Retrying::new(control.clone(), Randomness::from_seed(1));
        for attempt in 1..=8 {
            assert!(retrying.again(attempt, &abort(if attempt % 2 == 0 { "later-reader" } else { "later-writer" })));
        }
        control.stop();
        assert!(!retrying.again(9, &abort("later-reader")), "the run is over");
        let counted = retrying.reasons.by_name();
        assert_eq!((counted["later-reader"], counted["later-writer"], retrying.reasons.total()), (5, 4, 9));
    }

    #[test]
    fn limits_have_names() {
        assert_eq!(reason(&Limit { kind: LimitKind::Locks, limit: 1, actual: 2 }.into()), "limit-locks");
    }
}
