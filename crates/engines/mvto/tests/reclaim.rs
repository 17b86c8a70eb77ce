//! M11: neither a wait nor a visitor's code delays reclamation through the epoch.
#![cfg(not(any(loom, feature = "shuttle")))]

mod support;

use model::{Access, Begin, Finish, Item, Mode, Scan, TableId};
use parts::epoch::{is_pinned, waiting_bytes};
use seriatim_mvto::{Options, RetryPolicy};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use support::{Engine, Open, all, begin, begin_as, delete, get, insert, integer, now, put, with_registers};

/// Reclamation is the whole process's, so these tests run one after another.
static ALONE: Mutex<()> = Mutex::new(());

const ROUNDS: u64 = 100;
const ROWS: u64 = 200;
/// Bytes of a removed row, at least: its tuple, its key and a version.
const ROW_BYTES: u64 = 128;
/// Keys of removed rows lie above those of the tests.
const CHURNED: u64 = 1_000;

fn patient() -> Options {
    Options { wait_limit: Duration::from_secs(3600), sites: 2, ..Options::default() }
}

/// Makes and removes many rows, and asserts that what waits to be freed stays a small part of them.
fn churn(engine: &Engine, table: TableId) {
    for round in 0..ROUNDS {
        let keys = || (0..ROWS).map(|row| CHURNED + round * ROWS + row);
        let mut open = begin(engine);
        keys().for_each(|key| insert(&mut open, table, key, round).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
        let mut open = begin(engine);
        keys().for_each(|key| assert!(delete(&mut open, table, key).expect("nobody in the way")));
        open.commit().expect("nobody in the way");
        engine.collect();
        let waiting = waiting_bytes();
        assert!(waiting < (ROUNDS * ROWS * ROW_BYTES / 4) as usize, "{waiting} bytes wait in round {round}");
    }
}

/// Runs `wait` in a thread, where it meets row 1 in the hands of an older transaction, and removes rows while it sleeps.
fn remove_rows_while<T: Send>(wait: impl FnOnce(&mut Open, TableId) -> T + Send) -> T {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (engine, _, table) = with_registers(patient(), &[(0, 10), (1, 11), (2, 12)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 21).expect("nobody in the way");
    let mut waiter = begin_as(&engine, Mode::OwnAtStatement);
    thread::scope(|scope| {
        let waiting = scope.spawn(move || wait(&mut waiter, table));
        while engine.stats().asleep == 0 {
            thread::yield_now();
        }
        churn(&engine, table);
        owner.commit().expect("nobody has read what it writes");
        waiting.join().expect("no panic")
    })
}

#[test]
fn a_reader_that_waits_holds_nothing_back() {
    assert_eq!(remove_rows_while(|open, table| get(open, table, 1)).expect("its owner has committed"), Some(21));
}

#[test]
fn a_scan_that_waits_holds_nothing_back() {
    let seen = remove_rows_while(all).expect("the owner has committed");
    assert_eq!(seen, [(0, 10), (1, 21), (2, 12)]);
}

#[test]
fn a_writer_that_waits_holds_nothing_back() {
    remove_rows_while(|open, table| put(open, table, 1, 31)).expect("its owner has committed");
}

/// A visitor that blocks, at the first row and in the middle of a leaf.
#[test]
fn a_visitor_that_blocks_holds_nothing_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let rows: Vec<(u64, u64)> = (0..300).map(|key| (key, key + 1)).collect();
    let (engine, _, table) = with_registers(patient(), &rows);
    let ((pause, has_paused), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel());
    thread::scope(|scope| {
        let engine = &engine;
        let visitor = scope.spawn(move || {
            let mut seen = Vec::new();
            let mut open = begin_as(engine, Mode::ReadOnly);
            let end = open.scan(&Scan::table(table), &mut |item: Item<'_>| {
                assert!(!is_pinned(), "M11");
                let row = (integer(item.key), integer(item.row.bytes()));
                if row.0 == 0 || row.0 == 130 {
                    pause.send(()).expect("somebody listens");
                    may_go_on.recv().expect("somebody speaks");
                }
                seen.push(row);
                ControlFlow::Continue(())
            });
            end.map(|_| seen)
        });
        for value in [1_000, 2_000] {
            has_paused.recv().expect("it visits");
            churn(engine, table);
            // Rows that it has gathered, and rows that it has not, are as they were when it began.
            for &(key, _) in &rows {
                support::set(engine, table, key, value);
            }
            let mut open = begin(engine);
            for &(key, _) in rows.iter().step_by(3) {
                delete(&mut open, table, key).expect("nobody in the way");
            }
            open.commit().expect("nobody in the way");
            engine.collect();
            go_on.send(()).expect("it waits");
        }
        assert_eq!(visitor.join().expect("no panic").expect("read-only transactions read on"), rows);
    });
}

/// Each row is shown once, own writes among them, whichever way and wherever the scan stops.
#[test]
fn what_is_gathered_in_parts_is_shown_in_order_and_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (engine, _, table) = with_registers(patient(), &(0..200).map(|key| (2 * key, key)).collect::<Vec<_>>());
    let mut open = begin(&engine);
    (0..200).filter(|key| key % 3 == 0).for_each(|key| put(&mut open, table, key, 7).expect("alone"));
    for key in (0..200).filter(|key| key % 5 == 0) {
        delete(&mut open, table, key).expect("alone");
    }
    let is_there = |key: u64| match key {
        0..200 if key.is_multiple_of(5) => false,
        0..200 if key.is_multiple_of(3) => true,
        _ => key.is_multiple_of(2),
    };
    let expected: Vec<u64> = (0..400).filter(|&key| is_there(key)).collect();
    for backward in [false, true] {
        for stop in [1, 2, 8, 9, 10, 73, 74, 1_000] {
            let scan = if backward { Scan::table(table).backward() } else { Scan::table(table) };
            let mut seen = Vec::new();
            let visited = open.scan(&scan, &mut |item: Item<'_>| {
                seen.push(integer(item.key));
                if seen.len() == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            visited.expect("alone");
            let mut expected = expected.clone();
            if backward {
                expected.reverse();
            }
            expected.truncate(stop);
            assert_eq!(seen, expected, "backward: {backward}, {stop} rows");
        }
    }
    drop(open);
    assert_eq!(now(&engine, table, 2), Some(1));
}

/// A scan that stops at its first row has read no other: an older transaction may still write those.
#[test]
fn a_scan_that_stops_at_once_stamps_one_row() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (engine, _, table) = with_registers(support::impatient(), &[(1, 1), (2, 2), (3, 3)]);
    let mut older = begin(&engine);
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    reader.scan(&Scan::table(table), &mut |_: Item<'_>| ControlFlow::Break(())).expect("nobody in the way");
    put(&mut older, table, 2, 22).expect("buffered");
    older.commit().expect("nobody has read it");
    assert_eq!(get(&mut reader, table, 2).expect("it is there"), Some(22));
}

/// A reader that has waited for an insert that is taken back leaves its tuple to be collected.
#[test]
fn what_a_waiting_reader_keeps_from_collection_is_collected_later() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (engine, _, table) = with_registers(patient(), &[(1, 1)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    insert(&mut owner, table, 5, 5).expect("nobody in the way");
    let mut waiter = begin_as(&engine, Mode::OwnAtStatement);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| get(&mut waiter, table, 5));
        while engine.stats().asleep == 0 {
            thread::yield_now();
        }
        drop(owner);
        engine.collect();
        assert_eq!(waiting.join().expect("no panic").expect("its owner has gone"), None);
    });
    drop(waiter);
    engine.collect();
    assert_eq!(engine.stats().waiting_versions, 0);
    let policy = RetryPolicy::default();
    engine
        .run(Begin::default(), policy, |open| insert(open, table, 5, 6))
        .expect("the key is free, and its tuple gone or usable");
    assert_eq!(now(&engine, table, 5), Some(6));
}
