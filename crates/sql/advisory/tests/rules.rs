//! The locks against a naive twin: lists of what is held and of what waits, gone through from the beginning after each step.

use proptest::prelude::*;
use seriatim_advisory::{Answer, Holding, Key, Level, Locks, Mode, Owner, Request, Wait};
use std::collections::BTreeMap;
use std::task::Waker;

const LIMIT: usize = 1000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Lock(Request),
    Try(Request),
    Unlock(Owner, Key, Mode),
    UnlockAll(Owner),
    EndTransaction(Owner),
    Withdraw(Owner),
}

/// Every lock that is held, as often as it is, and every request that waits, in the order in which they come.
#[derive(Default)]
struct Twin {
    held: Vec<Request>,
    queue: Vec<Request>,
}

fn conflict(a: &Request, b: &Request) -> bool {
    a.key == b.key && a.owner != b.owner && (a.mode == Mode::Exclusive || b.mode == Mode::Exclusive)
}

impl Twin {
    fn has(&self, request: &Request) -> bool {
        self.held.iter().any(|held| (held.owner, held.key, held.mode) == (request.owner, request.key, request.mode))
    }

    fn ask(&mut self, request: Request, waits: bool) -> Option<bool> {
        let is_own = |held: &&Request| (held.owner, held.key) == (request.owner, request.key);
        let held: Vec<Request> = self.held.iter().filter(is_own).copied().collect();
        let before = self.queue.iter().position(|other| held.iter().any(|held| conflict(held, other)));
        let place = before.unwrap_or(self.queue.len());
        let ahead = if waits { place } else { self.queue.len() };
        let is_free = !self.held.iter().chain(&self.queue[..ahead]).any(|other| conflict(other, &request));
        if is_free || self.has(&request) {
            self.held.push(request);
            return Some(true);
        }
        if waits {
            self.queue.insert(place, request);
            return None;
        }
        Some(false)
    }

    /// Grants whatever can be; returns who was granted something.
    fn settle(&mut self) -> Vec<Owner> {
        let mut granted = Vec::new();
        let free = |twin: &Twin| {
            (0..twin.queue.len()).find(|&at| {
                let request = &twin.queue[at];
                !twin.held.iter().chain(&twin.queue[..at]).any(|other| conflict(other, request))
            })
        };
        while let Some(at) = free(self) {
            let request = self.queue.remove(at);
            granted.push(request.owner);
            self.held.push(request);
        }
        granted
    }

    fn all(&self) -> Vec<Holding> {
        let shown = |request: &Request, is_granted| Holding {
            owner: request.owner,
            key: request.key,
            mode: request.mode,
            is_granted,
        };
        let mut all: Vec<Holding> = self.held.iter().map(|held| shown(held, true)).collect();
        all.extend(self.queue.iter().map(|request| shown(request, false)));
        // Requests are shown by session: each has one.
        let key = |holding: &Holding| holding.is_granted.then_some(holding.key);
        all.sort_by_key(|holding| (!holding.is_granted, key(holding), holding.owner, holding.mode));
        all.dedup();
        all
    }
}

fn requests() -> impl Strategy<Value = Request> {
    let modes = prop_oneof![Just(Mode::Shared), Just(Mode::Exclusive)];
    let levels = prop_oneof![Just(Level::Session), Just(Level::Transaction)];
    (1..5, 0..2i64, modes, levels).prop_map(|(owner, key, mode, level)| Request {
        owner,
        key: Key::one(5, key),
        mode,
        level,
    })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => requests().prop_map(Step::Lock),
        2 => requests().prop_map(Step::Try),
        3 => requests().prop_map(|request| Step::Unlock(request.owner, request.key, request.mode)),
        1 => (1..5).prop_map(Step::UnlockAll),
        1 => (1..5).prop_map(Step::EndTransaction),
        1 => (1..5).prop_map(Step::Withdraw),
    ]
}

proptest! {
    #[test]
    fn locks_are_what_the_twin_says(program in prop::collection::vec(steps(), 1..60)) {
        let (locks, mut twin) = (Locks::new(LIMIT), Twin::default());
        // Sessions with a request in the queue, or one that was granted and not heard of: they do nothing else meanwhile.
        let mut asleep: BTreeMap<Owner, bool> = BTreeMap::new();
        for step in program {
            let owner = match step {
                Step::Lock(request) | Step::Try(request) => request.owner,
                Step::Unlock(owner, ..) | Step::UnlockAll(owner) | Step::EndTransaction(owner) => owner,
                Step::Withdraw(owner) => owner,
            };
            if asleep.contains_key(&owner) != matches!(step, Step::Withdraw(_)) {
                continue;
            }
            match step {
                Step::Lock(request) => match locks.lock(request, Waker::noop().clone()).unwrap() {
                    Answer::Queued => {
                        prop_assert_eq!(twin.ask(request, true), None);
                        asleep.insert(owner, false);
                    }
                    answer => prop_assert_eq!(twin.ask(request, true), Some(matches!(answer, Answer::Granted(_)))),
                },
                Step::Try(request) => {
                    let answer = locks.try_lock(request).unwrap();
                    prop_assert_eq!(twin.ask(request, false), Some(matches!(answer, Answer::Granted(_))));
                }
                Step::Unlock(owner, key, mode) => {
                    let is = |held: &Request| {
                        (held.owner, held.key, held.mode, held.level) == (owner, key, mode, Level::Session)
                    };
                    let at = twin.held.iter().position(is);
                    prop_assert_eq!(locks.unlock(owner, key, mode, 0), at.is_some());
                    at.map(|at| twin.held.remove(at));
                }
                Step::UnlockAll(owner) => {
                    locks.unlock_all(owner, 0);
                    twin.held.retain(|held| held.owner != owner || held.level != Level::Session);
                }
                Step::EndTransaction(owner) => {
                    locks.end_transaction(owner, None, 0);
                    twin.held.retain(|held| held.owner != owner || held.level != Level::Transaction);
                }
                Step::Withdraw(owner) => {
                    let granted = asleep.remove(&owner).unwrap_or_default();
                    prop_assert_eq!(locks.withdraw(owner).is_some(), granted);
                    twin.queue.retain(|request| request.owner != owner);
                }
            }
            for granted in twin.settle() {
                asleep.insert(granted, true);
            }
            for (owner, granted) in &asleep {
                prop_assert_eq!(matches!(locks.poll(*owner), Wait::Granted(_)), *granted);
            }
            prop_assert_eq!(locks.all(), twin.all());
        }
    }
}

fn exclusive(owner: Owner, key: i64) -> Request {
    Request { owner, key: Key::one(5, key), mode: Mode::Exclusive, level: Level::Session }
}

#[test]
fn requests_that_wait_count_too() {
    let locks = Locks::new(3);
    assert!(matches!(locks.try_lock(exclusive(1, 1)), Ok(Answer::Granted(_))));
    assert!(matches!(locks.try_lock(exclusive(1, 2)), Ok(Answer::Granted(_))));
    assert_eq!(locks.lock(exclusive(2, 1), Waker::noop().clone()), Ok(Answer::Queued));
    assert_eq!(locks.try_lock(exclusive(1, 3)).unwrap_err().limit, 3);
    assert!(matches!(locks.try_lock(exclusive(1, 1)), Ok(Answer::Granted(_))), "what is held is counted up");
    assert_eq!(locks.withdraw(2), None);
    assert!(matches!(locks.try_lock(exclusive(1, 3)), Ok(Answer::Granted(_))), "the place is free again");
}

#[test]
fn a_grant_rests_on_what_the_holder_before_has_committed() {
    let locks = Locks::new(LIMIT);
    locks.try_lock(exclusive(1, 1)).unwrap();
    assert_eq!(locks.lock(exclusive(2, 1), Waker::noop().clone()), Ok(Answer::Queued));
    assert!(locks.unlock(1, Key::one(5, 1), Mode::Exclusive, 17));
    assert_eq!(locks.withdraw(2).map(|grant| grant.rests_on), Some(17));
    locks.unlock_all(2, 5);
    let Ok(Answer::Granted(grant)) = locks.try_lock(exclusive(3, 1)) else { panic!("it is free") };
    assert_eq!(grant.rests_on, 17);
}

/// 1 waits for 2, which waits for a row of 3, which begins to wait for 1.
#[test]
fn a_cycle_over_a_row_is_broken_where_a_lock_is_waited_for() {
    let locks = Locks::new(LIMIT);
    let rows = |owner: Owner| if owner == 2 { vec![3] } else { Vec::new() };
    locks.try_lock(exclusive(2, 1)).unwrap();
    locks.try_lock(exclusive(1, 2)).unwrap();
    assert_eq!(locks.lock(exclusive(1, 1), Waker::noop().clone()), Ok(Answer::Queued));
    locks.search(1, &rows);
    assert_eq!(locks.poll(1), Wait::Queued, "no cycle yet");
    assert_eq!(locks.lock(exclusive(3, 2), Waker::noop().clone()), Ok(Answer::Queued));
    // The one that waits for a row looks last.
    locks.search(2, &rows);
    let waits = |owner| locks.poll(owner);
    assert_eq!(waits(1), Wait::Queued);
    let Wait::Deadlock(cycle) = waits(3) else { panic!("the first lock that is waited for behind the row") };
    let owners: Vec<(Owner, Owner)> = cycle.iter().map(|edge| (edge.owner, edge.by)).collect();
    assert_eq!(owners, [(3, 1), (1, 2), (2, 3)]);
    assert_eq!(cycle[2].lock, None);
    assert_eq!(locks.withdraw(3), None);
    assert!(locks.unlock(2, Key::one(5, 1), Mode::Exclusive, 0));
    assert!(locks.withdraw(1).is_some());
}
