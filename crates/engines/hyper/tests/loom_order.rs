//! Every interleaving of the counter, the starts and the status words: two or three transactions, and a collector.
//!
//! Whoever takes a part runs in a thread of its own: what the first thread reads before it joins, loom hardly varies.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p seriatim-hyper --profile models --test loom_order`
#![cfg(loom)]

use loom::sync::{Arc, Mutex};
use loom::thread;
use parts::wait::{WaitTable, Waited};
use seriatim_hyper::kernel::{Kernel, Version};
use seriatim_hyper::{Status, StatusWord};

/// A kernel and writers whose versions are in place.
fn world(writers: usize) -> Arc<(Kernel, Vec<Version>)> {
    Arc::new((Kernel::new(), (0..writers).map(|_| Version::new()).collect()))
}

/// Commits a writer. Returns its timestamp.
fn commit((kernel, versions): &(Kernel, Vec<Version>), writer: usize) -> u64 {
    let (at, _) = kernel.decide(&versions[writer], 0);
    versions[writer].commit();
    at
}

/// Y2, Y3: a transaction that starts beside a commit reads all of its versions or none, as its start says.
#[test]
fn a_commit_is_seen_whole_at_its_timestamp() {
    loom::model(|| {
        let world = world(1);
        let reader = thread::spawn({
            let world = world.clone();
            move || {
                let start = world.0.start(world.0.slot(), false);
                (start, [0; 2].map(|writer: usize| world.1[writer].is_visible(start)))
            }
        });
        let at = commit(&world, 0);
        let (start, seen) = reader.join().unwrap();
        assert_eq!(seen, [at <= start; 2], "a start at {start} beside a commit at {at}");
    });
}

/// The same of a start of its own, beside two commits: of each both rows or none, and the later one never alone.
#[test]
fn two_commits_are_seen_in_their_order() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = world(2);
        let writers = [0, 1].map(|writer| {
            let world = world.clone();
            thread::spawn(move || commit(&world, writer))
        });
        let reader = thread::spawn({
            let world = world.clone();
            move || {
                let start = world.0.start(world.0.slot(), true);
                (start, [0, 1, 0, 1].map(|writer: usize| world.1[writer].is_visible(start)))
            }
        });
        let (start, seen) = reader.join().unwrap();
        let at = writers.map(|writer| writer.join().unwrap());
        assert!(start != at[0] && start != at[1] && at[0] != at[1], "Y1: a timestamp is drawn once");
        assert_eq!(seen, [0, 1, 0, 1].map(|writer: usize| at[writer] <= start), "a start at {start} beside {at:?}");
    });
}

/// Y5: whoever computes a bound while others start, finds none above a start to come.
#[test]
fn no_bound_is_above_a_start() {
    for claims in [false, true] {
        loom::model(move || {
            let kernel = Arc::new(Kernel::new());
            let starter = thread::spawn({
                let kernel = kernel.clone();
                move || kernel.start(kernel.slot(), claims)
            });
            kernel.draw();
            let bounds = [kernel.collect(), kernel.collect()];
            let start = starter.join().unwrap();
            assert!(bounds.iter().all(|bound| *bound <= start), "{bounds:?} beside a start at {start}");
            assert!(kernel.collect() <= start, "it is open");
        });
    }
}

/// Y2: whoever commits finds all who have drawn between its start and its commit; a collector forgets none of them.
#[test]
fn a_validator_finds_everybody_since_its_start() {
    for claims in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let world = world(2);
            let other = thread::spawn({
                let world = world.clone();
                move || {
                    let at = commit(&world, 0);
                    world.0.collect();
                    at
                }
            });
            let validator = thread::spawn({
                let world = world.clone();
                move || {
                    let (kernel, versions) = &*world;
                    let start = kernel.start(kernel.slot(), claims);
                    let (at, others) = kernel.decide(&versions[1], start);
                    versions[1].commit();
                    (start, at, others)
                }
            });
            let (start, at, others) = validator.join().unwrap();
            let other = other.join().unwrap();
            let expected = if start < other && other < at { vec![other] } else { vec![] };
            assert_eq!(others, expected, "from {start} to {at}, beside {other}");
        });
    }
}

/// Y12: whoever has started finds a table that nobody frees while it is used, or none.
#[test]
fn a_table_is_not_freed_while_it_is_used() {
    for claims in [false, true] {
        loom::model(move || {
            let kernel = Arc::new(Kernel::new());
            kernel.add_table(0);
            let user = thread::spawn({
                let kernel = kernel.clone();
                move || {
                    let slot = kernel.slot();
                    kernel.start(slot, claims);
                    let is_found = kernel.look_at_table(0);
                    kernel.leave(slot);
                    is_found
                }
            });
            kernel.drop_table(0);
            user.join().unwrap();
            assert!(kernel.drop_table(0) && !kernel.look_at_table(0), "nobody uses it any more");
        });
    }
}

/// Whoever meets a writer that decides sleeps until it has, beside somebody who has slept since it was open.
#[test]
fn whoever_sleeps_for_a_decision_is_woken() {
    for commits in [true, false] {
        loom::model(move || {
            let shared = Arc::new((StatusWord::default(), WaitTable::new(1)));
            let (status, sleepers) = &*shared;
            assert!(!status.await_decision(), "it is open");
            let seen = status.seen();
            assert!(status.await_change(seen) && status.decides(7));
            let sleeper = thread::spawn({
                let shared = shared.clone();
                move || {
                    let (status, sleepers) = &*shared;
                    if status.await_decision() {
                        let waited = sleepers.wait(status.address(), || None, || status.is_deciding());
                        assert_eq!(waited, Waited::Released);
                    }
                    status.load()
                }
            });
            let is_awaited = if commits { status.commits() } else { status.aborts() };
            if is_awaited {
                sleepers.wake(status.address());
            }
            let decided = if commits { Status::Committed(7) } else { Status::Aborted };
            assert_eq!(sleeper.join().unwrap(), decided);
            assert!(!status.await_decision() && !status.is_deciding());
        });
    }
}

/// A sleeper sleeps until the writer goes on, whichever way it does, or gives rows back. A lost wake-up is a deadlock, which loom reports.
#[test]
fn a_sleeper_is_woken() {
    for end in [Some(true), Some(false), None] {
        loom::model(move || {
            let shared = Arc::new((StatusWord::default(), WaitTable::new(1)));
            let sleeper = thread::spawn({
                let shared = shared.clone();
                let seen = shared.0.seen();
                move || {
                    let (status, sleepers) = &*shared;
                    if status.await_change(seen) {
                        let waited = sleepers.wait(status.address(), || None, || status.is_slept_on(seen));
                        assert_eq!(waited, Waited::Released);
                    }
                    status.load()
                }
            });
            let (status, sleepers) = &*shared;
            let wake = |is_awaited: bool| {
                if is_awaited {
                    sleepers.wake(status.address());
                }
            };
            match end {
                Some(true) => {
                    wake(status.decides(7));
                    wake(status.commits());
                }
                Some(false) => wake(status.aborts()),
                None => wake(status.gives_back()),
            }
            let seen = sleeper.join().unwrap();
            let expected: &[Status] = match end {
                Some(true) => &[Status::Deciding(7), Status::Committed(7)],
                Some(false) => &[Status::Aborted],
                None => &[Status::Open],
            };
            assert!(expected.contains(&seen), "{seen:?}");
        });
    }
}

/// Of two who sleep for rows of one writer, either wakes when its row is given back, even if the other one sleeps again meanwhile.
#[test]
fn whoever_sleeps_for_a_row_that_is_given_back_is_woken() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((StatusWord::default(), WaitTable::new(1), [true, true].map(Mutex::new)));
        let sleepers = [0, 1].map(|row: usize| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (status, sleepers, rows) = &*shared;
                // Whether the row is owned, and the writer's status, are looked at under the row's latch.
                let look = || rows[row].lock().unwrap().then(|| status.seen());
                while let Some(seen) = look().filter(|_| status.load() == Status::Open) {
                    if status.await_change(seen) {
                        let waited = sleepers.wait(status.address(), || None, || status.is_slept_on(seen));
                        assert_eq!(waited, Waited::Released);
                    }
                }
            })
        });
        let (status, places, rows) = &*shared;
        let wake = |is_awaited: bool| {
            if is_awaited {
                places.wake(status.address());
            }
        };
        *rows[0].lock().unwrap() = false;
        wake(status.gives_back());
        let [first, second] = sleepers;
        first.join().unwrap();
        wake(status.aborts());
        second.join().unwrap();
    });
}
