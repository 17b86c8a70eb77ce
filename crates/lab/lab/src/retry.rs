//! Client behaviour after an abort: count it by its rule; after the first few, wait a random time that grows with each.

use crate::driver::Control;
use env::time::Duration;
use env::{Randomness, Retries};
use model::{Error, LimitKind, Retry, RetryPolicy};
use std::collections::BTreeMap;

/// Counts of failures by name. Few names, counted often: a list, searched from the front.
#[derive(Clone, Debug, Default)]
pub struct Reasons(Vec<(&'static str, u64)>);

impl Reasons {
    /// Counts one.
    pub fn count(&mut self, reason: &'static str) {
        match self.0.iter_mut().find(|(name, _)| *name == reason) {
            Some((_, count)) => *count += 1,
            None => self.0.push((reason, 1)),
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// By name.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        self.0.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    /// Forgets all, keeping the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds those of another client.
    pub fn add(&mut self, other: &Reasons) {
        for &(name, count) in &other.0 {
            match self.0.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => self.0.push((name, count)),
            }
        }
    }
}

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
            LimitKind::Memory => "limit-memory",
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
pub struct Retrying<'a> {
    /// Failures since the last [`Reasons::clear`].
    pub reasons: Reasons,
    control: &'a Control,
    retries: Retries,
}

impl<'a> Retrying<'a> {
    /// Tries again for as long as the run lasts.
    pub fn new(control: &'a Control, randomness: Randomness) -> Retrying<'a> {
        let policy = RetryPolicy::unlimited().with_delays(FIRST_WAIT, LONGEST_WAIT);
        let retries = Retries::with_randomness(policy, randomness);
        Retrying { reasons: Reasons::default(), control, retries }
    }
}

impl Retry for Retrying<'_> {
    fn again(&mut self, attempts: u32, error: &Error) -> bool {
        self.reasons.count(reason(error));
        if self.control.is_stopped() {
            return false;
        }
        attempts <= PATIENT_ATTEMPTS || self.retries.again(attempts - PATIENT_ATTEMPTS, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Abort, AbortClass, Limit, Target, Timestamp};

    fn abort(rule: &'static str) -> Error {
        let (class, explanation) = (AbortClass::ReadWrite, "for the test");
        let (table, target, transaction, other) = (None, Target::None, Timestamp(1), None);
        Abort { class, rule, explanation, table, target, transaction, other }.into()
    }

    #[test]
    fn aborts_are_counted_by_rule_until_the_run_stops() {
        let control = Control::new();
        let mut retrying = Retrying::new(&control, Randomness::from_seed(1));
        for attempt in 1..=8 {
            assert!(retrying.again(attempt, &abort(if attempt % 2 == 0 { "later-reader" } else { "later-writer" })));
        }
        control.stop();
        assert!(!retrying.again(9, &abort("later-reader")), "the run is over");
        let counted = retrying.reasons.by_name();
        assert_eq!((counted["later-reader"], counted["later-writer"], retrying.reasons.total()), (5, 4, 9));
    }

    #[test]
    fn reasons_of_clients_add_up() {
        let (mut one, mut other) = (Reasons::default(), Reasons::default());
        one.count("a");
        other.count("a");
        other.count("b");
        one.add(&other);
        assert_eq!(one.by_name(), BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 1)]));
        assert_eq!(reason(&Limit { kind: LimitKind::Locks, limit: 1, actual: 2 }.into()), "limit-locks");
    }
}
