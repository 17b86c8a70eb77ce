//! Locks: holders, waiters, and which of them has to give way.
//!
//! Two kinds: the [`Lock`] inside every record, shared or exclusive, with a queue; and the [`Ranges`] of a keyspace, always
//! shared, for which a transaction must still wait after it has locked a record exclusively.

use super::Reason;
use env::{Clock, MonotonicClock};
use model::{Abort, Direction, Key, Supervisor, Timestamp};
use parts::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use parts::sync::{Mutex, MutexGuard};
use parts::wait::{WaitTable, Waited};
use smallvec::SmallVec;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Number of times that a waiter polls its word before it sleeps. A lock is mostly held for a few microseconds, and a sleep
/// costs more than that. A model checker would have to explore every poll.
const LOOKS_BEFORE_SLEEP: u32 = if cfg!(feature = "shuttle") { 1 } else { 200 };

/// A latch that was held during a panic of this crate is used further: what it guards is changed in single steps.
pub(super) fn latch<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mode of a record lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockMode {
    Shared,
    Exclusive,
}

/// Kind of transaction that owns a lock, in order of priority (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Locks its declared footprint in order before it runs.
    Declared,
    /// Locks as it goes.
    Interactive,
    /// A trial read: gives its locks back after each statement.
    Reconnaissance,
}

/// A transaction as the others see it.
#[derive(Debug)]
pub(super) struct Owner {
    pub(super) kind: Kind,
    pub(super) timestamp: Timestamp,
    /// The timestamp of the transaction that wounded this one; zero: none. Only grows from zero once; published with `Release`
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
pub(super) struct WaitPolicy<'a> {
    pub(super) sleepers: &'a Arc<WaitTable>,
    pub(super) clock: &'a MonotonicClock,
    /// Zero: it never waits.
    pub(super) limit: Duration,
    /// Counts the waits, each once its waiter is in the queue.
    pub(super) waits: &'a AtomicU64,
    /// Observes the waits and may end them; describes a wait for another transaction.
    pub(super) supervisor: Option<Supervised<'a>>,
}

/// A supervisor, and the abort that describes a wait for another transaction.
pub(super) type Supervised<'a> = (&'a dyn Supervisor, &'a dyn Fn(Timestamp) -> Abort);

/// A wait registered with its transaction's supervisor, until it is dropped.
struct SupervisedWait<'a>(Option<&'a dyn Supervisor>);

impl Drop for SupervisedWait<'_> {
    fn drop(&mut self) {
        self.0.inspect(|supervisor| supervisor.wait_ends());
    }
}

/// A lock that was not given.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    pub(super) other: Timestamp,
}

impl Owner {
    pub(super) fn new(kind: Kind, timestamp: Timestamp) -> Arc<Owner> {
        Arc::new(Owner { kind, timestamp, wounded_by: AtomicU64::new(0), signal: AtomicUsize::new(QUIET) })
    }

    /// Returns whether this owner has priority over `other`: by kind, then by age (I6).
    fn precedes(&self, other: &Owner) -> bool {
        (self.kind, self.timestamp) < (other.kind, other.timestamp)
    }

    /// Tells `holder`, for which this one is about to wait, to give way if it has to. Two declared procedures
    /// need no wounds: the order in which they lock their footprints keeps them out of deadlocks (I7).
    fn wound(&self, holder: &Owner, sleepers: &WaitTable) {
        let both_declared = self.kind == Kind::Declared && holder.kind == Kind::Declared;
        if self.precedes(holder) && !both_declared {
            let first = holder.wounded_by.compare_exchange(0, self.timestamp.0, AcqRel, Relaxed);
            if first.is_ok() {
                holder.signal(sleepers);
            }
        }
    }

    /// Returns the transaction that wounded this one, if any.
    fn wounded_by(&self) -> Option<Timestamp> {
        Some(self.wounded_by.load(Acquire)).filter(|&by| by != 0).map(Timestamp)
    }

    /// Something happened that it may wait for.
    fn signal(&self, sleepers: &WaitTable) {
        if self.signal.swap(SIGNALLED, AcqRel) == ASLEEP {
            sleepers.wake(self.address());
        }
    }

    fn address(&self) -> usize {
        &raw const self.signal as usize
    }

    /// Waits for a signal; one that came since the last call counts. False when `until` (clock ticks) has passed.
    fn sleep(&self, policy: &WaitPolicy<'_>, until: Option<u64>) -> bool {
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
    fn deadline(&self) -> Option<u64> {
        self.clock.now().checked_add(self.clock.ticks_in(self.limit))
    }

    /// Returns the wait limit that the supervisor sets.
    fn supervised(&self) -> Option<Duration> {
        self.supervisor.and_then(|(supervisor, _)| supervisor.wait_limit())
    }

    /// Tells the supervisor that `owner` is about to wait for `other`.
    fn register_wait(&self, owner: &Owner, other: Timestamp) -> SupervisedWait<'_> {
        if let Some((supervisor, about)) = self.supervisor {
            supervisor.wait_begins(&about(other), self.sleepers.waker(owner.address()));
        }
        SupervisedWait(self.supervisor.map(|(supervisor, _)| supervisor))
    }

    /// The end of a wait that was for `other`, without what it was for.
    fn refusal(&self, other: Timestamp) -> Refusal {
        let is_interrupted = self.supervised() == Some(Duration::ZERO);
        Refusal { reason: if is_interrupted { Reason::Interrupted } else { Reason::WaitLimit }, other }
    }
}

/// The lock of one record. It is only touched under the record's latch.
#[derive(Debug, Default)]
pub(super) struct Lock {
    /// One if `exclusive`.
    holders: SmallVec<[Arc<Owner>; 1]>,
    exclusive: bool,
    /// Waiters in order of priority.
    queue: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    owner: Arc<Owner>,
    mode: LockMode,
}

/// A lock that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    /// The owner held no lock on this record before.
    pub(super) first: bool,
    /// The owner held no exclusive lock on this record before, and does now.
    pub(super) newly_exclusive: bool,
}

impl Lock {
    /// Neither held nor wanted.
    pub(super) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    pub(super) fn is_held_by(&self, owner: &Arc<Owner>) -> bool {
        self.holders.iter().any(|holder| Arc::ptr_eq(holder, owner))
    }

    /// Returns whether another owner may be changing the record.
    pub(super) fn is_exclusive_to_another(&self, owner: &Arc<Owner>) -> bool {
        self.exclusive && !self.is_held_by(owner)
    }

    fn satisfies(&self, owner: &Arc<Owner>, mode: LockMode) -> bool {
        self.is_held_by(owner) && (mode == LockMode::Shared || self.exclusive)
    }

    /// Returns whether the holders other than `owner` are compatible with `mode`.
    fn admits(&self, owner: &Arc<Owner>, mode: LockMode) -> bool {
        match mode {
            LockMode::Shared => !self.exclusive,
            LockMode::Exclusive => self.holders.iter().all(|holder| Arc::ptr_eq(holder, owner)),
        }
    }

    fn grant(&mut self, owner: &Arc<Owner>, mode: LockMode) {
        if !self.is_held_by(owner) {
            self.holders.push(owner.clone());
        }
        self.exclusive |= mode == LockMode::Exclusive;
        assert!(!self.exclusive || self.holders.len() == 1, "I2");
    }

    /// Grants the lock if no wait is needed. No request overtakes a waiter that precedes it; a holder that only wants more of
    /// what it has overtakes all, since they wait for it.
    pub(super) fn request(&mut self, owner: &Arc<Owner>, mode: LockMode) -> Option<Granted> {
        let held = self.is_held_by(owner);
        if self.satisfies(owner, mode) {
            return Some(Granted { first: false, newly_exclusive: false });
        }
        let in_turn = held || self.queue.first().is_none_or(|waiter| owner.precedes(&waiter.owner));
        if !in_turn || !self.admits(owner, mode) {
            return None;
        }
        self.grant(owner, mode);
        Some(Granted { first: !held, newly_exclusive: mode == LockMode::Exclusive })
    }

    /// Stands in the queue, and wounds the holders that have to give way.
    fn enqueue(&mut self, owner: &Arc<Owner>, mode: LockMode, sleepers: &WaitTable) {
        for holder in self.holders.iter().filter(|holder| !Arc::ptr_eq(holder, owner)) {
            owner.wound(holder, sleepers);
        }
        let at = self.queue.partition_point(|waiter| waiter.owner.precedes(owner));
        self.queue.insert(at, Waiter { owner: owner.clone(), mode });
    }

    /// Returns the transaction that a request of `owner` would wait for.
    fn blocker(&self, owner: &Arc<Owner>) -> Timestamp {
        let others = self.holders.iter().chain(self.queue.iter().map(|waiter| &waiter.owner));
        others.filter(|other| !Arc::ptr_eq(other, owner)).map(|other| other.timestamp).next().unwrap_or_default()
    }

    /// Leaves the queue.
    fn withdraw(&mut self, owner: &Arc<Owner>, sleepers: &WaitTable) {
        self.queue.retain(|waiter| !Arc::ptr_eq(&waiter.owner, owner));
        self.hand_on(sleepers);
    }

    /// Gives the lock back.
    pub(super) fn release(&mut self, owner: &Arc<Owner>, sleepers: &WaitTable) {
        self.holders.retain(|holder| !Arc::ptr_eq(holder, owner));
        self.exclusive &= !self.holders.is_empty();
        self.hand_on(sleepers);
    }

    /// Grants the lock to the compatible waiters at the head of the queue.
    fn hand_on(&mut self, sleepers: &WaitTable) {
        while let Some(first) = self.queue.first()
            && self.admits(&first.owner, first.mode)
        {
            let Waiter { owner, mode } = self.queue.remove(0);
            self.grant(&owner, mode);
            owner.signal(sleepers);
        }
    }
}

/// Waits in the queue of the lock that `lock_of` finds in what `latch` guards; the request was just refused, under
/// `guard`.
///
/// # Errors
/// The owner has to give way, or its wait limit has passed; then it is in no queue.
pub(super) fn wait_for_lock<'l, T>(
    (latched, mut guard): (&'l Mutex<T>, MutexGuard<'l, T>),
    lock_of: impl Fn(&mut T) -> &mut Lock,
    (owner, mode): (&Arc<Owner>, LockMode),
    policy: &WaitPolicy<'_>,
) -> Result<(MutexGuard<'l, T>, Granted), Refusal> {
    let lock = lock_of(&mut guard);
    let (held, other) = (lock.is_held_by(owner), lock.blocker(owner));
    if policy.limit.is_zero() {
        return Err(policy.refusal(other));
    }
    let _registered = policy.register_wait(owner, other);
    lock.enqueue(owner, mode, policy.sleepers);
    policy.waits.fetch_add(1, Relaxed);
    let until = policy.deadline();
    let mut in_time = true;
    loop {
        let lock = lock_of(&mut guard);
        if lock.satisfies(owner, mode) {
            return Ok((guard, Granted { first: !held, newly_exclusive: mode == LockMode::Exclusive }));
        }
        let refusal = match owner.wounded_by() {
            Some(by) => Some(Refusal { reason: Reason::Wounded, other: by }),
            None if !in_time => Some(policy.refusal(other)),
            None => None,
        };
        if let Some(refusal) = refusal {
            lock.withdraw(owner, policy.sleepers);
            return Err(refusal);
        }
        drop(guard);
        in_time = owner.sleep(policy, until);
        guard = latch(latched);
    }
}

/// The locked ranges of one keyspace. All are shared: they say what must not change.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// Number of range locks. `Release` when it grows, `Acquire` when a writer looks: see I4 for why that is enough.
    count: AtomicUsize,
    list: Mutex<RangeList>,
}

#[derive(Debug, Default)]
struct RangeList {
    held: Vec<Range>,
    waiting: Vec<Arc<Owner>>,
}

#[derive(Debug)]
struct Range {
    owner: Arc<Owner>,
    lower: Bound<Key>,
    upper: Bound<Key>,
}

impl Range {
    fn blocks(&self, owner: &Arc<Owner>, key: &Key) -> bool {
        !Arc::ptr_eq(&self.owner, owner) && (self.lower.as_ref(), self.upper.as_ref()).contains(key)
    }
}

impl Ranges {
    /// Locks a range: from now on no other transaction gets past [`Ranges::wait_out`] in it. Never waits; a transaction that
    /// was past it before still holds its record exclusively, and the scan will meet it there.
    pub(super) fn lock(&self, owner: &Arc<Owner>, lower: Bound<Key>, upper: Bound<Key>) {
        let mut list = latch(&self.list);
        list.held.push(Range { owner: owner.clone(), lower, upper });
        self.count.store(list.held.len(), Release);
    }

    /// Ends the owner's newest range at `position`, where its scan stopped.
    pub(super) fn shrink(&self, owner: &Arc<Owner>, direction: Direction, position: Key, sleepers: &WaitTable) {
        let mut list = latch(&self.list);
        let newest = list.held.iter_mut().rfind(|range| Arc::ptr_eq(&range.owner, owner));
        let newest = newest.expect("a scan holds its range");
        match direction {
            Direction::Forward => newest.upper = Bound::Included(position),
            Direction::Backward => newest.lower = Bound::Included(position),
        }
        list.waiting.drain(..).for_each(|waiter| waiter.signal(sleepers));
    }

    /// Returns whether any range is locked here.
    pub(super) fn is_any(&self) -> bool {
        self.count.load(Acquire) != 0
    }

    /// Gives back all of the owner's ranges.
    pub(super) fn release(&self, owner: &Arc<Owner>, sleepers: &WaitTable) {
        let mut list = latch(&self.list);
        list.held.retain(|range| !Arc::ptr_eq(&range.owner, owner));
        self.count.store(list.held.len(), Release);
        list.waiting.drain(..).for_each(|waiter| waiter.signal(sleepers));
    }

    /// Waits until no other transaction's range covers `key`, whose record the owner has just locked exclusively.
    ///
    /// # Errors
    /// The owner has to give way, or its wait limit has passed.
    pub(super) fn wait_out(&self, owner: &Arc<Owner>, key: &Key, policy: &WaitPolicy<'_>) -> Result<(), Refusal> {
        let (mut until, mut in_time) = (None, true);
        let mut attended = None;
        loop {
            let mut list = latch(&self.list);
            list.waiting.retain(|waiter| !Arc::ptr_eq(waiter, owner));
            let mut others = list.held.iter().filter(|range| range.blocks(owner, key)).map(|range| &range.owner);
            let Some(other) = others.clone().next().map(|other| other.timestamp) else { return Ok(()) };
            if policy.limit.is_zero() || !in_time {
                return Err(policy.refusal(other));
            }
            if let Some(by) = owner.wounded_by() {
                return Err(Refusal { reason: Reason::Wounded, other: by });
            }
            others.by_ref().for_each(|other| owner.wound(other, policy.sleepers));
            list.waiting.push(owner.clone());
            attended.get_or_insert_with(|| {
                until = policy.deadline();
                policy.waits.fetch_add(1, Relaxed);
                policy.register_wait(owner, other)
            });
            drop(list);
            in_time = owner.sleep(policy, until);
        }
    }
}
