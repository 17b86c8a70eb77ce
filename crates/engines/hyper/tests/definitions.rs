//! Definitions and the log: what is durable when.

mod common;

use common::ByColumn;
use conformance::Durable;
use conformance::registers::{put, registers};
use env::{Operation, SimDisk, SimDiskOptions, Survival};
use model::{Begin, Finish, Interactive, Storage, Tables};
use seriatim_hyper::Hyper;

fn names(engine: &Hyper) -> Vec<String> {
    engine.tables().into_iter().map(|(_, schema)| schema.name().to_owned()).collect()
}

fn syncs(disk: &SimDisk) -> u64 {
    disk.counts().get(&Operation::Sync).copied().unwrap_or_default()
}

/// Sessions define tables inside transactions, whose commit waits for the disk and can be interrupted: the definition itself does not.
#[test]
fn a_definition_of_a_session_does_not_wait_for_the_disk() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let engine = ByColumn::reopen(&disk).expect("a new database");
    let found = |disk: &SimDisk| {
        let after = disk.power_cut_with(Survival::SyncedOnly);
        names(&ByColumn::reopen(&after).expect("a database"))
    };
    engine.create_table(registers("durable", Storage::Ordered)).expect("a new table");
    assert_eq!(found(&disk), ["durable"], "a program is told when it is durable");
    let before = syncs(&disk);
    let table = engine.create_table_unlisted(registers("logged", Storage::Ordered)).expect("a new table");
    Tables::drop_table(&*engine, "durable").expect("it is there");
    assert_eq!((syncs(&disk), names(&engine)), (before, vec!["logged".to_owned()]));
    assert_eq!(found(&disk), ["durable"]);
    let mut open = engine.begin(Begin::default()).expect("room for one more");
    put(&mut open, table, 1, 1).expect("nobody in the way");
    let committed = open.commit().expect("nobody in the way");
    engine.wait_durable(committed.log_position).expect("the disk is well");
    assert_eq!(found(&disk), ["logged"], "whoever commits later waits for what was logged before");
    Hyper::drop_table(&engine, "logged").expect("it is there");
    assert!(found(&disk).is_empty(), "a program is told when it is durable");
}
