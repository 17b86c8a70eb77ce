//! The lock of one record: shared or exclusive, with a queue of waiters.

use super::owner::{Owner, Refusal, WaitPolicy, latch};
use crate::Reason;
use model::Timestamp;
use parts::sync::atomic::Ordering::Relaxed;
use parts::sync::{Mutex, MutexGuard};
use parts::wait::WaitTable;
use smallvec::SmallVec;
use std::sync::Arc;

/// Mode of a record lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockMode {
    Shared,
    Exclusive,
}

/// The lock of one record. It is only touched under the record's latch.
#[derive(Debug, Default)]
pub(crate) struct Lock {
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
pub(crate) struct Granted {
    /// The owner held no lock on this record before.
    pub(crate) first: bool,
    /// The owner held no exclusive lock on this record before, and does now.
    pub(crate) newly_exclusive: bool,
}

impl Lock {
    /// Neither held nor wanted.
    pub(crate) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    pub(crate) fn is_held_by(&self, owner: &Arc<Owner>) -> bool {
        self.holders.iter().any(|holder| Arc::ptr_eq(holder, owner))
    }

    /// Returns whether another owner may be changing the record.
    pub(crate) fn is_exclusive_to_another(&self, owner: &Arc<Owner>) -> bool {
        self.exclusive && !self.is_held_by(owner)
    }

    /// Returns whether this owner alone may change the record. Constant time: an exclusive lock has one holder (I2).
    pub(crate) fn is_exclusive_to(&self, owner: &Arc<Owner>) -> bool {
        self.exclusive && self.is_held_by(owner)
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
        assert!(!self.exclusive || self.holders.len() == 1, "I2: an exclusive lock has one holder");
    }

    /// Grants the lock if no wait is needed. No request overtakes a waiter that precedes it; a holder that only wants more of
    /// what it has overtakes all, since they wait for it.
    pub(crate) fn request(&mut self, owner: &Arc<Owner>, mode: LockMode) -> Option<Granted> {
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
    pub(crate) fn release(&mut self, owner: &Arc<Owner>, sleepers: &WaitTable) {
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
            let overtaken = self.queue.first().is_some_and(|next| next.owner.precedes(&owner));
            assert!(!overtaken, "I2: no request passes a waiter that precedes it");
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
pub(crate) fn wait_for_lock<'l, T>(
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
