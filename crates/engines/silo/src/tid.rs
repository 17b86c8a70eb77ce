//! The word of a record: its transaction identifier (TID) and the bits that say what the record is.
//!
//! ```text
//! | epoch: 37 bits | sequence: 24 bits | dead | absent | locked |
//! ```
//!
//! A reader takes the word, copies the row, and takes the word again: if it is the same, and was not locked, the copy
//! is the row at one instant. A writer locks the word, changes the row and stores a word with a greater TID. So a read
//! writes nothing, and two equal words of one record say that nothing has changed between them.

use parts::spin::Backoff;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use parts::sync::fence;

const LOCKED: u64 = 1;
const ABSENT: u64 = 2;
const DEAD: u64 = 4;
const FLAGS: u32 = 3;
/// Bits of a sequence number: 8 M writers an epoch. What is left for epochs lasts for 174 years at 40 ms each.
pub const SEQUENCE_BITS: u32 = 24;
/// Sequence numbers from here on are the places of snapshots: behind all writers of their epoch.
pub const SNAPSHOTS: u64 = 1 << (SEQUENCE_BITS - 1);

/// An identifier of a transaction: the epoch in which it committed, and its number there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tid(u64);

impl Tid {
    /// Before every transaction.
    pub const ZERO: Tid = Tid(0);

    /// The TID with this number.
    pub fn from_number(number: u64) -> Tid {
        Tid(number)
    }

    /// Epoch and sequence number as one number, which orders TIDs.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The epoch in which it committed.
    pub fn epoch(self) -> u64 {
        self.0 >> SEQUENCE_BITS
    }

    /// The least TID of an epoch above this one, which is of that epoch or an earlier one. `None`: the epoch has no
    /// more.
    pub fn next_in(self, epoch: u64) -> Option<Tid> {
        assert!(self.epoch() <= epoch, "S4: no transaction commits in a later epoch than the present one");
        let next = Tid((epoch << SEQUENCE_BITS).max(self.0) + 1);
        (next.0 & ((1 << SEQUENCE_BITS) - 1) < SNAPSHOTS).then_some(next)
    }
}

/// Contents of a record's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u64);

impl Word {
    /// The unlocked word of a record that this transaction wrote last.
    pub fn new(tid: Tid, is_absent: bool) -> Word {
        Word(tid.0 << FLAGS | if is_absent { ABSENT } else { 0 })
    }

    /// The same, of a record that has left its index.
    pub fn dead(self) -> Word {
        Word(self.0 | DEAD | ABSENT)
    }

    /// The transaction that wrote last.
    pub fn tid(self) -> Tid {
        Tid(self.0 >> FLAGS)
    }

    /// Returns whether a transaction is installing a change.
    pub fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Returns whether the record has no row.
    pub fn is_absent(self) -> bool {
        self.0 & ABSENT != 0
    }

    /// Returns whether the record has left its index: look its key up again.
    pub fn is_dead(self) -> bool {
        self.0 & DEAD != 0
    }

    /// The word without the lock.
    pub fn unlocked(self) -> Word {
        Word(self.0 & !LOCKED)
    }
}

/// A record's word, shared.
#[derive(Debug)]
pub struct TidWord(AtomicU64);

impl TidWord {
    /// An unlocked word.
    pub fn new(word: Word) -> TidWord {
        TidWord(AtomicU64::new(word.0))
    }

    /// The word now. Acquires what its writer published with [`TidWord::unlock_as`].
    #[inline]
    pub fn load(&self) -> Word {
        Word(self.0.load(Acquire))
    }

    /// The word once no writer holds it: before a copy of the row.
    #[inline]
    pub fn stable(&self) -> Word {
        let word = self.load();
        if word.is_locked() { self.wait_until_unlocked() } else { word }
    }

    #[cold]
    fn wait_until_unlocked(&self) -> Word {
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            let word = self.load();
            if !word.is_locked() {
                return word;
            }
        }
    }

    /// Returns whether the row, copied with relaxed or acquire loads since `seen`, is as it was at one instant.
    #[inline]
    pub fn is_still(&self, seen: Word) -> bool {
        // Partner of the Release fence of `lock`: whoever copied a part of a new row sees its writer's lock at least.
        fence(Acquire);
        Word(self.0.load(Relaxed)) == seen
    }

    /// Locks the word, and returns what it was before. Waits for other writers: they are between two instructions of a
    /// commit, and lock in one order (S2).
    #[inline]
    pub fn lock(&self) -> Word {
        let mut backoff = Backoff::new();
        loop {
            let seen = self.load();
            if !seen.is_locked() && self.0.compare_exchange(seen.0, seen.0 | LOCKED, SeqCst, Relaxed).is_ok() {
                // The row is changed by relaxed stores after this fence: see `is_still`.
                fence(Release);
                return seen;
            }
            backoff.pause();
        }
    }

    /// Unlocks the word, and publishes what was done under the lock.
    #[inline]
    pub fn unlock_as(&self, word: Word) {
        debug_assert!(Word(self.0.load(Relaxed)).is_locked() && !word.is_locked(), "S1: unlocked by its holder");
        self.0.store(word.0, Release);
    }

    /// Checks whether the caller may still rely on what it read under `seen`; `is_mine` says whether a lock is the
    /// caller's own. A record that had no row, and has left its index since, has none: whether another one has come,
    /// the leaf's count tells.
    ///
    /// # Errors
    /// The word now.
    #[inline]
    pub fn validate(&self, seen: Word, is_mine: impl FnOnce() -> bool) -> Result<(), Word> {
        let now = self.load();
        let holds = now == seen || (seen.is_absent() && now == seen.dead()) || (now.unlocked() == seen && is_mine());
        if holds { Ok(()) } else { Err(now) }
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_tid_follows_all_that_came_before_it_in_its_epoch() {
        let first = Tid::ZERO.next_in(1).expect("room");
        assert_eq!((first.epoch(), first.number()), (1, (1 << SEQUENCE_BITS) + 1));
        let second = first.next_in(1).expect("room");
        assert!(second > first && second.epoch() == 1);
        assert_eq!(second.next_in(7).expect("room").epoch(), 7);
        let last = Tid::from_number((3 << SEQUENCE_BITS) + SNAPSHOTS - 1);
        assert_eq!(last.next_in(3), None, "places of snapshots are not given to writers");
        assert!(last.next_in(4).is_some());
    }

    #[test]
    fn a_word_keeps_its_tid_and_flags() {
        let tid = Tid::from_number(u64::MAX >> FLAGS);
        let word = Word::new(tid, true);
        assert_eq!((word.tid(), word.is_absent(), word.is_dead(), word.is_locked()), (tid, true, false, false));
        assert_eq!((word.dead().tid(), word.dead().is_dead()), (tid, true));
        let shared = TidWord::new(word);
        assert_eq!(shared.lock(), word);
        assert!(shared.load().is_locked() && shared.load().unlocked() == word);
        assert!(shared.validate(word, || false).is_err() && shared.validate(word, || true).is_ok());
        shared.unlock_as(Word::new(Tid::ZERO, false));
        assert!(!shared.is_still(word) && shared.validate(word, || true).is_err());
    }
}
