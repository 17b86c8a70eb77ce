//! Snapshots in files: the one that a recovery needs is there, whenever the power goes, and no other stays for long.

use super::*;
use crate::image::ImageStore;
use std::io::Write;

fn store(journal: &Journal) -> ImageStore {
    journal.images().clone().with_short_bytes(0)
}

/// The state before instance `at`: longer than a segment of the log.
fn state(at: u64) -> Vec<u8> {
    (0..5_000).map(|place| (place + at) as u8).collect()
}

fn image(journal: &Journal, at: u64) -> Result<Image, JournalError> {
    let mut writer = store(journal).writer();
    writer.write_all(&state(at)).map_err(JournalError::snapshot)?;
    writer.finish().map_err(JournalError::snapshot)
}

fn files(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list("").unwrap();
    names.retain(|name| name.starts_with("SNAPSHOT-"));
    names
}

fn sync(journal: &mut Journal) -> Result<(), JournalError> {
    let number = journal.sync()?;
    journal.settle(number);
    Ok(())
}

/// The instance of the last snapshot, whose image must be there.
fn last(records: &[Record]) -> u64 {
    let last = records.iter().rev().find_map(|record| match record {
        Record::Snapshot(at, image) | Record::Install(at, image) => Some((*at, image)),
        _ => None,
    });
    let Some((at, image)) = last else { return 0 };
    assert_eq!(image.to_vec().unwrap(), state(at), "the state before {at}");
    at
}

#[test]
fn a_file_goes_when_a_newer_one_is_durable_in_the_journal() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    let mut durable = 0;
    for at in [1, 2] {
        let image = image(&journal, at).unwrap();
        journal.append(&Record::Snapshot(at, image)).unwrap();
        journal.settle(durable);
        durable = journal.sync().unwrap();
    }
    assert_eq!(files(&disk).len(), 2, "nobody has said that the second is durable");
    sync(&mut journal).unwrap();
    assert_eq!(files(&disk).len(), 1);
    drop(image(&journal, 3).unwrap());
    assert_eq!(files(&disk).len(), 1, "one that is in no record");
    journal.close().unwrap();
    let (_, found) = open(&disk).unwrap();
    assert_eq!(last(&found), 2);
    assert!(matches!(&found[0], Record::Snapshot(1, image) if image.is_empty()), "the replaced one has no bytes left");
    assert_eq!(files(&disk).len(), 1);
}

#[test]
fn an_image_in_a_record_replaces_one_in_a_file_too() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    let first = image(&journal, 1).unwrap();
    journal.append(&Record::Snapshot(1, first)).unwrap();
    journal.append(&Record::Install(2, Image::from(state(2)))).unwrap();
    sync(&mut journal).unwrap();
    assert_eq!(files(&disk), [] as [String; 0]);
    drop(journal);
    assert_eq!(last(&open(&disk).unwrap().1), 2);
}

#[test]
fn a_snapshot_that_is_lost_is_named() {
    let disk = disk(1);
    let (mut journal, _) = open(&disk).unwrap();
    let only = image(&journal, 1).unwrap();
    journal.append(&Record::Snapshot(1, only)).unwrap();
    journal.close().unwrap();
    let [name] = &files(&disk)[..] else { panic!("one file") };
    disk.open(name).unwrap().truncate(10).unwrap();
    let refused = open(&disk).map(drop).unwrap_err();
    assert!(matches!(&refused, JournalError::SnapshotLost { file } if file == name), "{refused}");
    assert_eq!(files(&disk).len(), 1, "it is left as it was found");
    disk.remove(name).unwrap();
    assert!(matches!(open(&disk), Err(JournalError::SnapshotLost { .. })));
}

/// A few snapshots and installations, and journals that are written anew; says of which the record is durable.
fn live(disk: &SimDisk, durable: &mut u64) -> Result<(), JournalError> {
    for life in 0..3 {
        let (mut journal, found) = open(disk)?;
        let (mut at, mut synced) = (last(&found), 0);
        assert!(at >= *durable);
        for round in 0..3 {
            at += 1;
            let image = image(&journal, at)?;
            let record = if round == 1 { Record::Install(at, image) } else { Record::Snapshot(at, image) };
            journal.append(&record)?;
            let up_to = journal.appended();
            journal.append(&Record::Decided(1, at))?;
            // What is reported is older than what was appended since.
            journal.settle(synced);
            if (life + round) % 2 == 0 {
                synced = journal.sync()?;
                *durable = at;
            }
            if round == 2 {
                journal.compact(up_to, vec![record])?;
                *durable = at;
            }
        }
        journal.close()?;
        *durable = at;
        // What was not settled yet, and the one that is needed.
        let count = disk.list("")?.iter().filter(|name| name.starts_with("SNAPSHOT-")).count();
        assert!(count <= 4, "{count} files");
    }
    Ok(())
}

#[test]
fn the_file_that_is_needed_is_there_whenever_the_power_goes() {
    let whole = disk(0);
    live(&whole, &mut 0).unwrap();
    let changes = whole.changes();
    assert!(changes > 60, "a life worth cutting");
    for change in 0..changes {
        for seed in 0..4 {
            let disk = disk(seed);
            disk.cut_power_at(change);
            let mut durable = 0;
            // It fails, unless the cut is in a removal, on which nothing waits.
            let _ = live(&disk, &mut durable);
            for survival in [Survival::Random, Survival::SyncedOnly, Survival::Everything] {
                let context = format!("seed {seed}, change {change} of {changes}, {survival:?}");
                let disk = disk.power_cut_with(survival);
                let (journal, found) = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert!(last(&found) >= durable, "{context}: {found:?}");
                drop(journal);
                // What was found is found again, after another cut that keeps nothing more.
                let (mut journal, again) = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
                assert_eq!(last(&again), last(&found), "{context}");
                sync(&mut journal).unwrap();
            }
        }
    }
}
