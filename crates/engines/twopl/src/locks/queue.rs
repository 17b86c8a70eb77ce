//! A contended lock: its holders, shared or exclusive, and the queue of its waiters.

use super::owner::Owner;
use super::word::{Granted, LockMode};
use model::Timestamp;
use parts::wait::WaitTable;
use smallvec::SmallVec;
use std::sync::Arc;

/// A lock that more than one transaction holds or wants, or did a moment ago. It is only touched under its shard's latch.
#[derive(Debug, Default)]
pub(super) struct Lock {
    /// One if `exclusive`.
    holders: SmallVec<[Arc<Owner>; 2]>,
    exclusive: bool,
    /// Waiters in order of priority.
    queue: SmallVec<[Waiter; 2]>,
}

#[derive(Debug)]
struct Waiter {
    owner: Arc<Owner>,
    mode: LockMode,
}

impl Lock {
    /// A lock as its only holder had it.
    pub(super) fn held(holder: Arc<Owner>, mode: LockMode) -> Lock {
        let (holders, exclusive) = (smallvec::smallvec![holder], mode == LockMode::Exclusive);
        Lock { holders, exclusive, queue: SmallVec::new() }
    }

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

    /// Returns whether this owner alone may change the record. Constant time: an exclusive lock has one holder (I2).
    pub(super) fn is_exclusive_to(&self, owner: &Arc<Owner>) -> bool {
        self.exclusive && self.is_held_by(owner)
    }

    pub(super) fn satisfies(&self, owner: &Arc<Owner>, mode: LockMode) -> bool {
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
    pub(super) fn enqueue(&mut self, owner: &Arc<Owner>, mode: LockMode, sleepers: &WaitTable) {
        for holder in self.holders.iter().filter(|holder| !Arc::ptr_eq(holder, owner)) {
            owner.wound(holder, sleepers);
        }
        let at = self.queue.partition_point(|waiter| waiter.owner.precedes(owner));
        self.queue.insert(at, Waiter { owner: owner.clone(), mode });
    }

    /// Returns the transaction that a request of `owner` would wait for.
    pub(super) fn blocker(&self, owner: &Arc<Owner>) -> Timestamp {
        let others = self.holders.iter().chain(self.queue.iter().map(|waiter| &waiter.owner));
        others.filter(|other| !Arc::ptr_eq(other, owner)).map(|other| other.timestamp()).next().unwrap_or_default()
    }

    /// Leaves the queue.
    pub(super) fn withdraw(&mut self, owner: &Arc<Owner>, sleepers: &WaitTable) {
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
            let overtaken = self.queue.first().is_some_and(|next| next.owner.precedes(&owner));
            assert!(!overtaken, "I2: no request passes a waiter that precedes it");
            self.grant(&owner, mode);
            owner.signal(sleepers);
        }
    }
}
