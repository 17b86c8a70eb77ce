//! The limit on memory: refused and continuing operations, and the error on opening a database that does not fit.

mod support;

use env::{Disk, SimClock, SimDisk, SimDiskOptions};
use model::{
    Access, Begin, ColumnType, Columns, Error, Finish, Key, Limit, LimitKind, RowBuf, RowRef, Schema, Storage, TableId,
    Tables,
};
use seriatim_mvto::{Mvto, Options};
use std::sync::Arc;
use support::{Engine, Open, begin, engine_and_clock, impatient, registers};
use wal::Driver;

const LIMIT: usize = 1 << 20;

fn limited() -> (Engine, TableId) {
    let (engine, _) = engine_and_clock(Options { memory_bytes: Some(LIMIT), ..impatient() });
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    (engine, table)
}

fn put(open: &mut Open, table: TableId, key: u64, length: usize) -> Result<(), Error> {
    open.put(table, &key.to_be_bytes(), RowBuf::from_bytes(&vec![7; length]).row())
}

fn write(engine: &Engine, table: TableId, key: u64, length: usize) -> Result<(), Error> {
    let mut open = begin(engine);
    put(&mut open, table, key, length)?;
    open.commit().map(drop)
}

fn delete(engine: &Engine, table: TableId, key: u64) {
    let mut open = begin(engine);
    assert!(open.delete(table, &key.to_be_bytes()).expect("deletes go on"));
    open.commit().expect("nobody in the way");
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> Limit {
    match result {
        Err(Error::Limit(limit)) => limit,
        other => panic!("a limit, not {other:?}"),
    }
}

/// Writes rows of 1,000 bytes until one is refused. Returns how many there are.
fn fill(engine: &Engine, table: TableId) -> u64 {
    let refused_at = (0..10_000).find(|&key| match write(engine, table, key, 1000) {
        Ok(()) => false,
        error => {
            let Limit { kind, limit, actual } = refused(error);
            assert_eq!((kind, limit), (LimitKind::Memory, LIMIT as u64));
            assert!(actual > limit && actual < limit + limit / 8, "{actual} is just above {limit}");
            true
        }
    });
    refused_at.expect("the limit is somewhere")
}

#[test]
fn at_the_limit_inserts_are_refused_and_reads_deletes_and_shrinking_updates_go_on() {
    let (engine, table) = limited();
    let rows = fill(&engine, table);
    assert!((600..1000).contains(&rows), "{rows} rows of 1,000 bytes in a megabyte");
    let error = Error::from(refused(write(&engine, table, rows, 1000)));
    assert_eq!(error.sqlstate(), "53200");
    assert!(error.to_string().contains("out of memory") && error.to_string().contains("1048576"), "{error}");

    let mut open = begin(&engine);
    let mut row = RowBuf::new();
    assert!(open.read(table, &7_u64.to_be_bytes(), Columns::All, &mut row).expect("reads go on"));
    assert_eq!(refused(put(&mut open, table, 3, 2000)).kind, LimitKind::Memory, "a row may not grow");
    put(&mut open, table, 3, 1000).expect("a row may stay as long as it is");
    put(&mut open, table, 4, 10).expect("a row may shrink");
    open.commit().expect("what was accepted is committed");

    (0..rows / 2).for_each(|key| delete(&engine, table, key));
    (0..rows / 3).for_each(|key| write(&engine, table, key, 1000).expect("there is room again"));
    assert_eq!(engine.stats().memory_limit, LIMIT);
    assert!(engine.stats().memory_bytes < LIMIT);
}

/// Each is replaced at once, and what it replaces is reused: no count moves, and the limit is never near.
#[test]
fn a_steady_load_near_the_limit_goes_on_for_ever() {
    let (engine, table) = limited();
    let rows = fill(&engine, table);
    delete(&engine, table, 0);
    for round in 0..20 {
        (1..rows).for_each(|key| write(&engine, table, key, 1000 - round).expect("as long as it was"));
    }
    assert!(engine.stats().memory_bytes <= LIMIT + LIMIT / 8);
}

/// A transaction's own buffer counts too, so one alone cannot go beyond, and its end gives everything back.
#[test]
fn a_transaction_that_outgrows_the_memory_is_refused_and_leaves_nothing() {
    let (engine, table) = limited();
    write(&engine, table, u64::MAX, 10).expect("room");
    let before = engine.stats().memory_bytes;
    let mut open = begin(&engine);
    let written = (0..10_000).find(|&key| put(&mut open, table, key, 1000).is_err()).expect("the limit is somewhere");
    assert!((200..600).contains(&written), "{written}: once in the buffer, once to be installed");
    assert!(engine.stats().memory_bytes > LIMIT / 2);
    open.abort();
    engine.collect();
    let after = engine.stats().memory_bytes;
    assert!(after < before + 8 * 1024, "{before} before, {after} after");
}

/// An idle reader keeps old versions; they count, and go when it ends.
#[test]
fn versions_for_an_old_reader_count_and_go_with_it() {
    let (engine, table) = limited();
    (0..100).for_each(|key| write(&engine, table, key, 1000).expect("room"));
    let before = engine.stats().memory_bytes;
    let mut reader = begin(&engine);
    let mut row = RowBuf::new();
    assert!(reader.read(table, &0_u64.to_be_bytes(), Columns::All, &mut row).expect("nobody in the way"));
    for key in 0..100 {
        write(&engine, table, key, 1000).expect("room for a second version of each");
    }
    assert!(engine.stats().memory_bytes > before + 100 * 1000);
    reader.commit().expect("reads always commit");
    begin(&engine).commit().expect("the bound moves on");
    engine.collect();
    engine.collect();
    assert!(engine.stats().memory_bytes < before + 100 * 1000, "{} of {before}", engine.stats().memory_bytes);
}

#[test]
fn a_dropped_table_gives_all_its_memory_back() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let (engine, _) = engine_and_clock(impatient());
        let empty = engine.stats().memory_bytes;
        let table = engine.create_table(registers("more", storage)).expect("a new table");
        (0..5000).for_each(|key| write(&engine, table, key, 100).expect("room"));
        assert!(engine.stats().memory_bytes > empty + 5000 * 100);
        engine.drop_table("more").expect("it is there");
        engine.collect();
        assert_eq!(engine.stats().memory_bytes, empty, "{storage:?}");
    }
}

fn open(disk: &SimDisk, memory: Option<usize>) -> Result<Mvto<SimClock>, Error> {
    let log = wal::LogOptions { segment_bytes: 1 << 20, driver: Driver::Caller, ..Default::default() };
    let options = Options { log, sites: 4, memory_bytes: memory, ..Options::default() };
    Mvto::open_with(Arc::new(disk.clone()) as Arc<dyn Disk>, options, SimClock::new(1_000, 7))
}

fn people() -> Schema {
    let people = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
    people.key(["id"]).build().expect("a good schema")
}

fn person(id: i64) -> (Key, RowBuf) {
    let mut key = Key::new();
    key.push_i64(id);
    (key, RowBuf::from_values(&[id.into(), format!("person number {id}").as_str().into()]))
}

/// Writes people, a checkpoint behind the first half of them.
fn populate(db: &Mvto<SimClock>, count: i64) {
    let table = db.create_table(people()).expect("a new table");
    for id in 0..count {
        let (key, row) = person(id);
        let mut open = model::Interactive::begin(db, Begin::default()).expect("room");
        open.put(table, &key, row.row()).expect("alone");
        open.commit().expect("alone");
        if id == count / 2 {
            db.checkpoint().expect("a good disk");
        }
    }
}

/// The size that the error names is enough, and not much more than needed.
#[test]
fn a_database_that_does_not_fit_says_how_much_it_needs() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    {
        let db = open(&disk, None).expect("a new database");
        populate(&db, 3000);
        db.close().expect("a good disk");
    }
    let error = open(&disk, Some(200_000)).expect_err("it does not fit");
    assert_eq!(error.sqlstate(), "53200");
    let Limit { kind, limit, actual } = refused::<()>(Err(error.clone()));
    assert_eq!((kind, limit), (LimitKind::MemoryToOpen, 200_000));
    assert!(error.to_string().contains("needs about"), "{error}");
    let db = open(&disk, Some(actual as usize)).expect("as much as it asked for");
    let used = db.stats().memory_bytes;
    assert!(used <= actual as usize && actual as usize <= used * 3 / 2, "{used} used of {actual} asked for");
    assert_eq!(db.recovery().expect("it was opened").rows, 3000);
}

/// A log that updates one row again and again needs no more memory than the row.
#[test]
fn a_long_log_of_one_row_fits_where_the_row_does() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    {
        let db = open(&disk, None).expect("a new database");
        let table = db.create_table(people()).expect("a new table");
        for _ in 0..3000 {
            let (key, row) = person(1);
            let mut open = model::Interactive::begin(&db, Begin::default()).expect("room");
            open.put(table, &key, RowRef::new(row.row().bytes())).expect("alone");
            open.commit().expect("alone");
        }
        db.close().expect("a good disk");
    }
    assert_eq!(open(&disk, Some(100_000)).expect("it fits").recovery().expect("it was opened").rows, 1);
}

#[test]
fn a_table_is_weighed_by_some_of_its_rows() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let (engine, _) = engine_and_clock(Options::default());
        let table = engine.create_table(registers("registers", storage)).expect("a new table");
        assert_eq!(engine.estimate_bytes(table), Some(0), "{storage:?}");
        write(&engine, table, 0, 1000).expect("memory");
        let one = engine.estimate_bytes(table).expect("a table");
        assert!((1000..2000).contains(&one), "{one} of {storage:?}");
        (1..1000).for_each(|key| write(&engine, table, key, 1000).expect("memory"));
        let all = engine.estimate_bytes(table).expect("a table");
        assert!((400 * one..2_500 * one).contains(&all), "{all} of {storage:?}");
        assert_eq!(engine.estimate_bytes(TableId(table.0 + 1)), None);
    }
}
