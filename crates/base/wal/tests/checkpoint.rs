//! Checkpoints replace each other atomically, and segments are removed when they are no longer needed.

mod common;

use common::{Acknowledged, commit, new_disk, open, payload};
use env::disk::Fault;
use env::{Operation, Survival};
use seriatim_wal::{Durability, LogError, LogPosition, verify};
use std::io::ErrorKind;

#[test]
fn a_checkpoint_stands_for_the_records_before_its_bound() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let mut acknowledged = Acknowledged::default();
    for _ in 0..50 {
        acknowledged.append(&log, Durability::None).unwrap();
    }
    let before = log.stats().segments;
    acknowledged.checkpoint(&log).unwrap();
    let stats = log.stats();
    assert_eq!((stats.checkpoints, stats.checkpoint), (1, log.appended()));
    assert!(before > 3 && stats.segments == 1 && stats.segments_removed == before - 1, "{stats:?}");
    for _ in 0..3 {
        acknowledged.append(&log, Durability::None).unwrap();
    }
    log.close().unwrap();
    let report = verify(&disk).unwrap();
    assert_eq!(report.checkpoint.unwrap().bound, 50);
    assert!(report.is_sound() && report.segments.len() <= 2, "{report:?}");
    let (log, content) = open(&disk).unwrap();
    assert_eq!(acknowledged.check(&content), 53);
    assert_eq!(log.stats().checkpoint, report.checkpoint.unwrap().start);
}

#[test]
fn segments_with_a_stamp_of_the_bound_or_later_stay_and_so_do_all_after_them() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    // One record fills a segment. Transactions end in another order than they began: stamp 9 comes early.
    for stamp in [1, 2, 9, 3, 4] {
        commit(&log, stamp, &payload(stamp, 700)).unwrap();
    }
    let mut writer = log.begin_checkpoint().unwrap();
    writer.write(b"all below nine").unwrap();
    writer.finish(9, LogPosition::ZERO).unwrap();
    assert_eq!(log.stats().segments_removed, 2);
    drop(log);
    let (log, content) = open(&disk).unwrap();
    assert_eq!(content.checkpoint.unwrap(), (9, vec![b"all below nine".to_vec()]));
    assert_eq!(content.records.iter().map(|record| record.0).collect::<Vec<_>>(), [9, 3, 4]);
    // The stamps of segments are known after a restart, too.
    commit(&log, 12, &payload(12, 700)).unwrap();
    log.begin_checkpoint().unwrap().finish(10, LogPosition::ZERO).unwrap();
    drop(log);
    let (_log, content) = open(&disk).unwrap();
    assert_eq!(content.checkpoint.unwrap(), (10, vec![]));
    assert_eq!(content.records.iter().map(|record| record.0).collect::<Vec<_>>(), [12]);
}

#[test]
fn a_checkpoint_waits_until_the_log_is_durable_up_to_its_beginning() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let position = log.append(1, b"x", Durability::None).unwrap();
    let mut writer = log.begin_checkpoint().unwrap();
    writer.write(b"row").unwrap();
    assert!(log.durable() < position);
    writer.finish(2, LogPosition::ZERO).unwrap();
    assert!(log.durable() >= position);
}

#[test]
fn appends_go_on_while_a_checkpoint_is_written() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let mut acknowledged = Acknowledged::default();
    for _ in 0..10 {
        acknowledged.append(&log, Durability::None).unwrap();
    }
    let mut writer = log.begin_checkpoint().unwrap();
    for number in 0..10 {
        writer.write(&payload(number, common::length(number))).unwrap();
        acknowledged.append(&log, Durability::None).unwrap();
        acknowledged.append(&log, Durability::None).unwrap();
    }
    writer.finish(10, LogPosition::ZERO).unwrap();
    acknowledged.flush(&log).unwrap();
    drop(log);
    let cut = disk.power_cut_with(Survival::SyncedOnly);
    assert_eq!(acknowledged.check(&open(&cut).unwrap().1), 30);
}

/// Every change of a checkpoint is cut; the last one of them that counts is the rename.
#[test]
fn an_interrupted_checkpoint_leaves_the_old_one_or_the_new_one() {
    let run = |seed, cut: Option<u64>| {
        let disk = new_disk(seed);
        let (log, _) = open(&disk).unwrap();
        let mut acknowledged = Acknowledged::default();
        for _ in 0..20 {
            acknowledged.append(&log, Durability::None).unwrap();
        }
        acknowledged.checkpoint(&log).unwrap();
        for _ in 0..20 {
            acknowledged.append(&log, Durability::None).unwrap();
        }
        acknowledged.flush(&log).unwrap();
        let first = disk.changes();
        if let Some(cut) = cut {
            disk.cut_power_at(first + cut);
        }
        let result = acknowledged.checkpoint(&log);
        (disk, acknowledged, result, first)
    };
    let (disk, _, result, first) = run(1, None);
    result.unwrap();
    let changes = disk.changes() - first;
    let (mut old, mut new) = (0, 0);
    for cut in 0..changes {
        for seed in 0..8 {
            let (disk, acknowledged, result, _) = run(seed, Some(cut));
            let (_log, content) = open(&disk.power_cut()).unwrap();
            assert_eq!(acknowledged.check(&content), 40);
            match content.checkpoint.unwrap().0 {
                20 => old += 1,
                40 => new += 1,
                bound => panic!("{bound}"),
            }
            assert!(result.is_err());
        }
    }
    assert!(old > 8 && new > 8, "{old} old ones, {new} new ones in {changes} changes");
}

#[test]
fn a_dropped_checkpoint_leaves_no_trace() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let before = disk.paths();
    let mut writer = log.begin_checkpoint().unwrap();
    writer.write(&[7; 1 << 20]).unwrap();
    assert!(matches!(log.begin_checkpoint(), Err(LogError::CheckpointRunning)));
    drop(writer);
    assert_eq!(disk.paths(), before);
    log.begin_checkpoint().unwrap().finish(1, LogPosition::ZERO).unwrap();
}

#[test]
fn a_checkpoint_that_the_disk_refuses_harms_nothing() {
    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename, Operation::Remove] {
        let disk = new_disk(1);
        let (log, _) = open(&disk).unwrap();
        let mut acknowledged = Acknowledged::default();
        for _ in 0..20 {
            acknowledged.append(&log, Durability::None).unwrap();
        }
        acknowledged.flush(&log).unwrap();
        // The first removal is that of an unfinished file, which is not there.
        let after = u64::from(operation == Operation::Remove);
        disk.inject(Fault { operation, after, kind: ErrorKind::StorageFull });
        let error = acknowledged.checkpoint(&log).unwrap_err();
        assert!(!error.outcome_unknown(), "{operation}: {error}");
        assert!(log.failed().is_none());
        assert!(disk.paths().iter().all(|path| !path.ends_with(".tmp")), "{:?}", disk.paths());
        acknowledged.append(&log, Durability::Fsync).unwrap();
        acknowledged.checkpoint(&log).unwrap();
        assert_eq!(log.stats().segments, 1, "{operation}");
        drop(log);
        assert_eq!(acknowledged.check(&open(&disk.power_cut()).unwrap().1), 21);
    }
}

#[test]
fn a_failed_directory_sync_after_a_checkpoint_stops_the_log() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let mut acknowledged = Acknowledged::default();
    for _ in 0..20 {
        acknowledged.append(&log, Durability::None).unwrap();
    }
    acknowledged.flush(&log).unwrap();
    disk.inject(Fault { operation: Operation::SyncDirectory, after: 0, kind: ErrorKind::Other });
    assert!(acknowledged.checkpoint(&log).unwrap_err().outcome_unknown());
    assert!(log.failed().is_some());
    drop(log);
    assert_eq!(acknowledged.check(&open(&disk.power_cut()).unwrap().1), 20);
}

#[test]
fn a_checkpoint_outlives_the_log_as_an_error() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    log.append(1, b"x", Durability::None).unwrap();
    let writer = log.begin_checkpoint().unwrap();
    drop(log);
    assert!(matches!(open(&disk).map(drop), Err(LogError::Locked { .. })), "its file is still there");
    assert!(matches!(writer.finish(2, LogPosition::ZERO), Err(LogError::Closed)));
    assert!(open(&disk).unwrap().1.checkpoint.is_none());
}

/// Rows larger than what is written, read and synced at a time.
#[test]
fn large_and_empty_rows_come_back() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let rows: Vec<Vec<u8>> =
        [0, 1, 300_000, 0, 700_000, 3].into_iter().map(|length| vec![length as u8; length]).collect();
    let mut writer = log.begin_checkpoint().unwrap();
    rows.iter().for_each(|row| writer.write(row).unwrap());
    writer.finish(5, LogPosition::ZERO).unwrap();
    drop(log);
    assert_eq!(open(&disk.power_cut()).unwrap().1.checkpoint.unwrap(), (5, rows));
}

#[test]
fn an_empty_log_can_be_checkpointed() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    log.begin_checkpoint().unwrap().finish(0, LogPosition::ZERO).unwrap();
    assert_eq!(log.durable(), LogPosition::ZERO);
    drop(log);
    assert_eq!(open(&disk).unwrap().1.checkpoint.unwrap(), (0, vec![]));
}
