//! Checkpoints beside transactions, and crashes at every change of the disk around them.

mod common;

use common::ByColumn;
use conformance::Durable;
use conformance::registers::{all, delete, put, registers, state};
use env::{SimDisk, SimDiskOptions, Survival};
use model::twin::Twin;
use model::{Access, Begin, Finish, Interactive, Mode, Result, Storage, TableId, Tables};
use seriatim_hyper::Hyper;

const STEPS: u64 = 18;

/// Step `n`: rows come, change and go, so that slots are used again.
fn step(access: &mut impl Access, table: TableId, n: u64) -> Result<()> {
    put(access, table, n % 7, n)?;
    put(access, table, 50 + n % 3, 10 * n)?;
    delete(access, table, (n + 3) % 7).map(drop)
}

/// The rows after 0, 1, 2, ... steps, by the naive twin.
fn expected_states() -> Vec<Vec<(u64, u64)>> {
    let mut twin = Twin::new();
    let table = twin.create_table(registers("registers", Storage::Ordered));
    let mut states = vec![Vec::new()];
    for n in 0..STEPS {
        step(&mut twin, table, n).expect("a twin takes everything");
        twin.commit();
        states.push(all(&mut twin, table).expect("an ordered table"));
    }
    states
}

/// Steps with a checkpoint behind every fourth, beside a transaction that never commits. Returns the acknowledged steps.
fn run(disk: &SimDisk) -> Option<u64> {
    let engine = ByColumn::reopen(disk).ok()?;
    let table = engine.create_table(registers("registers", Storage::Ordered)).ok()?;
    let mut open = engine.begin(Begin::default()).ok()?;
    put(&mut open, table, 99, 1).ok()?;
    for n in 0..STEPS {
        let run = |engine: &Hyper| -> Result<()> {
            let mut open = engine.begin(Begin::default())?;
            step(&mut open, table, n)?;
            engine.wait_durable(open.commit()?.log_position)
        };
        if run(&engine).is_err() {
            return Some(n);
        }
        if n % 4 == 3 {
            // A checkpoint that fails leaves the one before.
            let _ = engine.checkpoint();
        }
    }
    Some(STEPS)
}

#[test]
fn every_acknowledged_transaction_survives_a_crash_beside_checkpoints() {
    let whole = SimDisk::new(11, SimDiskOptions::default());
    assert_eq!(run(&whole), Some(STEPS));
    let states = expected_states();
    let mut recovered_rows = 0;
    for change in 0..whole.changes() {
        let disk = SimDisk::new(11, SimDiskOptions::default());
        disk.cut_power_at(change);
        let acknowledged = run(&disk);
        for survival in [Survival::SyncedOnly, Survival::Random, Survival::Everything] {
            let context = format!("power cut at change {change}, {survival:?}, {acknowledged:?} acknowledged");
            let engine = ByColumn::reopen(&disk.power_cut_with(survival)).unwrap_or_else(|e| panic!("{context}: {e}"));
            let Some(table) = engine.table_named("registers") else {
                assert_eq!(acknowledged, None, "{context}: the table is gone");
                continue;
            };
            recovered_rows += engine.recovery().expect("it was opened").checkpoint_rows;
            let found = state::<ByColumn>(&engine, table);
            let acknowledged = acknowledged.unwrap_or(0) as usize;
            assert!(states[acknowledged..].contains(&found), "{context}: no prefix of the history: {found:?}");
        }
    }
    assert!(recovered_rows > 0, "some recovery has begun with a checkpoint");
}

/// A checkpoint has what is committed, whatever is open; and the log that it makes unnecessary goes.
#[test]
fn a_checkpoint_has_what_is_committed() {
    let disk = SimDisk::new(5, SimDiskOptions::default());
    let engine = ByColumn::reopen(&disk).expect("a healthy disk");
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    for n in 0..200 {
        let mut open = engine.begin(Begin::default()).expect("room for one");
        put(&mut open, table, n, n).expect("nobody in the way");
        engine.wait_durable(open.commit().expect("nobody in the way").log_position).expect("a healthy disk");
    }
    let mut open = engine.begin(Begin { mode: Mode::OwnAtStatement, ..Begin::default() }).expect("room for one");
    put(&mut open, table, 7, 1_000_000).expect("nobody in the way");
    assert!(delete(&mut open, table, 8).expect("nobody in the way"));
    put(&mut open, table, 500, 1).expect("nobody in the way");
    let report = engine.write_checkpoint().expect("a healthy disk");
    assert_eq!((report.tables, report.rows), (1, 200));
    open.abort();
    let engine = ByColumn::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    let recovery = engine.recovery().expect("it was opened");
    assert_eq!((recovery.checkpoint_rows, recovery.records, recovery.rows), (200, 0, 200));
    let table = engine.table_named("registers").expect("it was there before");
    assert_eq!(state::<ByColumn>(&engine, table), (0..200).map(|n| (n, n)).collect::<Vec<_>>());
}
