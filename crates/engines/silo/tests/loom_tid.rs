//! Every interleaving of the kernel: words of two records, as the read path and commit use them.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*, fence};
use loom::thread;
use seriatim_silo::tid::{Tid, TidWord, Word};

/// A record whose row is two words, which must never be seen apart.
struct Record {
    word: TidWord,
    row: [AtomicU64; 2],
}

impl Record {
    fn new() -> Record {
        Record { word: TidWord::new(Word::new(Tid::ZERO, false)), row: [AtomicU64::new(0), AtomicU64::new(0)] }
    }

    /// `record.rs` `read`, one attempt.
    fn read(&self) -> Option<(Word, u64)> {
        let seen = self.word.load();
        if seen.is_locked() {
            return None;
        }
        let row = [0, 1].map(|at| self.row[at].load(Relaxed));
        self.word.is_still(seen).then(|| {
            assert_eq!(row[0], row[1], "S1: a stable read sees one row");
            (seen, row[0])
        })
    }

    /// `commit.rs` `install`.
    fn install(&self, value: u64, tid: Tid) {
        self.row.iter().for_each(|half| half.store(value, Relaxed));
        self.word.unlock_as(Word::new(tid, false));
    }
}

/// A transaction that reads one record and writes the other: locks, validates, installs. Whether it committed.
fn skewed(reads: &Record, writes: &Record) -> bool {
    let Some((seen, value)) = reads.read() else { return false };
    let before = writes.word.lock();
    fence(SeqCst); // `Slot::begin_commit`
    if reads.word.validate(seen, || false).is_err() {
        writes.word.unlock_as(before);
        return false;
    }
    let tid = seen.tid().max(before.tid()).next_in(1).expect("room");
    writes.install(value + 1, tid);
    true
}

/// Each reads what the other writes: not both may commit on the old values.
#[test]
fn crossed_transactions_are_not_both_blind() {
    loom::model(|| {
        let records = Arc::new([Record::new(), Record::new()]);
        let other = {
            let records = records.clone();
            thread::spawn(move || skewed(&records[0], &records[1]))
        };
        let one = skewed(&records[1], &records[0]);
        let other = other.join().unwrap();
        let values = [0, 1].map(|at| records[at].read().expect("nobody writes").1);
        let expected: &[[u64; 2]] = match (one, other) {
            (true, true) => &[[1, 2], [2, 1]],
            (true, false) => &[[1, 0]],
            (false, true) => &[[0, 1]],
            (false, false) => &[[0, 0]],
        };
        assert!(expected.contains(&values), "{values:?} of {one} and {other}");
    });
}

/// A reader of two records that validates both sees them at one moment of a writer of both.
#[test]
fn a_validated_reader_sees_one_moment() {
    loom::model(|| {
        let records = Arc::new([Record::new(), Record::new()]);
        let writer = {
            let records = records.clone();
            thread::spawn(move || {
                for record in records.iter() {
                    record.word.lock();
                }
                fence(SeqCst);
                let tid = Tid::ZERO.next_in(1).expect("room");
                records.iter().for_each(|record| record.install(1, tid));
            })
        };
        if let [Some(first), Some(second)] = [records[0].read(), records[1].read()] {
            fence(SeqCst);
            let holds = |at: usize, seen| records[at].word.validate(seen, || false).is_ok();
            if holds(0, first.0) && holds(1, second.0) {
                assert_eq!(first.1, second.1, "both before the writer, or both behind it");
            }
        }
        writer.join().unwrap();
    });
}

/// Two additions to one record: none is lost, and the second TID is greater.
#[test]
fn additions_to_one_record_are_not_lost() {
    loom::model(|| {
        let record = Arc::new(Record::new());
        let add = |record: &Record| {
            let Some((seen, value)) = record.read() else { return 0 };
            let before = record.word.lock();
            fence(SeqCst);
            if record.word.validate(seen, || true).is_err() {
                record.word.unlock_as(before);
                return 0;
            }
            record.install(value + 1, before.tid().next_in(1).expect("room"));
            1
        };
        let other = {
            let record = record.clone();
            thread::spawn(move || add(&record))
        };
        let committed = add(&record) + other.join().unwrap();
        let (word, value) = record.read().expect("nobody writes");
        assert_eq!(value, committed, "an addition was lost");
        assert!(committed == 0 || word.tid() > Tid::ZERO);
    });
}
