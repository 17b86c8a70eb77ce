//! Transactions as lock owners: their priority (wound-wait), and how they wait.

use super::word::OwnerNumber;
use crate::Reason;
use env::{Clock, MonotonicClock};
use model::{Abort, Supervisor, Timestamp};
use parts::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use parts::sync::{Mutex, MutexGuard};
use parts::wait::{WaitTable, Waited};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Number of times that a waiter polls its word before it sleeps. A lock is mostly held for a few microseconds, and a sleep
/// costs more than that. A model checker would have to explore every poll.
const LOOKS_BEFORE_SLEEP: u32 = if cfg!(any(loom, feature = "shuttle")) { 1 } else { 200 };

/// A latch that was held during a panic of this crate is used further: what it guards is changed in single steps.
pub(crate) fn latch<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kind of transaction that owns a lock, in order of priority (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Kind {
    /// Locks its declared footprint in order before it runs.
    Declared,
    /// Locks as it goes.
    Interactive,
    /// A trial read: gives its locks back after each statement.
    Reconnaissance,
}

/// A rank has the kind above so many bits of age: a smaller rank has priority.
const KIND_SHIFT: u32 = 62;

/// A transaction as the others see it: one after the other, of the same worker.
#[derive(Debug)]
pub struct Owner {
    /// Its name in the words of locks.
    pub number: OwnerNumber,
    /// Kind and age of the present transaction. `Relaxed`: stored before the transaction takes a lock, which publishes it
    /// ([`super::word::LockWord::request`]), and read by whoever finds the owner at a lock.
    rank: AtomicU64,
    /// The timestamp of the transaction that wounded this one; zero: none. Set once in a transaction; published with `Release`
    /// before the signal, read with `Acquire` by the owner when it is about to wait.
    wounded_by: AtomicU64,
    /// One of the states below. Every change is a read-modify-write, which is what [`WaitTable`] asks for; `AcqRel`,
    /// so that whoever wakes up sees what happened before the signal.
    signal: AtomicUsize,
}

const QUIET: usize = 0;
const SIGNALLED: usize = 1;
const ASLEEP: usize = 2;

/// For how long a transaction waits for others, and where.
pub struct WaitPolicy<'a> {
    /// Where.
    pub sleepers: &'a Arc<WaitTable>,
    /// Measures limits.
    pub clock: &'a MonotonicClock,
    /// Zero: it never waits.
    pub limit: Duration,
    /// Counts the waits, each once its waiter is in the queue.
    pub waits: &'a AtomicU64,
    /// Observes the waits and may end them; describes a wait for another transaction.
    pub supervisor: Option<Supervised<'a>>,
}

/// A supervisor, and the abort that describes a wait for another transaction.
pub type Supervised<'a> = (&'a dyn Supervisor, &'a dyn Fn(Timestamp) -> Abort);

/// A wait registered with its transaction's supervisor, until it is dropped.
pub(super) struct SupervisedWait<'a>(Option<&'a dyn Supervisor>);

impl Drop for SupervisedWait<'_> {
    fn drop(&mut self) {
        self.0.inspect(|supervisor| supervisor.wait_ends());
    }
}

/// A lock that was not given.
#[derive(Debug)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The transaction in the way.
    pub other: Timestamp,
}

impl Owner {
    /// An owner without a transaction.
    pub fn new(number: OwnerNumber) -> Arc<Owner> {
        Arc::new(Owner {
            number,
            rank: AtomicU64::new(0),
            wounded_by: AtomicU64::new(0),
            signal: AtomicUsize::new(QUIET),
        })
    }

    /// A transaction begins. Nobody else has the owner: it holds no lock, and stands in no queue.
    pub fn begin(&self, kind: Kind, timestamp: Timestamp) {
        self.rank.store((kind as u64) << KIND_SHIFT | timestamp.0, Relaxed);
        self.wounded_by.store(0, Relaxed);
    }

    fn rank(&self) -> u64 {
        self.rank.load(Relaxed)
    }

    /// Returns the age of the present transaction.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp(self.rank() & ((1 << KIND_SHIFT) - 1))
    }

    /// Returns the kind of the present transaction.
    pub fn kind(&self) -> Kind {
        match self.rank() >> KIND_SHIFT {
            0 => Kind::Declared,
            1 => Kind::Interactive,
            _ => Kind::Reconnaissance,
        }
    }

    /// Returns whether this owner has priority over `other`: by kind, then by age (I6).
    pub(super) fn precedes(&self, other: &Owner) -> bool {
        self.rank() < other.rank()
    }

    /// Tells `holder`, for which this one is about to wait, to give way if it has to. Two declared procedures
    /// need no wounds: the order in which they lock their footprints keeps them out of deadlocks (I7).
    pub(super) fn wound(&self, holder: &Owner, sleepers: &WaitTable) {
        let both_declared = self.kind() == Kind::Declared && holder.kind() == Kind::Declared;
        if self.precedes(holder) && !both_declared {
            let first = holder.wounded_by.compare_exchange(0, self.timestamp().0, AcqRel, Relaxed);
            if first.is_ok() {
                holder.signal(sleepers);
            }
        }
    }

    /// Returns the transaction that wounded this one, if any.
    pub(super) fn wounded_by(&self) -> Option<Timestamp> {
        let by = Some(self.wounded_by.load(Acquire)).filter(|&by| by != 0).map(Timestamp);
        assert!(by.is_none() || self.kind() != Kind::Declared, "I6, I7: nothing wounds a declared procedure");
        by
    }

    /// Something happened that it may wait for.
    pub(super) fn signal(&self, sleepers: &WaitTable) {
        if self.signal.swap(SIGNALLED, AcqRel) == ASLEEP {
            sleepers.wake(self.address());
        }
    }

    fn address(&self) -> usize {
        &raw const self.signal as usize
    }

    /// Waits for a signal; one that came since the last call counts. False when `until` (clock ticks) has passed.
    pub(super) fn sleep(&self, policy: &WaitPolicy<'_>, until: Option<u64>) -> bool {
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if self.signal.load(Relaxed) == SIGNALLED {
                break;
            }
            parts::sync::spin_loop();
        }
        let mut waited = Waited::Released;
        if self.signal.compare_exchange(QUIET, ASLEEP, AcqRel, Acquire).is_ok() {
            let clock = policy.clock;
            let limit = || until.map(|until| clock.duration_of(until.saturating_sub(clock.now())));
            let remaining = || limit().into_iter().chain(policy.supervised()).min();
            let asleep = || self.signal.load(Acquire) == ASLEEP;
            waited = policy.sleepers.wait(self.address(), remaining, asleep);
        }
        self.signal.swap(QUIET, AcqRel);
        waited == Waited::Released
    }
}

impl WaitPolicy<'_> {
    /// When a wait that begins now is over; `None` for one without end.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.clock.now().checked_add(self.clock.ticks_in(self.limit))
    }

    /// Returns the wait limit that the supervisor sets.
    fn supervised(&self) -> Option<Duration> {
        self.supervisor.and_then(|(supervisor, _)| supervisor.wait_limit())
    }

    /// Tells the supervisor that `owner` is about to wait for `other`.
    pub(super) fn register_wait(&self, owner: &Owner, other: Timestamp) -> SupervisedWait<'_> {
        if let Some((supervisor, about)) = self.supervisor {
            supervisor.wait_begins(&about(other), self.sleepers.waker(owner.address()));
        }
        SupervisedWait(self.supervisor.map(|(supervisor, _)| supervisor))
    }

    /// The end of a wait that was for `other`, without what it was for.
    pub(super) fn refusal(&self, other: Timestamp) -> Refusal {
        let is_interrupted = self.supervised() == Some(Duration::ZERO);
        Refusal { reason: if is_interrupted { Reason::Interrupted } else { Reason::WaitLimit }, other }
    }
}
