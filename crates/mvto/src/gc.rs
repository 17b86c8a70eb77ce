//! Collection: writers hand over the versions that they replaced, and whoever begins later on the same site cuts them off
//! once no registered transaction can read them. Never a walk over a table, no thread of its own.
//!
//! Source: vMVCC, section 2 (garbage collection) and 5.1 (the corrected bound). Deviation: the paper's collector wakes up and
//! walks all tuples; here the queue of a site names the tuples, in about the order in which they become collectable.

use crate::catalog::{Catalog, Place, SpaceId};
use crate::engine::{Mvto, SiteExtra};
use crate::sites::SiteState;
use crate::store::{Pinned, Remains, Space, Tuple};
use crate::write_set::Workspace;
use env::Clock;
use model::Timestamp;
use parts::epoch::{self, Guard};
use parts::index::Entry;
use parts::sync::Mutex;
use parts::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// A tuple with a version that was replaced, or with nothing left, at `at`.
#[derive(Debug)]
pub(crate) struct Garbage {
    pub space: SpaceId,
    pub tuple: Pinned,
    pub at: Timestamp,
}

/// How much of the queue one transaction takes over. More than it can leave itself in the common case, so queues shrink.
pub(crate) const TAKEN_AT_BEGIN: usize = 16;
/// How much of each site's queue whoever advances the bound takes over, so that idle sites are collected too.
const TAKEN_AT_ADVANCE: usize = 64;
/// A site's transactions advance the bound this often.
pub(crate) const BEGINS_PER_ADVANCE: u64 = 64;

/// The bound below which nothing is read any more.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// Only grows. Release: whoever trims by it has acquired the ends of all transactions below it.
    bound: AtomicU64,
    /// Points that snapshots (checkpoints) read at, registered here instead of at a site.
    snapshots: Mutex<Vec<u64>>,
}

impl Bound {
    /// No transaction was or will be below `start`.
    pub fn starting_at(start: u64) -> Bound {
        Bound { bound: AtomicU64::new(start), ..Bound::default() }
    }

    /// As last computed.
    pub fn get(&self) -> Timestamp {
        Timestamp(self.bound.load(Ordering::Acquire))
    }
}

impl<C: Clock> Mvto<C> {
    /// Computes the bound anew (M5), and takes over some collectable garbage of every site.
    pub(crate) fn advance_bound(&self, ready: &mut Vec<Garbage>) -> Timestamp {
        let snapshots = self.bound.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.advance_bound_locked(&snapshots, ready)
    }

    fn advance_bound_locked(&self, snapshots: &[u64], ready: &mut Vec<Garbage>) -> Timestamp {
        let collectable = self.bound.get();
        let oldest = self.sites.bound(&self.time, self.age_limit_ticks, |state| {
            take_ready(state, collectable, TAKEN_AT_ADVANCE, ready);
        });
        let bound = snapshots.iter().copied().fold(oldest, u64::min);
        self.bound.bound.fetch_max(bound, Ordering::AcqRel);
        self.bound.get()
    }

    /// Registers a snapshot at the present bound: every transaction below it has ended, and no version that it reads will
    /// be collected until [`Mvto::forget_snapshot`].
    pub(crate) fn register_snapshot(&self) -> Timestamp {
        let mut snapshots = self.bound.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ready = Vec::new();
        let at = self.advance_bound_locked(&snapshots, &mut ready);
        snapshots.push(at.0);
        drop(snapshots);
        self.requeue(ready);
        at
    }

    /// Ends a snapshot.
    pub(crate) fn forget_snapshot(&self, at: Timestamp) {
        let mut snapshots = self.bound.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = snapshots.iter().position(|&other| other == at.0) {
            snapshots.swap_remove(place);
        }
    }

    /// Collects what can be collected now, of all sites. Returns how many versions went.
    pub fn collect(&self) -> usize {
        let mut work = Workspace { catalog: self.catalog(), ..Workspace::new(&self.memory.meter) };
        self.advance_bound(&mut work.ready);
        let bound = self.bound.get();
        self.sites.for_each(|state| take_ready(state, bound, usize::MAX, &mut work.ready));
        self.reclaim(&mut work);
        self.requeue(std::mem::take(&mut work.garbage));
        self.sites.assign(0);
        self.sites.lock(0).extra.counters.collected += work.collected as u64;
        work.collected
    }

    fn requeue(&self, garbage: Vec<Garbage>) {
        if !garbage.is_empty() {
            self.sites.assign(0);
            self.sites.lock(0).extra.garbage.extend(garbage);
        }
    }

    /// Trims and reclaims what the workspace has taken over.
    pub(crate) fn reclaim(&self, work: &mut Workspace) {
        if work.ready.is_empty() {
            return;
        }
        let (bound, durable) = (self.bound.get(), self.durable());
        while let Some(garbage) = work.ready.pop() {
            let Some(place) = work.catalog.place(garbage.space) else {
                if garbage.space.table >= work.catalog.next_id() {
                    work.garbage.push(garbage); // Younger than this catalog.
                }
                continue; // Dropped with its table, pin and all.
            };
            if garbage.tuple.version_count() > 1 {
                match garbage.tuple.trim(bound, &mut work.pool) {
                    Some(count) => work.collected += count,
                    None => {
                        work.garbage.push(garbage); // Somebody else is at it, perhaps by an older bound.
                        continue;
                    }
                }
            }
            match garbage.tuple.remains(bound) {
                Remains::Something => garbage.tuple.unpin(),
                // Whoever finds the key absent must still be able to wait for the delete.
                Remains::Nothing { log_position } if log_position > durable => work.garbage.push(garbage),
                Remains::Nothing { .. } => remove_dead(place, garbage, bound),
            }
        }
    }
}

/// Takes a key of which nothing is left out of its index. The stamp of the tuple is folded into that of its leaf (M6), so
/// that whoever found the key absent here still forbids older inserts.
///
/// Where somebody else owns the tuple or has it pinned, that is a transaction, which leaves garbage of its own if it finds
/// nothing in the tuple at its end, or other garbage, which will be looked at in its turn.
fn remove_dead(place: Place<'_>, garbage: Garbage, bound: Timestamp) {
    let guard = epoch::pin();
    let address = garbage.tuple.address();
    // SAFETY: pinned now, and freed no earlier than our guard allows once it is not (S1).
    let key = unsafe { address.as_ref() }.key();
    let mut pin = Some(garbage.tuple);
    let removed = place.space().remove(key, &guard, |found| {
        if !std::ptr::eq(found, address.as_ptr()) || !found.ownership.try_kill() {
            return None;
        }
        // Nobody else has it pinned, so nobody has written it since it was found dead and durably so.
        if found.is_pinned_once_only() && found.remains(bound) != Remains::Something {
            return Some(found.ownership.last_read().0);
        }
        // Under the kill, so that of two collectors the second finds itself alone.
        pin.take().into_iter().for_each(Pinned::unpin);
        found.ownership.revive();
        None
    });
    match removed {
        // SAFETY: killed with our pin as the only one (S1) and removed just now; the pin goes with it.
        Some(address) => unsafe { Tuple::retire(address, place.space(), &guard) },
        None => pin.into_iter().for_each(Pinned::unpin),
    }
}

/// Takes a tuple that nobody owns or has pinned out of its index, stamp and all. Used before anybody else sees the index.
pub(crate) fn discard(space: &Space, tuple: &Tuple, guard: &Guard) {
    let removed = space.remove(tuple.key(), guard, |found| {
        let dies = std::ptr::eq(found, tuple) && found.ownership.try_kill();
        if dies && !found.is_unpinned() {
            found.ownership.revive();
            return None;
        }
        dies.then(|| found.ownership.last_read().0)
    });
    if let Some(address) = removed {
        // SAFETY: killed without a pin (S1) and removed just now.
        unsafe { Tuple::retire(address, space, guard) };
    }
}

/// Moves up to `count` entries whose time has come from the front of a site's queue.
pub(crate) fn take_ready(state: &mut SiteState<SiteExtra>, bound: Timestamp, count: usize, ready: &mut Vec<Garbage>) {
    for _ in 0..count {
        match state.extra.garbage.front() {
            Some(garbage) if garbage.at < bound => ready.extend(state.extra.garbage.pop_front()),
            _ => break,
        }
    }
}

impl<C> Mvto<C> {
    /// The present catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
