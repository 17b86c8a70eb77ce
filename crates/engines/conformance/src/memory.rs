//! The limit on memory: what is refused, what goes on, and that the count comes back.

use crate::fixture::{Knobs, Open, Sessions, begin};
use crate::registers::registers;
use model::{
    Access, Begin, Columns, Error, Finish, Interactive, Limit, LimitKind, Mode, Result, RowBuf, Storage, TableId,
    Tables,
};
use std::fmt::Debug;
use std::sync::Arc;

const LIMIT: u64 = 1 << 20;

fn knobs() -> Knobs {
    Knobs { memory_bytes: Some(LIMIT), ..Knobs::impatient() }
}

/// An engine with so much memory, and one table.
fn limited<F: Sessions>(knobs: &Knobs) -> (Arc<F::Engine>, TableId) {
    let engine = F::open(knobs);
    let table = F::create_table(&engine, registers("registers", Storage::Ordered)).expect("a new table");
    (engine, table)
}

fn tables<E: Interactive>(engine: &E) -> &dyn Tables {
    engine.ddl().expect("an engine that counts its memory has tables that come and go")
}

fn used<E: Interactive>(engine: &E) -> u64 {
    tables(engine).usage().expect("it counts its memory").memory_bytes
}

fn put<F: Sessions>(open: &mut Open<F>, table: TableId, key: u64, length: usize) -> Result<()> {
    open.put(table, &key.to_be_bytes(), RowBuf::from_bytes(&vec![7; length]).row())
}

fn write<F: Sessions>(engine: &Arc<F::Engine>, table: TableId, key: u64, length: usize) -> Result<()> {
    let mut open = begin::<F>(engine, Mode::ReadWrite);
    put::<F>(&mut open, table, key, length)?;
    open.commit().map(drop)
}

fn delete<F: Sessions>(engine: &Arc<F::Engine>, table: TableId, key: u64) {
    let mut open = begin::<F>(engine, Mode::ReadWrite);
    assert!(open.delete(table, &key.to_be_bytes()).expect("deletes go on"));
    open.commit().expect("nobody in the way");
}

#[track_caller]
fn refused<T: Debug>(result: Result<T>) -> Limit {
    match result {
        Err(Error::Limit(limit)) => limit,
        other => panic!("a limit, not {other:?}"),
    }
}

/// Writes rows of 1,000 bytes until one is refused. Returns how many there are.
fn fill<F: Sessions>(engine: &Arc<F::Engine>, table: TableId) -> u64 {
    let refused_at = (0..10_000).find(|&key| match write::<F>(engine, table, key, 1000) {
        Ok(()) => false,
        error => {
            let Limit { kind, limit, actual } = refused(error);
            assert_eq!((kind, limit), (LimitKind::Memory, LIMIT));
            assert!(actual > limit && actual < limit + limit / 8, "{actual} is just above {limit}");
            true
        }
    });
    refused_at.expect("the limit is somewhere")
}

/// At the limit, inserts and updates that make a row longer are refused; reads, deletes and other updates go on, and make room.
pub fn at_the_limit_only_what_adds_is_refused<F: Sessions>() {
    let (engine, table) = limited::<F>(&Knobs { has_small_parts: true, ..knobs() });
    let rows = fill::<F>(&engine, table);
    assert!((600..1000).contains(&rows), "{rows} rows of 1,000 bytes in a megabyte");
    let error = Error::from(refused(write::<F>(&engine, table, rows, 1000)));
    assert_eq!(error.sqlstate(), "53200");
    assert!(error.to_string().contains("out of memory") && error.to_string().contains("1048576"), "{error}");

    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    let mut row = RowBuf::new();
    assert!(open.read(table, &7_u64.to_be_bytes(), Columns::All, &mut row).expect("reads go on"));
    assert_eq!(refused(put::<F>(&mut open, table, 3, 2000)).kind, LimitKind::Memory, "a row may not grow");
    put::<F>(&mut open, table, 3, 1000).expect("a row may stay as long as it is");
    put::<F>(&mut open, table, 4, 10).expect("a row may shrink");
    open.commit().expect("what was accepted is committed");

    (0..rows / 2).for_each(|key| delete::<F>(&engine, table, key));
    (0..rows / 3).for_each(|key| write::<F>(&engine, table, key, 1000).expect("there is room again"));
    assert_eq!(tables(&*engine).usage().expect("it counts its memory").memory_limit_bytes, LIMIT);
    assert!(used(&*engine) < LIMIT);
}

/// Each version is replaced at once, and what it takes is used again: the limit is never reached.
pub fn a_steady_load_near_the_limit_goes_on_for_ever<F: Sessions>() {
    let (engine, table) = limited::<F>(&Knobs { has_small_parts: true, ..knobs() });
    let rows = fill::<F>(&engine, table);
    delete::<F>(&engine, table, 0);
    for round in 0..20 {
        (1..rows).for_each(|key| write::<F>(&engine, table, key, 1000 - round).expect("as long as it was"));
    }
    assert!(used(&*engine) <= LIMIT + LIMIT / 8);
}

/// What a transaction has written counts, so one alone cannot go beyond the limit, and its end gives everything back.
pub fn a_transaction_that_outgrows_the_memory_leaves_nothing<F: Sessions>() {
    let (engine, table) = limited::<F>(&knobs());
    write::<F>(&engine, table, u64::MAX, 10).expect("room");
    let before = used(&*engine);
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    let written = (0..10_000).find(|&key| put::<F>(&mut open, table, key, 1000).is_err()).expect("there is a limit");
    assert!((200..1000).contains(&written), "{written}");
    assert!(used(&*engine) > LIMIT / 2);
    open.abort();
    F::collect(&engine);
    let after = used(&*engine);
    assert!(after < before + LIMIT / 16, "{before} before, {after} after");
}

/// An idle reader keeps old versions; they count, and go when it ends.
pub fn versions_for_an_old_reader_count_and_go_with_it<F: Sessions>() {
    let (engine, table) = limited::<F>(&knobs());
    (0..100).for_each(|key| write::<F>(&engine, table, key, 1000).expect("room"));
    let before = used(&*engine);
    let mut reader = begin::<F>(&engine, Mode::ReadOnly);
    let mut row = RowBuf::new();
    assert!(reader.read(table, &0_u64.to_be_bytes(), Columns::All, &mut row).expect("nobody in the way"));
    (0..100).for_each(|key| write::<F>(&engine, table, key, 1000).expect("room for a second version of each"));
    assert!(used(&*engine) > before + 100 * 1000);
    reader.commit().expect("reads always commit");
    begin::<F>(&engine, Mode::ReadWrite).commit().expect("the bound moves on");
    F::collect(&engine);
    F::collect(&engine);
    assert!(used(&*engine) < before + 100 * 1000, "{} of {before}", used(&*engine));
}

/// A table that is dropped gives its rows back.
pub fn a_dropped_table_gives_its_memory_back<F: Sessions>() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let engine = F::open(&Knobs::impatient());
        let empty = used(&*engine);
        let table = F::create_table(&engine, registers("more", storage)).expect("a new table");
        (0..5000).for_each(|key| write::<F>(&engine, table, key, 100).expect("room"));
        assert!(used(&*engine) > empty + 5000 * 100);
        tables(&*engine).drop_table("more").expect("it is there");
        // Whoever began before the drop has ended.
        engine.begin(Begin::default()).expect("room").abort();
        F::collect(&engine);
        let left = used(&*engine);
        assert!(left < empty + 5000 * 50, "{left} of {storage:?} are left, {empty} without the table");
    }
}

/// Bytes are estimated from some rows, for a planner and for users.
pub fn a_table_is_weighed_by_some_of_its_rows<F: Sessions>() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let engine = F::open(&Knobs::impatient());
        let table = F::create_table(&engine, registers("registers", storage)).expect("a new table");
        let weigh = |table| tables(&*engine).estimate_bytes(table);
        assert_eq!(weigh(table), Some(0), "{storage:?}");
        write::<F>(&engine, table, 0, 1000).expect("memory");
        let one = weigh(table).expect("a table");
        assert!((1000..3000).contains(&one), "{one} of {storage:?}");
        (1..1000).for_each(|key| write::<F>(&engine, table, key, 1000).expect("memory"));
        let all = weigh(table).expect("a table");
        assert!((1_000_000..2_500_000).contains(&all), "{all} of {storage:?}");
        assert_eq!(weigh(TableId(table.0 + 1)), None);
    }
}
