//! Memory: a dropped table gives back every byte, and the error on opening a database that does not fit. What every engine with a
//! limit does is in the battery.

mod support;

use env::{Disk, SimClock, SimDisk, SimDiskOptions};
use model::{
    Access, Begin, ColumnType, Error, Finish, Key, Limit, LimitKind, RowBuf, RowRef, Schema, Storage, TableId,
};
use seriatim_mvto::{Mvto, Options};
use std::sync::Arc;
use support::{Engine, begin, engine_and_clock, impatient, registers};
use wal::Driver;

fn write(engine: &Engine, table: TableId, key: u64, length: usize) -> Result<(), Error> {
    let mut open = begin(engine);
    open.put(table, &key.to_be_bytes(), RowBuf::from_bytes(&vec![7; length]).row())?;
    open.commit().map(drop)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> Limit {
    match result {
        Err(Error::Limit(limit)) => limit,
        other => panic!("a limit, not {other:?}"),
    }
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
