//! The whole engine under random schedules: procedures, guesses and snapshots, with two planners and two executing
//! threads.
//!
//! `cargo test --profile models -p seriatim-bohm --features shuttle --test shuttle_engine`
#![cfg(feature = "shuttle")]

#[path = "common/body.rs"]
#[allow(dead_code, reason = "gates are for real threads")]
mod body;

use body::{Do, open};
use conformance::registers::{all, delete, get, put};
use model::{Access, Begin, Declared, Error, Footprint, Key, Mode, RowBuf, TableId};
use seriatim_bohm::{Bohm, Options};
use shuttle::thread;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// The sum of all registers, whatever moves.
const SUM: u64 = 3;

/// Moves all of a register to another one, and deletes it: records come and go.
fn move_all(table: TableId, from: u64, to: u64) -> Do {
    Do::new(Footprint::default().writes(table, from).writes(table, to), move |mut access| {
        let Some(value) = get(&mut access, table, from)? else { return Ok(0) };
        let there = get(&mut access, table, to)?.unwrap_or(0);
        put(&mut access, table, to, there + value)?;
        delete(&mut access, table, from).map(u64::from)
    })
}

/// Sums all registers by a declared range.
fn sum(table: TableId) -> Do {
    Do::new(Footprint::default().reads_range(table, Bound::Unbounded, Bound::Unbounded), move |mut access| {
        Ok(all(&mut access, table)?.iter().map(|(_, value)| value).sum())
    })
}

/// Takes one from the lowest register and gives it to register 20, and foresees that: found by a trial run.
fn take_lowest(table: TableId) -> Do {
    let lowest =
        move |mut access: &mut dyn Access| Ok::<u64, Error>(all(&mut access, table)?.first().map_or(0, |it| it.0));
    let footprint = move |mut access: &mut dyn Access| {
        let from = lowest(access)?;
        if let Some(left @ 1..) = get(&mut access, table, from)?
            && from != 20
        {
            let there = get(&mut access, table, 20)?.unwrap_or(0);
            for (key, value) in [(from, left - 1), (20, there + 1)] {
                let row = RowBuf::from_bytes(&value.to_be_bytes());
                access.foresee(table, &Key::from_u64(key), Some(row.row()));
            }
        }
        let footprint = Footprint::default().reads_range(table, Bound::Unbounded, Bound::Unbounded);
        Ok(footprint.writes(table, from).writes(table, 20u64))
    };
    Do::guessing(footprint, move |mut access| {
        let from = lowest(access)?;
        let (left, there) = (get(&mut access, table, from)?, get(&mut access, table, 20)?);
        if let Some(left @ 1..) = left
            && from != 20
        {
            put(&mut access, table, from, left - 1)?;
            put(&mut access, table, 20, there.unwrap_or(0) + 1)?;
        }
        Ok(from)
    })
}

fn call(engine: &Bohm, procedure: Do, mode: Mode) -> u64 {
    let how = Begin { mode, ..Begin::default() };
    engine.submit(procedure, how, Box::new(|_: u32, _: &Error| true)).wait().expect("it commits").0
}

/// Transactions whose footprints are found by trial runs at submission, or when their batch is sealed, beside declared ones and readers.
fn run(moves_threads: bool, is_late: bool) {
    let (engine, table) = open(Options {
        planners: 2,
        // Three threads in all, of which two plan where they move: so partitions change hands.
        executors: if moves_threads { 1 } else { 2 },
        moves_threads,
        batch: 2,
        latency: Duration::ZERO,
        run_ahead: 2,
        queue: 2,
        depth: 1,
        tables: 1,
        readers: 4,
        has_small_nodes: true,
        ..Options::default()
    });
    let load = Do::new((0..SUM).fold(Footprint::default(), |it, key| it.writes(table, key)), move |mut access| {
        (0..SUM).try_for_each(|key| put(&mut access, table, key, 1)).map(|()| 0)
    });
    call(&engine, load, Mode::ReadWrite);
    engine.settle();
    let spawn = |body: fn(&Bohm, TableId, bool)| {
        let engine = engine.clone();
        thread::spawn(move || body(&engine, table, is_late))
    };
    let threads = [
        spawn(|engine, table, _| {
            let tickets = [(0, 9), (9, 1), (1, 0)].map(|(from, to)| {
                engine.submit(move_all(table, from, to), Begin::default(), Box::new(|_: u32, _: &Error| true))
            });
            tickets.into_iter().for_each(|ticket| _ = ticket.wait().expect("it commits"));
        }),
        spawn(|engine, table, is_late| {
            if is_late {
                // Together, so that one's trial run stands on what the other's foresees.
                let take = || take_lowest(table).late();
                let tickets =
                    [take(), take()].map(|it| engine.submit(it, Begin::default(), Box::new(|_: u32, _: &Error| true)));
                tickets.into_iter().for_each(|ticket| _ = ticket.wait().expect("it commits"));
            } else {
                call(engine, take_lowest(table), Mode::ReadWrite);
            }
            call(engine, move_all(table, 2, 1), Mode::ReadWrite);
        }),
        spawn(|engine, table, _| {
            for mode in [Mode::Snapshot, Mode::ReadOnly, Mode::Snapshot] {
                assert_eq!(call(engine, sum(table), mode), SUM, "{mode:?}");
            }
        }),
    ];
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(call(&engine, sum(table), Mode::ReadWrite), SUM);
    engine.collect();
    assert_eq!(engine.stats().readers, 0);
    drop(Arc::into_inner(engine).expect("nobody else has it"));
}

#[test]
fn nothing_is_lost_under_random_schedules() {
    shuttle::check_random(|| run(false, false), 2_000);
}

#[test]
fn nothing_is_lost_under_schedules_with_few_switches() {
    shuttle::check_pct(|| run(false, false), 2_000, 3);
}

#[test]
fn nothing_is_lost_by_threads_that_move() {
    shuttle::check_random(|| run(true, false), 2_000);
}

#[test]
fn nothing_is_lost_by_threads_that_move_with_few_switches() {
    shuttle::check_pct(|| run(true, false), 2_000, 3);
}

#[test]
fn nothing_is_lost_where_footprints_are_found_at_sealing() {
    shuttle::check_random(|| run(false, true), 2_000);
}

#[test]
fn nothing_is_lost_where_footprints_are_found_at_sealing_by_threads_that_move() {
    shuttle::check_random(|| run(true, true), 2_000);
}

#[test]
fn nothing_is_lost_where_footprints_are_found_at_sealing_with_few_switches() {
    shuttle::check_pct(|| run(true, true), 2_000, 3);
}
