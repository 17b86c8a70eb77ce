//! Directories that earlier versions have written: their replicas go on where they were.

use env::{Disk, Moment, SimDisk, SimDiskOptions};
use paxos::config::{Durability, Options};
use paxos::core::Record;
use paxos::journal::{DirectoryOwner, Journal};
use paxos::replica::{Effect, Input, Replica};
use paxos::request::{Chunk, Request};
use seriatim_rsm::executor::Executor;
use seriatim_rsm::kv::{Command, KeyValue};
use seriatim_rsm::message::Outcome;
use std::sync::Arc;

/// Directory of a replica 1 of 3 that had voted twice, with a snapshot in between and a session from before sessions had
/// owners.
const FILES: [(&str, &[u8]); 3] = [
    ("REPLICA", include_bytes!("yesterday/REPLICA")),
    ("CONTROL", include_bytes!("yesterday/CONTROL")),
    ("wal-0000000001.log", include_bytes!("yesterday/wal-0000000001.log")),
];

/// Directory of a replica 1 of 3 of the next version, in which snapshots were in records of the journal only: it had opened a session
/// and executed two requests of it, with a snapshot before the second.
const WHOLE_SNAPSHOTS: [(&str, &[u8]); 3] = [
    ("REPLICA", include_bytes!("yesterday/whole_snapshots/REPLICA")),
    ("CONTROL", include_bytes!("yesterday/whole_snapshots/CONTROL")),
    ("wal-0000000001.log", include_bytes!("yesterday/whole_snapshots/wal-0000000001.log")),
];

fn directory(files: [(&str, &[u8]); 3]) -> SimDisk {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    disk.create_dir_all("").unwrap();
    for (name, bytes) in files {
        let file = disk.create_new(name).unwrap();
        file.write_at(0, bytes).unwrap();
        file.sync().unwrap();
    }
    disk.sync_dir("").unwrap();
    disk
}

#[test]
fn yesterdays_journal_is_recovered_with_its_sessions() {
    let disk = directory(FILES);
    assert_eq!(DirectoryOwner::read(&disk).unwrap().map(|owner| (owner.id, owner.admitted)), Some((1, true)));
    let options = Options { durability: Durability::Fsync, ..Options::new(3, 1) };
    let log = wal::LogOptions { segment_bytes: 4_096, buffer_bytes: 4_096, ..wal::LogOptions::default() };
    let (journal, records) = Journal::open(Arc::new(disk), &options, log, 7).unwrap();
    assert_eq!((records.len(), journal.directory().owner().life), (6, 2));
    assert!(matches!(records[3], Record::Snapshot(1, _)));
    let mut executor = recovered(&options, records);
    assert_eq!(executor.executed().next, 2, "the snapshot, and what was decided after it");
    // What it had executed it does not execute again, and nobody takes the old session over.
    let mut chunk = Chunk::new();
    let body = Command::Put { key: b"size", value: b"large" }.to_bytes();
    for nonce in [None, Some(1)] {
        chunk.push(Request { origin: 1, session: 1, sequence: 2, nonce, body: &body }).unwrap();
    }
    let mut replies = Vec::new();
    executor.deliver(2, &chunk.into_value(), &mut replies).unwrap();
    let outcomes: Vec<_> = replies
        .into_iter()
        .map(|reply| match reply {
            seriatim_rsm::executor::Reply::Done { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(matches!(outcomes[..], [Outcome::Executed(1, _), Outcome::ForeignSession]), "{outcomes:?}");
}

/// An executor that has done what a replica with these records makes it do.
fn recovered(options: &Options, records: Vec<Record>) -> Executor<KeyValue> {
    let mut replica: Replica = Replica::recover(options.clone(), Moment(0), 1, records).unwrap();
    let mut executor = Executor::new(options, KeyValue::default());
    let mut effects = Vec::new();
    replica.handle(Moment(0), Input::Tick, &mut effects);
    for effect in effects {
        match effect {
            Effect::Recover(at, image) => executor.install(at, &image).unwrap(),
            Effect::Deliver(at, value) => executor.deliver(at, &value, &mut Vec::new()).unwrap(),
            _ => {}
        }
    }
    executor
}

/// It is opened, written to with a snapshot in a file, and opened again.
#[test]
fn the_next_versions_journal_goes_on_with_snapshots_in_files() {
    let disk = directory(WHOLE_SNAPSHOTS);
    let options = Options { durability: Durability::Fsync, ..Options::new(3, 1) };
    let log = wal::LogOptions { segment_bytes: 4_096, buffer_bytes: 4_096, ..wal::LogOptions::default() };
    let open = || Journal::open(Arc::new(disk.clone()), &options, log.clone(), 7).unwrap();
    let (mut journal, records) = open();
    assert_eq!((records.len(), journal.directory().owner().life), (8, 2));
    assert!(matches!(&records[5], Record::Snapshot(2, image) if !image.is_empty()));
    let executor = recovered(&options, records);
    assert_eq!((executor.executed().next, executor.executed().sessions), (3, 1));
    let (at, image) = executor.snapshot(journal.images().clone().with_short_bytes(0).writer()).unwrap();
    journal.append(&Record::Snapshot(at, image)).unwrap();
    journal.close().unwrap();
    assert!(disk.list("").unwrap().iter().any(|name| name.starts_with("SNAPSHOT-")));
    let (journal, records) = open();
    let again = recovered(&options, records);
    assert_eq!(again.service(), executor.service());
    assert_eq!((again.executed().next, again.executed().sessions, journal.directory().owner().life), (3, 1, 3));
}
