//! The lane of a site: registration of one transaction without the site's mutex. Checked by loom (`tests/loom_sites.rs`).
//!
//! A lane holds at most one transaction. Whoever finds it taken registers under the mutex, so any thread may enter a lane, and a
//! transaction that entered on one thread may end on another.
//!
//! ```text
//! enter     word: 0 -> DRAWING | lower bound    compare-exchange, SeqCst     then load `noted`, read the clock
//!           word := timestamp                   store by the one who draws; of a batch the first, with their number beside it
//! hold      word: 0 -> DRAWING | limit          compare-exchange, SeqCst     then load `limit`; given back by a store of 0
//! leave     word: timestamp -> 0                compare-exchange; a bit beside the timestamp makes it fail, and is looked at
//! survey    raise `noted` to the clock's reading     then load the word
//! bar       word: w -> w | BARRED               only where nobody draws      nobody enters, so nobody else draws at the site
//! wait      word: timestamp -> | AWAITED        with the mutex held          who leaves locks the mutex and notifies
//! ```
//!
//! **M5.** Who enters stores the word and then loads `noted`; a survey stores `noted` and then loads the word. All four are
//! sequentially consistent, so at least one of the two sees the other: either the survey finds the word, or the draw lies above the
//! survey's floor (a reading below `noted` is refused). A survey that finds the word while the timestamp is being drawn counts the
//! lower bound, and lowers its floor to that: the timestamp may have been drawn already, and will lie above the bound.
//!
//! **M2.** Of all who draw at a site, one is in the lane with a DRAWING word, or one holds the mutex and has barred the lane. A lane
//! is not barred while its word is DRAWING, so that word belongs to its drawer, who replaces it by a store.
//!
//! **What the lane keeps** for its next transaction belongs to whoever is in the lane, or has barred it while it was free. Each
//! acquires the word from the one before.

use parts::spin::Backoff;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release, SeqCst},
};
use parts::sync::cell::UnsafeCell;

use super::Beginner;
use crate::ownership::{TIMESTAMP_LIMIT, load_in_total_order};

/// The timestamp is being drawn, or a single read looks at newest versions; the rest of the word is a lower bound of it, or of what
/// may be collected.
const DRAWING: u64 = TIMESTAMP_LIMIT;
/// Nobody may enter.
const BARRED: u64 = 1 << 62;
/// Somebody sleeps until the transaction ends.
const AWAITED: u64 = 1 << 63;
const FLAGS: u64 = DRAWING | BARRED | AWAITED;

/// Timestamps that one draw gives a batch, at most.
pub(super) const MOST_AT_ONCE: u64 = 1 << COUNT_BITS;
const COUNT_BITS: u32 = 10;

/// Timestamps of a batch, drawn together: `count` from `first` on, a number of sites apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The first.
    pub first: u64,
    pub(super) last: u64,
    pub(super) count: u64,
}

/// A lane. `K` is what it keeps from one transaction for the next.
#[derive(Debug)]
pub struct Lane<K> {
    /// 0, or the timestamp of the transaction in the lane, with flags.
    word: AtomicU64,
    /// Last timestamp drawn at the site, by the lane or under the mutex. Ordered by `word`: who draws has entered or barred.
    last: AtomicU64,
    /// The beginner of the transaction in the lane, and the number of its timestamps less one. Published by the word.
    beginner: AtomicU64,
    kept: UnsafeCell<K>,
}

// SAFETY: `kept` is accessed only by whoever is in the lane or has barred it while it was free (tour). One such access happens
// before the next.
unsafe impl<K: Send> Sync for Lane<K> {}

/// The right of the one transaction that is in a lane.
#[derive(Debug)]
pub struct InLane {
    /// The site.
    pub site: u32,
    at: u64,
    /// Address of the lane: a right to one lane is none to another.
    lane: usize,
}

/// A lane that is held by somebody who has no timestamp, until dropped.
#[derive(Debug)]
pub struct Held<'a, K: Default> {
    lane: &'a Lane<K>,
    /// What the lane keeps.
    pub kept: K,
    /// An upper bound of all timestamps that were drawn before the lane was taken.
    pub limit: u64,
}

impl<K: Default> Drop for Held<'_, K> {
    fn drop(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        // SAFETY: it holds the lane.
        self.lane.kept.with_mut(|place| unsafe { *place = kept });
        // A store: nobody else changes a word that is DRAWING. Release: `kept`, and what the holder has looked at.
        self.lane.word.store(0, Release);
    }
}

/// Transaction that was found in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occupant {
    /// None.
    Nobody,
    /// One that draws a timestamp above this.
    DrawsAbove(u64),
    /// One with this timestamp.
    At(u64),
}

impl<K: Default> Lane<K> {
    pub(super) fn new() -> Lane<K> {
        let (word, last, beginner) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Lane { word, last, beginner, kept: UnsafeCell::new(K::default()) }
    }

    /// Enters the lane if it is free, and takes what it keeps. `draw` is given that and the last timestamp of the site, and draws
    /// later ones, above `lower`. It waits for nobody.
    ///
    /// # Errors
    /// That of `draw`.
    #[inline]
    pub(super) fn enter<E>(
        &self,
        site: u32,
        lower: u64,
        beginner: Beginner,
        draw: impl FnOnce(&mut K, u64) -> Result<Drawn, E>,
    ) -> Result<Option<(u64, InLane, K)>, E> {
        // Acquire: what the transaction before has left. SeqCst: M5.
        if self.word.compare_exchange(0, DRAWING | lower, SeqCst, Relaxed).is_err() {
            return Ok(None);
        }
        // SAFETY: in the lane.
        let drawn = self.kept.with_mut(|kept| draw(unsafe { &mut *kept }, self.last.load(Relaxed)));
        let Drawn { first: at, last, count } = drawn.inspect_err(|_| self.word.store(0, Release))?;
        self.last.store(last, Relaxed);
        self.beginner.store(beginner.to_raw() << COUNT_BITS | (count - 1), Relaxed);
        self.word.store(at, Release);
        // SAFETY: in the lane.
        let kept = self.kept.with_mut(|kept| unsafe { std::mem::take(&mut *kept) });
        Ok(Some((at, InLane { site, at, lane: std::ptr::from_ref(self).addr() }, kept)))
    }

    /// Holds the lane if it is free. `limit` is loaded once it is held; `lower` is at most that.
    #[inline]
    pub(super) fn hold(&self, lower: u64, limit: impl FnOnce() -> u64) -> Option<Held<'_, K>> {
        self.word.compare_exchange(0, DRAWING | lower, SeqCst, Relaxed).ok()?;
        let limit = limit();
        // SAFETY: the lane is held.
        let kept = self.kept.with_mut(|kept| unsafe { std::mem::take(&mut *kept) });
        Some(Held { lane: self, kept, limit })
    }

    /// Leaves the lane, and something for the next transaction. Returns whether somebody waits for that.
    #[must_use = "waiters must be notified"]
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "the right ends")]
    pub(super) fn leave(&self, right: InLane, kept: K) -> bool {
        assert_eq!(right.lane, std::ptr::from_ref(self).addr(), "a right to this lane");
        // SAFETY: the right is unique and ends here, so the transaction is in the lane.
        self.kept.with_mut(|place| unsafe { *place = kept });
        // Release: the transaction's accesses, and `kept`. SeqCst: whoever leaves looks at the catalog's version afterwards.
        match self.word.compare_exchange(right.at, 0, SeqCst, Relaxed) {
            Ok(_) => false,
            Err(_) => self.word.fetch_and(BARRED, SeqCst) & AWAITED != 0,
        }
    }
}

impl<K> Lane<K> {
    /// Keeps others from entering until [`Lane::unbar`]. The caller holds the site's mutex. Nobody draws in the lane when it
    /// returns. Returns whether the lane is free.
    pub(super) fn bar(&self) -> bool {
        let mut backoff = Backoff::new();
        loop {
            let word = self.word.load(Relaxed);
            if word & DRAWING != 0 {
                backoff.pause();
            } else if self.word.compare_exchange(word, word | BARRED, SeqCst, Relaxed).is_ok() {
                return word & !FLAGS == 0;
            }
        }
    }

    /// Lets others enter again.
    pub(super) fn unbar(&self) {
        self.word.fetch_and(!BARRED, Release); // Release: `last`, `kept`.
    }

    /// Calls a function with what the lane keeps, if no transaction is in it. The caller holds the site's mutex.
    pub(super) fn with_kept<R>(&self, access: impl FnOnce(&mut K) -> R) -> Option<R> {
        let is_free = self.bar();
        // SAFETY: barred while it was free.
        let accessed = is_free.then(|| self.kept.with_mut(|kept| access(unsafe { &mut *kept })));
        self.unbar();
        accessed
    }

    /// The last timestamp that was drawn at the site; changed by whoever has barred the lane.
    pub(super) fn last(&self) -> &AtomicU64 {
        &self.last
    }

    /// The transaction in the lane.
    pub(super) fn occupant(&self) -> Occupant {
        let word = load_in_total_order(&self.word);
        match word & !FLAGS {
            lower if word & DRAWING != 0 => Occupant::DrawsAbove(lower),
            0 => Occupant::Nobody,
            at => Occupant::At(at),
        }
    }

    /// Number of the timestamps of the occupant that was found at one. If that one has left, this may be of a later occupant, who
    /// has drawn above whatever the caller had noted before it found the first.
    pub(super) fn count(&self) -> u64 {
        (self.beginner.load(Relaxed) & (MOST_AT_ONCE - 1)) + 1
    }

    /// The timestamp and beginner of the transaction in the lane, once it has been drawn.
    pub(super) fn settled(&self) -> Option<(u64, Beginner)> {
        let mut backoff = Backoff::new();
        loop {
            match self.occupant() {
                Occupant::Nobody => return None,
                Occupant::DrawsAbove(_) => backoff.pause(),
                Occupant::At(at) => {
                    let beginner = Beginner::from_raw(self.beginner.load(Relaxed) >> COUNT_BITS);
                    // Timestamps are unique: if it is still there, the beginner is its own.
                    if self.occupant() == Occupant::At(at) {
                        return Some((at, beginner));
                    }
                }
            }
        }
    }

    /// Announces a waiter for the end of the transaction at `at`. The caller holds the site's mutex until it sleeps. `false` if it
    /// has ended.
    pub(super) fn announce_waiter(&self, at: u64) -> bool {
        let mut word = self.word.load(Relaxed);
        while word & !(BARRED | AWAITED) == at {
            match self.word.compare_exchange(word, word | AWAITED, SeqCst, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}
