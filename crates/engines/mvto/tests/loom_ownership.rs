//! Every interleaving of the tuple kernel: a reader's stamp against a writer's ownership, and a collector's kill.
#![cfg(loom)]

use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::sync::{Arc, Mutex};
use loom::thread;
use model::Timestamp;
use parts::wait::WaitTable;
use seriatim_mvto::ownership::{Holder, Owner, Ownership};

const READER: Timestamp = Timestamp(20);
const WRITER: Timestamp = Timestamp(10);
const YOUNGER_WRITER: Timestamp = Timestamp(30);
/// New timestamp of a pushed transaction: drawn late.
const MOVED: Timestamp = Timestamp(40);

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

    /// `read.rs` without the wait: the begin of the newest version below the reader; `None` where it would wait for an older
    /// owner. Behind a version that one writer has installed is the first one.
    fn read(&self, at: Timestamp) -> Option<u64> {
        self.ownership.raise_last_read(at);
        match self.ownership.holder() {
            Holder::Committing(owner) if owner < at => None,
            Holder::Dead => None,
            _ => Some(self.newest.load(Acquire)).map(|newest| if newest < at.0 { newest } else { 1 }),
        }
    }

    /// `write.rs` and `commit.rs`: own, check, install, release. Whether it committed.
    fn write(&self, at: Timestamp) -> bool {
        if self.ownership.try_own(committing(at)).is_err() {
            return false;
        }
        let commits = self.newest.load(Acquire) < at.0 && self.ownership.last_read() <= at;
        if commits {
            self.newest.store(at.0, Release);
        }
        let _ = self.ownership.release();
        commits
    }

    /// `advance.rs` and `commit.rs`, of one that owns since a statement: turn, check, move if pushed, install, release. Where it
    /// committed.
    fn commit(&self, at: Timestamp, draw: impl Fn() -> Timestamp) -> Timestamp {
        self.commit_if(at, draw, |_| true).unwrap()
    }

    /// The same, if what it has read can be refreshed.
    fn commit_if(
        &self,
        at: Timestamp,
        draw: impl Fn() -> Timestamp,
        refresh: impl Fn(Timestamp) -> bool,
    ) -> Option<Timestamp> {
        self.ownership.start_commit();
        let mut point = at;
        if self.ownership.last_read() > at {
            point = draw();
            let _ = self.ownership.move_to(point);
        }
        let commits = point == at || refresh(point);
        if commits {
            self.newest.store(point.0, Release);
        }
        let _ = self.ownership.release();
        commits.then_some(point)
    }
}

impl Tuple {
    /// `own_first.rs`: own undated, look, draw above what was seen, show the timestamp, install, release. Where it committed; `None` if
    /// somebody has the tuple.
    fn write_undated(&self, draw: impl Fn() -> Timestamp) -> Option<Timestamp> {
        self.ownership.try_own_undated().ok()?;
        Some(self.commit_undated(draw))
    }

    /// The same of an owner.
    fn commit_undated(&self, draw: impl Fn() -> Timestamp) -> Timestamp {
        let (stamp, newest) = (self.ownership.last_read(), self.newest.load(Acquire));
        let at = draw();
        assert!(at > stamp && at.0 > newest, "it draws above all that was there before it owned");
        self.ownership.date(at);
        self.newest.store(at.0, Release);
        let _ = self.ownership.release();
        at
    }

    /// `read.rs` with the waits: the begin of the newest version below the reader.
    fn read_awake(&self, at: Timestamp) -> u64 {
        loop {
            self.ownership.raise_last_read(at);
            match self.ownership.holder() {
                Holder::Undated => thread::yield_now(),
                Holder::Committing(owner) if owner < at => thread::yield_now(),
                _ => {
                    let newest = self.newest.load(Acquire);
                    return if newest < at.0 { newest } else { 1 };
                }
            }
        }
    }

    /// `write.rs` with the waits, of one that has drawn. Whether it committed.
    fn write_awake(&self, at: Timestamp) -> bool {
        loop {
            match self.ownership.try_own(committing(at)) {
                Ok(()) => break,
                Err(Holder::Undated) => thread::yield_now(),
                Err(Holder::Committing(owner)) if owner < at => thread::yield_now(),
                Err(_) => return false,
            }
        }
        let commits = self.newest.load(Acquire) < at.0 && self.ownership.last_read() <= at;
        if commits {
            self.newest.store(at.0, Release);
        }
        let _ = self.ownership.release();
        commits
    }
}

fn committing(at: Timestamp) -> Owner {
    Owner { at, executes: false }
}

fn executing(at: Timestamp) -> Owner {
    Owner { at, executes: true }
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
        assert!(!tuple.ownership.announce_waiter(Holder::Committing(WRITER)), "there is no such owner");
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
        tuple.ownership.try_own(committing(WRITER)).unwrap();
        let owner = thread::spawn({
            let (tuple, waits) = (tuple.clone(), waits.clone());
            move || {
                if tuple.ownership.release() {
                    waits.wake(1);
                }
            }
        });
        sleep_while(&tuple, &waits, |_| true);
        owner.join().unwrap();
    });
}

/// Sleeps while somebody holds the tuple of whom `blocks` says yes.
fn sleep_while(tuple: &Tuple, waits: &WaitTable, blocks: impl Fn(Holder) -> bool) {
    loop {
        let holder = tuple.ownership.holder();
        if holder.owner().is_none() || !blocks(holder) {
            return;
        }
        if tuple.ownership.announce_waiter(holder) {
            let _ = waits.wait(1, || None, || tuple.ownership.is_awaited(holder));
        }
    }
}

/// A writer that queues behind an executing owner sleeps on through its commit; a reader that waits for the commit is woken when
/// the owner moves above it.
#[test]
fn a_waiter_for_an_owner_that_moves_is_woken() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let waits = Arc::new(WaitTable::new(1));
        tuple.ownership.try_own(executing(WRITER)).unwrap();
        let owner = thread::spawn({
            let (tuple, waits) = (tuple.clone(), waits.clone());
            move || {
                tuple.ownership.start_commit();
                for last in [false, true] {
                    let awaited = if last { tuple.ownership.release() } else { tuple.ownership.move_to(MOVED) };
                    if awaited {
                        waits.wake(1);
                    }
                }
            }
        });
        sleep_while(&tuple, &waits, |holder| matches!(holder, Holder::Committing(at) if at < READER));
        sleep_while(&tuple, &waits, |_| true);
        owner.join().unwrap();
    });
}

/// M3 and M10 of an owner that executes: a reader above it pushes it, or waits for it.
#[test]
fn a_reader_pushes_an_executing_owner_or_sees_its_write() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        tuple.ownership.try_own(executing(WRITER)).unwrap();
        let owner = thread::spawn({
            let tuple = tuple.clone();
            move || tuple.commit(WRITER, || MOVED)
        });
        let read = tuple.read(READER);
        let point = owner.join().unwrap();
        assert!(!(point < READER && read == Some(1)), "the reader missed an older write that committed");
    });
}

/// The order that the kernel must not have: who asks for stamps before it turns its word can miss one.
#[test]
#[should_panic(expected = "the reader missed an older write")]
fn an_owner_that_checks_before_it_turns_misses_a_push() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        tuple.ownership.try_own(executing(WRITER)).unwrap();
        let owner = thread::spawn({
            let tuple = tuple.clone();
            move || {
                let pushed = tuple.ownership.last_read() > WRITER;
                tuple.ownership.start_commit();
                let point = if pushed { MOVED } else { WRITER };
                tuple.newest.store(point.0, Release);
                let _ = tuple.ownership.release();
                point
            }
        });
        let read = tuple.read(READER);
        let point = owner.join().unwrap();
        assert!(!(point < READER && read == Some(1)), "the reader missed an older write that committed");
    });
}

/// Two that execute, each owning what the other has read: both are pushed, and at most one commits.
#[test]
fn of_two_that_read_what_the_other_owns_one_commits() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let tuples = Arc::new([Tuple::new(), Tuple::new()]);
        let clock = Arc::new(AtomicU64::new(MOVED.0));
        tuples[0].ownership.try_own(executing(WRITER)).unwrap();
        tuples[1].ownership.try_own(executing(YOUNGER_WRITER)).unwrap();
        let run = |own: usize, at: Timestamp| {
            let (tuples, clock) = (tuples.clone(), clock.clone());
            move || {
                let other = &tuples[1 - own];
                if other.read(at) != Some(1) {
                    return false;
                }
                let draw = || Timestamp(clock.fetch_add(1, SeqCst));
                tuples[own].commit_if(at, draw, |to| other.read(to).is_some_and(|newest| newest <= at.0)).is_some()
            }
        };
        let older = thread::spawn(run(0, WRITER));
        let younger = run(1, YOUNGER_WRITER)();
        let older = older.join().unwrap();
        assert!(!(older && younger), "each must come before the other");
    });
}

/// Timestamps in the order of their draws, as the clock gives them: whoever draws has seen what those did who had drawn before.
fn clock() -> (Arc<AtomicU64>, impl Fn() -> Timestamp + Clone) {
    let clock = Arc::new(AtomicU64::new(READER.0));
    let draw = {
        let clock = clock.clone();
        move || Timestamp(clock.fetch_add(1, SeqCst))
    };
    (clock, draw)
}

/// M3 of an owner without a timestamp: whether it draws below the reader or above, the reader sees its write exactly if it is older.
#[test]
fn a_reader_waits_for_the_timestamp_of_an_undated_owner() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let (_clock, draw) = clock();
        let owner = thread::spawn({
            let (tuple, draw) = (tuple.clone(), draw.clone());
            move || tuple.write_undated(draw)
        });
        let at = draw();
        let read = tuple.read_awake(at);
        let written = owner.join().unwrap().expect("nobody else wants it");
        assert_eq!(
            read,
            if written < at { written.0 } else { 1 },
            "the reader at {at:?} missed the write at {written:?}"
        );
    });
}

/// A reader that the kernel must not have: it takes an undated owner for one that is younger.
#[test]
#[should_panic(expected = "the reader missed an older write")]
fn a_reader_that_passes_an_undated_owner_misses_its_write() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let (_clock, draw) = clock();
        let owner = thread::spawn({
            let (tuple, draw) = (tuple.clone(), draw.clone());
            move || tuple.write_undated(draw).expect("nobody else wants it")
        });
        let at = draw();
        let read = tuple.read(at);
        let written = owner.join().unwrap();
        assert!(!(written < at && read == Some(1)), "the reader missed an older write that committed");
    });
}

/// An owner that the kernel must not have: it draws, and then owns. A reader in between is older than the owner thinks.
#[test]
#[should_panic(expected = "the reader missed an older write")]
fn an_owner_that_draws_before_it_owns_is_missed() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let (_clock, draw) = clock();
        let owner = thread::spawn({
            let (tuple, draw) = (tuple.clone(), draw.clone());
            move || {
                let at = draw();
                tuple.ownership.try_own_undated().unwrap();
                tuple.ownership.date(at);
                tuple.newest.store(at.0, Release);
                let _ = tuple.ownership.release();
                at
            }
        });
        let at = draw();
        let read = tuple.read_awake(at);
        let written = owner.join().unwrap();
        assert!(!(written < at && read == 1), "the reader missed an older write that committed");
    });
}

/// M4, M7: one that owns first meets one that has drawn. Neither waits for ever, and the versions are in order.
#[test]
fn an_undated_owner_and_a_committer_come_to_an_end() {
    loom::model(|| {
        let tuples = Arc::new([Tuple::new(), Tuple::new()]);
        let (_clock, draw) = clock();
        let at = draw();
        let committer = thread::spawn({
            let tuples = tuples.clone();
            move || {
                // Both at once, the other way round.
                let own = |tuple: &Tuple| loop {
                    match tuple.ownership.try_own(committing(at)) {
                        Ok(()) => return tuple.newest.load(Acquire) < at.0 && tuple.ownership.last_read() <= at,
                        Err(Holder::Undated) => thread::yield_now(),
                        Err(_) => return false,
                    }
                };
                let owned = tuples.iter().rev().map(|tuple| (own(tuple), tuple)).collect::<Vec<_>>();
                let commits = owned.iter().all(|(owns, _)| *owns);
                for (_, tuple) in owned.into_iter().filter(|(_, it)| it.ownership.holder() == Holder::Committing(at)) {
                    if commits {
                        tuple.newest.store(at.0, Release);
                    }
                    let _ = tuple.ownership.release();
                }
                commits
            }
        });
        let tried: Vec<_> = tuples.iter().map(|tuple| tuple.ownership.try_own_undated().is_ok()).collect();
        let mut written = None;
        if tried == [true, true] {
            let mine = draw();
            tuples.iter().for_each(|tuple| tuple.ownership.date(mine));
            for tuple in &*tuples {
                assert!(tuple.newest.swap(mine.0, AcqRel) < mine.0, "M4: versions are installed in order");
                let _ = tuple.ownership.release();
            }
            written = Some(mine);
        } else {
            tuples.iter().zip(tried).filter(|(_, owned)| *owned).for_each(|(it, _)| _ = it.ownership.release());
        }
        let committed = committer.join().unwrap();
        let newest = written.map_or(if committed { at.0 } else { 1 }, |mine| mine.0);
        assert!(tuples.iter().all(|tuple| tuple.newest.load(Acquire) == newest), "all of one, and in order");
    });
}

/// A committing transaction that meets an undated owner waits for its timestamp, and then for its commit, or aborts.
#[test]
fn of_an_undated_owner_and_a_writer_the_younger_is_the_newest() {
    loom::model(|| {
        let tuple = Arc::new(Tuple::new());
        let (_clock, draw) = clock();
        let owner = thread::spawn({
            let (tuple, draw) = (tuple.clone(), draw.clone());
            move || tuple.write_undated(draw)
        });
        let at = draw();
        let committed = tuple.write_awake(at);
        let written = owner.join().unwrap();
        let newest = written.map_or(0, |at| at.0).max(if committed { at.0 } else { 0 });
        assert_eq!(tuple.newest.load(Acquire), newest, "M4");
        assert!(committed || written.is_some(), "one of them commits");
    });
}

/// Two that own first, in opposite orders: they only try, so both end, and what both have written is in the order of their draws.
#[test]
fn two_undated_owners_come_to_an_end() {
    loom::model(|| {
        let tuples = Arc::new([Tuple::new(), Tuple::new()]);
        let (_clock, draw) = clock();
        let run = |first: usize| {
            let (tuples, draw) = (tuples.clone(), draw.clone());
            move || {
                let (one, two) = (&tuples[first], &tuples[1 - first]);
                if one.ownership.try_own_undated().is_err() {
                    return None;
                }
                if two.ownership.try_own_undated().is_err() {
                    let _ = one.ownership.release();
                    return None;
                }
                let at = draw();
                for tuple in [one, two] {
                    tuple.ownership.date(at);
                }
                for tuple in [one, two] {
                    assert!(tuple.newest.swap(at.0, AcqRel) < at.0, "M4: versions are installed in order");
                    let _ = tuple.ownership.release();
                }
                Some(at)
            }
        };
        let other = thread::spawn(run(1));
        let mine = run(0)();
        let newest = mine.max(other.join().unwrap()).map_or(1, |at| at.0);
        assert!(tuples.iter().all(|tuple| tuple.newest.load(Acquire) == newest), "all of one, and in order");
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
