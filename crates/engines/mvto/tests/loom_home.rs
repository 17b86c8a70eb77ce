//! Every interleaving of a reader that looks at the version at home, or walks over it, with a writer that overwrites the home.
#![cfg(loom)]

use env::Clock;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use loom::thread;
use model::Timestamp;
use seriatim_mvto::home::Home;
use seriatim_mvto::horizon::Horizon;
use seriatim_mvto::ownership::{Holder, Owner, Ownership};
use seriatim_mvto::sites::{Beginner, InLane, Sites, Time};

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

/// Where the tuple's versions live: the first one in a block that is never used again, the others at home or in another block.
const FIRST: usize = 0;
const HOME: usize = 1;
const BLOCK: usize = 2;
/// The link of the oldest version.
const NOWHERE: usize = 3;

/// Timestamp of no version but the first.
const FIRST_BEGIN: u64 = 0;
/// A bound that has passed the first version only.
const BEFORE_ALL: Timestamp = Timestamp(1);

/// Memory of a version. (Loom sees accesses to `begin` that are not in order.)
struct Version {
    begin: UnsafeCell<u64>,
    older: AtomicUsize,
}

/// A tuple with a home.
struct World {
    sites: Sites<(), u64>,
    time: Time<Ticker>,
    ownership: Ownership,
    home: Home,
    head: AtomicUsize,
    versions: [Version; 3],
}

impl World {
    /// The tuple's only version lives there.
    fn new(first: usize) -> Arc<World> {
        let time = Time::starting_at(0, Ticker(AtomicU64::new(0)), 2);
        let version = || Version { begin: UnsafeCell::new(FIRST_BEGIN), older: AtomicUsize::new(NOWHERE) };
        let home = Home::empty();
        assert!(first != HOME || home.try_move_in(BEFORE_ALL));
        let (sites, ownership, head) = (Sites::new(2), Ownership::free(), AtomicUsize::new(first));
        sites.assign(0);
        sites.assign(1);
        Arc::new(World { sites, time, ownership, home, head, versions: [version(), version(), version()] })
    }

    fn enter(&self, thread: usize) -> (Timestamp, InLane) {
        let site = self.sites.assign(thread);
        let entered = self.sites.enter(site, &self.time, Beginner { thread, writes: true }).unwrap();
        let (at, right, _) = entered.expect("nobody else enters");
        (at, right)
    }

    fn begin(&self, place: usize) -> Timestamp {
        // SAFETY: loom fails if somebody writes it meanwhile.
        Timestamp(self.versions[place].begin.with(|begin| unsafe { *begin }))
    }

    /// `read.rs` without the wait: finds the version that the reader sees.
    fn read(&self) {
        let (at, right) = self.enter(0);
        self.ownership.raise_last_read(at);
        let waits = match self.ownership.holder() {
            Holder::Committing(owner) => owner < at,
            Holder::Dead => true,
            _ => false,
        };
        if !waits {
            let (mut place, mut steps) = (self.head.load(Acquire), 0);
            while self.begin(place) >= at {
                place = self.versions[place].older.load(Acquire);
                steps += 1;
                assert!(steps < self.versions.len(), "a version is walked over once");
            }
        }
        self.sites.leave(right, 0);
    }

    /// `commit.rs`: installs a version, if no later reader has seen the newest.
    fn write(&self, bound: Timestamp) {
        let (at, right) = self.enter(1);
        self.ownership.try_own(Owner { at, executes: false }).unwrap();
        if self.ownership.last_read() <= at {
            self.install(at, bound);
        }
        let _ = self.ownership.release();
        self.sites.leave(right, 0);
    }

    /// `store.rs`: at home, if nobody looks there, else in the block, if that is not the newest version's.
    fn install(&self, at: Timestamp, bound: Timestamp) {
        let newest = self.head.load(Relaxed);
        let to = if self.home.try_move_in(bound) { HOME } else { BLOCK };
        if to == newest {
            return;
        }
        if newest == HOME && self.begin(HOME) < bound {
            self.home.leave(at);
        }
        // SAFETY: loom fails if somebody else accesses it meanwhile.
        self.versions[to].begin.with_mut(|begin| unsafe { *begin = at.0 });
        self.versions[to].older.store(newest, Relaxed);
        self.head.store(to, Release);
    }

    /// `store.rs`: splices the version at home out from behind the one in the block, if nobody returns it.
    fn splice(&self) {
        let mut open = Vec::new();
        let floor = self.sites.survey(&self.time, None, &mut open, |_| {});
        let horizon = Horizon::new(1, open, floor);
        assert!(self.ownership.try_kill(), "nobody owns it");
        let behind = &self.versions[BLOCK].older;
        if self.head.load(Relaxed) == BLOCK && behind.load(Relaxed) == HOME {
            let spliced_out = self.begin(HOME);
            if !horizon.needs(spliced_out, self.begin(BLOCK)) {
                behind.store(self.versions[HOME].older.load(Relaxed), Release);
                self.home.leave(spliced_out);
            }
        }
        self.ownership.revive();
    }

    /// `gc.rs`.
    fn bound(&self) -> Timestamp {
        let mut open = Vec::new();
        let floor = self.sites.survey(&self.time, None, &mut open, |_| {});
        Timestamp(open.into_iter().fold(floor, u64::min))
    }
}

/// Runs a reader beside `writes`, in every order.
fn beside_a_reader(first: usize, writes: fn(&World)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let world = World::new(first);
        let reader = thread::spawn({
            let world = world.clone();
            move || world.read()
        });
        writes(&world);
        reader.join().unwrap();
    });
}

/// S2: a reader returns the version at home while it is replaced, and the home is used again.
#[test]
fn a_home_is_used_again_when_nobody_looks_at_the_replaced() {
    beside_a_reader(HOME, |world| {
        world.write(BEFORE_ALL);
        world.write(world.bound());
    });
}

/// S4: a reader walks over the version at home while it is spliced out, and the home is used again.
#[test]
fn a_home_is_used_again_when_nobody_walks_over_it() {
    beside_a_reader(FIRST, |world| {
        world.write(BEFORE_ALL);
        world.write(BEFORE_ALL);
        world.splice();
        world.write(world.bound());
    });
}
