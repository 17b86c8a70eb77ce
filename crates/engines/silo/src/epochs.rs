//! Epochs: the clock of the protocol. It ticks a few times a second, commits read it, and nothing else is shared by
//! them.
//!
//! A worker says in its slot what it is doing. Whoever advances the epoch looks at all slots, and derives
//! - the *snapshot* epoch: no transaction commits at or below it any more (S6);
//! - the *oldest* epoch that a snapshot reads or will read: versions replaced at or below it are garbage (S7);
//! - the *quiet* epoch: every transaction that began at or below it has ended (S8).
//!
//! A worker stores into its slot and then looks at the epoch (or the snapshot epoch); whoever advances stores the epoch
//! and then looks at the slots. All four are sequentially consistent, so at least one of the two sees the other.

use crate::tid::{SEQUENCE_BITS, SNAPSHOTS, Tid};
use parts::CachePadded;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use parts::sync::{Arc, Mutex, fence};
use std::sync::PoisonError;

/// No snapshot is open.
const NO_SNAPSHOT: u64 = u64::MAX;
/// No transaction is open, or none commits.
const IDLE: u64 = 0;

/// The epochs of one engine.
#[derive(Debug)]
pub(crate) struct Epochs {
    /// The present epoch, above [`SEQUENCE_BITS`] bits. Below it, numbers that were drawn in it ([`Epochs::draw`]).
    now: CachePadded<AtomicU64>,
    snapshot: CachePadded<AtomicU64>,
    oldest: AtomicU64,
    quiet: AtomicU64,
    /// Places of snapshots drawn: counted, so that each claims its own.
    snapshots_drawn: CachePadded<AtomicU64>,
    /// Held by whoever advances: a slot is added under it too.
    slots: Mutex<Vec<Arc<Slot>>>,
    /// A snapshot is taken every so many epochs.
    every: u64,
}

/// Activity of one worker, as the others see it. Written by its transaction only.
#[derive(Debug)]
pub(crate) struct Slot(CachePadded<Activity>);

#[derive(Debug)]
struct Activity {
    /// Epoch in which its transaction began; [`IDLE`]: none is open.
    begun: AtomicU64,
    /// Its transaction commits in this epoch or later; [`IDLE`]: none does.
    committing: AtomicU64,
    /// Epoch that its snapshot reads.
    snapshot: AtomicU64,
}

impl Epochs {
    pub fn new(every: u64) -> Epochs {
        Epochs {
            now: CachePadded::new(AtomicU64::new(1 << SEQUENCE_BITS)),
            snapshot: CachePadded::default(),
            oldest: AtomicU64::new(0),
            quiet: AtomicU64::new(0),
            snapshots_drawn: CachePadded::default(),
            slots: Mutex::default(),
            every: every.max(1),
        }
    }

    /// A slot for a new worker.
    pub fn slot(&self) -> Arc<Slot> {
        let activity = Activity {
            begun: AtomicU64::new(IDLE),
            committing: AtomicU64::new(IDLE),
            snapshot: AtomicU64::new(NO_SNAPSHOT),
        };
        let slot = Arc::new(Slot(CachePadded::new(activity)));
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).push(slot.clone());
        slot
    }

    /// The present epoch.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now.load(SeqCst) >> SEQUENCE_BITS
    }

    /// Draws the place of a transaction among those that claim one: greater than all drawn before. `None`: the epoch
    /// has no more.
    pub fn draw(&self) -> Option<Tid> {
        let drawn = self.now.fetch_add(1, SeqCst) + 1;
        (drawn & ((1 << SEQUENCE_BITS) - 1) < SNAPSHOTS).then_some(Tid::from_number(drawn))
    }

    /// Draws the place of a snapshot of an epoch: behind all writers of the epoch, before those of the next one. Places
    /// repeat after 8 M snapshots.
    pub fn draw_snapshot(&self, epoch: u64) -> Tid {
        let number = self.snapshots_drawn.fetch_add(1, Relaxed) % SNAPSHOTS;
        Tid::from_number(epoch << SEQUENCE_BITS | SNAPSHOTS | number)
    }

    /// The latest epoch that snapshots read (S6).
    pub fn snapshot(&self) -> u64 {
        self.snapshot.load(SeqCst)
    }

    /// No snapshot reads below this epoch (S7).
    #[inline]
    pub fn oldest(&self) -> u64 {
        self.oldest.load(Acquire)
    }

    /// Every transaction that began at or below this epoch has ended (S8).
    #[inline]
    pub fn quiet(&self) -> u64 {
        self.quiet.load(Acquire)
    }

    /// Returns whether some snapshot, open or to come, sees a row that was written in `from` and is replaced in
    /// `until`.
    #[inline]
    pub fn must_keep(&self, from: u64, until: u64) -> bool {
        let last = (until - 1) - (until - 1) % self.every;
        last >= from && last >= self.oldest()
    }

    /// Begins the next epoch, and takes stock of what the workers are doing.
    pub fn advance(&self) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.now() + 1;
        self.now.fetch_max(present << SEQUENCE_BITS, SeqCst);
        fence(SeqCst);
        let least = |state: fn(&Activity) -> &AtomicU64, none: u64| {
            slots.iter().map(|slot| state(&slot.0).load(SeqCst)).filter(|&epoch| epoch != none).min()
        };
        let committing = least(|slot| &slot.committing, IDLE).unwrap_or(present);
        let settled = committing.min(present) - 1;
        let candidate = settled - settled % self.every;
        self.snapshot.fetch_max(candidate, SeqCst);
        fence(SeqCst);
        let oldest = least(|slot| &slot.snapshot, NO_SNAPSHOT).unwrap_or(u64::MAX).min(self.snapshot());
        assert!(self.oldest() <= oldest, "S7: no snapshot begins below the oldest one");
        self.oldest.store(oldest, Release);
        let begun = least(|slot| &slot.begun, IDLE).unwrap_or(present);
        self.quiet.fetch_max(begun.min(present) - 1, Release);
    }
}

impl Slot {
    /// A transaction begins.
    #[inline]
    pub fn begin(&self, epochs: &Epochs) {
        self.0.begun.store(epochs.now(), Relaxed);
        // The records that it finds from here on stay until it ends (S8).
        fence(SeqCst);
    }

    /// A transaction begins that reads a snapshot. Returns its epoch.
    pub fn begin_snapshot(&self, epochs: &Epochs) -> u64 {
        loop {
            let epoch = epochs.snapshot();
            self.0.snapshot.store(epoch, SeqCst);
            fence(SeqCst);
            // Whoever has moved the snapshot since may have missed this one (S7).
            if epochs.snapshot() == epoch {
                return epoch;
            }
        }
    }

    /// A transaction that holds all its locks is about to take the present epoch (S3): no snapshot settles above it
    /// meanwhile.
    #[inline]
    pub fn begin_commit(&self, epochs: &Epochs) {
        self.0.committing.swap(epochs.now(), SeqCst);
        fence(SeqCst);
    }

    /// What the transaction wrote is installed, or will not be.
    #[inline]
    pub fn end_commit(&self) {
        self.0.committing.store(IDLE, Release);
    }

    /// The transaction has ended.
    #[inline]
    pub fn end(&self) {
        if self.0.snapshot.load(Relaxed) != NO_SNAPSHOT {
            self.0.snapshot.store(NO_SNAPSHOT, Release);
        }
        self.0.begun.store(IDLE, Release);
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn snapshots_wait_for_those_that_commit() {
        let epochs = Epochs::new(1);
        let (writer, reader) = (epochs.slot(), epochs.slot());
        writer.begin(&epochs);
        writer.begin_commit(&epochs);
        (0..3).for_each(|_| epochs.advance());
        assert_eq!((epochs.now(), epochs.snapshot(), epochs.quiet()), (4, 0, 0));
        writer.end_commit();
        epochs.advance();
        assert_eq!((epochs.snapshot(), epochs.quiet()), (4, 0), "it is still open");
        writer.end();
        assert_eq!(reader.begin_snapshot(&epochs), 4);
        (0..3).for_each(|_| epochs.advance());
        assert_eq!((epochs.snapshot(), epochs.oldest(), epochs.quiet()), (7, 4, 7));
        assert!(epochs.must_keep(4, 5) && !epochs.must_keep(5, 5) && !epochs.must_keep(2, 4));
        reader.end();
        epochs.advance();
        assert_eq!(epochs.oldest(), 8);
    }

    #[test]
    fn snapshots_are_taken_every_few_epochs() {
        let epochs = Epochs::new(5);
        (0..9).for_each(|_| epochs.advance());
        assert_eq!((epochs.now(), epochs.snapshot()), (10, 5));
        assert!(epochs.must_keep(5, 6) && !epochs.must_keep(6, 10) && epochs.must_keep(6, 11));
    }

    #[test]
    fn places_of_snapshots_lie_between_epochs() {
        let epochs = Epochs::new(1);
        let writer = epochs.draw().expect("room");
        let snapshots = [1, 1].map(|epoch| epochs.draw_snapshot(epoch));
        epochs.advance();
        let next = epochs.draw().expect("room");
        assert!(writer < snapshots[0] && snapshots[0] < snapshots[1] && snapshots[1] < next);
    }
}
