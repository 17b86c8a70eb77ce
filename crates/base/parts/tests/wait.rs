//! The wait table with real threads: every waiter is released, and time limits are the caller's.
#![cfg(not(any(loom, feature = "shuttle")))]

use seriatim_parts::wait::{WaitTable, Waited};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

const WAITERS: u64 = 1;

fn address(word: &AtomicU64) -> usize {
    std::ptr::from_ref(word).addr()
}

/// Sets the waiters bit on `blocked` and sleeps until the word is another: the module's contract, in full.
fn wait_while(table: &WaitTable, word: &AtomicU64, blocked: u64) {
    let marked = blocked | WAITERS;
    loop {
        let seen = word.load(Ordering::Acquire);
        if seen | WAITERS != marked {
            return;
        }
        if seen == marked || word.compare_exchange(seen, marked, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            let waited = table.wait(address(word), || None, || word.load(Ordering::Acquire) == marked);
            assert_eq!(waited, Waited::Released);
            return;
        }
    }
}

fn release(table: &WaitTable, word: &AtomicU64, next: u64) {
    if word.swap(next, Ordering::AcqRel) & WAITERS != 0 {
        table.wake(address(word));
    }
}

/// Threads pass a token round by its value, so each step needs a wake-up that arrives: a lost one hangs the test.
#[test]
fn a_token_goes_round_without_a_lost_wake_up() {
    const THREADS: u64 = 4;
    const STEPS: u64 = 2_000;
    // One shard: every wake-up also hits waiters that must go back to sleep.
    let table = WaitTable::new(1);
    let word = AtomicU64::new(0);
    thread::scope(|scope| {
        for me in 0..THREADS {
            let (table, word) = (&table, &word);
            scope.spawn(move || {
                for step in (me..STEPS).step_by(THREADS as usize) {
                    loop {
                        let seen = word.load(Ordering::Acquire) & !WAITERS;
                        if seen >> 1 == step {
                            break;
                        }
                        wait_while(table, word, seen);
                    }
                    release(table, word, (step + 1) << 1);
                }
            });
        }
    });
    assert_eq!(word.into_inner() >> 1, STEPS);
    assert_eq!(table.sleepers(), 0);
}

#[test]
fn an_unblocked_waiter_never_sleeps_nor_asks_for_the_time() {
    let table = WaitTable::new(4);
    let waited = table.wait(64, || unreachable!("asked for the time"), || false);
    assert_eq!(waited, Waited::Released);
}

#[test]
fn a_waiter_gives_up_when_its_own_clock_says_so() {
    let table = WaitTable::new(4);
    let mut budget = [Duration::from_micros(1), Duration::from_micros(1), Duration::ZERO].into_iter();
    let mut looks = 0;
    let waited = table.wait(
        64,
        || budget.next(),
        || {
            looks += 1;
            true
        },
    );
    assert_eq!(waited, Waited::TimedOut);
    assert_eq!(looks, 3, "the word is looked at before every sleep and before giving up");
    assert_eq!(table.sleepers(), 0);
}

#[test]
fn sleepers_are_counted_and_woken_by_their_address() {
    let table = WaitTable::new(8);
    let word = AtomicU64::new(2);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| wait_while(&table, &word, 2));
        }
        while table.sleepers() < 3 {
            thread::yield_now();
        }
        assert_eq!(word.load(Ordering::Acquire), 2 | WAITERS);
        release(&table, &word, 0);
    });
    assert_eq!(table.sleepers(), 0);
}

/// The word never changes: only the end from outside lets the waiter go.
#[test]
fn a_sleeper_gives_up_when_it_is_told_so_from_outside() {
    let table = Arc::new(WaitTable::new(8));
    let is_over = AtomicBool::new(false);
    let waker = table.waker(64);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let remaining = || is_over.load(Ordering::Relaxed).then_some(Duration::ZERO);
            table.wait(64, remaining, || true)
        });
        while table.sleepers() < 1 {
            thread::yield_now();
        }
        waker.wake_by_ref(); // Nothing has changed, so it sleeps on.
        is_over.store(true, Ordering::Relaxed);
        waker.wake();
        assert_eq!(waiter.join().expect("it does not panic"), Waited::TimedOut);
    });
    assert_eq!(table.sleepers(), 0);
}

#[test]
fn a_panic_in_the_check_leaves_the_shard_usable() {
    let table = WaitTable::new(1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = table.wait(64, || None, || panic!("the caller's own trouble"));
    }));
    assert!(panicked.is_err());
    assert_eq!(table.sleepers(), 0);
    assert_eq!(table.wait(64, || None, || false), Waited::Released);
}
