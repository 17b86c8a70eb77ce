//! Every interleaving of the tuple kernel: a reader's stamp against a writer's ownership, and a collector's kill.
#![cfg(loom)]

use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Mutex};
use loom::thread;
use model::Timestamp;
use parts::wait::WaitTable;
use seriatim_mvto::ownership::{Holder, Ownership};

const READER: Timestamp = Timestamp(20);
const WRITER: Timestamp = Timestamp(10);
const YOUNGER_WRITER: Timestamp = Timestamp(30);

/// A tuple with one version at 1, as the protocol uses the kernel.
struct Tuple {
    ownership: Ownership,
    /// Begin of the newest version.
    newest: AtomicU64,
}

impl Tuple {
    fn new() -> Tuple {
        Tuple { ownership: Ownership::free(), newest: AtomicU64::new(1) }
    }

    /// `read.rs` without the wait: `None` where a reader would wait for an older owner.
    fn read(&self, at: Timestamp) -> Option<u64> {
        self.ownership.raise_last_read(at);
        match self.ownership.holder() {
            Holder::Owner(owner) if owner < at => None,
            Holder::Dead => None,
            _ => Some(self.newest.load(Acquire)),
        }
    }

    /// `write.rs` and `commit.rs`: own, check, install, release. Whether it committed.
    fn write(&self, at: Timestamp) -> bool {
        if self.ownership.try_own(at).is_err() {
            return false;
        }
        let commits = self.newest.load(Acquire) < at.0 && self.ownership.last_read() <= at;
        if commits {
            self.newest.store(at.0, Release);
        }
        let _ = self.ownership.release();
        commits
    }
}

/// M3: an older write is either seen (read, or waited for) or forbidden.
#[test]
fn a_reader_sees_an_older_write_or_forbids_it() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let writer = thread::spawn({
            let tuple = tuple.clone();
            move || tuple.write(WRITER)
        });
        let read = tuple.read(READER);
        let committed = writer.join().unwrap();
        assert!(!(committed && read == Some(1)), "the reader missed an older write that committed");
    });
}

/// A stamp that is there already is not stored again, and still protects who relies on it.
#[test]
fn a_stamp_that_covers_the_reader_protects_it_too() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let writer = thread::spawn({
            let tuple = tuple.clone();
            move || tuple.write(WRITER)
        });
        let later = thread::spawn({
            let tuple = tuple.clone();
            move || tuple.read(YOUNGER_WRITER)
        });
        let read = tuple.read(READER);
        let (committed, later) = (writer.join().unwrap(), later.join().unwrap());
        assert!(!(committed && (read == Some(1) || later == Some(1))));
    });
}

/// Two writers and a reader between them: versions are installed in order, and the reader sees only final ones.
#[test]
fn versions_are_installed_in_order() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let write = |at| {
            let tuple = tuple.clone();
            thread::spawn(move || tuple.write(at))
        };
        let (older, younger) = (write(WRITER), write(YOUNGER_WRITER));
        let (older, younger) = (older.join().unwrap(), younger.join().unwrap());
        let newest = tuple.newest.load(Acquire);
        let expected = if younger {
            YOUNGER_WRITER.0
        } else if older {
            WRITER.0
        } else {
            1
        };
        assert_eq!(newest, expected, "M4");
    });
}

/// M6: a stamp raised on a tuple that is being killed is folded, or its reader looks the key up again.
#[test]
fn a_kill_keeps_the_stamp_or_turns_the_reader_away() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let collector = thread::spawn({
            let tuple = tuple.clone();
            move || tuple.ownership.try_kill().then(|| tuple.ownership.last_read())
        });
        let read = tuple.read(READER);
        let folded = collector.join().unwrap();
        assert!(read.is_none() || folded.is_none_or(|folded| folded >= READER), "a stamp was lost with the tuple");
    });
}

/// A kill that is taken back wakes nobody and loses nobody: nobody can have gone to sleep on it.
#[test]
fn nobody_sleeps_on_a_tuple_that_is_being_killed() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let collector = thread::spawn({
            let tuple = tuple.clone();
            move || {
                if tuple.ownership.try_kill() {
                    tuple.ownership.revive();
                }
            }
        });
        assert!(!tuple.ownership.announce_waiter(WRITER), "there is no such owner");
        collector.join().unwrap();
        assert_eq!(tuple.ownership.holder(), Holder::Free);
    });
}

/// The waiters bit of the owner word keeps the contract of `parts::wait`: no wake-up is lost.
#[test]
fn a_waiter_for_an_owner_is_woken() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let waits = Arc::new(WaitTable::new(1));
        tuple.ownership.try_own(WRITER).unwrap();
        let owner = thread::spawn({
            let (tuple, waits) = (tuple.clone(), waits.clone());
            move || {
                if tuple.ownership.release() {
                    waits.wake(1);
                }
            }
        });
        while let Holder::Owner(owner) = tuple.ownership.holder() {
            if tuple.ownership.announce_waiter(owner) {
                let _ = waits.wait(1, || None, || tuple.ownership.is_awaited(owner));
            }
        }
        owner.join().unwrap();
    });
}

/// S1: of a pin and a kill, at least one sees the other.
#[test]
fn a_pinned_tuple_is_not_killed() {
    loom::model(|| {
        let state = Arc::new((Ownership::free(), AtomicU64::new(1), Mutex::new(false)));
        let collector = thread::spawn({
            let state = state.clone();
            move || {
                let (ownership, pins, killed) = &*state;
                if ownership.try_kill() {
                    loom::sync::atomic::fence(SeqCst);
                    if pins.load(SeqCst) == 1 {
                        *killed.lock().unwrap() = true;
                    } else {
                        ownership.revive();
                    }
                }
            }
        });
        let (ownership, pins, killed) = &*state;
        pins.fetch_add(1, SeqCst);
        let pinned = ownership.holder() != Holder::Dead;
        collector.join().unwrap();
        assert!(!(pinned && *killed.lock().unwrap()), "a pinned tuple was killed");
    });
}
