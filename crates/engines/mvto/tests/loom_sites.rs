//! Every interleaving of a site: drawing a timestamp against computing the bound, and the end of a transaction against who
//! waits for it, or takes its rows.
#![cfg(loom)]

use env::Clock;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Mutex};
use loom::thread;
use seriatim_mvto::ownership::{Holder, Owner, Ownership};
use seriatim_mvto::sites::{Beginner, Sites, Time};

/// A clock that advances with every reading.
struct Ticker(AtomicU64);

impl Clock for Ticker {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, SeqCst)
    }
    fn ticks_per_second(&self) -> u64 {
        1_000_000_000
    }
}

struct World {
    sites: Sites<()>,
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
        let world = World::new(1);
        let other = thread::spawn({
            let world = world.clone();
            move || world.begin(0).0
        });
        let called = world.time.now();
        let (mine, _) = world.begin(1);
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
