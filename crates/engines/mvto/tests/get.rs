//! Single reads: what they see, what they forbid, what their answer waits for, and where a transaction does their work.
#![cfg(not(feature = "shuttle"))]

mod support;

use env::{SimClock, SimDisk, SimDiskOptions};
use model::{
    Access, Begin, ColumnType, Columns, Durability, Error, Finish, Got, Interactive, Invalid, Key, Mode, RowBuf,
    Schema, Storage, TableId, Tables, ValueRef,
};
use seriatim_mvto::{Mvto, Options};
use std::ops::ControlFlow;
use std::sync::Arc;
use support::{
    Engine, begin, begin_as, begin_beside_the_lane, delete, engine_and_clock, get, impatient, insert, integer, put,
    registers, rule, set, single_read, with_registers,
};

fn open_on(disk: &SimDisk, durability: Durability) -> Engine {
    let log = wal::LogOptions { driver: wal::Driver::Caller, ..wal::LogOptions::default() };
    let options = Options { durability, log, ..impatient() };
    Arc::new(Mvto::open_with(Arc::new(disk.clone()), options, SimClock::new(0, 1)).expect("an empty disk"))
}

/// The newest row, deletes and inserts among them, in tables of both kinds; no transaction is open afterwards.
#[test]
fn it_sees_what_has_committed_and_nothing_else() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let (engine, clock) = engine_and_clock(impatient());
        let table = engine.create_table(registers("registers", storage)).expect("a new table");
        // So far that the clock passes every stamp that a single read leaves.
        let single_read = |key| {
            let read = single_read(&engine, table, key);
            clock.advance(2_000);
            read
        };
        assert_eq!(single_read(1), None);
        set(&engine, table, 1, 10);
        assert_eq!(single_read(1), Some(10));
        set(&engine, table, 1, 11);
        let mut open = begin(&engine);
        put(&mut open, table, 1, 12).expect("buffered");
        insert(&mut open, table, 2, 20).expect("buffered");
        assert_eq!((single_read(1), single_read(2)), (Some(11), None));
        open.abort();
        let mut deleter = begin(&engine);
        assert!(delete(&mut deleter, table, 1).expect("nobody in the way"));
        deleter.commit().expect("nobody in the way");
        assert_eq!(single_read(1), None, "a tombstone");
        engine.collect();
        assert_eq!(single_read(1), None, "no tuple");
        set(&engine, table, 1, 13);
        assert_eq!(single_read(1), Some(13));
        assert_eq!(engine.stats().active, 0);
    }
}

/// Who owns since a statement is pushed: it commits above the limit, which lies ahead of the clock.
#[test]
fn an_owner_that_executes_moves_above_it() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    assert_eq!(single_read(&engine, table, 1), Some(10), "without a wait");
    owner.commit().expect("it moves");
    assert_eq!(engine.stats().moved, 1);
    assert_eq!(single_read(&engine, table, 1), Some(11));
}

/// No timestamp is drawn, and the clock is not read.
#[test]
fn it_reads_no_clock() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 10)]);
    let reads = clock.reads();
    assert_eq!((single_read(&engine, table, 1), single_read(&engine, table, 2)), (Some(10), None));
    assert_eq!(clock.reads(), reads);
}

/// A lane that a transaction is in: another transaction reads.
#[test]
fn it_reads_where_the_lane_is_taken() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut in_lane = begin_as(&engine, Mode::ReadOnly);
    assert_eq!(get(&mut in_lane, table, 1).expect("nobody in the way"), Some(10));
    let before = engine.stats().read_only_commits;
    assert_eq!(single_read(&engine, table, 1), Some(10));
    assert_eq!(engine.stats().read_only_commits, before + 1, "it counts");
    in_lane.commit().expect("it has only read");
    assert_eq!(single_read(&engine, table, 1), Some(10));
    assert_eq!(engine.stats().read_only_commits, before + 3);
}

/// An age limit leaves no lanes: transactions read.
#[test]
fn it_reads_where_ages_have_a_limit() {
    let age = Some(std::time::Duration::from_secs(1));
    let (engine, _, table) = with_registers(Options { transaction_age: age, ..impatient() }, &[(1, 10)]);
    assert_eq!(single_read(&engine, table, 1), Some(10));
    assert_eq!(single_read(&engine, table, 2), None);
}

/// Some columns of a typed row; mistakes have their names.
#[test]
fn it_reads_columns_and_names_mistakes() {
    let (engine, _) = engine_and_clock(impatient());
    let people = Schema::table("people").column("id", ColumnType::Int).column("age", ColumnType::Int).key(["id"]);
    let schema = people.build().expect("a good schema");
    let values = [ValueRef::Int(1), ValueRef::Int(30)];
    let row = RowBuf::from_values(&values);
    let table = engine.create_table(schema.clone()).expect("a new table");
    let key = schema.key_of(row.row());
    let mut write = begin(&engine);
    write.put(table, &key, row.row()).expect("nobody in the way");
    write.commit().expect("nobody in the way");
    let read = |table: TableId, key: &[u8], columns: Columns<'_>| {
        let mut row = RowBuf::new();
        engine.get(table, key, columns, &mut row).map(|got: Got| (got.found, row))
    };
    assert_eq!(read(table, &key, Columns::All).expect("it is there"), (true, row));
    let mut alone = RowBuf::new();
    begin(&engine).read(table, &key, Columns::Some(&[1]), &mut alone).expect("it is there");
    assert_eq!(read(table, &key, Columns::Some(&[1])).expect("it is there"), (true, alone));
    assert!(matches!(read(table, b"x", Columns::All), Err(Error::Invalid(_))));
    assert!(matches!(read(table, &key, Columns::Some(&[7])), Err(Error::Invalid(_))));
    engine.drop_table("people").expect("it is there");
    let gone = read(table, &key, Columns::All).map(drop);
    assert!(matches!(gone, Err(Error::Invalid(Invalid::UnknownTable { .. }))), "{gone:?}");
}

/// The answer waits for the version that it shows, unless the database's durability asks for nothing (M9).
#[test]
fn its_answer_waits_for_what_it_rests_on() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let engine = open_on(&disk, Durability::Fsync);
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let mut write = engine.begin(Begin { durability: Some(Durability::Async), ..Begin::default() }).expect("room");
    put(&mut write, table, 1, 10).expect("nobody in the way");
    write.commit().expect("nobody in the way");
    let got = engine.get(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new()).expect("nobody in the way");
    let committed = {
        let mut reader = begin_as(&engine, Mode::ReadOnly);
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(10));
        reader.commit().expect("it has only read")
    };
    assert!(got.log_position > model::LogPosition::ZERO);
    assert_eq!(got.log_position, committed.log_position, "as a transaction's");
    engine.wait_durable(got.log_position).expect("a good disk");
    let missing = engine.get(table, &Key::from_u64(2), Columns::All, &mut RowBuf::new()).expect("nobody in the way");
    assert_eq!(missing, Got::default());
    drop(engine);
    let engine = open_on(&disk, Durability::Async);
    let (table, _) = engine.table("registers").expect("it is there");
    let got = engine.get(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new()).expect("nobody in the way");
    assert_eq!(got, Got { found: true, log_position: model::LogPosition::ZERO });
}

/// Writers of a key that begin after the limit has passed are not in its way.
#[test]
fn it_forbids_nothing_to_whoever_begins_later() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 0)]);
    for value in 1..100 {
        assert_eq!(single_read(&engine, table, 1), Some(value - 1));
        clock.advance(2_000);
        set(&engine, table, 1, value);
    }
    let mut early = begin_beside_the_lane(&engine);
    assert_eq!(single_read(&engine, table, 1), Some(99));
    put(&mut early, table, 1, 0).expect("buffered");
    assert_eq!(rule(early.commit()), "later-reader");
}

/// A sample shows newest committed rows, and leaves no stamp: who is older writes them afterwards, where a single read would have
/// forbidden it.
#[test]
fn a_sample_shows_committed_rows_and_stamps_none() {
    let rows: Vec<(u64, u64)> = (0..100).map(|key| (key, 10)).collect();
    let (engine, _, table) = with_registers(impatient(), &rows);
    let sample = || {
        let mut values = Vec::new();
        engine.sample_rows(table, 64, &mut |row| {
            values.push(integer(row.bytes()));
            ControlFlow::Continue(())
        });
        values
    };
    let mut old = begin(&engine);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    let sampled = sample();
    assert!(sampled.len() > 30 && sampled.iter().all(|value| *value == 10), "{sampled:?}");
    (2..100).for_each(|key| put(&mut old, table, key, 12).expect("buffered"));
    old.commit().expect("nothing was stamped");
    owner.commit().expect("nobody in the way");
    assert_eq!(engine.stats().moved, 0, "nobody was pushed");
    assert!(sample().iter().filter(|value| **value == 12).count() > 30);
    let mut shown = 0;
    engine.sample_rows(table, 64, &mut |_| {
        shown += 1;
        if shown < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(shown, 20, "no more than are asked for");
}
