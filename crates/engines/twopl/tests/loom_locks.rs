//! Every interleaving of the kernel: the word of a record lock, the lock table behind it, its sleepers, and the ranges
//! that a scan locks.
#![cfg(loom)]

use env::MonotonicClock;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;
use model::{Key, Timestamp};
use parts::wait::WaitTable;
use seriatim_twopl::Reason;
use seriatim_twopl::locks::{
    Granted, Kind, LockMode, LockTable, LockWord, Owner, OwnerNumber, Ranges, Refusal, Requested, Seen, WaitPolicy,
};
use std::ops::Bound::Unbounded;
use std::time::Duration;

/// A record whose row is one number, and what the engine keeps beside it.
struct Record {
    word: LockWord,
    row: AtomicU64,
    table: LockTable,
    ranges: Ranges,
    sleepers: std::sync::Arc<WaitTable>,
    waits: AtomicU64,
    clock: MonotonicClock,
}

/// A transaction of one record.
struct Transaction {
    owner: std::sync::Arc<Owner>,
    record: Arc<Record>,
}

impl Record {
    /// A free record, and the transactions of these ages.
    fn with<const N: usize>(ages: [u64; N]) -> [Transaction; N] {
        let table = LockTable::default();
        let word = LockWord::held(OwnerNumber(9), LockMode::Exclusive);
        assert!(word.release(OwnerNumber(9), false));
        let owners = ages.map(|age| {
            let owner = table.new_owner();
            owner.begin(Kind::Interactive, Timestamp(age));
            owner
        });
        let sleepers = std::sync::Arc::new(WaitTable::new(1));
        let (ranges, clock) = (Ranges::default(), MonotonicClock::new());
        let record = Record { word, row: AtomicU64::new(0), table, ranges, sleepers, waits: AtomicU64::new(0), clock };
        let record = Arc::new(record);
        owners.map(|owner| Transaction { owner, record: record.clone() })
    }
}

impl Transaction {
    fn policy(&self) -> WaitPolicy<'_> {
        let Record { sleepers, waits, clock, .. } = &*self.record;
        WaitPolicy { sleepers, clock, limit: Duration::MAX, waits, supervisor: None }
    }

    /// `locks.rs` `request`. `None`: the record is gone.
    fn lock(&self, mode: LockMode) -> Result<Option<Granted>, Refusal> {
        match self.record.word.request(self.owner.number, mode) {
            Requested::Granted(granted) => Ok(Some(granted)),
            Requested::Gone => Ok(None),
            Requested::Contended => {
                self.record.table.request(&self.record.word, (&self.owner, mode), &self.policy(), || ())
            }
        }
    }

    /// `commit.rs` `unlock`; returns whether the record is gone by that.
    fn unlock(&self, is_empty: bool) -> bool {
        let Record { word, table, sleepers, .. } = &*self.record;
        if word.release(self.owner.number, is_empty) {
            return is_empty;
        }
        table.release(word, &self.owner, is_empty, sleepers)
    }

    /// Adds one under an exclusive lock, in two steps that nobody may come between.
    fn add(&self) {
        let granted = self.lock(LockMode::Exclusive).expect("a patient transaction that holds nothing else");
        assert!(granted.is_some_and(|granted| granted.first && granted.newly_exclusive));
        assert!(self.record.table.is_exclusive_to(&self.record.word, &self.owner));
        let row = self.record.row.load(Relaxed);
        self.record.row.store(row + 1, Relaxed);
        self.unlock(false);
    }

    fn row(&self) -> u64 {
        self.record.row.load(Relaxed)
    }
}

/// Runs two transactions, and looks at the record when both have ended: the word is free again.
fn pair<R: 'static>(
    ages: [u64; 2],
    first: impl Fn(&Transaction) -> R + Clone + Sync + Send + 'static,
    second: impl Fn(&Transaction) -> R + Clone + Sync + Send + 'static,
    check: impl Fn(R, R, u64, Seen) + Sync + Send + 'static,
) {
    loom::model(move || {
        let [one, other] = Record::with(ages);
        let record = one.record.clone();
        let second = second.clone();
        let other = thread::spawn(move || second(&other));
        let one = first(&one);
        let other = other.join().expect("no panic");
        check(one, other, record.row.load(Relaxed), record.word.seen());
    });
}

/// No addition is lost, no wake-up either: a thread that sleeps for ever is a deadlock, which loom reports.
#[test]
fn additions_to_one_record_are_not_lost() {
    pair([1, 2], Transaction::add, Transaction::add, |(), (), row, word| assert_eq!((row, word), (2, Seen::Free)));
}

/// As above with three.
#[test]
fn three_writers_take_turns() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let [one, two, three] = Record::with([1, 2, 3]);
        let record = one.record.clone();
        let threads = [two, three].map(|it| thread::spawn(move || it.add()));
        one.add();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!((record.row.load(Relaxed), record.word.seen()), (3, Seen::Free));
    });
}

/// A reader sees the same row twice while it holds the lock, and the writer's if it comes later.
#[test]
fn a_reader_keeps_a_writer_away() {
    let read = |it: &Transaction| {
        it.lock(LockMode::Shared).expect("patient");
        let rows = (it.row(), it.row());
        assert_eq!(rows.0, rows.1, "I1: a row was changed under a shared lock");
        it.unlock(false);
    };
    pair([1, 2], read, Transaction::add, |(), (), row, word| assert_eq!((row, word), (1, Seen::Free)));
}

/// Two readers share a record, and neither waits.
#[test]
fn readers_do_not_wait_for_each_other() {
    let read = |it: &Transaction| {
        it.lock(LockMode::Shared).expect("nobody writes");
        assert!(it.record.table.is_held_by(&it.record.word, &it.owner));
        assert!(!it.record.table.is_exclusive_to_another(&it.record.word, &it.owner));
        it.unlock(false);
        it.record.waits.load(Relaxed)
    };
    pair([1, 2], read, read, |one, other, _, word| assert_eq!((one, other, word), (0, 0, Seen::Free)));
}

/// Two that have read and want to write: the younger gives way if both hold the lock, and nobody waits for ever.
#[test]
fn of_two_upgrades_the_younger_gives_way() {
    let upgrade = |it: &Transaction| {
        it.lock(LockMode::Shared).expect("nobody waits before it");
        let upgraded = it.lock(LockMode::Exclusive);
        let outcome = match upgraded {
            Ok(granted) => {
                assert_eq!(granted, Some(Granted { first: false, newly_exclusive: true }));
                let row = it.row();
                it.record.row.store(row + 1, Relaxed);
                None
            }
            Err(refusal) => Some(refusal.reason),
        };
        it.unlock(false);
        outcome
    };
    // The younger may have to wait for its shared lock already, behind the older one's upgrade.
    let younger = move |it: &Transaction| match it.lock(LockMode::Shared) {
        Ok(_) => upgrade(it),
        Err(refusal) => Some(refusal.reason),
    };
    pair([1, 2], upgrade, younger, |older, younger, row, word| {
        assert_eq!(older, None, "nothing is older than it");
        assert!(younger.is_none_or(|reason| reason == Reason::Wounded));
        assert_eq!((row, word), (1 + u64::from(younger.is_none()), Seen::Free));
    });
}

/// A record that is empty when its last holder leaves is gone once, and nobody holds it after that.
#[test]
fn a_record_goes_once() {
    let visit = |it: &Transaction| {
        let locked = it.lock(LockMode::Exclusive).expect("patient");
        let is_gone = locked.is_some() && it.unlock(true);
        assert!(is_gone || locked.is_none() || it.record.row.load(Relaxed) == 0);
        (locked.is_some(), is_gone)
    };
    pair([1, 2], visit, visit, |one, other, _, word| {
        assert_eq!(word, Seen::Gone);
        assert!(one.1 != other.1, "I3: a record goes once: {one:?}, {other:?}");
        assert!(one.0 || other.0);
    });
}

/// A scan that has locked its range and finds nobody writing sees one row until it ends; a writer that has locked its
/// record and finds no range changes the row.
#[test]
fn a_scan_and_a_writer_see_each_other() {
    let scan = |it: &Transaction| {
        it.record.ranges.lock(&it.owner, Unbounded, Unbounded);
        let Record { table, word, .. } = &*it.record;
        if !table.is_exclusive_to_another(word, &it.owner) {
            let rows = (it.row(), it.row());
            assert_eq!(rows.0, rows.1, "I4: a row was changed in a locked range");
        }
        it.record.ranges.release(&it.owner, &it.record.sleepers);
    };
    let write = |it: &Transaction| {
        it.lock(LockMode::Exclusive).expect("nobody else locks records");
        if it.record.ranges.is_any() {
            it.record.ranges.wait_out(&it.owner, &Key::new(), &it.policy()).expect("patient");
        }
        it.record.row.store(1, Relaxed);
        it.unlock(false);
    };
    pair([1, 2], scan, write, |(), (), row, word| assert_eq!((row, word), (1, Seen::Free)));
}
