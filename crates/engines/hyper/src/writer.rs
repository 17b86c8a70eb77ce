//! A writing transaction as others see it: one word tells what has become of all its versions.
//!
//! ```text
//! open --draws its commit timestamp--> deciding --valid--> committed
//!   \                                     \--not valid--> aborted
//!    \--------------------------------------------------> aborted
//! ```
//!
//! Publishing a transaction is one store (Y3). The paper stamps each version of a transaction anew instead; a reader
//! between two such stamps would see half a commit.

use crate::order::Seat;
use crate::undo::ColumnSet;
use model::{Key, LogPosition, TableId, Timestamp};
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::sync::Arc;

/// What has become of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It executes: its versions are nobody else's.
    Open,
    /// It has drawn this commit timestamp, and validates.
    Deciding(u64),
    /// Its versions are those of this timestamp.
    Committed(u64),
    /// Its versions are being undone, and count for nobody.
    Aborted,
}

const OPEN: u64 = 0;
const ABORTED: u64 = 1;
const DECIDING: u64 = 2;
const COMMITTED: u64 = 3;
const STATE: u64 = 3;
/// Set by whoever is about to sleep until the writer has ended.
const AWAITED: u64 = 4;
/// Above these bits stands the timestamp; of an open writer, how often it has given rows back.
const SHIFT: u32 = 3;

/// The status word of a writer. Its own thread changes it (of one that is doomed, others: `age.rs`), by one read-modify-write each
/// time, so that the bit of the sleepers is seen ([`parts::wait`]).
#[derive(Debug, Default)]
pub struct StatusWord(AtomicU64);

/// A status word as somebody has seen it who met one of the writer's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen(u64);

impl StatusWord {
    /// The status now.
    #[inline]
    pub fn load(&self) -> Status {
        status_of(self.0.load(Acquire))
    }

    /// The commit timestamp is drawn. Called before the counter shows it (Y2). Returns whether somebody sleeps.
    #[must_use]
    pub fn decides(&self, at: u64) -> bool {
        let decide = |word| (word & STATE == OPEN).then_some(at << SHIFT | DECIDING | word & AWAITED);
        let before = self.0.fetch_update(AcqRel, Acquire, decide).expect("Y3: a commit timestamp is drawn once");
        before & AWAITED != 0
    }

    /// An open writer has given rows back, and goes on. Returns whether somebody sleeps, who looks for a row again.
    #[must_use]
    pub fn gives_back(&self) -> bool {
        let give_back = |word| (word & STATE == OPEN).then_some((word & !AWAITED) + (1 << SHIFT));
        self.0.fetch_update(AcqRel, Acquire, give_back).is_ok_and(|before| before & AWAITED != 0)
    }

    /// All its versions are committed, at once. Returns whether somebody sleeps.
    #[must_use]
    pub fn commits(&self) -> bool {
        let before = self.0.fetch_add(COMMITTED - DECIDING, AcqRel);
        assert!(before & STATE == DECIDING, "Y3: what commits has drawn its timestamp");
        before & AWAITED != 0
    }

    /// None of its versions ever is. Returns whether somebody sleeps.
    #[must_use]
    pub fn aborts(&self) -> bool {
        let before = match self.load() {
            Status::Open => self.0.fetch_add(ABORTED - OPEN, AcqRel),
            _ => self.0.fetch_sub(DECIDING - ABORTED, AcqRel),
        };
        assert!(matches!(before & STATE, OPEN | DECIDING), "Y3: what is decided stays so");
        before & AWAITED != 0
    }

    /// An open writer is given up, as it is doomed. Returns whether somebody sleeps; false if somebody else has done it.
    #[must_use]
    pub fn gives_up(&self) -> bool {
        let give_up = |word| (word & STATE == OPEN).then_some(word + (ABORTED - OPEN));
        self.0.fetch_update(AcqRel, Acquire, give_up).is_ok_and(|before| before & AWAITED != 0)
    }

    /// Says that somebody is about to sleep until a writer that has drawn its timestamp has decided; false if it has.
    pub fn await_decision(&self) -> bool {
        let wait = |word| (word & STATE == DECIDING).then_some(word | AWAITED);
        self.0.fetch_update(AcqRel, Acquire, wait).is_ok()
    }

    /// Returns whether it has drawn its timestamp, and not decided yet.
    pub fn is_deciding(&self) -> bool {
        self.0.load(Acquire) & STATE == DECIDING
    }

    /// The word now. Whoever sleeps for a row looks at it under the latch under which the row was found owned: a row that is given back
    /// is, before the word changes.
    #[inline]
    pub fn seen(&self) -> Seen {
        Seen(self.0.load(Acquire) & !AWAITED)
    }

    /// Returns whether it is still an open writer that has given no row back since it was seen.
    #[inline]
    pub fn holds(&self, seen: Seen) -> bool {
        seen.0 & STATE == OPEN && self.seen() == seen
    }

    /// Says that somebody is about to sleep until an open writer goes on, or gives rows back; false if it has.
    pub fn await_change(&self, seen: Seen) -> bool {
        let awaited = seen.0 | AWAITED;
        self.is_slept_on(seen)
            || seen.0 & STATE == OPEN && self.0.compare_exchange(seen.0, awaited, AcqRel, Acquire).is_ok()
            || self.is_slept_on(seen)
    }

    /// Returns whether it is still as it was seen, and somebody sleeps until it changes.
    pub fn is_slept_on(&self, seen: Seen) -> bool {
        seen.0 & STATE == OPEN && self.0.load(Acquire) == seen.0 | AWAITED
    }

    /// The address at which sleepers sleep.
    pub fn address(&self) -> usize {
        &raw const self.0 as usize
    }
}

fn status_of(word: u64) -> Status {
    match word & STATE {
        OPEN => Status::Open,
        ABORTED => Status::Aborted,
        DECIDING => Status::Deciding(word >> SHIFT),
        _ => Status::Committed(word >> SHIFT),
    }
}

/// A writing transaction.
#[derive(Debug)]
pub(crate) struct Writer {
    pub status: StatusWord,
    /// By which others name it.
    pub name: Timestamp,
    /// Its transaction's place, where ages have a limit.
    pub seat: Seat,
    /// Where its record ends in the log; zero before it is appended, and in memory. `Relaxed`: stored before it commits.
    position: AtomicU64,
}

/// A writer that has drawn its commit timestamp, and what it has written.
#[derive(Debug)]
pub(crate) struct Commit {
    pub at: u64,
    pub writer: Arc<Writer>,
    pub writes: Vec<Write>,
}

/// A row that a writer has changed, as validation and collection find it.
#[derive(Debug)]
pub(crate) struct Write {
    pub table: TableId,
    pub place: Place,
    pub key: Key,
    /// The columns that it has changed; all of them if the row came or went.
    pub columns: ColumnSet,
}

impl Write {
    /// Returns the bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        size_of::<Write>() + self.key.memory()
    }

    /// The same write, for the way back.
    pub fn again(&self) -> Write {
        Write { key: self.key.clone(), ..*self }
    }
}

/// Where a row is: for as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub block: u32,
    pub slot: u32,
}

impl Writer {
    pub fn new(name: Timestamp, seat: Seat) -> Writer {
        Writer { status: StatusWord::default(), name, seat, position: AtomicU64::new(0) }
    }

    /// Its record is in the log.
    pub fn logged(&self, position: LogPosition) {
        self.position.store(position.to_raw(), Relaxed);
    }

    /// Where its record ends, of one that has committed.
    #[inline]
    pub fn position(&self) -> LogPosition {
        LogPosition::from_raw(self.position.load(Relaxed))
    }
}
