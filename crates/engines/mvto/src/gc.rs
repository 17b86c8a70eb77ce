//! Collection: a writer removes from the rows that it writes the versions that no transaction reads any more. A row that keeps replaced
//! versions is queued, once, for a transaction that begins later on the same site. There is no thread for this, and no walk over
//! a table.
//!
//! | removed | when | by |
//! | --- | --- | --- |
//! | all versions behind the newest one below the bound | the bound has passed the row's newest version | the row's next writer, or a transaction that takes the row from the queue |
//! | versions between two others that no open snapshot reads | the horizon's floor has passed the row's newest version | the same |
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

/// A queued tuple: it has replaced versions, or none at all. The queue has pinned it, once (S3).
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
    /// Only grows. Release: whoever trims by it has acquired the ends of all transactions below it.
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
    pub(crate) fn advance_bound(&self, urgent: bool, ready: &mut Vec<Garbage>) {
        let mut survey_state = self.bound.survey_state();
        let (reach, mut open) = (self.bound.collection_limits(), Vec::new());
        let floor = self.sites.survey(&self.time, self.age_limit_ticks, &mut open, |state| {
            take_ready(state, reach, TAKEN_AT_ADVANCE, ready);
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
        self.advance_bound(true, &mut work.ready);
        let reach = self.bound.collection_limits();
        loop {
            self.sites.for_each(|state| take_ready(state, reach, TAKEN_AT_REST, &mut work.ready));
            if work.ready.is_empty() {
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
        self.requeue(std::mem::take(&mut work.garbage));
        self.sites.assign(0);
        self.sites.lock(0).extra.counters.collected += work.collected as u64;
        work.collected
    }

    fn requeue(&self, garbage: Vec<Garbage>) {
        if !garbage.is_empty() {
            self.sites.assign(0);
            self.sites.lock(0).extra.queue(garbage);
        }
    }

    /// Gives up the pin of a transaction at `at` that has only waited for the tuple's holder. A collector that met the pin has
    /// left to it what it leaves (S3).
    pub(crate) fn unpin(&self, table: TableId, tuple: Pinned, at: Timestamp) {
        self.requeue(leftover(table, tuple, at).into_iter().collect());
    }

    /// Removes the versions that no transaction reads from an owned tuple before another one is installed, and returns their number.
    /// As long as neither the bound nor the floor has passed the newest version, the chain is left alone, except for one
    /// attempt each time it has grown by many.
    pub(crate) fn prune(
        &self,
        tuple: &Tuple,
        horizon: &mut Arc<Horizon>,
        pool: &mut VersionPool,
        ready: &mut Vec<Garbage>,
    ) -> usize {
        let count = tuple.version_count();
        let newest = tuple.newest().map_or(Timestamp::ZERO, |newest| newest.begin());
        if newest >= self.bound.get() {
            self.bound.refresh(horizon);
            if newest >= horizon.floor() {
                if !count.is_multiple_of(self.options.versions) {
                    return 0;
                }
                self.advance_bound(true, ready);
                self.bound.refresh(horizon);
            } else if count == 2 {
                return 0; // The older one is most often the one that is kept for somebody.
            }
        }
        self.take_out(tuple, horizon, pool).map_or(0, |(taken, _)| taken)
    }

    /// Removes the versions of a tuple that no transaction reads. Returns their number and what is left; `None` if another thread
    /// is removing versions, perhaps by an older horizon.
    fn take_out(&self, tuple: &Tuple, horizon: &Horizon, pool: &mut VersionPool) -> Option<(usize, KeyState)> {
        let trimming = tuple.try_trim()?;
        let bound = self.bound.get();
        let mut taken = trimming.cut(bound, pool);
        if horizon.floor() > bound && tuple.version_count() > 1 {
            taken += trimming.splice(horizon, &self.memory.meter, &epoch::pin());
        }
        Some((taken, trimming.key_state(bound, horizon)))
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
            // From here on, whoever replaces a version queues the tuple again.
            tuple.dequeue();
            let looked = self.take_out(&tuple, &work.horizon, &mut work.pool);
            work.collected += looked.map_or(0, |(taken, _)| taken);
            let (at, held) = match looked.map(|(_, left)| left) {
                Some(KeyState::Row) => {
                    tuple.unpin();
                    continue;
                }
                Some(KeyState::Until(newest)) => (newest, newest < work.horizon.floor()),
                None => (at, held), // Somebody else is at it, perhaps by an older horizon.
                // Whoever finds the key absent must still be able to wait for the delete.
                Some(KeyState::Nothing { log_position, .. }) if log_position > durable => (at, held),
                Some(KeyState::Nothing { .. }) => {
                    remove_dead(table, tuple, self.bound.get(), &work.horizon);
                    continue;
                }
            };
            work.garbage.extend(tuple.queued().map(|tuple| Garbage { table: id, tuple, at, held }));
        }
    }
}

/// Gives up a pin. Where nothing is left in the tuple it becomes that of a queue entry, unless there is one (S3).
pub(crate) fn leftover(table: TableId, tuple: Pinned, at: Timestamp) -> Option<Garbage> {
    match tuple.key_state(Timestamp(u64::MAX), &Horizon::default()) {
        KeyState::Nothing { .. } => tuple.queued().map(|tuple| Garbage { table, tuple, at, held: false }),
        KeyState::Row | KeyState::Until(_) => {
            tuple.unpin();
            None
        }
    }
}

/// Removes a key without versions from its index. The stamp of the tuple is folded into that of its leaf (M6), so
/// that a reader that found the key absent here still forbids older inserts.
///
/// If another owns the tuple or has it pinned, that is a transaction. It leaves garbage of its own if it finds the tuple empty
/// at its end, or other garbage, which is examined in its turn.
fn remove_dead(table: &Table, tuple: Pinned, bound: Timestamp, horizon: &Horizon) {
    let guard = epoch::pin();
    let address = tuple.address();
    // SAFETY: pinned now, and freed no earlier than our guard allows once it is not (S1).
    let key = unsafe { address.as_ref() }.key();
    let mut pin = Some(tuple);
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
        // Under the kill, so that of two collectors the second finds itself alone.
        pin.take().into_iter().for_each(Pinned::unpin);
        found.ownership.revive();
        None
    });
    match removed {
        // SAFETY: killed with our pin as the only one (S1) and removed just now; the pin goes with it.
        Some(address) => unsafe { Tuple::retire(address, table.space(), &guard) },
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

/// Moves up to `count` entries whose time has come from the fronts of a site's queues.
pub(crate) fn take_ready(
    state: &mut SiteState<SiteExtra>,
    reach: CollectionLimits,
    count: usize,
    ready: &mut Vec<Garbage>,
) {
    let SiteExtra { garbage, held, .. } = &mut state.extra;
    for (queue, limit) in [(garbage, reach.floor), (held, reach.bound)] {
        let mut left = count;
        while let Some(entry) = queue.pop_front_if(|entry| left > 0 && entry.at < limit) {
            ready.push(entry);
            left -= 1;
        }
    }
}

impl SiteExtra {
    /// Queues what a transaction leaves.
    pub fn queue(&mut self, left: impl IntoIterator<Item = Garbage>) {
        for garbage in left {
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
