//! The locked ranges of a keyspace. A writer looks at them after it has locked a record exclusively (I4).

use super::owner::{Owner, Refusal, WaitPolicy, latch};
use crate::Reason;
use model::{Direction, Key};
use parts::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use parts::sync::{Mutex, fence};
use parts::wait::WaitTable;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The locked ranges of one keyspace. All are shared: they say what must not change.
#[derive(Debug, Default)]
pub struct Ranges {
    /// Number of range locks. `Relaxed`: the fences of [`Ranges::lock`] and [`Ranges::is_any`] are partners (I4).
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
    /// was past it before still holds its record exclusively, or has released it, and the scan will meet it there: the fence
    /// comes between the range and the first look at a record (I4).
    pub fn lock(&self, owner: &Arc<Owner>, lower: Bound<Key>, upper: Bound<Key>) {
        let mut list = latch(&self.list);
        list.held.push(Range { owner: owner.clone(), lower, upper });
        self.count.store(list.held.len(), Relaxed);
        drop(list);
        fence(SeqCst);
    }

    /// Ends the owner's newest range at `position`, where its scan stopped.
    pub fn shrink(&self, owner: &Arc<Owner>, direction: Direction, position: Key, sleepers: &WaitTable) {
        let mut list = latch(&self.list);
        let newest = list.held.iter_mut().rfind(|range| Arc::ptr_eq(&range.owner, owner));
        let newest = newest.expect("a scan holds its range");
        match direction {
            Direction::Forward => newest.upper = Bound::Included(position),
            Direction::Backward => newest.lower = Bound::Included(position),
        }
        list.waiting.drain(..).for_each(|waiter| waiter.signal(sleepers));
    }

    /// Returns whether any range is locked here, for a writer that has locked its record: the fence comes between the two (I4).
    #[inline]
    pub fn is_any(&self) -> bool {
        fence(SeqCst);
        self.count.load(Relaxed) != 0
    }

    /// Gives back all of the owner's ranges.
    pub fn release(&self, owner: &Arc<Owner>, sleepers: &WaitTable) {
        let mut list = latch(&self.list);
        list.held.retain(|range| !Arc::ptr_eq(&range.owner, owner));
        self.count.store(list.held.len(), Relaxed);
        list.waiting.drain(..).for_each(|waiter| waiter.signal(sleepers));
    }

    /// Waits until no other transaction's range covers `key`, whose record the owner has just locked exclusively.
    ///
    /// # Errors
    /// The owner has to give way, or its wait limit has passed.
    pub fn wait_out(&self, owner: &Arc<Owner>, key: &Key, policy: &WaitPolicy<'_>) -> Result<(), Refusal> {
        let (mut until, mut in_time) = (None, true);
        let mut attended = None;
        loop {
            let mut list = latch(&self.list);
            list.waiting.retain(|waiter| !Arc::ptr_eq(waiter, owner));
            let mut others = list.held.iter().filter(|range| range.blocks(owner, key)).map(|range| &range.owner);
            let Some(other) = others.clone().next().map(|other| other.timestamp()) else { return Ok(()) };
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
