//! Journals on simulated disks: what was appended comes back, whatever the power does.

mod directory_owner;
mod files;
mod power;

use super::*;
use crate::core::generated::Decision;
use crate::core::{Image, Value};
use env::disk::Fault;
use env::{SimDisk, SimDiskOptions, Survival};
use proptest::prelude::*;
use std::io::ErrorKind;
use std::sync::mpsc;
use wal::{Driver, LogError};

/// The name of a directory.
const BIRTH: u64 = 7;

/// Limits so small that segments switch all the time and long records are cut, and no thread.
fn small() -> LogOptions {
    LogOptions { segment_bytes: 1024, buffer_bytes: 1024, driver: Driver::Caller, ..LogOptions::default() }
}

fn disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions::default())
}

fn options() -> Options {
    Options { durability: crate::config::Durability::Fsync, ..Options::new(3, 1) }
}

fn open(disk: &SimDisk) -> Result<(Journal, Vec<Record>), JournalError> {
    Journal::open(Arc::new(disk.clone()), &options(), small(), BIRTH)
}

/// Record `number` of a life, recognizable as a whole: every kind, and some longer than a segment.
fn record(number: u64) -> Record {
    let bytes = |length: usize| (0..length).map(|index| (number as usize * 31 + index) as u8).collect::<Vec<_>>();
    let value = |length| Value::from(bytes(length));
    match number % 8 {
        0 => Record::Ballot(number),
        1 => Record::Decided(number, number + 1),
        2 => Record::Truncate(number),
        3 => Record::Learned(vec![
            Decision { instance: number, value: value(3) },
            Decision { instance: number + 1, value: value(0) },
        ]),
        4 if number % 16 == 4 => Record::Snapshot(number, Image::from(bytes(2_000))),
        4 => Record::Install(number, Image::from(bytes(5))),
        _ => Record::Vote(number, number * 2, value((number as usize * 37) % 150)),
    }
}

fn records(numbers: impl IntoIterator<Item = u64>) -> Vec<Record> {
    numbers.into_iter().map(record).collect()
}

fn append(journal: &mut Journal, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        journal.append(&record(number)).expect("the disk takes it");
    }
}

#[test]
fn what_was_appended_comes_back() {
    let disk = disk(1);
    let (mut journal, found) = open(&disk).unwrap();
    assert_eq!(found, []);
    append(&mut journal, 1..=40);
    assert_eq!(journal.sync().unwrap(), 40);
    drop(journal);
    let (mut journal, found) = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
    assert_eq!(found, records(1..=40));
    assert_eq!(journal.append(&record(41)).unwrap(), 1, "numbers begin anew in each life");
    journal.close().unwrap();
}

#[test]
fn a_callback_tells_up_to_where_it_is_durable() {
    let (mut journal, _) = open(&disk(1)).unwrap();
    append(&mut journal, 1..=5);
    let (sender, receiver) = mpsc::channel();
    journal.on_durable(move |number| sender.send(number).unwrap());
    assert_eq!(receiver.recv().unwrap().unwrap(), 5);
}

#[test]
fn a_compaction_replaces_exactly_the_first_records_and_those_of_earlier_lives() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, 1..=50);
    journal.close().unwrap();
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, 51..=70);
    let segments = journal.stats().segments;
    journal.compact(15, records(1000..1003)).unwrap();
    assert!(journal.stats().segments < segments);
    assert_eq!(journal.compactions().done, 1);
    append(&mut journal, 71..=75);
    journal.sync().unwrap();
    drop(journal);
    let disk = disk.power_cut_with(Survival::SyncedOnly);
    let (mut journal, found) = open(&disk).unwrap();
    assert_eq!(found, [records(1000..1003), records(66..=75)].concat());
    append(&mut journal, [76]);
    journal.compact(0, records([2000])).unwrap();
    journal.close().unwrap();
    let (_, found) = open(&disk).unwrap();
    assert_eq!(found, records([2000, 76]));
}

#[test]
fn a_compaction_may_hold_more_than_a_row() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, [1]);
    let long = Record::Install(9, Image::from(vec![7; 70 << 20]));
    journal.compact(1, vec![long.clone(), record(2)]).unwrap();
    drop(journal);
    assert_eq!(open(&disk).unwrap().1, [long, record(2)]);
}

#[test]
fn a_failed_compaction_changes_nothing() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, 1..=9);
    // Not the renaming, which the simulated disk does before it reports a failure: another sync of the names would make it last.
    disk.inject(Fault { operation: env::Operation::Create, after: 0, kind: ErrorKind::StorageFull });
    let error = journal.compact(9, records([100])).unwrap_err();
    assert!(!error.is_fatal(), "{error}");
    let counts = journal.compactions();
    assert_eq!((counts.done, counts.failed, counts.error.is_some()), (0, 1, true));
    append(&mut journal, [10]);
    journal.sync().unwrap();
    drop(journal);
    assert_eq!(open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap().1, records(1..=10));
}

#[test]
fn nothing_is_appended_after_a_failure() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, 1..=3);
    journal.sync().unwrap();
    disk.set_capacity(disk.used());
    // Longer than what is reserved: its first pieces are in the log, the last is not.
    let long = Record::Install(9, Image::from(vec![7; 10_000]));
    assert!(matches!(journal.append(&long), Err(JournalError::Log(LogError::Full(_)))));
    disk.set_capacity(u64::MAX);
    assert!(matches!(journal.append(&record(4)), Err(JournalError::Log(LogError::Full(_)))));
    journal.sync().unwrap();
    drop(journal);
    let (mut journal, found) = open(&disk).unwrap();
    assert_eq!(found, records(1..=3), "the pieces are dropped");
    append(&mut journal, [4, 12]);
    journal.close().unwrap();
    assert_eq!(open(&disk).unwrap().1, records([1, 2, 3, 4, 12]));
}

#[test]
fn a_failed_sync_is_told_and_stays() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, [1]);
    disk.inject(Fault { operation: env::Operation::Sync, after: 0, kind: ErrorKind::Other });
    assert!(journal.sync().unwrap_err().is_fatal());
    let (sender, receiver) = mpsc::channel();
    journal.on_durable(move |number| sender.send(number.is_err()).unwrap());
    assert!(receiver.recv().unwrap());
    assert!(journal.append(&record(2)).unwrap_err().is_fatal());
}

#[test]
fn damage_below_what_was_durable_is_refused() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    append(&mut journal, 1..=60);
    journal.close().unwrap();
    // In the middle of the long record's first piece.
    disk.flip_bit("wal-0000000002.log", 500, 3);
    assert!(matches!(open(&disk).map(drop), Err(JournalError::Log(LogError::Corrupt(_)))));
}

#[test]
fn a_journal_is_opened_once_at_a_time() {
    let disk = disk(1);
    let journal = open(&disk).unwrap();
    assert!(matches!(open(&disk).map(drop), Err(JournalError::InUse { .. })));
    drop(journal);
    open(&disk).unwrap();
}

/// With the log's threads: compactions beside appends, many times, and every record is where it belongs.
#[test]
fn compactions_run_beside_appends() {
    let disk = disk(1);
    let threads = LogOptions { driver: Driver::Threads, ..small() };
    let open = |disk: &SimDisk| Journal::open(Arc::new(disk.clone()), &options(), threads.clone(), BIRTH).unwrap();
    let (mut journal, _) = open(&disk);
    for round in 0..50u64 {
        append(&mut journal, round * 20 + 1..=round * 20 + 20);
        let up_to = journal.appended() - 5;
        journal.compact(up_to, vec![Record::Truncate(up_to)]).unwrap();
        journal.sync().unwrap();
    }
    journal.close().unwrap();
    let (journal, found) = open(&disk.power_cut_with(Survival::SyncedOnly));
    let Some(Record::Truncate(up_to)) = found.first() else { panic!("a compaction was written: {:?}", found.first()) };
    assert_eq!(found[1..], records(up_to + 1..=1000));
    journal.close().unwrap();
}

fn any_record() -> impl Strategy<Value = Record> {
    let value = || proptest::collection::vec(any::<u8>(), 0..300);
    let decision = (any::<u64>(), value()).prop_map(|(instance, bytes)| Decision { instance, value: bytes.into() });
    let image = || proptest::collection::vec(any::<u8>(), 0..3000).prop_map(Image::from);
    prop_oneof![
        any::<u64>().prop_map(Record::Ballot),
        (any::<u64>(), any::<u64>(), value()).prop_map(|(ballot, at, bytes)| Record::Vote(ballot, at, bytes.into())),
        (any::<u64>(), any::<u64>()).prop_map(|(ballot, at)| Record::Decided(ballot, at)),
        proptest::collection::vec(decision, 0..5).prop_map(Record::Learned),
        (any::<u64>(), image()).prop_map(|(at, image)| Record::Snapshot(at, image)),
        (any::<u64>(), image()).prop_map(|(at, image)| Record::Install(at, image)),
        any::<u64>().prop_map(Record::Truncate),
    ]
}

proptest! {
    #[test]
    fn recovered_is_what_was_appended(lives in proptest::collection::vec(proptest::collection::vec(any_record(), 0..12), 1..5)) {
        let disk = disk(1);
        let mut all = Vec::new();
        for records in lives {
            let (mut journal, found) = open(&disk).unwrap();
            prop_assert_eq!(&found, &all);
            for record in records {
                journal.append(&record).unwrap();
                all.push(record);
            }
            journal.close().unwrap();
        }
        prop_assert_eq!(open(&disk).unwrap().1, all);
    }

    #[test]
    fn records_come_back_from_their_bytes(record in any_record()) {
        let mut bytes = Vec::new();
        record::encode(&record, &mut bytes).unwrap();
        match record::decode(&bytes) {
            Ok(record::Decoded::Whole(found)) => prop_assert_eq!(found, record),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn any_bytes_are_decoded_without_a_panic(tag in 0u8..11, mut bytes: Vec<u8>) {
        bytes.insert(0, tag);
        let _ = record::decode(&bytes);
        let mut assembly = Assembly::default();
        let _ = assembly.add(&bytes);
    }
}
