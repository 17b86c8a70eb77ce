//! The event's contract under loom: all interleavings of those who wait and those who raise it.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p seriatim-wal --profile models --test loom_event`
#![cfg(loom)]

#[path = "../src/event.rs"]
mod event;

/// What the event imports: a futex, by loom's mutex.
mod sync {
    pub mod futex {
        pub use loom::sync::atomic::{AtomicU32, Ordering};
        use loom::sync::{Condvar, Mutex};

        #[derive(Debug, Default)]
        pub struct Place {
            order: Mutex<()>,
            changed: Condvar,
        }

        impl Place {
            pub fn sleep(&self, word: &AtomicU32, expected: u32, limit: Option<std::time::Duration>) {
                assert!(limit.is_none(), "time does not pass here");
                let order = self.order.lock().unwrap();
                if word.load(Ordering::Relaxed) == expected {
                    drop(self.changed.wait(order).unwrap());
                }
            }

            pub fn wake_all(&self, _word: &AtomicU32) {
                drop(self.order.lock().unwrap());
                self.changed.notify_all();
            }
        }
    }
}

use event::Event;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

#[derive(Default)]
struct Log {
    durable: AtomicU64,
    is_over: AtomicBool,
    done: Event,
}

impl Log {
    /// As the log's waiters do: the ticket, then the look, then the sleep.
    fn await_durable(&self, position: u64) -> bool {
        loop {
            let ticket = self.done.ticket();
            if self.durable.load(Ordering::Acquire) >= position {
                return true;
            }
            if self.is_over.load(Ordering::Relaxed) {
                return false;
            }
            self.done.wait(ticket);
        }
    }

    fn publish(&self, position: u64) {
        self.durable.store(position, Ordering::Release);
        self.done.raise();
    }
}

/// A lost wake-up is a deadlock, which loom reports. Three threads: at most two preemptions in each execution, or this
/// takes hours.
#[test]
fn a_round_wakes_all_whom_it_serves() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let log = Arc::new(Log::default());
        let waiters = [1, 1].map(|position| {
            let log = Arc::clone(&log);
            thread::spawn(move || assert!(log.await_durable(position)))
        });
        log.publish(1);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

/// A round that does not serve the waiter does not spoil the wake-up of the one that does.
#[test]
fn the_second_round_wakes_whom_the_first_has_not_served() {
    loom::model(|| {
        let log = Arc::new(Log::default());
        let waiter = thread::spawn({
            let log = Arc::clone(&log);
            move || assert!(log.await_durable(2))
        });
        log.publish(1);
        log.publish(2);
        waiter.join().unwrap();
    });
}

/// A wait whose position never becomes durable is ended from outside: the flag first, the wake-up second.
#[test]
fn a_waiter_is_always_ended_from_outside() {
    loom::model(|| {
        let log = Arc::new(Log::default());
        let waiter = thread::spawn({
            let log = Arc::clone(&log);
            move || assert!(!log.await_durable(9))
        });
        log.publish(1);
        log.is_over.store(true, Ordering::Relaxed);
        log.done.raise();
        waiter.join().unwrap();
    });
}

/// Counterexample: a ticket that is taken after the look may be of the generation that has brought the change, and its owner
/// would sleep for ever.
#[test]
fn a_ticket_after_the_look_would_lose_a_wake_up() {
    let lost = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let found = lost.clone();
    loom::model(move || {
        let log = Arc::new(Log::default());
        let waiter = thread::spawn({
            let log = Arc::clone(&log);
            move || (log.durable.load(Ordering::Acquire) < 1).then(|| log.done.ticket())
        });
        log.publish(1);
        // Nothing is raised after this.
        let would_sleep = waiter.join().unwrap().is_some_and(|ticket| ticket == log.done.ticket());
        found.fetch_or(would_sleep, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(lost.load(std::sync::atomic::Ordering::Relaxed), "the contract's first rule is not what protects");
}
