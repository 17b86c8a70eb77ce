//! The word of a record lock: one compare-and-swap to lock, one to release, while nobody else wants the record.
//!
//! ```text
//! free        0
//! thin        [ number of the only holder: 32 bits | exclusive or shared ]    nobody else holds it or waits
//! contended   the holders and waiters are in the lock table (`table.rs`), under the latch of its shard
//! gone        the record has no row and leaves its index: look the key up again (I3)
//! ```
//!
//! A second transaction turns a thin word into a contended one under the latch. From then on everybody, the first
//! holder too, goes through the latch, until the last of them leaves: then the word is free again, or gone. Every
//! change is a read-modify-write, or a store under the latch over `contended`, which nobody changes without it.
//!
//! Source: the thin and inflated monitors of Bacon et al., *Thin Locks: Featherweight Synchronization for Java*, PLDI
//! 1998.

use parts::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

const FREE: u64 = 0;
const GONE: u64 = 1;
const CONTENDED: u64 = 2;
const SHARED: u64 = 4;
const EXCLUSIVE: u64 = 8;
const HOLDER_SHIFT: u32 = 32;

/// Mode of a record lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// To read.
    Shared,
    /// To write.
    Exclusive,
}

/// Number of a lock owner of one engine, from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerNumber(pub u32);

/// A lock that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The owner held no lock on this record before.
    pub first: bool,
    /// The owner held no exclusive lock on this record before, and does now.
    pub newly_exclusive: bool,
}

/// Answer of the word to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The lock is the owner's.
    Granted(Granted),
    /// Others hold the lock, or want it: ask the lock table.
    Contended,
    /// The record leaves its index.
    Gone,
}

/// State of a word at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nobody holds the lock.
    Free,
    /// One transaction holds it, and nobody else wants it.
    Thin(OwnerNumber, LockMode),
    /// The lock table knows more.
    Contended,
    /// The record leaves its index.
    Gone,
}

/// The word.
#[derive(Debug)]
pub struct LockWord(AtomicU64);

fn thin(holder: OwnerNumber, mode: LockMode) -> u64 {
    let mode = if mode == LockMode::Exclusive { EXCLUSIVE } else { SHARED };
    u64::from(holder.0) << HOLDER_SHIFT | mode
}

fn seen(word: u64) -> Seen {
    match word {
        FREE => Seen::Free,
        GONE => Seen::Gone,
        CONTENDED => Seen::Contended,
        _ => {
            let mode = if word & EXCLUSIVE != 0 { LockMode::Exclusive } else { LockMode::Shared };
            Seen::Thin(OwnerNumber((word >> HOLDER_SHIFT) as u32), mode)
        }
    }
}

impl LockWord {
    /// The word of a record that nobody has seen yet, held by the transaction that makes it.
    pub fn held(holder: OwnerNumber, mode: LockMode) -> LockWord {
        LockWord(AtomicU64::new(thin(holder, mode)))
    }

    /// Locks the record, unless another transaction holds it or wants it.
    #[inline]
    pub fn request(&self, owner: OwnerNumber, mode: LockMode) -> Requested {
        let wanted = thin(owner, mode);
        let newly_exclusive = mode == LockMode::Exclusive;
        // Acquire: partner of `release`, so the row is as its last writer left it. Release: what the owner says of itself
        // (`Owner::begin`) reaches whoever finds its number here.
        let Err(word) = self.0.compare_exchange(FREE, wanted, AcqRel, Relaxed) else {
            return Requested::Granted(Granted { first: true, newly_exclusive });
        };
        match seen(word) {
            Seen::Thin(holder, held) if holder == owner => {
                let is_enough = held == LockMode::Exclusive || mode == LockMode::Shared;
                if !is_enough && self.0.compare_exchange(word, wanted, AcqRel, Relaxed).is_err() {
                    return Requested::Contended;
                }
                Requested::Granted(Granted { first: false, newly_exclusive: !is_enough })
            }
            Seen::Gone => Requested::Gone,
            Seen::Free | Seen::Thin(..) | Seen::Contended => Requested::Contended,
        }
    }

    /// Releases a lock that nobody else holds or wants; false: the lock table has it. The record is gone if it is empty.
    #[inline]
    pub fn release(&self, owner: OwnerNumber, is_empty: bool) -> bool {
        let word = self.0.load(Relaxed);
        if word == CONTENDED {
            return false;
        }
        let is_own = matches!(seen(word), Seen::Thin(holder, _) if holder == owner);
        assert!(is_own, "I3: a record that is locked is in its index, and its word names the holder");
        // Release: partner of `request`. It fails if another transaction has come meanwhile.
        self.0.compare_exchange(word, if is_empty { GONE } else { FREE }, Release, Relaxed).is_ok()
    }

    /// The state now. Acquire: whoever finds nobody writing sees the row that the last writer left.
    #[inline]
    pub fn seen(&self) -> Seen {
        seen(self.0.load(Acquire))
    }

    /// Returns whether this transaction holds the lock exclusively, and the word says so.
    #[inline]
    pub fn is_exclusive_to(&self, owner: OwnerNumber) -> bool {
        self.0.load(Relaxed) == thin(owner, LockMode::Exclusive)
    }

    /// Makes a thin lock contended; false if it has changed since. Under the latch of the record's shard.
    pub(super) fn inflate(&self, holder: OwnerNumber, mode: LockMode) -> bool {
        // AcqRel: partner of the holder's `request` and `release`.
        self.0.compare_exchange(thin(holder, mode), CONTENDED, AcqRel, Relaxed).is_ok()
    }

    /// Ends a contended lock that nobody holds or wants any more. Under the latch of the record's shard.
    pub(super) fn deflate(&self, is_empty: bool) {
        let before = self.0.load(Relaxed);
        assert!(before == CONTENDED, "I2: a lock in the table is contended");
        // Release: partner of `request`, for all holders before.
        self.0.store(if is_empty { GONE } else { FREE }, Release);
    }

    /// Address by which the lock table knows the record.
    pub(super) fn address(&self) -> usize {
        &raw const self.0 as usize
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    const ONE: OwnerNumber = OwnerNumber(1);
    const OTHER: OwnerNumber = OwnerNumber(u32::MAX);

    fn granted(first: bool, newly_exclusive: bool) -> Requested {
        Requested::Granted(Granted { first, newly_exclusive })
    }

    #[test]
    fn one_owner_locks_upgrades_and_releases_without_the_table() {
        let word = LockWord::held(OTHER, LockMode::Shared);
        assert_eq!(word.seen(), Seen::Thin(OTHER, LockMode::Shared));
        assert!(word.release(OTHER, false));
        assert_eq!(word.request(ONE, LockMode::Shared), granted(true, false));
        assert_eq!(word.request(ONE, LockMode::Shared), granted(false, false));
        assert_eq!(word.request(ONE, LockMode::Exclusive), granted(false, true));
        assert_eq!(word.request(ONE, LockMode::Shared), granted(false, false));
        assert!(word.is_exclusive_to(ONE) && !word.is_exclusive_to(OTHER));
        assert_eq!(word.request(OTHER, LockMode::Shared), Requested::Contended);
        assert!(word.release(ONE, true));
        assert_eq!((word.seen(), word.request(OTHER, LockMode::Shared)), (Seen::Gone, Requested::Gone));
    }

    #[test]
    fn whoever_makes_a_lock_contended_takes_it_from_the_word() {
        let word = LockWord::held(ONE, LockMode::Exclusive);
        assert!(!word.inflate(ONE, LockMode::Shared), "the state has changed");
        assert!(word.inflate(ONE, LockMode::Exclusive));
        assert_eq!(word.request(ONE, LockMode::Exclusive), Requested::Contended);
        assert!(!word.release(ONE, false));
        word.deflate(false);
        assert_eq!(word.request(OTHER, LockMode::Exclusive), granted(true, true));
    }
}
