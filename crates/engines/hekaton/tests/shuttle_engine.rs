//! The whole engine under random schedules: writers that speculate on each other, inserts and deletes, readers, and a collector beside
//! them.
//!
//! `cargo test -p seriatim-hekaton --features shuttle --test shuttle_engine`
#![cfg(feature = "shuttle")]

mod common;

use common::with_registers;
use conformance::registers::{all, delete, get, put};
use model::{Begin, Finish, Interactive, Mode, Result, TableId};
use seriatim_hekaton::{Hekaton, Options, Transaction};
use shuttle::sync::atomic::AtomicBool;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

/// The sum of all registers, whatever moves.
const SUM: u64 = 6;

fn begin(engine: &Hekaton, mode: Mode) -> Transaction<&Hekaton> {
    engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
}

/// Moves all of a register to another one, and deletes it: records come and go. Whether it committed.
fn move_all(engine: &Hekaton, table: TableId, from: u64, to: u64) -> bool {
    let mut open = begin(engine, Mode::ReadWrite);
    let moved = |open: &mut Transaction<&Hekaton>| -> Result<()> {
        let Some(value) = get(open, table, from)? else { return Ok(()) };
        let there = get(open, table, to)?.unwrap_or(0);
        put(open, table, to, there + value)?;
        delete(open, table, from).map(drop)
    };
    moved(&mut open).is_ok() && open.commit().is_ok()
}

fn sum(rows: &[(u64, u64)]) -> u64 {
    rows.iter().map(|(_, value)| value).sum()
}

fn load(engine: &Hekaton, table: TableId, rows: impl Iterator<Item = (u64, u64)>) {
    let mut load = begin(engine, Mode::ReadWrite);
    rows.for_each(|(key, value)| put(&mut load, table, key, value).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
}

fn options(validates: bool) -> Options {
    Options { has_small_nodes: true, transactions: 8, tables: 1, validates, ..Options::default() }
}

fn run(validates: bool) {
    let (engine, table) = with_registers(options(validates));
    load(&engine, table, (0..SUM).map(|key| (key, 1)));
    let spawn = |body: fn(&Hekaton, TableId)| {
        let engine = engine.clone();
        thread::spawn(move || body(&engine, table))
    };
    let threads = [
        spawn(|engine, table| {
            for round in 0..2 {
                move_all(engine, table, round, 9 - round);
            }
        }),
        spawn(|engine, table| {
            for round in 0..2 {
                move_all(engine, table, 9 - round, 1 - round);
            }
        }),
        spawn(|engine, table| {
            for mode in [Mode::Snapshot, Mode::ReadOnly] {
                let mut reader = begin(engine, mode);
                let seen = all(&mut reader, table).expect("reads do not fail");
                assert_eq!(sum(&seen), SUM, "{mode:?} saw {seen:?}");
                reader.commit().expect("who only reads commits");
            }
        }),
        spawn(|engine, _| {
            engine.collect();
        }),
    ];
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let rows = all(&mut begin(&engine, Mode::ReadWrite), table).expect("nobody in the way");
    assert_eq!(sum(&rows), SUM);
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.open, stats.garbage, stats.records), (0, 0, rows.len() as u64));
    drop(Arc::into_inner(engine).expect("nobody else has it"));
}

#[test]
fn sums_are_kept_and_nothing_is_left() {
    shuttle::check_random(|| run(true), 1_500);
}

/// Both rows of a move are written, so that snapshot isolation keeps the sum, too.
#[test]
fn snapshot_isolation_keeps_what_is_written() {
    shuttle::check_random(|| run(false), 500);
}

/// Reads a register, and copies it to another one, if nobody is in the way.
fn copy(engine: &Hekaton, table: TableId, from: u64, to: u64) {
    let mut open = begin(engine, Mode::ReadWrite);
    let copied = |open: &mut Transaction<&Hekaton>| -> Result<()> {
        let value = get(open, table, from)?.unwrap_or(0);
        put(open, table, to, value)
    };
    let _ = copied(&mut open).and_then(|()| open.commit());
}

/// Registers that everybody leaves alone.
const UNCHANGED: std::ops::Range<u64> = 10..30;

/// A writer that fails to validate, one that may speculate on it, and another on that one: what the first wrote is nowhere at the end,
/// however far it came.
fn cascade() {
    let (engine, table) = with_registers(options(true));
    load(&engine, table, (0..5).chain(UNCHANGED).map(|key| (key, 1)));
    let commits = Arc::new(AtomicBool::new(false));
    let spawn = |body: fn(&Hekaton, TableId)| {
        let (engine, commits) = (engine.clone(), commits.clone());
        thread::spawn(move || {
            while !commits.load(SeqCst) {
                thread::yield_now();
            }
            body(&engine, table);
        })
    };
    let flag = commits.clone();
    let doomed = engine.clone();
    let first = thread::spawn(move || {
        let mut open = begin(&doomed, Mode::ReadWrite);
        // Validation takes a while, and fails at the end: others can begin meanwhile.
        for key in UNCHANGED.chain([0]) {
            get(&mut open, table, key).expect("nobody in the way");
        }
        load(&doomed, table, [(0, 2)].into_iter());
        put(&mut open, table, 1, 99).expect("nobody else writes it but those that speculate on it");
        flag.store(true, SeqCst);
        assert!(open.commit().is_err(), "its read has changed");
    });
    let second = spawn(|engine, table| copy(engine, table, 1, 2));
    let third = spawn(|engine, table| copy(engine, table, 2, 3));
    let fourth = spawn(|engine, table| {
        let mut open = begin(engine, Mode::ReadWrite);
        let speculates = get(&mut open, table, 1).is_ok() && put(&mut open, table, 4, 5).is_ok();
        drop(speculates.then(|| open.commit()));
    });
    [first, second, third, fourth].into_iter().for_each(|thread| thread.join().expect("no panic"));
    let rows = all(&mut begin(&engine, Mode::ReadWrite), table).expect("nobody in the way");
    assert!(rows.iter().all(|(_, value)| *value != 99), "{rows:?}");
    SPECULATED.fetch_add(engine.stats().speculated, Relaxed);
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.open, stats.garbage, stats.records), (0, 0, rows.len() as u64));
}

static PILED: AtomicU64 = AtomicU64::new(0);
static SPECULATED: AtomicU64 = AtomicU64::new(0);

#[test]
fn who_speculates_on_an_abort_aborts() {
    shuttle::check_random(cascade, 1_000);
    assert!(SPECULATED.load(Relaxed) > 0, "nobody has speculated");
}

/// Read-modify-writes of one register, one of which fails to validate: others put their versions on top of the one that goes.
fn pile() {
    let (engine, table) = with_registers(options(true));
    load(&engine, table, (0..2).chain(UNCHANGED).map(|key| (key, 0)));
    let commits = Arc::new(AtomicBool::new(false));
    let (doomed, flag) = (engine.clone(), commits.clone());
    let first = thread::spawn(move || {
        let mut open = begin(&doomed, Mode::ReadWrite);
        for key in UNCHANGED.chain([0]) {
            get(&mut open, table, key).expect("nobody in the way");
        }
        load(&doomed, table, [(0, 2)].into_iter());
        put(&mut open, table, 1, 1_000).expect("it is the first");
        flag.store(true, SeqCst);
        assert!(open.commit().is_err(), "its read has changed");
    });
    let adders = [0, 1].map(|_| {
        let (engine, commits) = (engine.clone(), commits.clone());
        thread::spawn(move || {
            while !commits.load(SeqCst) {
                thread::yield_now();
            }
            let mut open = begin(&engine, Mode::ReadWrite);
            let added = get(&mut open, table, 1).and_then(|value| put(&mut open, table, 1, value.unwrap_or(0) + 1));
            u64::from(added.is_ok() && open.commit().is_ok())
        })
    });
    first.join().expect("no panic");
    let added: u64 = adders.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    let value = get(&mut begin(&engine, Mode::ReadWrite), table, 1).expect("nobody in the way");
    assert_eq!(value, Some(added), "each addition that committed counts once, and nothing else");
    load(&engine, table, [(1, 0)].into_iter());
    engine.collect();
    let stats = engine.stats();
    PILED.fetch_add(stats.aborted[3], Relaxed);
    assert_eq!((stats.open, stats.garbage, stats.versions), (0, 0, 0));
}

#[test]
fn writers_that_speculate_on_an_abort_leave_nothing() {
    shuttle::check_pct(pile, 2_000, 3);
    assert!(PILED.load(Relaxed) > 0, "nobody has speculated");
}

/// Two registers that change together, under a reader that begins while they do.
fn pair() {
    let (engine, table) = with_registers(options(true));
    load(&engine, table, (0..2).map(|key| (key, 0)));
    let commits = Arc::new(AtomicBool::new(false));
    let (writing, flag) = (engine.clone(), commits.clone());
    let writer = thread::spawn(move || {
        let mut open = begin(&writing, Mode::ReadWrite);
        (0..2).for_each(|key| put(&mut open, table, key, 1).expect("nobody in the way"));
        flag.store(true, SeqCst);
        open.commit().expect("nobody in the way");
    });
    let mut reader = begin(&engine, Mode::ReadOnly);
    while !commits.load(SeqCst) {
        thread::yield_now();
    }
    let [one, two] = [0, 1].map(|key| get(&mut reader, table, key).expect("it only reads"));
    assert_eq!(one, two, "one moment");
    reader.commit().expect("it only reads");
    writer.join().expect("no panic");
}

#[test]
fn a_reader_sees_all_of_a_commit_or_nothing() {
    shuttle::check_pct(pair, 5_000, 3);
}
