//! Every interleaving of a site: drawing a timestamp, in the lane or under the mutex, against computing the bound, and the end of
//! a transaction against who waits for it, or takes its rows.
#![cfg(loom)]

use env::Clock;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Mutex};
use loom::thread;
use seriatim_mvto::ownership::{Holder, Owner, Ownership};
use seriatim_mvto::sites::{Beginner, ClockFault, Draw, InLane, Sites, Time};

/// A clock that advances with every reading. As the CPU's, it orders no other accesses.
struct Ticker(AtomicU64);

impl Clock for Ticker {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Relaxed)
    }
    fn ticks_per_second(&self) -> u64 {
        1_000_000_000
    }
}

struct World {
    /// Lanes keep a number.
    sites: Sites<(), u64>,
    time: Time<Ticker>,
    /// Held during a survey, and while time is continued.
    surveying: Mutex<()>,
}

impl World {
    fn new(sites: usize) -> Arc<World> {
        let time = Time::starting_at(0, Ticker(AtomicU64::new(0)), sites as u64);
        Arc::new(World { sites: Sites::new(sites), time, surveying: Mutex::new(()) })
    }

    fn begin(&self, thread: usize) -> (u64, seriatim_mvto::sites::Slot) {
        let site = self.sites.assign(thread);
        let mut state = self.sites.lock(site);
        let (at, slot) = self.sites.begin(site, &self.time, Beginner { thread, writes: true }, &mut state).unwrap();
        (at.0, slot)
    }

    /// Begins in the lane, if it is free.
    fn enter(&self, thread: usize) -> Option<(u64, InLane, u64)> {
        let site = self.sites.assign(thread);
        let entered = self.sites.enter(site, &self.time, Beginner { thread, writes: true }).unwrap();
        entered.map(|(at, right, kept)| (at.0, right, kept))
    }
}

/// M5. With an infinite bound for a site without active transactions, this fails (the paper's bug, section 5.1).
#[test]
fn whoever_is_below_the_floor_is_seen() {
    loom::model(|| {
        let world = World::new(2);
        let beginner = thread::spawn({
            let world = world.clone();
            move || world.begin(0).0
        });
        let mut open = Vec::new();
        let floor = world.sites.survey(&world.time, None, &mut open, |_| {});
        let at = beginner.join().unwrap();
        assert!(open.contains(&at) || at > floor, "{at} began below the floor {floor}, and {open:?} does not say so");
    });
}

/// M5 without the mutex: whoever draws in a lane is seen there, or draws above the floor.
#[test]
fn whoever_is_in_a_lane_below_the_floor_is_seen() {
    loom::model(|| {
        let world = World::new(2);
        let beginner = thread::spawn({
            let world = world.clone();
            move || world.enter(0).expect("nobody else enters").0
        });
        let mut open = Vec::new();
        let floor = world.sites.survey(&world.time, None, &mut open, |_| {});
        let at = beginner.join().unwrap();
        assert!(open.contains(&at) || at > floor, "{at} began below the floor {floor}, and {open:?} does not say so");
    });
}

/// M5 of a batch: each of its timestamps is seen, or lies above the floor. Versions between two of them are kept by that.
#[test]
fn all_of_a_batch_below_the_floor_are_seen() {
    loom::model(|| {
        let world = World::new(2);
        let beginner = thread::spawn({
            let world = world.clone();
            move || {
                let site = world.sites.assign(0);
                let beginner = Beginner { thread: 0, writes: true };
                let enter = world.sites.enter_with(site, &world.time, beginner, 3, |_, draw| draw.now());
                let (first, ..) = enter.unwrap().expect("nobody else enters");
                world.sites.following(first, 3).map(|at| at.0).collect::<Vec<_>>()
            }
        });
        let mut open = Vec::new();
        let floor = world.sites.survey(&world.time, None, &mut open, |_| {});
        let batch = beginner.join().unwrap();
        let is_known = |at: &u64| open.contains(at) || *at > floor;
        assert!(batch.iter().all(is_known), "{batch:?} began below the floor {floor}, and {open:?} does not say so");
        assert!(batch[0] + 2 == batch[1] && batch[1] + 2 == batch[2] && batch[2] < world.time.now(), "M1");
    });
}

/// M2: what is drawn under the mutex beside a batch is none of its timestamps.
#[test]
fn a_batch_and_the_mutex_draw_no_timestamp_twice() {
    loom::model(|| {
        let world = World::new(2);
        let other = thread::spawn({
            let world = world.clone();
            move || {
                let beginner = Beginner { thread: 0, writes: true };
                let enter = world.sites.enter_with(0, &world.time, beginner, 2, |_, draw| draw.now());
                enter.unwrap().map(|(first, ..)| world.sites.following(first, 2).map(|at| at.0).collect::<Vec<_>>())
            }
        });
        let (mine, _) = world.begin(2);
        let batch = other.join().unwrap().unwrap_or_default(); // The lane may be barred.
        assert!(!batch.contains(&mine), "M2: {mine} is one of {batch:?}");
    });
}

/// Who refuses after it has taken the lane leaves it as it was.
#[test]
fn a_lane_that_is_not_entered_after_all_is_free() {
    loom::model(|| {
        let world = World::new(1);
        let beginner = Beginner { thread: 0, writes: true };
        let refuse = |kept: &mut u64, draw: Draw<'_, Ticker>| {
            *kept += 1;
            draw.now().and_then(|_| Err(ClockFault::OutOfRange { reading: 0 }))
        };
        let other = thread::spawn({
            let world = world.clone();
            move || u64::from(world.sites.enter_with(0, &world.time, beginner, 1, refuse).is_err())
        });
        let (_, slot) = world.begin(0);
        world.sites.end(slot, &mut world.sites.lock(slot.site));
        let refused = other.join().unwrap();
        assert_eq!(world.sites.with_kept(0, |kept| *kept), Some(refused));
        assert!(world.enter(0).is_some(), "the lane is free");
    });
}

/// M2: who enters the lane while another registers under the mutex draws another timestamp; as does who finds the lane taken.
#[test]
fn a_lane_and_the_mutex_draw_no_timestamp_twice() {
    loom::model(|| {
        // Two sites, and both threads at one: two readings may be rounded up to the same timestamp.
        let world = World::new(2);
        let other = thread::spawn({
            let world = world.clone();
            move || world.enter(0).map_or_else(|| world.begin(0).0, |(at, ..)| at)
        });
        let called = world.time.now();
        let (mine, _) = world.begin(2);
        assert!(called < mine && mine < world.time.now(), "M1");
        assert_ne!(mine, other.join().unwrap(), "M2");
    });
}

/// Whoever waits for the writer in a lane is woken by its end.
#[test]
fn the_end_in_a_lane_wakes_who_waits_for_it() {
    loom::model(|| {
        let world = World::new(1);
        let (_, right, kept) = world.enter(0).unwrap();
        let ender = thread::spawn({
            let world = world.clone();
            move || world.sites.leave(right, kept)
        });
        world.sites.wait_for_older_writers(model::Timestamp(u64::MAX), || 0, |_| None, |_, _| ()).unwrap();
        ender.join().unwrap();
    });
}

/// What a lane keeps goes from one transaction to the next, and to whoever asks while it is free. (Loom sees accesses that are not
/// in order.)
#[test]
fn what_a_lane_keeps_is_handed_over() {
    loom::model(|| {
        let world = World::new(1);
        let pass = |world: &World, thread| {
            world.enter(thread).is_some_and(|(_, right, kept)| {
                world.sites.leave(right, kept + 1);
                true
            })
        };
        let other = thread::spawn({
            let world = world.clone();
            move || pass(&world, 0)
        });
        let mut passed = u64::from(pass(&world, 1));
        let seen = world.sites.with_kept(0, |kept| *kept);
        passed += u64::from(other.join().unwrap());
        assert!(seen.is_none_or(|seen| seen <= passed));
        assert_eq!(world.sites.with_kept(0, |kept| *kept), Some(passed), "nothing is lost");
    });
}

/// M5 for a single read: while it holds its lane, no floor goes above its limit, so nothing is collected that is replaced above that.
#[test]
fn no_floor_goes_above_the_limit_of_a_held_lane() {
    loom::model(|| {
        let world = World::new(2);
        world.sites.assign(0);
        let holder = thread::spawn({
            let world = world.clone();
            move || {
                let held = world.sites.hold(world.sites.assign(0), &world.time).expect("nobody else is there");
                let limit = held.limit;
                std::mem::forget(held); // It holds the lane until the end.
                limit
            }
        });
        let floor = world.sites.survey(&world.time, None, &mut Vec::new(), |_| {});
        let limit = holder.join().unwrap();
        assert!(floor <= limit, "the floor {floor} is above the limit {limit}");
    });
}

/// A single read's limit lies above every transaction that it can know of: of the lane and of the mutex.
#[test]
fn the_limit_lies_above_all_that_was_drawn() {
    loom::model(|| {
        let world = World::new(2);
        let told = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let (world, told) = (world.clone(), told.clone());
            move || {
                told.store(world.enter(0).expect("nobody else enters").0, Release);
                told.store(world.begin(0).0, Release);
            }
        });
        let known = loop {
            match told.load(Acquire) {
                0 => thread::yield_now(),
                known => break known,
            }
        };
        let held = world.sites.hold(world.sites.assign(1), &world.time).expect("nobody else is there");
        assert!(known <= held.limit, "{known} was drawn, and the limit is {}", held.limit);
        drop(held);
        other.join().unwrap();
    });
}

/// A held lane is given back with what it keeps, and nobody draws in it or under the mutex meanwhile.
#[test]
fn a_held_lane_is_given_back() {
    loom::model(|| {
        let world = World::new(1);
        let other = thread::spawn({
            let world = world.clone();
            move || {
                world.sites.hold(0, &world.time).is_some_and(|mut held| {
                    held.kept += 1;
                    true
                })
            }
        });
        let (_, slot) = world.begin(0);
        let entered = world.enter(0).map(|(_, right, kept)| world.sites.leave(right, kept + 1)).is_some();
        let passed = u64::from(entered) + u64::from(other.join().unwrap());
        world.sites.end(slot, &mut world.sites.lock(slot.site));
        assert_eq!(world.sites.with_kept(0, |kept| *kept), Some(passed), "nothing is lost");
    });
}

/// M2 on a clock that has stepped back: time is continued while nobody draws in a lane.
#[test]
fn time_is_continued_while_nobody_draws_in_a_lane() {
    loom::model(|| {
        let world = World::new(1);
        let other = thread::spawn({
            let world = world.clone();
            move || {
                world
                    .sites
                    .enter(0, &world.time, Beginner { thread: 0, writes: true })
                    .ok()
                    .flatten()
                    .map(|(at, ..)| at.0)
            }
        });
        world.time.clock().0.store(0, SeqCst);
        world.sites.assign(1);
        world.sites.continue_time(&world.time);
        let in_lane = other.join().unwrap();
        let later = world.begin(1).0;
        assert!(in_lane.is_none_or(|at| at < later), "M2: {in_lane:?} and then {later}");
    });
}

/// M5 on a clock that steps back once: whoever draws below what the survey has read is seen by it, or draws again above.
#[test]
fn a_clock_that_steps_back_leaves_nobody_below_the_floor() {
    loom::model(|| {
        let world = World::new(2);
        world.time.clock().0.store(100, SeqCst);
        let beginner = thread::spawn({
            let world = world.clone();
            move || {
                world.time.clock().0.store(50, SeqCst);
                loop {
                    let site = world.sites.assign(0);
                    let mut state = world.sites.lock(site);
                    if let Ok((at, _)) =
                        world.sites.begin(site, &world.time, Beginner { thread: 0, writes: true }, &mut state)
                    {
                        return at.0;
                    }
                    drop(state);
                    let _no_survey = world.surveying.lock().unwrap();
                    world.sites.continue_time(&world.time);
                }
            }
        });
        let mut open = Vec::new();
        let floor = {
            let _alone = world.surveying.lock().unwrap();
            world.sites.survey(&world.time, None, &mut open, |_| {})
        };
        let at = beginner.join().unwrap();
        assert!(open.contains(&at) || at > floor, "{at} began below the floor {floor}, and {open:?} does not say so");
    });
}

/// M1, M2: unique on one site, and below the clock at return.
#[test]
fn timestamps_are_unique_and_inside_their_call() {
    loom::model(|| {
        let world = World::new(2);
        let other = thread::spawn({
            let world = world.clone();
            move || world.begin(0).0
        });
        let called = world.time.now();
        let (mine, _) = world.begin(2);
        let returned = world.time.now();
        assert!(called < mine && mine < returned, "M1");
        assert_ne!(mine, other.join().unwrap(), "M2");
    });
}

/// Whoever waits for older writers is woken by their end.
#[test]
fn the_end_of_a_transaction_wakes_who_waits_for_it() {
    loom::model(|| {
        let world = World::new(1);
        let (_, slot) = world.begin(0);
        let ender = thread::spawn({
            let world = world.clone();
            move || {
                let mut state = world.sites.lock(slot.site);
                world.sites.end(slot, &mut state);
            }
        });
        let at = model::Timestamp(u64::MAX);
        world.sites.wait_for_older_writers(at, || 0, |_| None, |_, _| ()).unwrap();
        ender.join().unwrap();
    });
}

/// A snapshot that waits for a writer goes on when that one is doomed by somebody else.
#[test]
fn a_doomed_writer_keeps_no_snapshot_waiting() {
    loom::model(|| {
        let world = World::new(1);
        let (at, slot) = world.begin(0);
        world.sites.lock(slot.site).leave(slot);
        let other = thread::spawn({
            let world = world.clone();
            move || assert!(world.sites.doom(model::Timestamp(at), u64::MAX))
        });
        world.sites.wait_for_older_writers(model::Timestamp(u64::MAX), || 0, |_| None, |_, _| ()).unwrap();
        other.join().unwrap();
    });
}

/// One that executes and is too old ends while somebody takes its row: `end` gives the row back, and then somebody else may own
/// it. Whether the taker's row is still the taker's when both are done.
fn taken_once(give_back: fn(&Ownership, bool, model::Timestamp)) {
    let world = World::new(2);
    let (at, slot) = world.begin(0);
    let (taker_at, _) = world.begin(1);
    world.sites.lock(slot.site).leave(slot);
    let (owner, taker) = (model::Timestamp(at), model::Timestamp(taker_at));
    let row = Arc::new(Ownership::free());
    row.try_own(Owner { at: owner, executes: true }).unwrap();
    let ender = thread::spawn({
        let (world, row) = (world.clone(), row.clone());
        move || {
            let is_doomed = !world.sites.lock(slot.site).enter(slot);
            give_back(&row, is_doomed, owner);
            world.sites.end(slot, &mut world.sites.lock(slot.site));
        }
    });
    if world.sites.doom(owner, u64::MAX) {
        let _ = row.take_from(owner);
    }
    let is_taken = row.try_own(Owner { at: taker, executes: true }).is_ok();
    ender.join().unwrap();
    let expected = if is_taken { Holder::Executing(taker) } else { Holder::Free };
    assert_eq!(row.holder(), expected, "M12: a row was taken from who owns it now");
}

/// M12: a doomed transaction's end takes nothing from whoever has its row now.
#[test]
fn a_row_of_a_doomed_transaction_is_handed_over_once() {
    loom::model(|| {
        taken_once(|row, is_doomed, owner| {
            let _ = if is_doomed { row.take_from(owner) } else { row.release() };
        });
    });
}

/// The end that the kernel must not have: one that does not ask whether it is doomed.
#[test]
#[should_panic(expected = "M12")]
fn an_end_that_gives_back_whatever_it_finds_takes_a_row_from_its_new_owner() {
    loom::model(|| {
        taken_once(|row, _, _| {
            let _ = row.release();
        });
    });
}
