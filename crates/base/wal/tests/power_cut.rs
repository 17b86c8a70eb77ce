//! Power cuts at every change of the disk: recovery finds all acknowledged records, and exactly a prefix of the appends.

mod common;

use common::{Acknowledged, Content, WAYS, new_disk, new_disk_that, open};
use env::{Disk, DurableWrites, SimDisk, Survival};
use seriatim_wal::{Durability, LogError, verify};

/// A life of a log: single commits, groups, ceilings, checkpoints, a clean restart and an unclean one.
fn live(disk: &SimDisk, acknowledged: &mut Acknowledged) -> Result<(), LogError> {
    let (log, content) = open(disk)?;
    acknowledged.check(&content);
    for round in 1..=4 {
        acknowledged.append(&log, Durability::Fsync)?;
        acknowledged.flush(&log)?;
        for _ in 0..5 {
            acknowledged.append(&log, Durability::None)?;
        }
        acknowledged.raise(&log, round * 1_000)?;
        acknowledged.append(&log, Durability::Async)?;
        if round == 2 {
            acknowledged.append_large(&log, Durability::Async)?;
        }
        acknowledged.flush(&log)?;
    }
    acknowledged.append(&log, Durability::None)?;
    log.close()?;
    acknowledged.durable = acknowledged.appended;

    let (log, content) = open(disk)?;
    assert!(content.report.clean);
    assert_eq!(acknowledged.check(&content), acknowledged.appended);
    acknowledged.append_large(&log, Durability::Fsync)?;
    acknowledged.checkpoint(&log)?;
    for _ in 0..12 {
        acknowledged.append(&log, Durability::Fsync)?;
    }
    acknowledged.flush(&log)?;
    drop(log);

    let (log, content) = open(disk)?;
    assert!(!content.report.clean);
    acknowledged.appended = acknowledged.check(&content);
    for _ in 0..10 {
        acknowledged.append(&log, Durability::Fsync)?;
        acknowledged.flush(&log)?;
    }
    acknowledged.checkpoint(&log)?;
    acknowledged.append(&log, Durability::Fsync)?;
    acknowledged.flush(&log)
}

/// A life that is cut at one change; what was acknowledged until then.
fn live_until(disk: &SimDisk, change: u64) -> Acknowledged {
    disk.cut_power_at(change);
    let mut acknowledged = Acknowledged::default();
    match live(disk, &mut acknowledged) {
        Ok(()) => panic!("change {change} was never made"),
        Err(LogError::Stopped(_) | LogError::Disk(_)) => acknowledged,
        Err(error) => panic!("the power cut at change {change} looks like {error}"),
    }
}

fn changes_of_a_life(way: DurableWrites) -> u64 {
    let disk = new_disk_that(0, way);
    let mut acknowledged = Acknowledged::default();
    live(&disk, &mut acknowledged).unwrap();
    acknowledged.check(&open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap().1);
    assert!(acknowledged.appended > 50, "a life worth cutting");
    disk.changes()
}

/// Opens what is left and lives on a little; then only what was synced is kept, and that must still hold everything.
fn recovers(disk: &SimDisk, acknowledged: &Acknowledged, context: &str) -> Content {
    let found = verify(disk);
    let (log, content) = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    match found {
        Ok(report) => {
            assert!(report.is_sound(), "{context}: {report:?}");
            assert_eq!(report.cut, content.report.cut, "{context}");
            assert_eq!((report.records(), report.clean), (content.report.records, content.report.clean), "{context}");
        }
        Err(error) => assert!(content.report.created, "{context}: {error}"),
    }
    let mut later = acknowledged.clone();
    later.appended = acknowledged.check(&content);
    later.durable = later.appended;
    // Recovered records must not be lost later, whether or not an append has synced them.
    let synced = disk.power_cut_with(Survival::SyncedOnly);
    later.check(&open(&synced).unwrap_or_else(|error| panic!("{context}, again: {error}")).1);
    later.append(&log, Durability::Fsync).unwrap();
    later.flush(&log).unwrap();
    let synced = disk.power_cut_with(Survival::SyncedOnly);
    assert_eq!(later.check(&open(&synced).unwrap().1), later.appended, "{context}");
    content
}

#[test]
fn at_every_change_whatever_the_disk_keeps() {
    at_every_change(DurableWrites::Sync, 4);
}

/// The same where a write and its sync are one operation, which makes nothing else durable.
#[test]
fn at_every_change_whatever_the_disk_keeps_of_writes_in_one_call() {
    at_every_change(DurableWrites::OneCall, 2);
}

/// The same where appends write whole blocks: those that a cut tears hold records which were acknowledged before.
#[test]
fn at_every_change_whatever_the_disk_keeps_of_blocks() {
    at_every_change(DurableWrites::Direct, 2);
}

fn at_every_change(way: DurableWrites, seeds: u64) {
    let changes = changes_of_a_life(way);
    let mut cuts = 0;
    for change in 0..changes {
        for seed in 0..seeds {
            let disk = new_disk_that(seed, way);
            let acknowledged = live_until(&disk, change);
            for survival in [Survival::Random, Survival::SyncedOnly, Survival::Everything] {
                let context = format!("{way:?}, seed {seed}, change {change} of {changes}, {survival:?}");
                let content = recovers(&disk.power_cut_with(survival), &acknowledged, &context);
                cuts += u32::from(content.report.cut.is_some());
            }
        }
    }
    assert!(cuts > 10, "only {cuts} recoveries found a torn group");
}

/// The last write of a close is torn at every place of a sector: the record of the stop may survive without the one before it.
#[test]
fn a_close_that_is_torn_anywhere_is_a_crash() {
    for length in 0..512 {
        let disk = new_disk(length);
        let (log, _) = open(&disk).unwrap();
        log.append(1, &vec![7; length as usize], Durability::Fsync).unwrap();
        log.flush().unwrap();
        disk.cut_power_at(disk.changes());
        log.close().unwrap_err();
        for attempt in 0..8 {
            let content = open(&disk.power_cut()).unwrap_or_else(|error| panic!("{length}, {attempt}: {error}")).1;
            assert_eq!(content.records.len(), 1, "{length}, {attempt}");
        }
    }
}

/// Recovery itself is cut at each of its changes, too.
#[test]
fn at_every_change_of_the_recovery() {
    WAYS.into_iter().for_each(at_every_change_of_the_recovery_that);
}

fn at_every_change_of_the_recovery_that(way: DurableWrites) {
    let changes = changes_of_a_life(way);
    let mut interrupted = 0;
    for change in 0..changes {
        let disk = new_disk_that(change, way);
        let acknowledged = live_until(&disk, change);
        let left = disk.power_cut();
        for second in 0.. {
            let again = left.copy();
            again.cut_power_at(second);
            match open(&again) {
                Ok(_) => break,
                Err(LogError::Disk(_) | LogError::Stopped(_)) => interrupted += 1,
                Err(error) => panic!("change {change}, then {second}: {error}"),
            }
            recovers(&again.power_cut(), &acknowledged, &format!("change {change}, then {second}"));
        }
    }
    assert!(interrupted > changes, "recoveries make changes that can be cut");
}

#[test]
fn a_ceiling_is_the_old_one_or_the_new_one() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    log.raise_ceiling(10).unwrap();
    let before = disk.changes();
    log.raise_ceiling(20).unwrap();
    let after = disk.changes();
    drop(log);
    assert!(after > before);
    for seed in 0..16 {
        for change in before..=after {
            let disk = new_disk(seed);
            let (log, _) = open(&disk).unwrap();
            log.raise_ceiling(10).unwrap();
            disk.cut_power_at(change);
            let raised = log.raise_ceiling(20);
            assert_eq!(raised.is_ok(), change == after);
            let (log, content) = open(&disk.power_cut()).unwrap();
            let ceiling = content.report.ceiling;
            assert!(ceiling == 20 || (ceiling == 10 && raised.is_err()), "{ceiling}");
            assert_eq!(log.ceiling(), ceiling);
        }
    }
}

#[test]
fn a_smaller_ceiling_changes_nothing() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    log.raise_ceiling(10).unwrap();
    let changes = disk.changes();
    log.raise_ceiling(10).unwrap();
    log.raise_ceiling(3).unwrap();
    assert_eq!((log.ceiling(), disk.changes()), (10, changes));
}

#[test]
fn an_interrupted_creation_is_begun_again_and_a_lost_control_file_is_not() {
    let disk = new_disk(1);
    drop(open(&disk).unwrap());
    let blank = disk.copy();
    Disk::remove(&blank, "CONTROL").unwrap();
    assert!(open(&blank).unwrap().1.report.created);

    let (log, _) = open(&disk).unwrap();
    common::commit(&log, 1, b"x").unwrap();
    drop(log);
    Disk::remove(&disk, "CONTROL").unwrap();
    match open(&disk) {
        Err(LogError::Corrupt(damage)) => assert_eq!(damage.file, "CONTROL"),
        other => panic!("{:?}", other.err()),
    }
}
