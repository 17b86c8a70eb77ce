//! The whole engine under random schedules: writers, inserts and deletes, snapshots, and a collector beside them.
//!
//! `cargo test -p seriatim-silo --features shuttle --test shuttle_engine`
#![cfg(feature = "shuttle")]

mod common;

use common::{options, with_registers};
use conformance::registers::{all, delete, get, put};
use model::{Begin, Finish, Interactive, Mode, Result, TableId};
use seriatim_silo::{Options, Silo, Transaction};
use shuttle::thread;
use std::sync::Arc;

/// The sum of all registers, whatever moves.
const SUM: u64 = 6;

fn begin(engine: &Silo, mode: Mode) -> Transaction<&Silo> {
    engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
}

/// Moves all of a register to another one, and deletes it: records come and go. Whether it committed.
fn move_all(engine: &Silo, table: TableId, from: u64, to: u64) -> bool {
    let mut open = begin(engine, Mode::ReadWrite);
    let moved = |open: &mut Transaction<&Silo>| -> Result<()> {
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

fn run(claims: bool) {
    let (engine, table) = with_registers(Options { has_small_nodes: true, claims, ..options() });
    let mut load = begin(&engine, Mode::ReadWrite);
    (0..SUM).for_each(|key| put(&mut load, table, key, 1).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    engine.settle();
    let spawn = |body: fn(&Silo, TableId)| {
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
            for mode in [Mode::Snapshot, Mode::ReadOnly, Mode::Snapshot] {
                let mut reader = begin(engine, mode);
                let seen = all(&mut reader, table).expect("reads do not fail");
                let committed = reader.commit().is_ok();
                assert!(!committed || sum(&seen) == SUM, "{mode:?} saw {seen:?}");
                assert!(committed || mode == Mode::ReadOnly, "a snapshot commits");
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
    shuttle::check_random(|| run(false), 1_500);
}

#[test]
fn sums_are_kept_where_places_are_claimed() {
    shuttle::check_random(|| run(true), 500);
}

/// One transaction finds a key absent and adds to it, and another one sets it: it may fill the record that the first has made.
fn add_to_nothing() {
    const KEY: u64 = 3;
    let (engine, table) = with_registers(Options { has_small_nodes: true, ..options() });
    let adder = thread::spawn({
        let engine = engine.clone();
        move || {
            let mut open = begin(&engine, Mode::ReadWrite);
            let there = get(&mut open, table, KEY).expect("reads do not fail").unwrap_or(0);
            put(&mut open, table, KEY, there + 1).expect("nothing is refused before commit");
            open.commit().is_ok()
        }
    });
    let mut open = begin(&engine, Mode::ReadWrite);
    put(&mut open, table, KEY, 10).expect("nothing is refused before commit");
    open.commit().expect("it has read nothing");
    let added = adder.join().expect("no panic");
    let value = get(&mut begin(&engine, Mode::ReadWrite), table, KEY).expect("nobody in the way");
    let serial = if added { [Some(10), Some(11)] } else { [Some(10); 2] };
    assert!(serial.contains(&value), "{value:?}, added: {added}");
}

#[test]
fn a_record_that_another_has_filled_is_noticed() {
    shuttle::check_pct(add_to_nothing, 500, 2);
}
