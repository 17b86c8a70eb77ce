//! The wait table's contract under loom: all interleavings of a waiter and a waker on one word.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p seriatim-parts --release --test loom_wait`
#![cfg(loom)]

use seriatim_parts::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        thread,
    },
    wait::{WaitTable, Waited},
};
use std::time::Duration;

const WAITERS: u64 = 1;
const OWNED: u64 = 2;
const ADDRESS: usize = 64;

struct Owned {
    table: WaitTable,
    word: AtomicU64,
}

impl Owned {
    fn new() -> Arc<Self> {
        Arc::new(Self { table: WaitTable::new(1), word: AtomicU64::new(OWNED) })
    }

    /// Waits until the word is not what it was at the first look. Returns what it is then.
    fn wait(&self) -> u64 {
        let marked = OWNED | WAITERS;
        let seen =
            self.word.compare_exchange(OWNED, marked, Ordering::AcqRel, Ordering::Acquire).unwrap_or_else(|seen| seen);
        if seen & OWNED != 0 {
            let waited = self.table.wait(ADDRESS, || None, || self.word.load(Ordering::Relaxed) == marked);
            assert_eq!(waited, Waited::Released);
        }
        self.word.load(Ordering::Relaxed)
    }

    fn release(&self) {
        if self.word.swap(0, Ordering::AcqRel) & WAITERS != 0 {
            self.table.wake(ADDRESS);
        } else {
            assert_eq!(self.table.sleepers(), 0, "nobody sleeps unannounced");
        }
    }
}

/// A lost wake-up is a deadlock, which loom reports.
#[test]
fn one_waiter_is_always_released() {
    loom::model(|| {
        let owned = Owned::new();
        let waiter = thread::spawn({
            let owned = owned.clone();
            move || assert_eq!(owned.wait(), 0)
        });
        owned.release();
        waiter.join().unwrap();
    });
}

#[test]
fn two_waiters_are_always_released() {
    loom::model(|| {
        let owned = Owned::new();
        let waiters = [(); 2].map(|()| {
            let owned = owned.clone();
            thread::spawn(move || assert_eq!(owned.wait(), 0))
        });
        owned.release();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// A waiter whose word never changes is ended from outside: its limit first, wake-up second.
#[test]
fn a_waiter_is_always_ended_from_outside() {
    loom::model(|| {
        let table = std::sync::Arc::new(WaitTable::new(1));
        let is_over = Arc::new(AtomicBool::new(false));
        let waker = table.waker(ADDRESS);
        let waiter = thread::spawn({
            let (table, is_over) = (table.clone(), is_over.clone());
            move || {
                let remaining = || is_over.load(Ordering::Relaxed).then_some(Duration::ZERO);
                assert_eq!(table.wait(ADDRESS, remaining, || true), Waited::TimedOut);
            }
        });
        is_over.store(true, Ordering::Relaxed);
        waker.wake();
        waiter.join().unwrap();
    });
}

/// Counterexample: a waker that looks at the bit first and then releases misses a bit set in between.
#[test]
fn a_release_in_two_steps_would_lose_a_wake_up() {
    let lost = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let found = lost.clone();
    loom::model(move || {
        let owned = Owned::new();
        let waiter = thread::spawn({
            let owned = owned.clone();
            move || assert_eq!(owned.wait(), 0)
        });
        let seen = owned.word.load(Ordering::SeqCst);
        let _ = owned.word.swap(0, Ordering::SeqCst);
        if seen & WAITERS == 0 && owned.table.sleepers() > 0 {
            found.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        // Wakes in any case: a sleeper left behind would end the search at the first find.
        owned.table.wake(ADDRESS);
        waiter.join().unwrap();
    });
    assert!(lost.load(std::sync::atomic::Ordering::Relaxed), "the contract's second rule is not what protects");
}
