//! The leaf kernel: a latch whose word optimistic readers use as a version, beside the stamp of the gaps it covers.
//!
//! A *leaf* is a set of slots under one latch: a leaf of the ordered index, or a bucket of the hash
//! index. Readers take no latch: they note the version, look, and confirm that the version is still the same.
//! A reader that concludes that a key is *absent* (a point read that finds nothing, a scan) leaves its position in the
//! serial order as the leaf's stamp, and an insert must lie at or above that stamp.
//!
//! ```text
//! reader  seen = begin()   look   raise the stamp, THEN confirm that the version is still seen
//! writer  latch (version becomes odd), THEN read the stamp   insert   unlatch with a new version
//! ```
//!
//! Invariants:
//! - **L1** The version is odd while the leaf is latched, and every change of the slots or of the range of keys
//!   that the leaf covers ends in a version that was never seen before.
//! - **L2** A reader raises the stamp and then confirms; a writer latches and then reads the stamp. At least one of the two sees
//!   the other: the four accesses are sequentially consistent, each thread's store before its load.
//! - **L3** The stamp only grows, and a raise that was confirmed is never lost: a split copies the stamp as it was
//!   read under the latch, a merge and the removal of an entry fold theirs in. A raise between that read and the
//!   unlatching may be lost, but is never confirmed (L1), so its reader looks again.
//! - **L4** A retired leaf is never latched or confirmed again.
//!
//! An optimistic protocol uses the stamp as a *count* instead: its readers write nothing and remember the count, and its inserts
//! raise it, as do its splits in both halves.
//! - **L5** So the count of the leaf that covers a key only grows. Whoever finds the count of a key's leaf as it was finds that the
//!   leaf has covered since then what it covered before, or more, and that nothing was inserted into it. Removals and merges may
//!   have happened.
//!
//! Source: the stamp is this project's (a leaf-level form of vMVCC's last-read timestamp); the version word is
//! optimistic lock coupling, Leis et al., "The ART of Practical Synchronization", 2016, section 4.

use crate::{
    spin::Backoff,
    sync::{
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
        fence,
    },
};

/// Set in the version word while a writer holds the latch.
const LATCHED: u64 = 1;
/// Set in the version word for ever once the leaf is no longer part of its index.
const RETIRED: u64 = 2;
/// One change. 62 bits of changes do not wrap.
const CHANGE: u64 = 4;

/// A version word and a stamp: what one leaf needs to be read without a latch and to refuse phantoms.
#[derive(Debug)]
pub struct StampedLatch {
    /// Publishes the leaf's slots: stored with `Release` at unlatching, loaded with `Acquire` by [`Self::begin`].
    version: AtomicU64,
    /// The highest position at which someone found a key of this leaf absent. Partner of `version` in L2.
    stamp: AtomicU64,
}

/// Version word that a reader saw before it looked at the slots. Never that of a latched leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u64);

impl Version {
    /// Returns whether the leaf had left its index: find the key's leaf again, from the root.
    #[inline]
    pub fn is_retired(self) -> bool {
        self.0 & RETIRED != 0
    }
}

impl StampedLatch {
    /// An unlatched leaf whose stamp is `stamp`.
    pub fn new(stamp: u64) -> Self {
        Self { version: AtomicU64::new(0), stamp: AtomicU64::new(stamp) }
    }

    /// Waits until no writer holds the latch, and returns the version under which the slots may be looked at.
    ///
    /// Reads of the slots from here on are valid only after [`Self::validate`] has confirmed them.
    #[inline]
    pub fn begin(&self) -> Version {
        self.try_begin().unwrap_or_else(|| self.wait_until_unlatched())
    }

    /// Same as [`Self::begin`], but returns `None` while a writer holds the latch.
    #[inline]
    pub fn try_begin(&self) -> Option<Version> {
        let word = self.version.load(Acquire);
        (word & LATCHED == 0).then_some(Version(word))
    }

    #[cold]
    fn wait_until_unlatched(&self) -> Version {
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            if let Some(version) = self.try_begin() {
                return version;
            }
        }
    }

    /// Returns whether the slots, read since `seen` with relaxed or acquire loads, are as they were at one instant.
    #[inline]
    pub fn validate(&self, seen: Version) -> bool {
        // Partner of the Release fence in `latch_at`: having read a word that a writer stored, the load below
        // sees at least that writer's latched word.
        fence(Acquire);
        self.version.load(Relaxed) == seen.0
    }

    /// Raises the stamp to at least `at` and then validates (L2): if true, every insert under this leaf from
    /// `seen` on finds a stamp of at least `at`.
    ///
    /// If false, the raise may be lost; look again.
    #[inline]
    pub fn stamp_and_validate(&self, seen: Version, at: u64) -> bool {
        if self.stamp() < at {
            self.stamp.fetch_max(at, SeqCst);
        }
        fence(Acquire);
        let confirmed = load_in_total_order(&self.version) == seen.0;
        debug_assert!(!confirmed || !seen.is_retired(), "L4: a retired leaf confirms nothing");
        debug_assert!(!confirmed || self.stamp.load(Relaxed) >= at, "L3: a stamp only grows");
        confirmed
    }

    /// The stamp now.
    #[inline]
    pub fn stamp(&self) -> u64 {
        load_in_total_order(&self.stamp)
    }

    /// Latches the leaf if its version is still `seen`; nothing waits. What was read under `seen` then still holds.
    ///
    /// # Panics
    /// In debug builds, if `seen` is that of a retired leaf (L4).
    #[inline]
    pub fn latch_at(&self, seen: Version) -> Option<Latched<'_>> {
        debug_assert!(!seen.is_retired(), "L4");
        let (held, stamp) = (self.take(seen), self.stamp());
        // Lazily: a `Latched` that is dropped unlatches.
        held.then(|| Latched { latch: self, seen, stamp, next: seen.0 })
    }

    /// Latches the leaf, waiting for other holders, unless it has retired.
    pub fn latch(&self) -> Option<Latched<'_>> {
        let mut backoff = Backoff::new();
        loop {
            let seen = self.begin();
            if seen.is_retired() {
                return None;
            }
            if let Some(latched) = self.latch_at(seen) {
                return Some(latched);
            }
            backoff.pause();
        }
    }

    /// Returns whether a writer holds the latch now.
    pub(super) fn is_latched(&self) -> bool {
        self.version.load(Relaxed) & LATCHED != 0
    }

    /// Turns the version word `seen` into its latched form.
    #[inline]
    fn take(&self, seen: Version) -> bool {
        debug_assert!(seen.0 & LATCHED == 0, "L1: the version of an unlatched leaf is even");
        let held = self.version.compare_exchange(seen.0, seen.0 | LATCHED, SeqCst, Relaxed).is_ok();
        // The slots are stored with relaxed stores after this fence, hence after the latched word for whoever
        // reads one of them and then passes the Acquire fence of `validate`.
        fence(Release);
        held
    }
}

/// The latch of one leaf, held. Dropping it unlatches, also while panicking.
#[derive(Debug)]
#[must_use = "the leaf is unlatched when this is dropped"]
pub struct Latched<'a> {
    latch: &'a StampedLatch,
    seen: Version,
    /// The stamp as read after latching, and what was folded in since.
    stamp: u64,
    /// The version word after unlatching.
    next: u64,
}

impl Latched<'_> {
    /// The stamp that an insert under this latch must respect: no confirmed raise is above it (L2).
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Announces a change of the slots or of the leaf's range; call it before the first of the stores (L1).
    #[inline]
    pub fn change(&mut self) {
        self.next = self.seen.0 + CHANGE;
    }

    /// Counts a change that readers who remember the count must notice (L5). Returns the count before and after.
    #[inline]
    pub fn count_change(&mut self) -> (u64, u64) {
        let before = self.stamp;
        self.fold(before + 1);
        (before, self.stamp)
    }

    /// Takes over the stamp of a removed entry or of a leaf that is merged into this one (L3).
    #[inline]
    pub fn fold(&mut self, stamp: u64) {
        self.latch.stamp.fetch_max(stamp, SeqCst);
        self.stamp = self.stamp.max(stamp);
    }

    /// The kernel of the leaf that takes over a part of this leaf's range, with its stamp (L3).
    ///
    /// The new leaf must become reachable before this latch is released, and not before the caller has stored
    /// its slots.
    pub fn split_off(&mut self) -> StampedLatch {
        self.change();
        StampedLatch::new(self.stamp)
    }

    /// Unlatches for the last time: the leaf is out of its index (L4).
    pub fn retire(mut self) {
        self.next = (self.seen.0 + CHANGE) | RETIRED;
    }
}

impl Drop for Latched<'_> {
    #[inline]
    fn drop(&mut self) {
        // Publishes the slots to the next `begin`. An unchanged leaf gets its old version back: whoever looked
        // before the latch was taken saw nothing else than whoever looks now.
        debug_assert!(self.next & LATCHED == 0 && self.next >= self.seen.0, "L1: versions rise, and are even again");
        self.latch.version.store(self.next, Release);
    }
}

/// A sequentially consistent load.
///
/// loom takes a `SeqCst` access for an acquire or release one and would report reorderings that cannot happen;
/// its `SeqCst` fences are exact, and one before the load gives back what L2 needs of it.
#[inline]
fn load_in_total_order(word: &AtomicU64) -> u64 {
    #[cfg(loom)]
    fence(SeqCst);
    word.load(SeqCst)
}
