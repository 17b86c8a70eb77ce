//! Memory: the count comes back to what it was, errors name whoever keeps versions, and a database that does not fit is not opened.
//! What every engine with a limit does is in the battery.

mod common;

use common::with_registers;
use conformance::registers::{delete, limit, put};
use env::{Disk, Randomness, SimClock, SimDisk, SimDiskOptions};
use model::{
    Access, Begin, ColumnType, Durability, Error, Finish, Interactive, Key, Limit, LimitKind, Mode, RowBuf, Schema,
    Storage, TableId, ValueRef,
};
use parts::epoch;
use seriatim_hyper::{Driver, Hyper, LogOptions, Options, Pace, Transaction};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

fn used(engine: &Hyper) -> u64 {
    engine.stats().memory_bytes
}

/// Inserts, updates, deletions and rollbacks at random, on columns and on whole rows: once all rows are gone and collected, an empty
/// table is left.
#[test]
fn whatever_is_counted_is_counted_back() {
    for (by_row, storage) in [(false, Storage::Ordered), (true, Storage::Ordered), (false, Storage::Hash)] {
        let engine = Hyper::new(Options { by_row, ..Options::default() });
        let people = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
        let schema = people.nullable("age", ColumnType::Int).key(["id"]).storage(storage).build().expect("a schema");
        let table = engine.create_table(schema).expect("a new table");
        let empty = used(&engine);
        let mut random = Randomness::from_seed(3);
        for _ in 0..300 {
            change(&engine, table, &mut random);
        }
        assert!(used(&engine) > empty + 50_000, "{} of {empty}", used(&engine));
        let mut open = begin(&engine, Mode::ReadWrite);
        for id in 0..3000 {
            open.delete(table, &key(id)).expect("nobody in the way");
        }
        open.commit().expect("nobody in the way");
        engine.collect();
        let left = used(&engine) - empty;
        // A hash table does not shrink.
        let spare_entries_and_index_nodes = 192 << 10;
        assert!(left < spare_entries_and_index_nodes, "{left} bytes are left of {storage:?}, by row: {by_row}");
        let stats = engine.stats();
        assert_eq!((stats.rows, stats.versioned, stats.garbage), (0, 0, 0));
    }
}

fn change(engine: &Hyper, table: TableId, random: &mut Randomness) {
    let mut open = begin(engine, Mode::ReadWrite);
    let savepoint = open.savepoints().expect("it has savepoints").savepoint().expect("it is open");
    for _ in 0..random.in_range(0..40) {
        let id = random.in_range(0..3000) as i64;
        if random.chance(1, 4) {
            open.delete(table, &key(id)).expect("nobody in the way");
        } else {
            let name = "x".repeat(random.in_range(0..300) as usize);
            let age = if random.chance(1, 3) { ValueRef::Null } else { ValueRef::Int(1 << random.in_range(0..62)) };
            let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text(&name), age]);
            open.put(table, &key(id), row.row()).expect("nobody in the way");
        }
    }
    match random.in_range(0..6) {
        0 => open.abort(),
        1 => {
            open.savepoints().expect("it has savepoints").rollback_to(&savepoint).expect("it is its own");
            open.commit().map(drop).expect("alone");
        }
        _ => open.commit().map(drop).expect("alone"),
    }
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

/// Does something until so many bytes are used at most, as soon as no other test has a guard.
fn go_down_to(engine: &Hyper, most: u64, act: impl Fn()) {
    let begun = Instant::now();
    while used(engine) > most {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} bytes are used instead of {most}", used(engine));
        act();
        std::thread::yield_now();
    }
}

fn collect_down_to(engine: &Hyper, most: u64) {
    go_down_to(engine, most, || _ = engine.collect());
}

/// Tables come and go, with and without an order, also beside a transaction that is open meanwhile: nothing is left but their places.
#[test]
fn ten_thousand_tables_leave_no_memory() {
    const TABLES: u32 = 10_000;
    const PLACE: u64 = 16;
    let engine = Hyper::new(Options::default());
    let before = used(&engine);
    let mut reader = None;
    for number in 0..TABLES {
        let storage = if number % 2 == 0 { Storage::Ordered } else { Storage::Hash };
        let schema = Schema::bytes("t").u64_key().storage(storage).build().expect("a schema");
        let table = engine.create_table(schema).expect("a new table");
        let mut open = begin(&engine, Mode::ReadWrite);
        (0..3).for_each(|key| put(&mut open, table, key, key).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
        if number % 100 == 0 {
            reader = Some(begin(&engine, Mode::ReadOnly));
        }
        engine.drop_table("t").expect("it is listed");
        // Only the epoch is moved on: the engine collects by itself, and other tests' guards may hold that back.
        go_down_to(&engine, before + 8_000_000, || epoch::pin().flush());
    }
    drop(reader);
    // The array of places doubles, and the last worker keeps entries for its next writes.
    collect_down_to(&engine, before + 2 * PLACE * u64::from(TABLES) + 10_000);
}

/// A table without rows takes little, whatever its index.
#[test]
fn empty_tables_are_small() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let engine = Hyper::new(Options::default());
        let before = used(&engine);
        engine.create_table(Schema::bytes("t").storage(storage).build().expect("a schema")).expect("a new table");
        let empty = used(&engine) - before;
        assert!(empty < 6_000, "{empty} bytes for an empty table, {storage:?}");
    }
}

/// A table of one row takes a few kilobytes, and nothing is left of a dropped one but its place; blocks grow with their rows.
#[test]
fn small_tables_are_small() {
    const TABLES: u64 = 200;
    let engine = Hyper::new(Options::default());
    let before = used(&engine);
    let schema = |number: u64| {
        let schema = Schema::table(format!("t{number}")).column("id", ColumnType::Int);
        schema.column("name", ColumnType::Text).key(["id"]).build().expect("a schema")
    };
    let tables: Vec<TableId> =
        (0..TABLES).map(|number| engine.create_table(schema(number)).expect("a new table")).collect();
    let fill = |ids: std::ops::Range<i64>| {
        for table in &tables {
            let mut open = begin(&engine, Mode::ReadWrite);
            for id in ids.clone() {
                let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text("a name")]);
                open.put(*table, &key(id), row.row()).expect("nobody in the way");
            }
            open.commit().expect("nobody in the way");
        }
        engine.collect();
        (used(&engine) - before) / TABLES
    };
    let of_one_row = fill(0..1);
    let of_20_rows = fill(1..20);
    assert!((1_000..8_000).contains(&of_one_row), "{of_one_row} bytes for a table of one row");
    assert!(of_20_rows < of_one_row + 20 * 250, "{of_20_rows} bytes for 20 rows, {of_one_row} for one");
    (0..TABLES).for_each(|number| engine.drop_table(&format!("t{number}")).expect("it is listed"));
    collect_down_to(&engine, before + TABLES * 100);
}

/// An idle reader keeps versions until memory is full; the error says which transaction it is, and how old. Reads and deletes go
/// on, and with its end there is room.
#[test]
fn whoever_keeps_versions_is_named() {
    let clock = SimClock::new(0, 0);
    let options = Options { memory_bytes: Some(1 << 20), ..Options::default() };
    let engine = Hyper::new_with(options, Arc::new(clock.clone()));
    let schema = conformance::registers::registers("registers", Storage::Ordered);
    let table = engine.create_table(schema).expect("a new table");
    let write = |value| {
        let mut open = begin(&engine, Mode::ReadWrite);
        put(&mut open, table, 1, value)?;
        open.commit().map(drop)
    };
    write(0).expect("room");
    let reader = begin(&engine, Mode::ReadOnly);
    clock.advance(5_000_000_000);
    let refused = (1..100_000).find_map(|value| write(value).err()).expect("versions are kept up to the limit");
    let text = refused.to_string();
    let Error::Limit(Limit { kind: LimitKind::MemoryHeld(holder), .. }) = &refused else { panic!("{refused}") };
    assert_eq!(Some(holder.transaction), reader.timestamp());
    assert_eq!(holder.age, Duration::from_secs(5));
    assert!(holder.versions > 1000, "{holder:?}");
    assert_eq!(refused.sqlstate(), "53200");
    let named = format!("held by transaction {}, open for 5.0s", holder.transaction);
    assert!(text.contains("out of memory") && text.contains(&named), "{text}");
    let mut open = begin(&engine, Mode::ReadWrite);
    assert!(delete(&mut open, table, 1).expect("deletes go on"));
    open.abort();
    reader.commit().expect("a reader commits");
    write(1).expect("there is room again");
    engine.collect();
    assert_eq!((engine.stats().garbage, engine.stats().versioned), (0, 0));
}

/// Nobody is named where nobody but the writer itself is open.
#[test]
fn a_writer_alone_names_nobody() {
    let (engine, table) = with_registers(Options { memory_bytes: Some(1 << 20), ..Options::default() });
    let mut open = begin(&engine, Mode::ReadWrite);
    let refused = (0..100_000).find_map(|key| put(&mut open, table, key, 1).err()).expect("there is a limit");
    assert_eq!(limit(Err::<(), Error>(refused)).kind, LimitKind::Memory);
}

/// A queue whose rows are inserted by other threads than the one that deletes them: their places are used again.
#[test]
fn rows_that_come_and_go_on_different_threads_take_no_more_memory() {
    let (engine, table) = with_registers(Options { block_rows: 16, ..Options::default() });
    let insert_all = || {
        let mut open = begin(&engine, Mode::ReadWrite);
        (0..160).for_each(|key| put(&mut open, table, key, 1).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
    };
    let sizes = [(); 20].map(|()| {
        std::thread::scope(|scope| scope.spawn(insert_all).join().expect("no panic"));
        let mut open = begin(&engine, Mode::ReadWrite);
        (0..160).for_each(|key| assert!(delete(&mut open, table, key).expect("nobody in the way")));
        open.commit().expect("nobody in the way");
        engine.collect();
        engine.stats().bytes
    });
    // Each of a few groups of threads may have begun a block of its own.
    assert!(sizes[19] < 3 * sizes[0], "{sizes:?}");
}

fn open(disk: &SimDisk, memory_bytes: Option<usize>) -> Result<Hyper, Error> {
    let log = LogOptions { segment_bytes: 1 << 20, driver: Driver::Caller, ..LogOptions::default() };
    Hyper::open(Arc::new(disk.clone()) as Arc<dyn Disk>, Options { log, memory_bytes, ..Options::default() })
}

/// Whoever is refused at the limit has waited for the log first, if versions are kept for it.
#[test]
fn memory_of_deleted_rows_is_there_for_the_next_statement() {
    let db = open(&SimDisk::new(1, SimDiskOptions::default()), Some(8 << 20)).expect("a new database");
    let table = db.create_table(Schema::bytes("t").u64_key().build().expect("a schema")).expect("a new table");
    let how = Begin { durability: Some(Durability::None), ..Begin::default() };
    let fill = |from: u64| {
        (from..).find(|&id| {
            let mut open = db.begin(how).expect("room for one more");
            let put = open.put(table, &key(id as i64), RowBuf::from_bytes(&[7; 2000]).row());
            put.and_then(|()| open.commit().map(drop)).is_err()
        })
    };
    let full = fill(0).expect("there is a limit");
    for id in 0..full / 2 {
        let mut open = db.begin(how).expect("room for one more");
        assert!(open.delete(table, &key(id as i64)).expect("deletes go on"));
        open.commit().expect("deletes go on");
    }
    let again = fill(full).expect("there is a limit") - full;
    assert!(again > full / 3, "{again} rows after {full}, of which half were deleted");
}

/// Versions go where nobody ever asks for durability.
#[test]
fn versions_do_not_wait_for_somebody_who_wants_durability() {
    let db = open(&SimDisk::new(1, SimDiskOptions::default()), None).expect("a new database");
    let table = db.create_table(Schema::bytes("t").u64_key().build().expect("a schema")).expect("a new table");
    let how = Begin { durability: Some(Durability::None), ..Begin::default() };
    for value in 0..10_u64 {
        let mut open = db.begin(how).expect("room for one more");
        open.put(table, &key(1), RowBuf::from_bytes(&value.to_be_bytes()).row()).expect("alone");
        open.commit().expect("alone");
    }
    assert!(db.stats().versioned > 0, "nothing is on the disk");
    db.collect();
    db.collect();
    assert_eq!((db.stats().versioned, db.stats().garbage), (0, 0));
}

/// The size that the error names is enough, and not much more than needed.
#[test]
fn a_database_that_does_not_fit_says_how_much_it_needs() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    {
        let db = open(&disk, None).expect("a new database");
        let people = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
        let table = db.create_table(people.key(["id"]).build().expect("a good schema")).expect("a new table");
        for id in 0..3000 {
            let mut open = begin(&db, Mode::ReadWrite);
            let name = format!("person number {id}");
            let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text(&name)]);
            open.put(table, &key(id), row.row()).expect("alone");
            open.commit().expect("alone");
            if id == 1500 {
                db.write_checkpoint(Pace::Full).expect("a good disk");
            }
        }
        db.close().expect("a good disk");
    }
    let error = open(&disk, Some(200_000)).expect_err("it does not fit");
    assert_eq!(error.sqlstate(), "53200");
    let Limit { kind, limit, actual } = limit(Err::<(), Error>(error.clone()));
    assert_eq!((kind, limit), (LimitKind::MemoryToOpen, 200_000));
    assert!(error.to_string().contains("needs about"), "{error}");
    let db = open(&disk, Some(actual as usize)).expect("as much as it asked for");
    assert!(used(&db) <= actual && actual <= used(&db) * 3 / 2, "{} used of {actual} asked for", used(&db));
    assert_eq!(db.recovery().expect("it was opened").rows, 3000);
}

/// Rows as long as those of `mvto`, whose directories are opened: many of them in a block.
#[test]
fn rows_of_four_megabytes_share_a_block() {
    let engine = Hyper::new(Options::default());
    let table = engine.create_table(Schema::bytes("bytes").build().expect("a schema")).expect("a new table");
    for key in 0..6_u8 {
        let mut open = begin(&engine, Mode::ReadWrite);
        open.put(table, &[key], RowBuf::from_bytes(&vec![key; 4_000_000]).row()).expect("at the limit");
        open.commit().expect("nobody in the way");
    }
    let mut row = RowBuf::new();
    for key in 0..6_u8 {
        assert!(begin(&engine, Mode::ReadOnly).read(table, &[key], model::Columns::All, &mut row).expect("there"));
        assert!(row.bytes().len() == 4_000_000 && row.bytes().iter().all(|&byte| byte == key));
    }
    let longer = RowBuf::from_bytes(&vec![0; 4_000_001]);
    let refused = begin(&engine, Mode::ReadWrite).put(table, &[0], longer.row());
    assert_eq!(limit(refused), Limit { kind: LimitKind::RowBytes, limit: 4_000_000, actual: 4_000_001 });
}
