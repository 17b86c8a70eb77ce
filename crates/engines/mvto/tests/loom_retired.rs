//! Every interleaving of a reader with a writer that replaces the version it reads, and with whoever uses that one's memory again.
#![cfg(loom)]

use env::Clock;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;
use model::Timestamp;
use seriatim_mvto::ownership::{Holder, Owner, Ownership};
use seriatim_mvto::retired::{Note, Notes};
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

/// A tuple whose first version is in a block that is used again. The version that replaces it lies elsewhere.
struct World {
    sites: Sites<(), u64>,
    time: Time<Ticker>,
    ownership: Ownership,
    /// Begin of the version that has replaced the first; 0 before. Its link to the first version stays for ever.
    replaced_at: AtomicU64,
    /// The first version's row. (Loom sees accesses that are not in order.)
    block: UnsafeCell<()>,
}

impl World {
    fn new() -> Arc<World> {
        let time = Time::starting_at(0, Ticker(AtomicU64::new(0)), 2);
        let (replaced_at, block) = (AtomicU64::new(0), UnsafeCell::new(()));
        Arc::new(World { sites: Sites::new(2), time, ownership: Ownership::free(), replaced_at, block })
    }

    fn enter(&self, thread: usize) -> (Timestamp, InLane) {
        let site = self.sites.assign(thread);
        let entered = self.sites.enter(site, &self.time, Beginner { thread, writes: true }).unwrap();
        let (at, right, _) = entered.expect("nobody else enters");
        (at, right)
    }

    /// `read.rs` without the wait: reads the first version, if that is what the reader sees.
    fn read(&self) {
        let (at, right) = self.enter(0);
        self.ownership.raise_last_read(at);
        let waits = matches!(self.ownership.holder(), Holder::Committing(owner) if owner < at);
        let replaced_at = self.replaced_at.load(Acquire);
        if !waits && (replaced_at == 0 || replaced_at >= at.0) {
            self.block.with(|_| ());
        }
        self.sites.leave(right, 0);
    }

    /// `commit.rs`: replaces the first version, if no later reader has seen it, and notes that.
    fn replace(&self, notes: &mut Notes<()>) {
        let (at, right) = self.enter(1);
        self.ownership.try_own(Owner { at, executes: false }).unwrap();
        if self.ownership.last_read() <= at {
            self.replaced_at.store(at.0, Release);
            notes.push(Note { what: (), at });
        }
        let _ = self.ownership.release();
        self.sites.leave(right, 0);
    }

    /// `gc.rs`: computes the bound, and uses the block again if it is ready.
    fn use_again(&self, notes: &mut Notes<()>) {
        let mut open = Vec::new();
        let floor = self.sites.survey(&self.time, None, &mut open, |_| {});
        let bound = open.into_iter().fold(floor, u64::min);
        if notes.take(Timestamp(bound)).is_some() {
            self.block.with_mut(|_| ());
        }
    }
}

/// S2: nobody looks any more at a version that is used again, though nothing is unlinked.
#[test]
fn a_version_is_used_again_when_nobody_looks_at_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::new();
        world.sites.assign(1);
        let reader = thread::spawn({
            let world = world.clone();
            move || world.read()
        });
        let mut notes = Notes::default();
        world.replace(&mut notes);
        world.use_again(&mut notes);
        reader.join().unwrap();
    });
}
