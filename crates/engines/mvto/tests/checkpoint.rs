//! Checkpoints while transactions run: whatever happens between two of a checkpoint's writes, it and the log behind its start
//! hold every transaction, and each of them whole; and no transaction blocks it.
#![cfg(not(any(loom, feature = "shuttle")))]

use env::{Disk, Operation, Randomness, SimClock, SimDisk, SimDiskOptions, Survival, WatchedDisk};
use model::{Access, Begin, Columns, Durability, Finish, Interactive, Item, Key, Mode, RowBuf, Scan, Schema, TableId};
use seriatim_mvto::{Mvto, Options};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use wal::Driver;

type Db = Mvto<SimClock>;
type Hook = Arc<Mutex<Option<Box<dyn FnMut() + Send>>>>;

/// A disk on which something happens whenever a checkpoint writes.
fn hooked(disk: &SimDisk, hook: Hook) -> WatchedDisk {
    WatchedDisk::new(disk.clone(), move |operation, path| {
        if operation != Operation::Write || !path.starts_with("CHECKPOINT") {
            return;
        }
        let due = hook.lock().expect("no panic").take();
        if let Some(mut happen) = due {
            assert!(!parts::epoch::is_pinned(), "M11: no guard is held while the disk writes");
            happen();
            *hook.lock().expect("no panic") = Some(happen);
        }
    })
}

fn options() -> Options {
    let log = wal::LogOptions { segment_bytes: 256 << 10, driver: Driver::Caller, ..Default::default() };
    Options { log, sites: 4, wait_limit: std::time::Duration::ZERO, ..Options::default() }
}

fn open(disk: Arc<dyn Disk>) -> Db {
    Mvto::open_with(disk, options(), SimClock::new(1_000, 7)).expect("it opens")
}

/// A database of rows of 4,000 bytes, so that a checkpoint writes many times.
struct World {
    disk: SimDisk,
    hook: Hook,
    db: Arc<Db>,
    table: TableId,
}

const ROWS: u64 = 400;
const AMOUNT: u64 = 1_000;

fn row(amount: u64) -> RowBuf {
    let mut bytes = vec![7; 4_000];
    bytes[..8].copy_from_slice(&amount.to_be_bytes());
    RowBuf::from_bytes(&bytes)
}

fn amount(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("eight bytes"))
}

impl World {
    fn new(seed: u64) -> World {
        let disk = SimDisk::new(seed, SimDiskOptions { survival: Survival::SyncedOnly, ..SimDiskOptions::default() });
        let hook = Hook::default();
        let db = Arc::new(open(Arc::new(hooked(&disk, hook.clone()))));
        let schema = Schema::bytes("accounts").u64_key().build().expect("a schema");
        let table = db.create_table(schema).expect("a table");
        for key in 0..ROWS {
            write(&db, table, &[(key, Some(AMOUNT))], Durability::Async);
        }
        World { disk, hook, db, table }
    }

    fn on_write(&self, happen: impl FnMut() + Send + 'static) {
        *self.hook.lock().expect("no panic") = Some(Box::new(happen));
    }
}

/// Writes these rows in one transaction.
fn write(db: &Db, table: TableId, rows: &[(u64, Option<u64>)], durability: Durability) {
    let mut transaction =
        db.begin(Begin { durability: Some(durability), ..Begin::default() }).expect("begin notes down");
    for (key, amount) in rows {
        let key = Key::from_u64(*key);
        match amount {
            Some(amount) => transaction.put(table, &key, row(*amount).row()).expect("nobody in the way"),
            None => assert!(transaction.delete(table, &key).expect("nobody in the way")),
        }
    }
    let committed = transaction.commit().expect("nobody in the way");
    db.wait_durable(committed.log_position).expect("a good disk");
}

fn content(db: &Db, table: TableId) -> BTreeMap<u64, u64> {
    let mut rows = BTreeMap::new();
    let mut reader = db.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("begin notes down");
    let visit = &mut |item: Item<'_>| {
        rows.insert(Key::to_u64(item.key).expect("eight bytes"), amount(item.row.bytes()));
        ControlFlow::Continue(())
    };
    reader.scan(&Scan::table(table), visit).expect("nobody in the way");
    rows
}

/// Moves an amount between two accounts; now and then an account moves to another key as a whole.
fn transfer(db: &Db, table: TableId, random: &mut Randomness, spared: u64) {
    let rows: Vec<(u64, u64)> = content(db, table).into_iter().filter(|(key, _)| *key != spared).collect();
    let mut any = || rows[random.in_range(0..rows.len() as u64) as usize];
    let ((from, left), (to, right)) = (any(), any());
    if from == to {
        return;
    }
    let moved = left / 3;
    if random.chance(1, 3) {
        let new = random.in_range(0..4 * ROWS);
        if rows.iter().all(|(key, _)| *key != new) && new != spared {
            return write(db, table, &[(from, None), (new, Some(left))], Durability::Async);
        }
    }
    write(db, table, &[(from, Some(left - moved)), (to, Some(right + moved))], Durability::Async);
}

/// C1 to C3: transfers between the writes of a checkpoint; then the power goes. Nothing is there by half, and what was waited
/// for is there.
#[test]
fn a_checkpoint_and_the_log_behind_it_have_everything() {
    for seed in 0..12 {
        let world = World::new(seed);
        let mut random = Randomness::from_seed(seed);
        let (db, table) = (world.db.clone(), world.table);
        world.on_write(move || (0..6).for_each(|_| transfer(&db, table, &mut random, u64::MAX)));
        for _ in 0..2 {
            let report = world.db.checkpoint().expect("a good disk");
            assert!(report.rows > ROWS / 2 && report.bytes > 1 << 20);
        }
        *world.hook.lock().expect("no panic") = None;
        let is_synced = seed % 2 == 0;
        if is_synced {
            write(&world.db, table, &[(5 * ROWS, Some(0))], Durability::Fsync);
        }
        let before = content(&world.db, table);
        let again = open(Arc::new(world.disk.power_cut_with(Survival::SyncedOnly)));
        let after = content(&again, table);
        assert_eq!(after.values().sum::<u64>(), ROWS * AMOUNT, "seed {seed}: a transfer by half");
        assert!(!is_synced || after == before, "seed {seed}: what was durable is not there");
    }
}

/// A checkpoint does not wait for who owns a row and idles, and what that one commits afterwards is not lost, although its
/// timestamp lies below all that the checkpoint saw.
#[test]
fn an_idle_owner_holds_up_no_checkpoint_and_loses_nothing() {
    let world = World::new(1);
    let (db, table) = (world.db.clone(), world.table);
    let idle = |key: u64| {
        let mode = Mode::OwnAtStatement;
        let mut open = db.begin_owned(Begin { mode, ..Begin::default() }).expect("begin notes down");
        open.put(table, &Key::from_u64(key), row(1).row()).expect("nobody in the way");
        open
    };
    let (during, afterwards, never) = (Mutex::new(Some(idle(399))), idle(0), idle(200));
    world.on_write(move || {
        // At the first write: before the walk comes to its row.
        during.lock().expect("no panic").take().into_iter().for_each(|open| assert!(open.commit().is_ok()));
    });
    world.db.checkpoint().expect("it waits for nobody");
    *world.hook.lock().expect("no panic") = None;
    let committed = afterwards.commit().expect("nobody in the way");
    world.db.wait_durable(committed.log_position).expect("a good disk");
    let before = content_of(&world.db, table, &[0, 399]);
    assert_eq!(before, [Some(1), Some(1)]);
    let again = open(Arc::new(world.disk.power_cut_with(Survival::SyncedOnly)));
    assert_eq!(content_of(&again, table, &[0, 200, 399]), [Some(1), Some(AMOUNT), Some(1)]);
    drop(never);
}

fn content_of(db: &Db, table: TableId, keys: &[u64]) -> Vec<Option<u64>> {
    let mut reader = db.begin(Begin::default()).expect("begin notes down");
    let mut read = |key: &u64| {
        let mut row = RowBuf::new();
        let found = reader.read(table, &Key::from_u64(*key), Columns::All, &mut row).expect("nobody in the way");
        found.then(|| amount(row.bytes()))
    };
    keys.iter().map(&mut read).collect()
}

/// B1's second run: the writer of one row beside a checkpoint. It meets no limit, and the checkpoint keeps no version.
#[test]
fn a_checkpoint_keeps_no_versions() {
    let world = World::new(2);
    let (db, table) = (world.db.clone(), world.table);
    let mut value = 0;
    let most = Arc::new(Mutex::new(0));
    let kept = most.clone();
    world.on_write(move || {
        for _ in 0..500 {
            value += 1;
            write(&db, table, &[(1, Some(value))], Durability::None);
        }
        let stats = db.stats();
        let now = stats.replaced_versions - stats.collected_versions;
        let mut most = kept.lock().expect("no panic");
        *most = now.max(*most);
    });
    world.db.checkpoint().expect("a good disk");
    let most = *most.lock().expect("no panic");
    assert!(most > 0 && most <= 2 * options().versions as u64, "{most} versions were kept");
}

/// The log and the restart follow the live data, though a reader idles all the time: after a mass delete both are small.
#[test]
fn disk_and_restart_follow_the_live_data_beside_an_idle_reader() {
    let world = World::new(3);
    let (db, table) = (&world.db, world.table);
    let mut idle = db.begin_owned(Begin::default()).expect("begin notes down");
    assert!(idle.read(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new()).expect("nobody in the way"));
    for round in 0..5 {
        for key in 2..ROWS {
            write(db, table, &[(key, Some(round))], Durability::Async);
        }
        db.checkpoint().expect("a good disk");
        let log = db.stats().log.expect("on disk");
        assert!(log.segments <= 2, "{} segments after the checkpoint of round {round}", log.segments);
    }
    let full = world.disk.used();
    for key in 10..ROWS {
        write(db, table, &[(key, None)], Durability::Async);
    }
    db.checkpoint().expect("a good disk");
    let log = db.stats().log.expect("on disk");
    assert!(log.checkpoint_bytes < 50_000 && log.checkpoint_bytes_written > 6 * log.checkpoint_bytes, "{log:?}");
    assert!(world.disk.used() < full / 2, "{full} bytes before, {} after", world.disk.used());
    let again = open(Arc::new(world.disk.power_cut_with(Survival::SyncedOnly)));
    let found = again.recovery().expect("on disk");
    assert_eq!((found.rows, found.checkpoint_rows, found.records), (10, 10, 0));
}
