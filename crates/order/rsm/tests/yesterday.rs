//! A directory that the version before this one has written: its replica goes on where it was.

use env::{Disk, Moment, SimDisk, SimDiskOptions};
use paxos::config::{Durability, Options};
use paxos::core::{Image, Record};
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

fn yesterday() -> SimDisk {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    disk.create_dir_all("").unwrap();
    for (name, bytes) in FILES {
        let file = disk.create_new(name).unwrap();
        file.write_at(0, bytes).unwrap();
        file.sync().unwrap();
    }
    disk.sync_dir("").unwrap();
    disk
}

#[test]
fn yesterdays_journal_is_recovered_with_its_sessions() {
    let disk = yesterday();
    assert_eq!(DirectoryOwner::read(&disk).unwrap().map(|owner| (owner.id, owner.admitted)), Some((1, true)));
    let options = Options { durability: Durability::Fsync, ..Options::new(3, 1) };
    let log = wal::LogOptions { segment_bytes: 4_096, buffer_bytes: 4_096, ..wal::LogOptions::default() };
    let (journal, records) = Journal::open(Arc::new(disk), &options, log, 7).unwrap();
    assert_eq!((records.len(), journal.directory().owner().life), (6, 2));
    assert!(matches!(records[3], Record::Snapshot(1, Image(_))));
    let mut replica: Replica = Replica::recover(options.clone(), Moment(0), 1, records).unwrap();
    let mut executor = Executor::new(&options, KeyValue::default());
    let mut effects = Vec::new();
    replica.handle(Moment(0), Input::Tick, &mut effects);
    for effect in effects {
        match effect {
            Effect::Install(at, image) => executor.install(at, &image).unwrap(),
            Effect::Deliver(at, value) => executor.deliver(at, &value, &mut Vec::new()).unwrap(),
            _ => {}
        }
    }
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
