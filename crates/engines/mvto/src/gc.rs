//! Collection: a writer notes the version that it replaces, and a later transaction of the same site uses its block again, without a
//! look at the row. Where rows are written so often that the bound does not come in between, versions are kept in the row: a writer
//! removes from the rows that it writes those that no transaction reads any more. A row that keeps versions, or that was deleted,
//! is queued, once, for a transaction that begins later on the same site. There is no thread for this, and no walk over
//! a table.
//!
//! | removed | when | by |
//! | --- | --- | --- |
//! | a version that began below the bound when it was replaced | the bound has passed its replacement | a transaction that takes its note; the row's next writer, if it was at home |
//! | all kept versions behind the newest one below the bound | the bound has passed the row's newest version | the row's next writer, or a transaction that takes the row from the queue |
//! | kept versions between two others that no open snapshot reads | the horizon's floor has passed the row's newest version | the same |
//! | the tuple of a deleted row | as above, and its delete is durable | a transaction that takes it from the queue |
//!
//! So a row keeps its newest version, one for each snapshot that was open at its last write, and those that were written since
//! the horizon was published (docs/decisions/0020). The second line matters only while an old transaction holds the bound back, and
//! only then is a horizon published.
//!
//! Source: vMVCC, section 2 (garbage collection) and 5.1 (the corrected bound). Deviation: the paper's collector wakes up and
//! walks all tuples; here the queue of a site names the tuples, in about the order in which they become collectable.

use crate::catalog::{Catalog, Table};
use crate::engine::{Mvto, SiteExtra};
use crate::horizon::Horizon;
use crate::sites::SiteState;
use crate::store::{KeyState, Pinned, Space, Tuple, VersionPool};
use crate::write_set::Workspace;
use env::Clock;
use model::{TableId, Timestamp};
use parts::epoch::{self, Guard};
use parts::index::Entry;
use parts::sync::atomic::{AtomicU64, Ordering};
use parts::sync::{Mutex, MutexGuard, RwLock};
use std::sync::{Arc, PoisonError};

/// A queued tuple: it keeps replaced versions, or has no row. The queue has pinned it, once (S3).
#[derive(Debug)]
pub(crate) struct Garbage {
    pub table: TableId,
    pub tuple: Pinned,
    /// Timestamp of the first replacement; once collection has looked at it, the begin of its newest version.
    pub at: Timestamp,
    /// Open snapshots read the versions that are left: nothing can be removed before the bound has passed.
    pub held: bool,
}

/// Entries of the queue that one transaction takes over: more than it leaves itself in the common case, so queues shrink.
pub(crate) const TAKEN_AT_BEGIN: usize = 16;
/// Entries of each site's queue that an advance of the bound takes over, so that idle sites are collected too.
const TAKEN_AT_ADVANCE: usize = 64;
/// Entries of each site's queue that are taken over at a time where no transaction waits.
const TAKEN_AT_REST: usize = 1024;
/// Entries held for open snapshots that are looked at again then, of each site.
const HELD_AT_REST: usize = 256;
/// Attempts to free what the epoch allows, where no transaction waits.
const EPOCH_STEPS: usize = 16;
/// A site's transactions advance the bound this often.
pub(crate) const BEGINS_PER_ADVANCE: u64 = 64;
/// Snapshots that are put in order at each advance. Where more are open, horizons are published so much more rarely.
const ORDERED_PER_ADVANCE: usize = 64;

/// The bound below which nothing is read any more, and the horizon above it.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// Only grows. Release: whoever collects by it has acquired the ends of all transactions below it.
    bound: AtomicU64,
    /// The bound, or the floor of the published horizon if that is higher. Only grows. Advice: which garbage to look at.
    floor: AtomicU64,
    /// The number of the published horizon. Release after `horizon` was replaced; partner of `Bound::refresh`.
    published: AtomicU64,
    horizon: RwLock<Arc<Horizon>>,
    survey_state: Mutex<SurveyState>,
}

/// State that one survey leaves for the next; surveys come one after the other.
#[derive(Debug, Default)]
pub(crate) struct SurveyState {
    /// The floor of the survey before: who is older than that has seen two.
    last_floor: u64,
    /// Surveys since a horizon was published.
    since_published: usize,
}

/// Limits up to which collection may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectionLimits {
    bound: Timestamp,
    floor: Timestamp,
}

impl Bound {
    /// No transaction was or will be below `start`.
    pub fn starting_at(start: u64) -> Bound {
        Bound { bound: AtomicU64::new(start), floor: AtomicU64::new(start), ..Bound::default() }
    }

    /// Returns the bound as last computed.
    pub fn get(&self) -> Timestamp {
        Timestamp(self.bound.load(Ordering::Acquire))
    }

    /// The right to survey: one at a time.
    pub fn survey_state(&self) -> MutexGuard<'_, SurveyState> {
        self.survey_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the bound where it is until dropped. Whoever writes meanwhile is registered at the bound or above it, so the versions that
    /// are replaced from now on stay as they are (S5). Not for long: nothing is collected that the bound has not passed.
    pub fn hold_still(&self) -> impl Drop {
        self.survey_state()
    }

    /// Returns the limits up to which collection may go now.
    pub fn collection_limits(&self) -> CollectionLimits {
        CollectionLimits { bound: self.get(), floor: Timestamp(self.floor.load(Ordering::Relaxed)) }
    }

    /// Replaces a horizon by the published one, if that is newer.
    fn refresh(&self, horizon: &mut Arc<Horizon>) {
        if self.published.load(Ordering::Acquire) != horizon.number {
            *horizon = self.horizon.read().unwrap_or_else(PoisonError::into_inner).clone();
        }
    }

    fn publish(&self, open: Vec<u64>, floor: u64) {
        let number = self.published.load(Ordering::Relaxed) + 1; // Surveys come one after the other.
        let next = Arc::new(Horizon::new(number, open, floor));
        let before = std::mem::replace(&mut *self.horizon.write().unwrap_or_else(PoisonError::into_inner), next);
        self.published.store(number, Ordering::Release);
        self.floor.fetch_max(floor, Ordering::Relaxed);
        drop(before);
    }
}

impl<C: Clock> Mvto<C> {
    /// Computes the bound anew (M5), and takes over some collectable garbage of every site. Publishes a horizon if the bound
    /// is held back, from time to time or, if it is `urgent`, now.
    pub(crate) fn advance_bound(&self, urgent: bool, work: &mut Workspace) {
        let mut survey_state = match self.bound.survey_state.try_lock() {
            Ok(state) => state,
            Err(_) if !urgent => return, // Another one surveys, or keeps the bound where it is.
            Err(_) => self.bound.survey_state(),
        };
        let (reach, mut open) = (self.bound.collection_limits(), Vec::new());
        let floor = self.sites.survey(&self.time, self.age_limit_ticks, &mut open, |state| {
            take_ready(state, reach, TAKEN_AT_ADVANCE, work);
        });
        let bound = open.iter().copied().fold(floor, u64::min);
        debug_assert!(bound <= floor && floor <= self.time.noted(), "M5: nobody draws below the floor any more");
        self.bound.bound.fetch_max(bound, Ordering::AcqRel);
        self.bound.floor.fetch_max(bound, Ordering::Relaxed);
        survey_state.since_published += 1;
        // If no transaction is older than the last survey, the bound alone advances fast enough.
        let held_back =
            bound < survey_state.last_floor && survey_state.since_published * ORDERED_PER_ADVANCE >= open.len();
        if held_back || urgent && bound < floor {
            self.bound.publish(open, floor);
            survey_state.since_published = 0;
        }
        survey_state.last_floor = floor;
    }

    /// Collects what can be collected now: versions, deleted rows, dropped tables. Returns how many versions went. For a thread
    /// on which no transaction waits: an engine that works collects by itself, one that idles or drops tables wants to be told.
    pub fn collect(&self) -> usize {
        let collected = self.collect_versions();
        self.free_dropped_tables();
        // The next user of the epoch frees the removed versions; there may be no next user.
        (0..EPOCH_STEPS).for_each(|_| epoch::pin().flush());
        collected
    }

    /// Frees the dropped tables that are not in use any more.
    pub(crate) fn free_dropped_tables(&self) {
        let unused = {
            let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            // In no catalog any more, so nobody can clone what only we have.
            let unused: Vec<_> = dropped.extract_if(.., |table| Arc::strong_count(table) == 1).collect();
            unused
        };
        drop(unused);
    }

    /// Collects what can be collected now, of all sites. Returns how many versions went.
    pub(crate) fn collect_versions(&self) -> usize {
        let mut work = Workspace { catalog: self.catalog(), ..Workspace::new(&self.memory.meter) };
        self.advance_bound(true, &mut work);
        let reach = self.bound.collection_limits();
        loop {
            let before = work.collected;
            self.sites.for_each(|state| take_ready(state, reach, TAKEN_AT_REST, &mut work));
            if work.ready.is_empty() && work.collected == before {
                break;
            }
            self.reclaim(&mut work);
        }
        // Snapshots may have ended in between, and rows been written again: some of what is held is looked at in turn.
        self.sites.for_each(|state| {
            let SiteExtra { held, .. } = &mut state.extra;
            work.ready.extend(held.drain(..held.len().min(HELD_AT_REST)));
        });
        self.reclaim(&mut work);
        self.sites.assign(0);
        let mut state = self.sites.lock(0);
        state.extra.queue(&mut work);
        state.extra.counters.collected += work.collected as u64;
        work.collected
    }

    /// Removes the kept versions that no transaction reads from an owned tuple before another one is installed. `bound` is the bound of
    /// the install, and what is kept behind a newest version below it goes.
    ///
    /// As long as neither the bound nor the floor has passed the newest version, the chain is left alone, except for an
    /// attempt each time the workspace's users have left many versions in chains.
    pub(crate) fn prune(&self, tuple: &Tuple, bound: Timestamp, work: &mut Workspace) {
        let newest = tuple.newest().map_or(Timestamp::ZERO, |newest| newest.begin());
        if newest >= bound {
            self.bound.refresh(&mut work.horizon);
            if newest >= work.horizon.floor() {
                if work.kept_since_survey < self.options.versions {
                    return;
                }
                work.kept_since_survey = 0;
                self.advance_bound(true, work);
                self.bound.refresh(&mut work.horizon);
            }
        }
        work.collected += self.take_out(tuple, &work.horizon, &mut work.pool).0;
    }

    /// Removes the kept versions of a tuple that no transaction reads. Returns their number and what is left. The caller owns or
    /// holds the tuple.
    fn take_out(&self, tuple: &Tuple, horizon: &Horizon, pool: &mut VersionPool) -> (usize, KeyState) {
        let bound = self.bound.get();
        let mut taken = tuple.cut(bound, pool);
        if horizon.floor() > bound && tuple.keeps_older() {
            taken += tuple.splice(horizon, &self.memory.meter, &epoch::pin());
        }
        (taken, tuple.key_state(bound, horizon))
    }

    /// Looks at what the workspace has taken over: takes out versions, and tuples of which nothing is left.
    pub(crate) fn reclaim(&self, work: &mut Workspace) {
        if work.ready.is_empty() {
            return;
        }
        self.bound.refresh(&mut work.horizon);
        let durable = self.durable();
        while let Some(Garbage { table: id, tuple, at, held }) = work.ready.pop() {
            let Some(table) = work.catalog.get(id) else {
                if id >= work.catalog.next_id() {
                    work.garbage.push(Garbage { table: id, tuple, at, held }); // Younger than this catalog.
                }
                continue; // Dropped with its table, pin and all.
            };
            // From here on, whoever leaves garbage in it queues it again.
            tuple.dequeue();
            let looked = tuple.try_hold().map(|_held| self.take_out(&tuple, &work.horizon, &mut work.pool));
            work.collected += looked.map_or(0, |(taken, _)| taken);
            let (tuple, at, held) = match looked.map(|(_, left)| left) {
                Some(KeyState::Row) => {
                    tuple.unpin();
                    continue;
                }
                Some(KeyState::Until(newest)) => (tuple, newest, newest < work.horizon.floor()),
                None => (tuple, at, held), // A transaction owns it.
                // Whoever finds the key absent must still be able to wait for the delete.
                Some(KeyState::Nothing { log_position, .. }) if log_position > durable => (tuple, at, held),
                Some(KeyState::Nothing { .. }) => match remove_dead(table, tuple, self.bound.get(), &work.horizon) {
                    None => continue,
                    Some(tuple) => (tuple, at, held),
                },
            };
            work.garbage.extend(tuple.queued().map(|tuple| Garbage { table: id, tuple, at, held }));
        }
    }
}

/// Gives up a pin. Where nothing was ever installed in the tuple it becomes that of a queue entry, unless there is one (S3).
pub(crate) fn leftover(table: TableId, tuple: Pinned, at: Timestamp) -> Option<Garbage> {
    if !tuple.is_empty() {
        tuple.unpin();
        return None;
    }
    tuple.queued().map(|tuple| Garbage { table, tuple, at, held: false })
}

/// Removes a key without versions from its index. The stamp of the tuple is folded into that of its leaf (M6), so
/// that a reader that found the key absent here still forbids older inserts.
///
/// Returns the pin if another owns the tuple or has it pinned, or if it has a row again: it is looked at again (S3).
fn remove_dead(table: &Table, tuple: Pinned, bound: Timestamp, horizon: &Horizon) -> Option<Pinned> {
    let guard = epoch::pin();
    let address = tuple.address();
    // SAFETY: pinned now, and freed no earlier than our guard allows once it is not (S1).
    let key = unsafe { address.as_ref() }.key();
    let removed = table.space().remove(key, &guard, |found| {
        if !std::ptr::eq(found, address.as_ptr()) || !found.ownership.try_kill() {
            return None;
        }
        // No other pins it, so no transaction has written it since it was found dead and durably so.
        if found.is_pinned_once_only()
            && let KeyState::Nothing { begin, .. } = found.key_state(bound, horizon)
        {
            // Older writers, who would have met the tombstone, now meet the stamp.
            debug_assert!(begin < bound || begin < horizon.floor(), "M5: older ones may still read it");
            return Some(found.ownership.last_read().max(begin).0);
        }
        found.ownership.revive();
        None
    });
    let Some(address) = removed else { return Some(tuple) };
    // SAFETY: killed with our pin as the only one (S1) and removed just now; the pin goes with it.
    unsafe { Tuple::retire(address, table.space(), &guard) };
    None
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

/// Takes over up to `count` entries whose time has come from the front of each of a site's queues.
pub(crate) fn take_ready(
    state: &mut SiteState<SiteExtra>,
    reach: CollectionLimits,
    count: usize,
    work: &mut Workspace,
) {
    let SiteExtra { retired, garbage, held, .. } = &mut state.extra;
    work.collected += retired.give_back(reach.bound, count, &mut work.pool);
    for (queue, limit) in [(garbage, reach.floor), (held, reach.bound)] {
        let mut left = count;
        while let Some(entry) = queue.pop_front_if(|entry| left > 0 && entry.at < limit) {
            work.ready.push(entry);
            left -= 1;
        }
    }
}

impl SiteExtra {
    /// Queues what a transaction leaves.
    pub fn queue(&mut self, work: &mut Workspace) {
        self.retired.take_over(&mut work.retired);
        for garbage in work.garbage.drain(..) {
            let queue = if garbage.held { &mut self.held } else { &mut self.garbage };
            queue.push_back(garbage);
        }
    }
}

impl<C> Mvto<C> {
    /// The present catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;
    use crate::options::Options;
    use env::SimClock;

    #[test]
    fn nobody_advances_a_bound_that_is_held_still() {
        let engine = Mvto::in_memory_with(Options::default(), SimClock::new(1_000, 7)).expect("an engine");
        let advanced = || {
            let before = engine.bound.get();
            engine.advance_bound(false, &mut engine.new_workspace());
            engine.bound.get() > before
        };
        assert!(advanced(), "the clock goes on");
        let still = engine.bound.hold_still();
        assert!(!advanced());
        drop(still);
        assert!(advanced());
    }
}
