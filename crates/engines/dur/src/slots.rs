//! Slots of active transactions: the abort array, and where their threads sleep.
//!
//! A slot is used by one transaction at a time. Its word names the transaction, so that whoever finds the slot's bit in the
//! readers of an object compares turns: no bit of an earlier transaction can be taken for one of a later (D1).

use crate::turn::Turn;
use parts::CachePadded;
use parts::bell::{Bell, Threads};
use parts::sync::Mutex;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Arc, PoisonError};

/// Active transactions at most: the readers of an object are bits of one word.
pub(crate) const MOST_SLOTS: usize = 64;

const STATUS_BITS: u32 = 2;
/// Executes, or waits for its turn.
const ACTIVE: u64 = 0;
/// Must run again.
const ABORTED: u64 = 1;
/// Commits speculatively: nobody of this node aborts it any more.
const SEALED: u64 = 2;

/// The slots, by the turns of their transactions.
#[derive(Debug)]
pub(crate) struct Slots(Box<[CachePadded<Slot>]>);

#[derive(Debug)]
struct Slot {
    /// Turn and status. Publishes nothing else: what an abort is for is under the latch of an object.
    word: AtomicU64,
    /// Counts wake-ups. A waiter reads it before it looks at what it waits for, and sleeps while it stays the same.
    woken: AtomicU64,
    sleep: Mutex<()>,
    changed: Bell,
}

/// A count of wake-ups: the waiter has looked after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal(u64);

impl Slots {
    pub fn new(count: usize, threads: Option<&Arc<dyn Threads>>) -> Slots {
        assert!((1..=MOST_SLOTS).contains(&count), "the readers of an object are bits of one word");
        let slot = |_| {
            let (word, woken) = (AtomicU64::new(0), AtomicU64::new(0));
            CachePadded::new(Slot { word, woken, sleep: Mutex::default(), changed: Bell::new(threads) })
        };
        Slots((0..count).map(slot).collect())
    }

    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn index(&self, turn: Turn) -> usize {
        ((turn.0 - 1) % self.len()) as usize
    }

    fn slot(&self, turn: Turn) -> &Slot {
        &self.0[self.index(turn)]
    }

    /// The bit of a transaction among the readers of an object.
    pub fn bit(&self, turn: Turn) -> u64 {
        1 << self.index(turn)
    }

    /// Begins a transaction, or another attempt of it.
    pub fn begin(&self, turn: Turn) {
        let slot = self.slot(turn);
        let before = slot.word.load(Relaxed);
        let is_again = before == word(turn, ABORTED);
        let is_free = before == 0 || before & STATUS == SEALED && before >> STATUS_BITS < turn.0;
        assert!(is_again || is_free, "D1: a slot has one transaction at a time");
        slot.word.store(word(turn, ACTIVE), Release);
    }

    /// Returns whether a transaction must run again.
    pub fn is_aborted(&self, turn: Turn) -> bool {
        self.slot(turn).word.load(Acquire) == word(turn, ABORTED)
    }

    /// Aborts the active ones of these readers that are later than `after`.
    pub fn abort(&self, readers: u64, after: Turn) {
        bits(readers).for_each(|index| self.0[index].abort(after));
    }

    /// Aborts a transaction that owns what an earlier one writes.
    pub fn abort_owner(&self, owner: Turn) {
        let slot = self.slot(owner);
        let is_done = slot.word.compare_exchange(word(owner, ACTIVE), word(owner, ABORTED), AcqRel, Acquire);
        assert!(
            is_done.is_ok() || is_done == Err(word(owner, ABORTED)),
            "D2: an owner that an earlier transaction meets has not committed speculatively"
        );
        slot.wake();
    }

    /// Fixes a transaction whose turn it is. Returns whether it was not aborted before.
    pub fn seal(&self, turn: Turn) -> bool {
        let word_of = |status| word(turn, status);
        self.slot(turn).word.compare_exchange(word_of(ACTIVE), word_of(SEALED), AcqRel, Acquire).is_ok()
    }

    /// Ends a transaction whose turn passes without effect.
    pub fn end(&self, turn: Turn) {
        self.slot(turn).word.store(word(turn, SEALED), Release);
    }

    /// Wake-ups so far: read before the look at what may block.
    pub fn listen(&self, turn: Turn) -> Signal {
        Signal(self.slot(turn).woken.load(Acquire))
    }

    /// Sleeps until there was a wake-up since the signal.
    pub fn sleep(&self, turn: Turn, signal: Signal) {
        let slot = self.slot(turn);
        let mut guard = slot.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        while slot.woken.load(Acquire) == signal.0 {
            guard = slot.changed.wait(&slot.sleep, guard);
        }
    }

    /// Wakes the transaction of a turn, if it is in its slot.
    pub fn wake(&self, turn: Turn) {
        self.slot(turn).wake();
    }

    /// Wakes some transactions, by their bits.
    pub fn wake_all(&self, waiters: u64) {
        bits(waiters).for_each(|index| self.0[index].wake());
    }
}

/// The bits of a word that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

const STATUS: u64 = (1 << STATUS_BITS) - 1;

fn word(turn: Turn, status: u64) -> u64 {
    turn.0 << STATUS_BITS | status
}

impl Slot {
    fn abort(&self, after: Turn) {
        let mut found = self.word.load(Acquire);
        while found & STATUS == ACTIVE && found >> STATUS_BITS > after.0 {
            match self.word.compare_exchange(found, found | ABORTED, AcqRel, Acquire) {
                Ok(_) => return self.wake(),
                Err(now) => found = now,
            }
        }
    }

    /// The count changes before the latch is taken: a sleeper that has not seen it sleeps by then, and is woken.
    fn wake(&self) {
        self.woken.fetch_add(1, AcqRel);
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.ring();
    }
}
