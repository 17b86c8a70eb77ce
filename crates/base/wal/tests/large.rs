//! Records in parts: whole or not at all, beside others, and never more disk than there is.

mod common;

use common::{Acknowledged, commit, new_disk, open, open_with, payload, shared, small};
use env::{Disk, SimDisk, SimDiskOptions, Survival};
use seriatim_wal::{Driver, Durability, FORMAT_VERSION, Log, LogError, LogOptions, LogPosition, verify};

/// Appends `bytes` in parts of at most 50 bytes.
fn append_large(log: &Log, stamp: u64, bytes: &[u8]) -> Result<LogPosition, LogError> {
    let mut parts: Vec<&[u8]> = bytes.chunks(50).collect();
    let last = parts.pop().unwrap();
    let mut record = log.begin_large(stamp, bytes.len() as u64, 50)?;
    for part in parts {
        record.append(part)?;
    }
    record.finish(last, Durability::Fsync)
}

#[test]
fn parts_are_handed_out_where_they_stand_and_say_to_which_record_they_belong() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let mut first = log.begin_large(1, 30, 10).unwrap();
    first.append(b"1 begins").unwrap();
    let mut second = log.begin_large(2, 30, 10).unwrap();
    second.append(b"2 begins").unwrap();
    let small = log.append(3, b"3", Durability::None).unwrap();
    first.append(b"1 goes on").unwrap();
    let second = second.finish(b"2 ends", Durability::None).unwrap();
    let first = first.finish(b"1 ends", Durability::None).unwrap();
    assert!(small < second && second < first, "a record stands where its last part ends");
    let alone = log.begin_large(4, 1, 1).unwrap().finish(b"4", Durability::None).unwrap();
    log.close().unwrap();

    let (_log, mut recovered) = Log::open(shared(&disk), common::small()).unwrap();
    let mut found = Vec::new();
    while let Some(record) = recovered.records.next_record().unwrap() {
        found.push((record.stamp, record.position, record.payload.to_vec(), record.is_end));
    }
    let expected: [(u64, LogPosition, &[u8], bool); 7] = [
        (1, first, b"1 begins", false),
        (2, second, b"2 begins", false),
        (3, small, b"3", true),
        (1, first, b"1 goes on", false),
        (2, second, b"2 ends", true),
        (1, first, b"1 ends", true),
        (4, alone, b"4", true),
    ];
    assert_eq!(found, expected.map(|(stamp, position, payload, is_end)| (stamp, position, payload.to_vec(), is_end)));
    assert_eq!(recovered.report.records, 4);
}

#[test]
fn what_was_not_finished_is_passed_over_and_reported() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let mut record = log.begin_large(1, 100, 50).unwrap();
    record.append(&[7; 50]).unwrap();
    commit(&log, 2, b"between").unwrap();
    record.append(&[7; 50]).unwrap();
    drop(record);
    append_large(&log, 3, &payload(3, 120)).unwrap();
    log.close().unwrap();
    let report = verify(&disk.copy()).unwrap();
    assert!(report.is_sound());
    assert_eq!((report.unfinished, report.records()), (1, 2));
    assert_eq!(report.segments.iter().map(|segment| segment.parts).sum::<u64>(), 5);
    let (_log, content) = open(&disk).unwrap();
    assert_eq!(content.records, [(2, b"between".to_vec()), (3, payload(3, 120))]);
}

/// A large record over many segments and many times the buffer, with others committing between its parts, on both drivers.
#[test]
fn others_commit_between_the_parts() {
    for driver in [Driver::Caller, Driver::Threads] {
        let disk = new_disk(1);
        let (log, _) = open_with(&disk, LogOptions { driver, ..small() }).unwrap();
        let bytes = payload(99, 20_000);
        let mut parts: Vec<&[u8]> = bytes.chunks(300).collect();
        let last = parts.pop().unwrap();
        let mut record = log.begin_large(99, 20_000, 300).unwrap();
        for (number, part) in parts.iter().enumerate() {
            record.append(part).unwrap();
            commit(&log, number as u64, b"small").unwrap();
        }
        let position = record.finish(last, Durability::Fsync).unwrap();
        log.wait_durable(position).unwrap();
        drop(log);
        let (_log, content) = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
        assert_eq!(content.records.len(), parts.len() + 1);
        assert_eq!(content.records.last().unwrap(), &(99, bytes));
    }
}

/// For every amount of free space: a large record that does not fit is refused before its first part, its space is free again,
/// and smaller records are still appended.
#[test]
fn a_disk_that_cannot_hold_the_record_refuses_it_and_has_its_space_back() {
    let (mut refused, mut taken) = (0, 0);
    for capacity in (12 * 1024..64 * 1024).step_by(1024) {
        let disk = SimDisk::new(capacity, SimDiskOptions { capacity, ..Default::default() });
        let (log, _) = open(&disk).unwrap();
        let before = (log.appended(), disk.paths().len());
        match append_large(&log, 1, &payload(1, 9_000)) {
            Ok(_) => taken += 1,
            Err(error) => {
                assert!(error.is_full(), "{error}");
                assert!(
                    (log.appended(), disk.paths().len()) <= (before.0, before.1 + 1),
                    "no part, at most one segment"
                );
                refused += 1;
                commit(&log, 2, &payload(2, 500)).unwrap();
                commit(&log, 3, &payload(3, 500)).unwrap();
            }
        }
        log.flush().unwrap();
        drop(log);
        let (_log, content) = open(&disk).unwrap();
        assert!(matches!(content.records.len(), 1 | 2));
    }
    assert!(refused > 10 && taken > 10, "{refused} refused, {taken} taken");
}

#[test]
fn a_checkpoint_may_remove_the_first_parts_of_a_record_and_leave_the_last() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    append_large(&log, 1, &payload(1, 3_000)).unwrap();
    // A later record in the middle of its segments holds the rest back.
    commit(&log, 2, b"later").unwrap();
    log.begin_checkpoint().unwrap().finish(2, LogPosition::ZERO).unwrap();
    let segments = verify_segments(&disk, &log);
    drop(log);
    assert!(segments.iter().all(|segment| !segment.ends_with("0000000001.log")), "{segments:?}");
    let (_log, content) = open(&disk).unwrap();
    assert_eq!(content.records.last().unwrap(), &(2, b"later".to_vec()));
}

fn verify_segments(disk: &SimDisk, log: &Log) -> Vec<String> {
    log.flush().unwrap();
    disk.paths().into_iter().filter(|path| path.ends_with(".log")).collect()
}

/// The names of segments that were prepared, and given back, need not become durable in any order.
#[test]
fn of_segments_that_were_never_begun_any_may_be_missing() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    commit(&log, 1, b"kept").unwrap();
    let record = log.begin_large(2, 5_000, 50).unwrap();
    let prepared: Vec<String> = verify_segments(&disk, &log).split_off(1);
    assert!(prepared.len() > 5, "{prepared:?}");
    let left = disk.copy();
    drop(record);
    drop(log);
    for present in 0u32..1 << prepared.len().min(6) {
        let disk = left.copy();
        for (index, path) in prepared.iter().enumerate() {
            if present >> index & 1 == 0 {
                Disk::remove(&disk, path).unwrap();
            }
        }
        assert!(verify(&disk.copy()).unwrap().is_sound(), "{present:b}");
        let (log, content) = open(&disk).unwrap();
        assert_eq!(content.records, [(1, b"kept".to_vec())]);
        append_large(&log, 3, &payload(3, 4_000)).unwrap();
        log.close().unwrap();
        assert_eq!(open(&disk).unwrap().1.records.len(), 2);
    }
}

/// A directory of an older format is claimed before anything else is written to it: older software refuses it by name.
#[test]
fn an_older_directory_is_claimed_when_it_is_opened() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    commit(&log, 1, b"old").unwrap();
    log.close().unwrap();
    for path in disk.paths().into_iter().filter(|path| path != "LOCK") {
        let slots: &[usize] = if path == "CONTROL" { &[0, 4096] } else { &[0] };
        disk.edit(&path, |bytes| slots.iter().for_each(|slot| make_older(&mut bytes[*slot..*slot + 64])));
    }
    assert!(verify(&disk.copy()).unwrap().is_sound());
    let (_log, content) = open(&disk).unwrap();
    assert_eq!(content.records, [(1, b"old".to_vec())]);
    let control = disk.contents("CONTROL").unwrap();
    assert_eq!([control[8], control[4096 + 8]], [FORMAT_VERSION as u8; 2]);
}

fn make_older(block: &mut [u8]) {
    block[8] = 1;
    let checksum = crc32c::crc32c(&block[..60]);
    block[60..64].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn a_part_that_no_segment_takes_is_refused_before_anything_is_reserved() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let paths = disk.paths();
    let limit = log.max_payload();
    match log.begin_large(1, 5_000, limit + 1) {
        Err(LogError::TooLarge { bytes, limit: named }) => assert_eq!((bytes, named), (limit + 1, limit)),
        other => panic!("{other:?}"),
    }
    assert_eq!(disk.paths(), paths);
    let mut acknowledged = Acknowledged::default();
    acknowledged.append_large(&log, Durability::Fsync).unwrap();
    acknowledged.flush(&log).unwrap();
}

/// An opening begins with a small segment, and takes records of any size that the options allow.
#[test]
fn a_first_segment_is_small_and_no_limit() {
    let options = LogOptions { segment_bytes: 8 << 20, buffer_bytes: 8 << 20, ..small() };
    let disk = new_disk(1);
    let (log, _) = open_with(&disk, options.clone()).unwrap();
    assert_eq!(disk.contents("wal-0000000001.log").unwrap().len(), 4 << 20);
    let records = [(1, payload(1, 100)), (2, payload(2, 5 << 20)), (3, payload(3, 6 << 20))];
    for (stamp, bytes) in &records {
        log.append(*stamp, bytes, Durability::None).unwrap();
    }
    log.flush().unwrap();
    drop(log);
    let (log, content) = open_with(&disk.power_cut(), options).unwrap();
    assert_eq!(content.records, records);
    log.append(4, &payload(4, 6 << 20), Durability::None).unwrap();
}
