//! Two threads on one engine, small enough for an interpreter that checks every access to memory (`make miri`): what readers copy
//! is not freed or written meanwhile, and no reference outlives what it may look at. Without the interpreter it is a short stress
//! test. The kernels' orderings are loom's business (`loom_*.rs`).

#![cfg(not(any(loom, feature = "shuttle")))]

use env::{MonotonicClock, SystemClock};
use model::{
    Access, Begin, Columns, Direction, Finish, Interactive, Key, Mode, RetryPolicy, RowBuf, RowRef, Scan, Schema,
    Snapshots, TableId,
};
use seriatim_mvto::{Mvto, Options};
use std::ops::{Bound, ControlFlow};
use std::thread;

const KEYS: u64 = 6;
/// Enough for versions to live at home and in blocks, to be cut off and spliced out, and for keys to go and come back.
const ROUNDS: u64 = if cfg!(miri) { 12 } else { 2_000 };

fn engine() -> (Mvto, TableId) {
    let options = Options { sites: 2, versions: 4, memory_bytes: Some(64 << 20), ..Options::default() };
    // The interpreter has no processor whose counter could be read.
    let engine =
        Mvto::in_memory_with(options, SystemClock::Monotonic(MonotonicClock::new())).expect("nothing can fail");
    let schema = Schema::bytes("rows").u64_key().build().expect("a good schema");
    let table = engine.create_table(schema).expect("a new table");
    let begin = Begin::default();
    let load = engine.run(begin, RetryPolicy::default(), |open| {
        (0..KEYS).try_for_each(|key| open.put(table, &Key::from_u64(key), RowRef::new(&row(0))))
    });
    load.expect("alone");
    (engine, table)
}

/// A row whose bytes are all the same, of a length that changes.
fn row(round: u64) -> Vec<u8> {
    vec![round as u8; 8 + (round % 3) as usize * 40]
}

fn assert_whole(row: RowRef<'_>) {
    let bytes = row.bytes();
    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a torn row: {bytes:?}");
}

/// Replaces, deletes and inserts rows.
fn write(engine: &Mvto, table: TableId, mode: Mode) {
    for round in 1..=ROUNDS {
        let how = Begin { mode, ..Begin::default() };
        let done = engine.run(how, RetryPolicy::default(), |open| {
            let key = Key::from_u64(round % KEYS);
            match round % 4 {
                0 => open.delete(table, &key).map(drop),
                _ => open.put(table, &key, RowRef::new(&row(round))),
            }
        });
        done.expect("it commits in the end");
        if round % 5 == 0 {
            engine.collect();
        }
    }
}

/// Reads keys and ranges, in transactions that outlive several of the writer's.
fn read(engine: &Mvto, table: TableId) {
    let mut row = RowBuf::new();
    for round in 0..ROUNDS {
        let mut open = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room for one more");
        for key in [round, round + 1] {
            if open.read(table, &Key::from_u64(key % KEYS), Columns::All, &mut row).expect("readers commit") {
                assert_whole(row.row());
            }
        }
        let all = Scan {
            table,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Forward,
            columns: Columns::All,
            filter: None,
            examine: None,
            sieves: &[],
        };
        let seen = open.scan(&all, &mut |item| {
            assert_whole(item.row);
            ControlFlow::Continue(())
        });
        seen.expect("readers commit");
        open.commit().expect("readers commit");
    }
}

fn beside_a_reader(mode: Mode) {
    let (engine, table) = engine();
    let mut old = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room for one more");
    let mut row = RowBuf::new();
    assert!(old.read(table, &Key::from_u64(1), Columns::All, &mut row).expect("it is there"));
    thread::scope(|scope| {
        scope.spawn(|| write(&engine, table, mode));
        scope.spawn(|| read(&engine, table));
    });
    assert!(old.read(table, &Key::from_u64(2), Columns::All, &mut row).expect("its snapshot is kept"));
    assert_eq!(row.row().bytes(), self::row(0), "as it was when the reader began");
    old.commit().expect("readers commit");
    engine.collect();
    assert!(engine.settled() > model::Timestamp::ZERO);
}

#[test]
fn a_reader_beside_a_writer_that_owns_at_commit() {
    beside_a_reader(Mode::ReadWrite);
}

#[test]
fn a_reader_beside_a_writer_that_owns_at_the_statement() {
    beside_a_reader(Mode::OwnAtStatement);
}
