//! Sessions as threads, under random schedules: nobody has an exclusive lock beside another, nobody sleeps for ever, and every
//! cycle of waits is found.
#![cfg(feature = "shuttle")]

use seriatim_advisory::{Answer, Key, Level, Locks, Mode, Owner, Request, Wait};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use std::task::{Wake, Waker};

const SCHEDULES: usize = 3000;

struct Sleeper(thread::Thread);

impl Wake for Sleeper {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a lock; `false` if that would be a deadlock.
fn lock(locks: &Locks, owner: Owner, key: i64, mode: Mode) -> bool {
    let request = Request { owner, key: Key::one(5, key), mode, level: Level::Session };
    let waker = Waker::from(std::sync::Arc::new(Sleeper(thread::current())));
    if locks.lock(request, waker).expect("room") != Answer::Queued {
        return true;
    }
    locks.search(owner, &|_| Vec::new());
    while locks.poll(owner) == Wait::Queued {
        thread::park();
    }
    locks.withdraw(owner).is_some()
}

/// Sharers beside each other, an exclusive holder alone.
#[test]
fn nobody_is_beside_an_exclusive_holder_and_nobody_sleeps_for_ever() {
    let run = || {
        let (locks, inside) = (Arc::new(Locks::new(100)), Arc::new(AtomicUsize::new(0)));
        let sessions = [Mode::Exclusive, Mode::Shared, Mode::Shared, Mode::Exclusive].into_iter().zip(1..);
        let threads = sessions.map(|(mode, owner)| {
            let (locks, inside) = (locks.clone(), inside.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    assert!(lock(&locks, owner, 1, mode));
                    let alone = if mode == Mode::Exclusive { 100 } else { 1 };
                    let before = inside.fetch_add(alone, Ordering::SeqCst);
                    assert!(if mode == Mode::Exclusive { before == 0 } else { before < 100 });
                    inside.fetch_sub(alone, Ordering::SeqCst);
                    assert!(locks.unlock(owner, Key::one(5, 1), mode, 0));
                }
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(locks.all().is_empty());
    };
    shuttle::check_random(run, SCHEDULES);
}

/// Each takes two locks, in a circle. Whoever is told of a deadlock gives up what it has; the others go on.
#[test]
fn a_circle_of_sessions_comes_to_an_end() {
    let run = || {
        let (locks, done) = (Arc::new(Locks::new(100)), Arc::new(AtomicUsize::new(0)));
        let threads = (0..3).map(|at: i32| {
            let (locks, done) = (locks.clone(), done.clone());
            thread::spawn(move || {
                let (first, second) = (i64::from(at), i64::from((at + 1) % 3));
                assert!(lock(&locks, at + 1, first, Mode::Exclusive));
                if lock(&locks, at + 1, second, Mode::Exclusive) {
                    done.fetch_add(1, Ordering::SeqCst);
                }
                locks.unlock_all(at + 1, 0);
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(done.load(Ordering::SeqCst) >= 2, "one of three gives up at most");
        assert!(locks.all().is_empty());
    };
    shuttle::check_random(run, SCHEDULES);
}
