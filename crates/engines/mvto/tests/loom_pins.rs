//! Every interleaving of the pins: whoever leaves a tuple without a row against the collector that has just taken its queue entry.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::SeqCst};
use loom::thread;
use seriatim_mvto::ownership::Ownership;
use seriatim_mvto::pins::Pins;

/// A dead tuple, the queue's entries of it, and how often it was taken out of its index.
struct World {
    pins: Pins,
    ownership: Ownership,
    entries: AtomicU32,
    removals: AtomicU32,
}

impl World {
    /// Pinned by so many, and queued once.
    fn new(pins: u32) -> Arc<World> {
        let (entries, removals) = (AtomicU32::new(1), AtomicU32::new(0));
        let world = World { pins: Pins::new(pins + 1), ownership: Ownership::free(), entries, removals };
        assert!(world.pins.queue());
        Arc::new(world)
    }

    /// The end of a transaction that had it pinned, and leaves it to be collected.
    fn leave(&self) {
        if self.pins.queue() {
            self.entries.fetch_add(1, SeqCst);
        }
    }

    /// A collector, as in `gc.rs`.
    fn collect(&self) {
        self.entries.fetch_sub(1, SeqCst);
        self.pins.dequeue();
        if self.ownership.try_kill() {
            if self.pins.is_one() {
                self.removals.fetch_add(1, SeqCst);
                return;
            }
            self.ownership.revive();
        }
        self.leave(); // Looked at again.
    }
}

/// S3, S1: it is removed, or there is an entry; never both, and never neither.
#[test]
fn what_is_left_is_seen_to_by_somebody() {
    loom::model(|| {
        let world = World::new(1);
        let leaver = thread::spawn({
            let world = world.clone();
            move || world.leave()
        });
        world.collect();
        leaver.join().unwrap();
        let (entries, removals) = (world.entries.load(SeqCst), world.removals.load(SeqCst));
        assert_eq!(entries + removals, 1, "{entries} entries, {removals} removals");
    });
}

/// The same of one that has only looked, and gives its pin up without a word.
#[test]
fn who_leaves_nothing_keeps_nothing_from_collection() {
    loom::model(|| {
        let world = World::new(1);
        let leaver = thread::spawn({
            let world = world.clone();
            move || world.pins.unpin()
        });
        world.collect();
        leaver.join().unwrap();
        let (entries, removals) = (world.entries.load(SeqCst), world.removals.load(SeqCst));
        assert_eq!(entries + removals, 1, "{entries} entries, {removals} removals");
    });
}

/// Two leave at once: one entry at most, and it is taken once.
#[test]
fn two_who_leave_make_one_entry_at_most() {
    loom::model(|| {
        let world = World::new(2);
        let leaver = thread::spawn({
            let world = world.clone();
            move || world.leave()
        });
        let collector = thread::spawn({
            let world = world.clone();
            move || world.collect()
        });
        world.leave();
        leaver.join().unwrap();
        collector.join().unwrap();
        let (entries, removals) = (world.entries.load(SeqCst), world.removals.load(SeqCst));
        assert_eq!(entries + removals, 1, "{entries} entries, {removals} removals");
    });
}
