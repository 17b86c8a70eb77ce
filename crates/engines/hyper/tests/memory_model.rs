//! Two threads on one engine, small enough for an interpreter that checks every access to memory (`make miri`): rows are changed in
//! place beside readers of their versions, and places go and come back. Without the interpreter it is a short stress test. The
//! kernels' orderings are loom's business (`loom_order.rs`).

#![cfg(not(any(loom, feature = "shuttle")))]

use env::MonotonicClock;
use model::columns::{Batch, batches};
use model::{
    Access, Begin, ColumnType, Columns, Delta, Finish, Interactive, Key, Mode, Result, RowBuf, RowRef, Savepoints,
    Scan, Schema, SharedReads, TableId, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

const KEYS: i64 = 6;
/// Enough for rows to be changed in place, for texts to change their length, and for places to be used again.
const ROUNDS: i64 = if cfg!(miri) { 12 } else { 2_000 };

fn schema() -> Schema {
    Schema::table("rows")
        .column("id", ColumnType::Int)
        .column("round", ColumnType::Int)
        .column("note", ColumnType::Text)
        .key(["id"])
        .build()
        .expect("a good schema")
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

/// A text that its round decides, of a length that changes.
fn note(round: i64) -> String {
    let letter = char::from(b'a' + (round % 26) as u8);
    letter.to_string().repeat(3 + (round % 3) as usize * 40)
}

fn row(id: i64, round: i64) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Int(round), ValueRef::Text(&note(round))])
}

fn assert_whole(round: ValueRef<'_>, text: ValueRef<'_>) {
    let round = round.as_int().expect("an integer");
    assert!(matches!(text, ValueRef::Text(text) if text == note(round)), "a torn row: {round}, {text:?}");
}

fn assert_whole_row(row: RowRef<'_>) {
    assert_whole(row.get(1), row.get(2));
}

fn engine(options: Options) -> (Hyper, TableId) {
    let options = Options { memory_bytes: Some(64 << 20), block_rows: 4, has_small_nodes: true, ..options };
    // The interpreter has no processor whose counter could be read.
    let engine = Hyper::new_with(options, Arc::new(MonotonicClock::new()));
    let table = engine.create_table(schema()).expect("a new table");
    let mut load = begin(&engine, Mode::ReadWrite);
    (0..KEYS).for_each(|id| load.insert(table, &key(id), row(id, 0).row()).expect("alone"));
    load.commit().expect("alone");
    (engine, table)
}

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
}

/// Changes a row column by column, replaces, deletes or inserts it, and takes a part of that back.
fn change(open: &mut Transaction<&Hyper>, table: TableId, round: i64) -> Result<()> {
    let key = key(round % KEYS);
    match round % 4 {
        0 => drop(open.delete(table, &key)?),
        1 => drop(open.update(table, &key, &Delta::new().set(1, round).set(2, &*note(round)))?),
        _ => open.put(table, &key, row(round % KEYS, round).row())?,
    }
    let savepoint = open.savepoint()?;
    open.put(table, &self::key((round + 1) % KEYS), row((round + 1) % KEYS, 7).row())?;
    open.rollback_to(&savepoint)?;
    open.release(savepoint);
    Ok(())
}

fn write(engine: &Hyper, table: TableId, mode: Mode) {
    for round in 1..=ROUNDS {
        let mut open = begin(engine, mode);
        change(&mut open, table, round).expect("readers are in nobody's way");
        if round % 3 == 0 {
            drop(open); // Takes it all back.
        } else {
            open.commit().expect("readers are in nobody's way");
        }
        if round % 5 == 0 {
            engine.collect();
        }
    }
}

/// Reads keys, and all by row and by column, in transactions that outlive several of the writer's.
fn read(engine: &Hyper, table: TableId) {
    let mut found = RowBuf::new();
    for round in 0..ROUNDS {
        let mut open = begin(engine, Mode::ReadOnly);
        for id in [round, round + 1] {
            if open.read(table, &key(id % KEYS), Columns::All, &mut found).expect("readers commit") {
                assert_whole_row(found.row());
            }
        }
        let seen = open.scan(&Scan::table(table), &mut |item| {
            assert_whole_row(item.row);
            ControlFlow::Continue(())
        });
        seen.expect("readers commit");
        let view = open.read_view().expect("it is open");
        let scan = Scan::table(table).columns(Columns::Some(&[1, 2]));
        let (scan, mut batch) = (batches(&*view, &schema(), scan).expect("typed"), Batch::default());
        while scan.next(&mut batch).expect("readers commit") {
            for at in 0..batch.len() {
                assert_whole(batch.column(0).get(at).as_ref(), batch.column(1).get(at).as_ref());
            }
        }
        drop(scan);
        drop(view);
        open.commit().expect("readers commit");
    }
}

fn beside_a_reader(mode: Mode, options: Options) {
    let (engine, table) = engine(options);
    let mut old = begin(&engine, Mode::ReadOnly);
    let mut found = RowBuf::new();
    assert!(old.read(table, &key(1), Columns::All, &mut found).expect("it is there"));
    thread::scope(|scope| {
        scope.spawn(|| write(&engine, table, mode));
        scope.spawn(|| read(&engine, table));
    });
    assert!(old.read(table, &key(2), Columns::All, &mut found).expect("its snapshot is kept"));
    assert_eq!(found.row().bytes(), row(2, 0).row().bytes(), "as it was when the reader began");
    old.commit().expect("readers commit");
    while engine.collect() > 0 {}
    let stats = engine.stats();
    assert_eq!((stats.open, stats.garbage, stats.versioned), (0, 0, 0));
}

#[test]
fn a_reader_beside_a_writer_that_is_validated() {
    beside_a_reader(Mode::ReadWrite, Options::default());
}

#[test]
fn a_reader_beside_a_writer_that_owns_at_the_statement() {
    beside_a_reader(Mode::OwnAtStatement, Options::default());
}

#[test]
fn a_reader_beside_a_writer_of_whole_rows() {
    beside_a_reader(Mode::ReadWrite, Options { by_row: true, ..Options::default() });
}
