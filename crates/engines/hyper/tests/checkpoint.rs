//! Checkpoints beside transactions, and crashes at every change of the disk around them.

mod common;

use common::ByColumn;
use conformance::Durable;
use conformance::registers::{all, delete, put, registers, state};
use env::{Operation, SimDisk, SimDiskOptions, Survival, WatchedDisk};
use model::twin::Twin;
use model::{Access, Begin, Finish, Interactive, Key, Mode, Result, RowBuf, Storage, TableId, Tables};
use seriatim_hyper::{Driver, Hyper, LogOptions, Options, Pace};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

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
    let report = engine.write_checkpoint(Pace::Half).expect("a healthy disk");
    assert_eq!((report.tables, report.rows), (1, 200));
    open.abort();
    let engine = ByColumn::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    let recovery = engine.recovery().expect("it was opened");
    assert_eq!((recovery.checkpoint_rows, recovery.records, recovery.rows), (200, 0, 200));
    let table = engine.table_named("registers").expect("it was there before");
    assert_eq!(state::<ByColumn>(&engine, table), (0..200).map(|n| (n, n)).collect::<Vec<_>>());
}

/// Rows that fill the buffer of a checkpoint several times.
const LARGE_ROWS: u64 = 800;

fn put_large(engine: &Hyper, table: TableId, value: u64) {
    let mut open = engine.begin(Begin::default()).expect("room for one");
    for key in 0..LARGE_ROWS {
        let row = RowBuf::from_bytes(&[value.to_be_bytes().as_slice(), &[7; 1000]].concat());
        open.put(table, &Key::from_u64(key), row.row()).expect("nobody in the way");
    }
    let committed = open.commit().expect("nobody in the way");
    engine.wait_durable(committed.log_position).expect("a healthy disk");
}

/// An engine with these rows in several blocks, which does something each time a checkpoint is about to write some.
fn engine_with_large(disk: &SimDisk, beside: impl Fn(&Hyper, TableId) + Send + Sync + 'static) -> Arc<Hyper> {
    let found: Arc<OnceLock<(Weak<Hyper>, TableId)>> = Arc::default();
    let own = Arc::clone(&found);
    let watched = WatchedDisk::new(disk.clone(), move |operation, path| {
        let Some((engine, table)) = own.get().filter(|_| operation == Operation::Write && path == "CHECKPOINT.tmp")
        else {
            return;
        };
        beside(&engine.upgrade().expect("it writes a checkpoint"), *table);
    });
    let log = LogOptions { segment_bytes: 4 << 20, driver: Driver::Caller, ..LogOptions::default() };
    let options = Options { log, block_rows: 64, ..Options::default() };
    let engine = Arc::new(Hyper::open(Arc::new(watched), options).expect("a healthy disk"));
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    put_large(&engine, table, 0);
    found.set((Arc::downgrade(&engine), table)).expect("set once");
    engine
}

/// All rows change each time the checkpoint has written some: none of the versions before is kept, and recovery finds the last ones.
#[test]
fn no_version_is_kept_for_a_checkpoint_that_is_being_written() {
    let disk = SimDisk::new(6, SimDiskOptions::default());
    let writes = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&writes);
    let engine = engine_with_large(&disk, move |engine, table| {
        put_large(engine, table, 1 + count.fetch_add(1, Relaxed));
        engine.collect();
        let stats = engine.stats();
        assert_eq!((stats.versioned, stats.garbage), (0, 0), "the checkpoint keeps versions alive");
    });
    assert_eq!(engine.write_checkpoint(Pace::Half).expect("a healthy disk").rows, LARGE_ROWS);
    let last = writes.load(Relaxed);
    assert!(last > 2, "it was written in {last} pieces");
    let engine = ByColumn::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    let table = engine.table_named("registers").expect("it was there before");
    let mut reader = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room for one");
    let mut row = RowBuf::new();
    for key in 0..LARGE_ROWS {
        let found = reader.read(table, &Key::from_u64(key), model::Columns::All, &mut row).expect("nobody in the way");
        assert!(found && row.bytes()[..8] == last.to_be_bytes(), "row {key} is as it was last written");
    }
}

/// Rows of large blocks, which are written in pieces.
#[test]
fn a_checkpoint_has_every_part_of_a_block() {
    const ROWS: u64 = 40_000;
    let disk = SimDisk::new(8, SimDiskOptions::default());
    let engine = ByColumn::reopen(&disk).expect("a healthy disk");
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let mut load = engine.begin(Begin::default()).expect("room for one");
    (0..ROWS).for_each(|key| put(&mut load, table, key, key).expect("alone"));
    load.commit().expect("alone");
    assert_eq!(engine.write_checkpoint(Pace::Half).expect("a healthy disk").rows, ROWS);
    let engine = ByColumn::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    let recovery = engine.recovery().expect("it was opened");
    assert_eq!((recovery.checkpoint_rows, recovery.records), (ROWS, 0));
    let table = engine.table_named("registers").expect("it was there before");
    assert_eq!(state::<ByColumn>(&engine, table), (0..ROWS).map(|n| (n, n)).collect::<Vec<_>>());
}

/// C4: whoever drops a table beside a checkpoint waits for nobody, and its rows go at once. The checkpoint, which lacks them, waits for
/// the drop.
#[test]
fn a_drop_beside_a_checkpoint_is_durable_before_the_checkpoint_counts() {
    let disk = SimDisk::new(7, SimDiskOptions::default());
    let drops = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&drops);
    let engine = engine_with_large(&disk, move |engine, _| {
        if count.fetch_add(1, Relaxed) == 0 {
            Tables::drop_table(engine, "registers").expect("it is listed");
        }
    });
    let report = engine.write_checkpoint(Pace::Half).expect("a healthy disk");
    assert!(report.rows > 0 && report.rows < LARGE_ROWS, "{} rows were written before the drop", report.rows);
    let engine = ByColumn::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    assert_eq!(engine.table_named("registers"), None, "the checkpoint has a part of it");
}
