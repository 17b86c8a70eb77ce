//! What was acknowledged is found again: after a clean stop, after the power goes at every single change of the disk, under
//! concurrent load, with checkpoints in between; and a full or failing disk is named, loses nothing, and lets no unknown
//! outcome pass for a known one.

use env::disk::Fault as DiskFault;
use env::{Clock, Disk, Operation, SimClock, SimDisk, SimDiskOptions, Survival};
use model::twin::Twin;
use model::{
    Access, Begin, Column, Columns, Committed, Delta, Durability, Error, Fault, Finish, Interactive, Key, LogPosition,
    Mode, Result, RowBuf, RowRef, Scan, Schema, TableId, ValueRef,
};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wal::Driver;

type Db = Mvto<SimClock>;

/// Small segments, so that a short history fills many, and small parts, so that most of its transactions are large records; the
/// log's work is done by who waits, so that runs are repeatable. Recovery takes several threads.
fn options() -> Options {
    let log = wal::LogOptions {
        segment_bytes: 2048,
        part_bytes: 64,
        buffer_bytes: 1024,
        driver: Driver::Caller,
        recovery_threads: 3,
        ..Default::default()
    };
    Options { log, sites: 4, ..Options::default() }
}

fn open(disk: &SimDisk) -> Result<Db> {
    Mvto::open_with(Arc::new(disk.clone()), options(), SimClock::new(1_000, 7))
}

fn accounts() -> Schema {
    let schema = Schema::table("accounts").column("id", model::ColumnType::Int);
    let schema = schema.column("owner", model::ColumnType::Text).nullable("note", model::ColumnType::Bytes);
    schema.key(["id"]).build().unwrap()
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn row(id: i64, owner: &str, note: u8) -> RowBuf {
    RowBuf::from_values(&[id.into(), owner.into(), ValueRef::Bytes(&[note; 40])])
}

fn contents(db: &Db, table: TableId) -> BTreeMap<Key, Vec<u8>> {
    let mut transaction = db.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).unwrap();
    let mut rows = BTreeMap::new();
    let mut note = |item: model::Item<'_>| {
        rows.insert(Key::from_bytes(item.key), item.row.bytes().to_vec());
        ControlFlow::Continue(())
    };
    transaction.scan(&Scan::table(table), &mut note).unwrap();
    rows
}

/// Step `n` of a history that inserts, updates and deletes.
fn step(transaction: &mut impl Access, table: TableId, n: i64) -> Result<()> {
    let id = n % 7;
    match n % 5 {
        0 | 1 => transaction.put(table, &key(id), row(id, ["ann", "bob"][n as usize % 2], n as u8).row())?,
        2 => {
            transaction.update(table, &key(id), &Delta::new().set(1, "cyd"))?;
            transaction.put(table, &key(id + 1), row(id + 1, "dan", n as u8).row())?;
        }
        3 => {
            transaction.delete(table, &key(id))?;
            transaction.delete(table, &key((id + 3) % 7))?;
        }
        _ => {
            transaction.put(table, &key(id), row(id, "eve", n as u8).row())?;
            transaction.delete(table, &key(id))?;
            transaction.put(table, &key(100 + n), row(100 + n, "eve", n as u8).row())?;
        }
    }
    Ok(())
}

/// The states after 0, 1, 2, ... steps, by the naive twin.
fn expected_states(steps: i64) -> Vec<BTreeMap<Key, Vec<u8>>> {
    let mut twin = Twin::new();
    let table = twin.create_table(accounts());
    let state = |twin: &Twin| twin.rows(table).map(|(key, row)| (key.clone(), row.to_vec())).collect();
    let mut states = vec![state(&twin)];
    for n in 0..steps {
        step(&mut twin, table, n).unwrap();
        twin.commit();
        states.push(state(&twin));
    }
    states
}

/// Runs the history until the disk fails, with a checkpoint now and then. Returns the number of acknowledged steps.
fn run_history(disk: &SimDisk, steps: i64) -> i64 {
    let Ok(db) = open(disk) else { return -1 };
    let Ok(table) = db.create_table(accounts()) else { return -1 };
    for n in 0..steps {
        let mut transaction = db.begin(Begin::default()).unwrap();
        let acknowledged = step(&mut transaction, table, n)
            .and_then(|()| transaction.commit())
            .and_then(|committed| db.wait_durable(committed.log_position));
        if acknowledged.is_err() {
            return n;
        }
        if n % 8 == 7 && db.checkpoint().is_err() {
            return n + 1;
        }
    }
    let _ = db.close();
    steps
}

const STEPS: i64 = 30;

#[test]
fn a_clean_stop_is_found_clean_and_complete() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    assert_eq!(run_history(&disk, STEPS), STEPS);
    let db = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
    let report = db.recovery().unwrap();
    assert!(report.clean && !report.created && report.cut.is_none(), "{report:?}");
    assert_eq!(contents(&db, db.table("accounts").unwrap().0), expected_states(STEPS).pop().unwrap());
}

/// The power goes at every change of the disk, three ways: nothing unsynced survives, some of it, all of it.
#[test]
fn every_acknowledged_transaction_survives_a_power_cut_at_every_change() {
    let total = {
        let disk = SimDisk::new(7, SimDiskOptions::default());
        run_history(&disk, STEPS);
        disk.changes()
    };
    assert!(total > 100, "the history changes the disk often enough to be worth cutting: {total}");
    let states = expected_states(STEPS);
    for change in 0..total {
        let disk = SimDisk::new(7, SimDiskOptions::default());
        disk.cut_power_at(change);
        let acknowledged = run_history(&disk, STEPS);
        for survival in [Survival::SyncedOnly, Survival::Random, Survival::Everything] {
            let context = format!("power cut at change {change}, {survival:?}, {acknowledged} acknowledged");
            let after = disk.power_cut_with(survival);
            let db = open(&after).unwrap_or_else(|error| panic!("{context}: {error}"));
            let Some((table, _)) = db.table("accounts") else {
                assert!(acknowledged < 0, "{context}: the table is gone");
                continue;
            };
            let found = contents(&db, table);
            let prefix = states.iter().skip(acknowledged.max(0) as usize).any(|state| *state == found);
            assert!(prefix, "{context}: what is found is not a prefix that has all acknowledged steps: {found:?}");
            // And the database goes on, twice.
            let mut transaction = db.begin(Begin::default()).unwrap();
            transaction.put(table, &key(-1), row(-1, "zoe", 1).row()).unwrap();
            let committed = transaction.commit().unwrap();
            db.wait_durable(committed.log_position).unwrap();
            drop(db);
            let db = open(&after.power_cut_with(Survival::SyncedOnly)).unwrap();
            assert!(contents(&db, table).contains_key(&key(-1)[..]), "{context}: lost after the second cut");
        }
    }
}

/// Serial points increase across restarts, whatever the clock shows after one (design, rule 1).
#[test]
fn serial_points_increase_across_restarts() {
    let disk = SimDisk::new(3, SimDiskOptions::default());
    let mut last = 0;
    for clock_start in [1_000_000, 5, 900_000_000, 1] {
        let clock = SimClock::new(clock_start, 3);
        let db = Mvto::open_with(Arc::new(disk.clone()), options(), clock).unwrap();
        for mode in [Mode::ReadOnly, Mode::ReadWrite] {
            let committed = db.begin(Begin { mode, ..Begin::default() }).unwrap().commit().unwrap();
            assert!(committed.claimed().0 > last, "{committed:?} after {last}");
            last = committed.claimed().0;
        }
        // A crash: no close.
    }
}

/// Bytes of a commit that waits: M9. A reader's acknowledgement waits for the versions that it read.
#[test]
fn an_acknowledgement_waits_for_every_version_that_was_read() {
    let disk = SimDisk::new(4, SimDiskOptions::default());
    let db = open(&disk).unwrap();
    let table = db.create_table(accounts()).unwrap();
    let commit = |durability, write: bool| -> Committed {
        let begin = Begin { durability: Some(durability), ..Begin::default() };
        let mut transaction = db.begin(begin).unwrap();
        let mut buffer = RowBuf::new();
        transaction.read(table, &key(1), Columns::All, &mut buffer).unwrap();
        if write {
            transaction.put(table, &key(1), row(1, "ann", 1).row()).unwrap();
        }
        transaction.commit().unwrap()
    };
    let before = commit(Durability::Fsync, false);
    assert_eq!(before.log_position, LogPosition::ZERO, "it read nothing that could be lost");
    let writer = commit(Durability::None, true);
    assert_eq!(writer.log_position, LogPosition::ZERO, "nobody waits for it");
    let reader = commit(Durability::Fsync, false);
    assert!(reader.log_position > LogPosition::ZERO, "it read a version that is not durable yet");
    assert_eq!(commit(Durability::Async, false).log_position, LogPosition::ZERO);
    db.wait_durable(reader.log_position).unwrap();
    let found = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
    assert_eq!(contents(&found, table).len(), 1, "what was read and acknowledged is durable");
}

/// A full disk is a clean abort: nothing changed, and once there is space the same transaction commits (design, rule 4).
#[test]
fn a_full_disk_aborts_cleanly_and_lets_go_on() {
    let disk = SimDisk::new(5, SimDiskOptions::default());
    let db = open(&disk).unwrap();
    let table = db.create_table(accounts()).unwrap();
    disk.set_capacity(disk.used());
    let write = |n: i64| -> Result<()> {
        let mut transaction = db.begin(Begin::default())?;
        transaction.put(table, &key(n), row(n, "ann", 1).row())?;
        db.wait_durable(transaction.commit()?.log_position)
    };
    let mut acknowledged = 0;
    let full = loop {
        match write(acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 10_000, "the disk never filled up");
    };
    assert!(matches!(full, Error::Fault(Fault::DiskFull { .. })), "{full:?}");
    assert_eq!(full.sqlstate(), "53100");
    assert_eq!(contents(&db, table).len() as i64, acknowledged, "nothing of the refused one is visible");
    disk.set_capacity(u64::MAX);
    write(acknowledged).expect("there is space again");
    let found = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
    assert_eq!(contents(&found, table).len() as i64, acknowledged + 1);
}

/// After a failing sync nobody knows what is durable: everything stops, no outcome is claimed, a restart finds out (rule 4).
#[test]
fn a_failing_sync_stops_everything_and_claims_nothing() {
    let disk = SimDisk::new(6, SimDiskOptions::default());
    let db = open(&disk).unwrap();
    let table = db.create_table(accounts()).unwrap();
    let mut writer = db.begin(Begin::default()).unwrap();
    writer.put(table, &key(1), row(1, "ann", 1).row()).unwrap();
    let committed = writer.commit().unwrap();
    let mut reader = db.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).unwrap();
    assert!(reader.read(table, &key(1), Columns::All, &mut RowBuf::new()).unwrap());

    disk.inject(DiskFault { operation: Operation::Sync, after: 0, kind: std::io::ErrorKind::Other });
    let unknown = db.wait_durable(committed.log_position).unwrap_err();
    assert_eq!(unknown.sqlstate(), "08007", "{unknown}");
    let read = reader.commit().unwrap_err();
    assert_eq!(read.sqlstate(), "08007", "it read a version that may be lost: {read}");
    let mut late = db.begin(Begin::default()).unwrap();
    let refused = late.put(table, &key(2), row(2, "bob", 1).row()).unwrap_err();
    assert!(matches!(refused, Error::Fault(Fault::LogFailed { .. })), "{refused:?}");
    drop(late);
    drop(db);
    let found = open(&disk.power_cut()).unwrap();
    assert!(contents(&found, found.table("accounts").unwrap().0).len() <= 1);
}

/// A second opener is told who has it.
#[test]
fn a_second_opener_is_refused() {
    let disk = SimDisk::new(8, SimDiskOptions::default());
    let _db = open(&disk).unwrap();
    let refused = open(&disk).unwrap_err();
    assert!(matches!(refused, Error::Fault(Fault::Locked { .. })), "{refused:?}");
}

/// A flipped bit below a position that was once known to be durable is refused, with segment and offset.
#[test]
fn damage_below_what_was_durable_is_refused() {
    let disk = SimDisk::new(9, SimDiskOptions::default());
    run_history(&disk, 6);
    let segment = disk.paths().into_iter().find(|path| path.ends_with("1.log")).expect("the first segment");
    let length = disk.contents(&segment).unwrap().iter().rposition(|&byte| byte != 0).unwrap() as u64;
    let mut refused = 0;
    for offset in (0..length).step_by(37) {
        let damaged = disk.copy();
        damaged.flip_bit(&segment, offset, 3);
        match open(&damaged) {
            Err(error @ Error::Fault(Fault::Corruption { .. })) => {
                refused += 1;
                assert!(error.to_string().contains(&*segment), "{error}");
            }
            Err(error) => panic!("offset {offset}: {error}"),
            // A bit that says nothing (padding), since a clean stop vouches for every record.
            Ok(db) => assert_eq!(contents(&db, db.table("accounts").unwrap().0), expected_states(6).pop().unwrap()),
        }
    }
    assert!(refused > 10, "{refused}");
}

/// Dropped tables stay dropped, their numbers are not given again, and what was deleted stays deleted though the segment of
/// the deletion is gone before that of the row.
#[test]
fn deletions_and_dropped_tables_stay_so() {
    let disk = SimDisk::new(10, SimDiskOptions::default());
    let db = open(&disk).unwrap();
    let dropped = db.create_table(Schema::bytes("dropped").build().unwrap()).unwrap();
    let kept = db.create_table(accounts()).unwrap();
    let run = |body: &mut dyn FnMut(&mut dyn Access) -> Result<()>| {
        db.run(Begin::default(), RetryPolicy::default(), |transaction| body(transaction)).unwrap();
    };
    run(&mut |t| t.put(dropped, b"k", RowRef::new(b"v")));
    run(&mut |t| t.put(kept, &key(1), row(1, "ann", 1).row()));
    let mut old = db.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).unwrap();
    assert!(old.read(kept, &key(1), Columns::All, &mut RowBuf::new()).unwrap());
    run(&mut |t| t.delete(kept, &key(1)).map(drop));
    for n in 2..60 {
        run(&mut |t| t.put(kept, &key(n), row(n, "bob", 1).row()));
    }
    db.checkpoint().unwrap();
    assert!(old.read(kept, &key(1), Columns::All, &mut RowBuf::new()).unwrap(), "its version is still there");
    drop(old);
    db.drop_table("dropped").unwrap();
    assert!(matches!(db.drop_table("dropped"), Err(Error::Invalid(_))));
    db.checkpoint().unwrap();
    let db = open(&disk.power_cut_with(Survival::SyncedOnly)).unwrap();
    assert!(db.table("dropped").is_none());
    assert_eq!(contents(&db, kept).len(), 58);
    let next = db.create_table(Schema::bytes("dropped").build().unwrap()).unwrap();
    assert!(next > kept, "{next:?}: a dropped table's number is not given again");
    let columns: Vec<Column> = db.table("accounts").unwrap().1.columns().to_vec();
    assert_eq!(columns, accounts().columns());
}

/// Threads move money while the power goes again and again: whatever is found has all acknowledged transfers and the right
/// sum, with checkpoints running beside.
#[test]
fn concurrent_transfers_survive_power_cuts() {
    const ACCOUNTS: i64 = 16;
    const THREADS: i64 = 3;
    let log = wal::LogOptions { segment_bytes: 16 << 10, ..Default::default() };
    let options = Options { log, ..Options::default() };
    let disk = SimDisk::new(11, SimDiskOptions::default());
    let db = Mvto::open(Arc::new(disk.clone()), options.clone()).unwrap();
    let schema = Schema::table("bank").column("id", model::ColumnType::Int).column("n", model::ColumnType::Int);
    let table = db.create_table(schema.key(["id"]).build().unwrap()).unwrap();
    let load = |t: &mut dyn Access| -> Result<()> {
        let mut put = |id: i64, n: i64| t.put(table, &key(id), RowBuf::from_values(&[id.into(), n.into()]).row());
        (0..ACCOUNTS).try_for_each(|id| put(id, 100))?;
        // Each thread counts its transfers in a row of its own.
        (0..THREADS).try_for_each(|thread| put(1000 + thread, 0))
    };
    db.run(Begin::default(), RetryPolicy::default(), |t| load(t)).unwrap();
    let acknowledged: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, stop, acknowledged) = (&db, &stop, &acknowledged[thread as usize]);
            scope.spawn(move || {
                let mut random = env::Randomness::from_seed(thread as u64);
                while !stop.load(Ordering::Relaxed) {
                    let (from, to) = (random.in_range(0..16) as i64, random.in_range(0..16) as i64);
                    let transfer = |t: &mut dyn Access| -> Result<()> {
                        t.update(table, &key(from), &Delta::new().add(1, -1))?;
                        t.update(table, &key(to), &Delta::new().add(1, 1))?;
                        t.update(table, &key(1000 + thread), &Delta::new().add(1, 1)).map(drop)
                    };
                    db.run(Begin::default(), RetryPolicy::default(), |t| transfer(t)).unwrap();
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for round in 0..12 {
            // Let every thread get on, then look at what a crash would leave.
            let before: Vec<u64> = acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect();
            while acknowledged.iter().zip(&before).any(|(count, before)| count.load(Ordering::SeqCst) < before + 5) {
                std::thread::yield_now();
            }
            let counts: Vec<u64> = acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect();
            let survival = [Survival::SyncedOnly, Survival::Random, Survival::Everything][round % 3];
            let after = disk.power_cut_with(survival);
            let found = Mvto::open(Arc::new(after), options.clone()).unwrap();
            let mut sum = 0;
            let mut audit = found.begin(Begin::default()).unwrap();
            let mut visit = |item: model::Item<'_>| {
                let (id, n) = (item.row.get(0).as_int().unwrap(), item.row.get(1).as_int().unwrap());
                match usize::try_from(id - 1000) {
                    Ok(thread) => {
                        assert!(n as u64 >= counts[thread], "round {round}: an acknowledged transfer is lost")
                    }
                    Err(_) => sum += n,
                }
                ControlFlow::Continue(())
            };
            audit.scan(&Scan::table(table), &mut visit).unwrap();
            assert_eq!(sum, 100 * ACCOUNTS, "round {round}: a transfer is there by half");
            if round % 4 == 3 {
                db.checkpoint().unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    db.close().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(disk.power_cut_with(Survival::SyncedOnly));
    let found = Mvto::open(disk, options).unwrap();
    assert!(found.recovery().unwrap().clean);
}

/// One site, and a ceiling that is soon passed.
fn open_idle(disk: &SimDisk) -> Result<(Db, SimClock)> {
    let clock = SimClock::new(1_000, 7);
    let options = Options { sites: 1, ceiling_lease: std::time::Duration::from_micros(1), ..options() };
    Mvto::open_with(Arc::new(disk.clone()), options, clock.clone()).map(|db| (db, clock))
}

fn put_durably(db: &Db, table: TableId, id: i64) {
    let mut transaction = db.begin(Begin::default()).unwrap();
    transaction.put(table, &key(id), row(id, "ann", 1).row()).unwrap();
    db.wait_durable(transaction.commit().unwrap().log_position).unwrap();
}

/// The bound of a checkpoint may lie above every timestamp that was drawn, and above the ceiling: a restart begins above it.
#[test]
fn what_follows_a_checkpoint_of_an_idle_database_is_found_again() {
    let disk = SimDisk::new(12, SimDiskOptions::default());
    let (db, clock) = open_idle(&disk).unwrap();
    let table = db.create_table(accounts()).unwrap();
    put_durably(&db, table, 1);
    clock.advance(1_000_000); // Longer than the lease.
    db.checkpoint().unwrap();
    db.close().unwrap();
    drop(db);
    let (db, _) = open_idle(&disk).unwrap();
    put_durably(&db, table, 2);
    db.close().unwrap();
    drop(db);
    let (db, _) = open_idle(&disk).unwrap();
    assert_eq!(contents(&db, table).len(), 2);
}

/// An older transaction holds the bound of a checkpoint back: what happened to tables since is in it and in the log.
#[test]
fn a_name_that_was_given_twice_is_recovered() {
    let disk = SimDisk::new(13, SimDiskOptions::default());
    let (db, _) = open_idle(&disk).unwrap();
    let table = db.create_table(accounts()).unwrap();
    put_durably(&db, table, 1);
    let mut old = db.begin(Begin::default()).unwrap();
    old.read(table, &key(1), Columns::All, &mut RowBuf::new()).unwrap();
    let bytes = || Schema::bytes("b").build().unwrap();
    db.create_table(bytes()).unwrap();
    db.drop_table("b").unwrap();
    let second = db.create_table(bytes()).unwrap();
    db.checkpoint().unwrap();
    drop(old);
    db.close().unwrap();
    drop(db);
    let (db, _) = open_idle(&disk).expect("it opens");
    assert_eq!(db.table("b").unwrap().0, second);
    assert_eq!(contents(&db, table).len(), 1);
}

// ---------------------------------------------------------------------------------------------------------------
// Large transactions and older formats.

/// Rows `0..count`, all in one transaction.
fn fill(db: &Db, table: TableId, count: i64, note: u8) -> Result<Committed> {
    let mut transaction = db.begin(Begin::default()).unwrap();
    for id in 0..count {
        transaction.put(table, &key(id), row(id, "ann", note).row())?;
    }
    transaction.commit()
}

/// A transaction of many segments, cut at every change of the disk: all of it or nothing.
#[test]
fn a_transaction_larger_than_many_segments_is_found_whole_or_not_at_all() {
    const ROWS: i64 = 150;
    let live = |disk: &SimDisk| -> Result<()> {
        let db = open(disk)?;
        let table = db.create_table(accounts())?;
        let committed = fill(&db, table, 3, 1)?;
        db.wait_durable(committed.log_position)?;
        let committed = fill(&db, table, ROWS, 2)?;
        db.wait_durable(committed.log_position)
    };
    let whole = SimDisk::new(1, SimDiskOptions::default());
    live(&whole).unwrap();
    let segments = wal::verify(&whole.copy()).unwrap().segments;
    assert!(segments.len() > 5 && segments.iter().map(|segment| segment.parts).sum::<u64>() > 100, "{segments:?}");
    let (mut before, mut after) = (0, 0);
    for change in 0..whole.changes() {
        let disk = SimDisk::new(change, SimDiskOptions::default());
        disk.cut_power_at(change);
        assert!(live(&disk).is_err());
        for survival in [Survival::Random, Survival::Everything] {
            let db = open(&disk.power_cut_with(survival)).unwrap();
            let Some((table, _)) = db.table("accounts") else { continue };
            let rows = contents(&db, table);
            match rows.len() as i64 {
                0 => {}
                3 => before += 1,
                ROWS => after += 1,
                count => panic!("{count} rows after change {change}"),
            }
            let note = if rows.len() == 3 { 1 } else { 2 };
            assert!(rows.iter().all(|(key, bytes)| bytes == row(key_number(key), "ann", note).row().bytes()));
        }
    }
    assert!(before > 20 && after > 0, "{before} times before, {after} times after");
}

fn key_number(key: &Key) -> i64 {
    (u64::from_be_bytes(key[..8].try_into().unwrap()) ^ (1 << 63)) as i64
}

/// The disk cannot hold the transaction: a clean abort, which gives the space back, and smaller ones go on.
#[test]
fn a_transaction_that_the_disk_cannot_hold_aborts_cleanly() {
    let disk = SimDisk::new(1, SimDiskOptions { capacity: 40 << 10, ..Default::default() });
    let db = open(&disk).unwrap();
    let table = db.create_table(accounts()).unwrap();
    fill(&db, table, 2, 1).unwrap();
    for _ in 0..3 {
        match fill(&db, table, 2_000, 2) {
            Err(Error::Fault(Fault::DiskFull { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(contents(&db, table).len(), 2);
    for note in 0..10 {
        fill(&db, table, 5, note).unwrap();
    }
    db.close().unwrap();
    drop(db);
    let db = open(&disk).unwrap();
    assert_eq!(contents(&db, table).len(), 5);
}

/// Directories that a program of format 1 has written (this history, with a clean stop and without) open and go on.
#[test]
fn directories_of_the_first_format_open() {
    for (name, clean) in [("closed", true), ("killed", false)] {
        let disk = SimDisk::new(1, SimDiskOptions::default());
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1").join(name);
        for entry in std::fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            let file = disk.create_new(path.file_name().unwrap().to_str().unwrap()).unwrap();
            file.write_at(0, &std::fs::read(&path).unwrap()).unwrap();
        }
        assert!(wal::verify(&disk.copy()).unwrap().is_sound());
        let db = open(&disk).unwrap();
        assert_eq!(db.recovery().unwrap().clean, clean);
        let (table, _) = db.table("accounts").unwrap();
        assert_eq!(contents(&db, table), expected_states(STEPS).pop().unwrap());
        fill(&db, table, 50, 3).unwrap();
        db.close().unwrap();
        drop(db);
        assert!(contents(&open(&disk).unwrap(), table).len() >= 50);
    }
}

/// However many threads begin, the ceiling is renewed once a lease: two syncs of the control file.
#[test]
fn a_ceiling_is_renewed_once_a_lease() {
    const LEASES: u64 = 40;
    const THREADS: u64 = 4;
    for driver in [Driver::Caller, Driver::Threads] {
        let disk = SimDisk::new(14, SimDiskOptions::default());
        let clock = SimClock::new(1_000, 1);
        let lease = std::time::Duration::from_micros(100);
        let log = wal::LogOptions { driver, ..options().log };
        let options = Options { ceiling_lease: lease, log, ..options() };
        let db = Mvto::open_with(Arc::new(disk.clone()), options, clock.clone()).unwrap();
        db.begin(Begin::default()).unwrap().commit().unwrap();
        let syncs = || disk.counts().get(&Operation::Sync).copied().unwrap_or(0);
        let (before, began) = (syncs(), clock.now());
        let end = began + LEASES * clock.ticks_in(lease);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while clock.now() < end {
                        db.begin(Begin::default()).unwrap().commit().unwrap();
                        clock.advance(clock.ticks_in(lease) / 50);
                    }
                });
            }
        });
        let (leases, syncs) = ((clock.now() - began) / clock.ticks_in(lease) + 1, syncs() - before);
        assert!(syncs <= 2 * leases, "{driver:?}: {syncs} syncs in {leases} leases");
        assert!(syncs >= LEASES, "{driver:?}: {syncs} syncs in {leases} leases: who has made them durable?");
    }
}
