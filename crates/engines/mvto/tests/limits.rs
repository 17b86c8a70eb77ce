//! Every limit has a name, every mistake an error; and what either leaves behind is a transaction that lives on, or one that
//! says that it does not.

mod support;

use conformance::registers::{abort, invalid, limit};
use env::{SimDisk, SimDiskOptions};
use model::{
    AbortClass, Access, Begin, ColumnType, Columns, Comparison, Finish, Interactive, Invalid, Item, Key, Limit,
    LimitKind, Mode, Predicate, RowBuf, Scan, Schema, Storage, TableId, Value, ValueRef,
};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use support::{
    Engine, Open, all, at, begin, begin_as, delete, engine_and_clock, get, impatient, insert, now, put, registers,
    rule, set, with_registers,
};

fn bytes_table(engine: &Engine) -> TableId {
    engine.create_table(Schema::bytes("bytes").build().expect("a good schema")).expect("a new table")
}

fn people() -> Schema {
    let builder = Schema::table("people")
        .column("id", ColumnType::Int)
        .nullable("name", ColumnType::Text)
        .column("age", ColumnType::Int)
        .key(["id"]);
    builder.build().expect("a good schema")
}

fn person(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn put_person(open: &mut Open, table: TableId, id: i64, name: &str, age: i64) -> model::Result<()> {
    let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text(name), ValueRef::Int(age)]);
    open.put(table, &person(id), row.row())
}

// ---------------------------------------------------------------------------------------------------------------
// Limits of one statement: the transaction lives on.

#[test]
fn a_key_that_is_too_long_is_refused_and_the_transaction_lives_on() {
    let (engine, _) = engine_and_clock(Options { key_bytes: 10, ..impatient() });
    let table = bytes_table(&engine);
    let mut open = begin(&engine);
    let row = RowBuf::from_bytes(b"row");
    open.put(table, &[7; 10], row.row()).expect("just at the limit");
    let expected = Limit { kind: LimitKind::KeyBytes, limit: 10, actual: 11 };
    assert_eq!(limit(open.put(table, &[7; 11], row.row())), expected);
    assert_eq!(limit(open.insert(table, &[7; 11], row.row())), expected);
    assert!(!open.delete(table, &[7; 11]).expect("nothing can be there"));
    open.commit().expect("it lives on");
    let mut rows = 0;
    let count = &mut |_: Item<'_>| {
        rows += 1;
        ControlFlow::Continue(())
    };
    begin(&engine).scan(&Scan::table(table), count).expect("nobody in the way");
    assert_eq!(rows, 1);
}

#[test]
fn the_greatest_keys_and_rows_that_can_be_allowed_work() {
    let (engine, _) = engine_and_clock(Options { key_bytes: usize::MAX, row_bytes: usize::MAX, ..impatient() });
    assert_eq!((engine.options().key_bytes, engine.options().row_bytes), (65_535, 4_000_000));
    let table = bytes_table(&engine);
    let (key, row) = (vec![1; 65_535], RowBuf::from_bytes(&vec![2; 4_000_000]));
    let mut open = begin(&engine);
    open.put(table, &key, row.row()).expect("just at both limits");
    open.commit().expect("nobody in the way");
    let mut seen = RowBuf::new();
    assert!(begin(&engine).read(table, &key, Columns::All, &mut seen).expect("nobody in the way"));
    assert_eq!(seen, row);
}

// ---------------------------------------------------------------------------------------------------------------
// Limits of a commit, of a begin, of the database.

#[test]
fn too_many_open_transactions_are_refused_until_one_ends() {
    let (engine, _, table) = with_registers(Options { transactions: 2, ..impatient() }, &[(1, 1)]);
    let (first, mut second) = (begin(&engine), begin(&engine));
    let mut third = engine.begin_owned(Begin::default()).expect("begin only notes down");
    let refused = get(&mut third, table, 1);
    assert_eq!(limit(refused), Limit { kind: LimitKind::Transactions, limit: 2, actual: 3 });
    assert!(third.poison().is_none(), "it lives on");
    drop(first);
    assert_eq!(get(&mut third, table, 1).expect("there is room now"), Some(1));
    assert_eq!(get(&mut second, table, 1).expect("it was open all the time"), Some(1));
    third.commit().expect("nobody in the way");
}

/// The limit is the database's, on however many sites the transactions are.
#[test]
fn the_limit_on_open_transactions_holds_across_sites() {
    let (engine, _, table) = with_registers(Options { transactions: 4, sites: 64, ..impatient() }, &[(1, 1)]);
    let open: Vec<Open> = (0..4).map(|_| begin(&engine)).collect();
    let refused: BTreeSet<bool> = (0..8)
        .map(|_| {
            let engine = engine.clone();
            let fifth = move || get(&mut engine.begin_owned(Begin::default()).expect("begin"), table, 1).is_err();
            thread::spawn(fifth).join().expect("no panic")
        })
        .collect();
    assert_eq!((open.len(), refused), (4, BTreeSet::from([true])), "four are open, so every fifth is refused");
}

#[test]
fn too_many_tables_are_refused_until_one_is_dropped() {
    let (engine, _) = engine_and_clock(Options { tables: 2, ..impatient() });
    engine.create_table(registers("one", Storage::Ordered)).expect("room");
    let two = engine.create_table(registers("two", Storage::Hash)).expect("room");
    let refused = engine.create_table(registers("three", Storage::Ordered));
    assert_eq!(limit(refused), Limit { kind: LimitKind::Tables, limit: 2, actual: 3 });
    engine.drop_table("two").expect("it is there");
    let three = engine.create_table(registers("three", Storage::Ordered)).expect("room again");
    assert_ne!(two, three, "a number is not given again");
}

/// A transaction that is too old is aborted, not retried, and leaves nothing.
#[test]
fn a_transaction_that_is_too_old_is_aborted() {
    let (engine, clock, table) =
        with_registers(Options { transaction_age: Some(Duration::from_secs(1)), ..impatient() }, &[(1, 1)]);
    let mut old = begin(&engine);
    put(&mut old, table, 1, 2).expect("it is young");
    clock.advance(500_000_000);
    engine.collect();
    assert_eq!(get(&mut old, table, 1).expect("it is young enough"), Some(2));
    clock.advance(600_000_000);
    engine.collect();
    let mut young = begin(&engine);
    let aborted = get(&mut old, table, 1);
    assert!(!aborted.clone().expect_err("too old").is_retryable());
    let aborted = abort(aborted);
    assert_eq!((aborted.rule, aborted.class), ("age", AbortClass::Age));
    assert_eq!(rule(old.commit()), "age", "the transaction keeps its reason");
    assert_eq!(get(&mut young, table, 1).expect("young"), Some(1));
    assert_eq!(engine.stats().aborts, [("age", 1)]);
}

/// An abort is counted under its rule, also where it strikes at the begin.
#[test]
fn a_snapshot_that_would_wait_too_long_is_counted_under_its_rule() {
    let (engine, _, _) = with_registers(impatient(), &[]);
    let writer = thread::scope(|scope| scope.spawn(|| begin(&engine)).join().expect("no panic"));
    let mut snapshot =
        engine.begin_owned(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("it only notes down");
    assert_eq!(rule(snapshot.savepoint()), "wait-limit");
    let stats = engine.stats();
    assert_eq!((stats.aborts, stats.faults), (vec![("wait-limit", 1)], 0));
    drop(writer);
}

/// A thread that has an open writer and begins a snapshot waits for itself: the error says so, and what to do.
#[test]
fn a_snapshot_that_waits_for_its_own_thread_is_told_so() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut writer = begin(&engine);
    put(&mut writer, table, 1, 2).expect("buffered");
    let begin_snapshot =
        || engine.begin_owned(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("it only notes down");
    let aborted = abort(begin_snapshot().savepoint());
    assert_eq!((aborted.rule, aborted.class), ("own-writer", AbortClass::WaitLimit));
    assert_eq!(aborted.other, writer.timestamp());
    let of_another_thread = || rule(begin_snapshot().savepoint());
    let rule = thread::scope(|scope| scope.spawn(of_another_thread).join().expect("no panic"));
    assert_eq!(rule, "wait-limit", "it waits for another thread");
    writer.commit().expect("nobody in the way");
    assert_eq!(get(&mut begin_snapshot(), table, 1).expect("nobody older writes"), Some(2));
}

#[test]
fn a_body_that_never_wins_is_told_so() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let policy = RetryPolicy::attempts(5).with_own_after(5).with_delays(Duration::ZERO, Duration::ZERO);
    let mut attempts = 0;
    let never = engine.run(Begin::default(), policy, |open| {
        attempts += 1;
        open.savepoint()?;
        set(&engine, table, 1, attempts); // Somebody younger is always faster.
        put(open, table, 1, 0)
    });
    assert_eq!(limit(never.map(drop)), Limit { kind: LimitKind::Attempts, limit: 5, actual: 6 });
    assert_eq!((attempts, now(&engine, table, 1)), (5, Some(5)));
}

#[test]
fn knobs_are_kept_within_their_limits() {
    let of = |options: Options| Mvto::in_memory(options).expect("nothing can fail in memory").options().clone();
    let least = of(Options { sites: 0, versions: 0, ..Options::default() });
    assert_eq!((least.sites, least.versions), (1, 2));
    let most = of(Options { sites: 5000, ..Options::default() });
    assert_eq!(most.sites, 1024);
    let log = wal::LogOptions { segment_bytes: 4096, ..Default::default() };
    let logged = of(Options { row_bytes: usize::MAX, key_bytes: usize::MAX, log: log.clone(), ..Options::default() });
    assert!(logged.row_bytes + logged.key_bytes < log.max_payload(), "a row with its key is logged whole");
    assert_eq!(of(Options { sites: 3, ..Options::default() }).sites, 4, "a power of two");
}

/// A record that no segment of the log takes is a limit, and nobody suspects the disk.
#[test]
fn a_definition_larger_than_a_segment_is_a_limit_and_no_fault() {
    let log = wal::LogOptions { segment_bytes: 4096, driver: wal::Driver::Caller, ..Default::default() };
    let disk = Arc::new(SimDisk::new(1, SimDiskOptions::default()));
    let engine = Mvto::open(disk, Options { log, ..Options::default() }).expect("an empty disk");
    let columns = |count: u32| {
        let start = Schema::table("wide").u64_key();
        let wide = (0..count).fold(start, |schema, at| schema.nullable(format!("column_{at:0>40}"), ColumnType::Int));
        wide.build().expect("a good schema")
    };
    let refused = limit(engine.create_table(columns(200)));
    assert_eq!(refused.kind, LimitKind::WriteSetBytes);
    assert!(refused.actual > refused.limit && refused.limit < 4096, "{refused:?}");
    engine.create_table(columns(5)).expect("the log goes on");
}

// ---------------------------------------------------------------------------------------------------------------
// Mistakes: the transaction lives on.

/// Runs a mistake inside a transaction that writes before and after it; the writes arrive, the mistake leaves nothing.
#[track_caller]
fn mistake<T: std::fmt::Debug>(
    engine: &Engine,
    registers: TableId,
    what: impl FnOnce(&mut Open) -> model::Result<T>,
) -> Invalid {
    let mut open = begin(engine);
    let own = at(&open);
    put(&mut open, registers, 1, own).expect("nobody in the way");
    let reported = invalid(what(&mut open));
    assert!(open.poison().is_none(), "it lives on");
    let written = get(&mut open, registers, 1).expect("it lives on");
    let committed = open.commit().expect("it lives on");
    assert_eq!(written, Some(committed.claimed().0));
    assert_eq!(all(&mut begin(engine), registers).expect("nobody in the way"), [(1, committed.claimed().0)]);
    reported
}

#[test]
fn unknown_tables_are_named() {
    let (engine, _, registers) = with_registers(impatient(), &[]);
    let nowhere = TableId(99);
    let unknown = Invalid::UnknownTable { table: "number 99".into() };
    assert_eq!(mistake(&engine, registers, |open| get(open, nowhere, 1)), unknown);
    assert_eq!(mistake(&engine, registers, |open| put(open, nowhere, 1, 1)), unknown);
    assert_eq!(mistake(&engine, registers, |open| insert(open, nowhere, 1, 1)), unknown);
    assert_eq!(mistake(&engine, registers, |open| delete(open, nowhere, 1)), unknown);
    assert_eq!(mistake(&engine, registers, |open| all(open, nowhere)), unknown);
}

/// Same as above, for scans and their filters.
#[test]
fn scans_of_columns_that_are_not_there_are_refused() {
    let (engine, _, registers) = with_registers(impatient(), &[]);
    let people = engine.create_table(people()).expect("a new table");
    let mut load = begin(&engine);
    put_person(&mut load, people, 1, "ann", 30).expect("nobody in the way");
    load.commit().expect("nobody in the way");
    let filter = Predicate::Compare(3, Comparison::Equal, Value::Int(1));
    let scans = [
        Scan::table(people).columns(Columns::Some(&[3])),
        Scan::table(people).filter(&filter),
        Scan::table(registers).filter(&filter),
        Scan::table(registers).columns(Columns::Some(&[0])),
    ];
    for scan in &scans {
        let reported = mistake(&engine, registers, |open| open.scan(scan, &mut |_| ControlFlow::Continue(())));
        assert!(matches!(reported, Invalid::Row { .. }), "{reported:?}");
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Tables that come and go.

#[test]
fn a_table_is_created_once_and_found_by_name() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    let again = engine.create_table(registers("registers", Storage::Hash));
    assert_eq!(invalid(again), Invalid::TableExists { table: "registers".into() });
    assert_eq!(engine.table("registers").expect("it is there").0, table);
    assert_eq!(invalid(engine.drop_table("others")), Invalid::UnknownTable { table: "others".into() });
}

/// A transaction that is older than a table does not know it; whoever retries does.
#[test]
fn a_table_is_unknown_to_transactions_that_are_older() {
    let (engine, _, _) = with_registers(impatient(), &[]);
    let mut old = begin(&engine);
    let table = engine.create_table(registers("later", Storage::Ordered)).expect("a new table");
    let refused = get(&mut old, table, 1);
    assert!(refused.clone().expect_err("too old").is_retryable());
    let refused = abort(refused);
    assert_eq!((refused.rule, refused.transaction.0), ("older-than-schema", at(&old)));
    assert_eq!(refused.table.expect("the table is named").name(), "later");
    assert_eq!(get(&mut begin(&engine), table, 1).expect("it is younger"), None);
}

/// Whoever uses a dropped table goes on seeing it; nobody who begins later does.
#[test]
fn a_dropped_table_is_seen_by_those_who_began_before() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut old = begin(&engine);
    engine.drop_table("registers").expect("it is there");
    assert_eq!(get(&mut old, table, 1).expect("it still sees the table"), Some(1));
    let mut young = begin(&engine);
    assert_eq!(invalid(get(&mut young, table, 1)), Invalid::UnknownTable { table: "number 0".into() });
    old.commit().expect("nobody in the way");
    young.commit().expect("it lives on");
    assert_eq!(engine.tables().len(), 0);
    let again = engine.create_table(registers("registers", Storage::Ordered)).expect("the name is free again");
    set(&engine, again, 1, 2);
    engine.collect();
    assert_eq!(now(&engine, again, 1), Some(2));
}

/// Garbage of a dropped table is dropped with it, whoever still holds it.
#[test]
fn a_table_is_dropped_under_writers_and_collectors() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0)]);
    let reader = begin(&engine);
    let mut writer = begin(&engine);
    put(&mut writer, table, 1, 1).expect("nobody in the way");
    put(&mut writer, table, 2, 1).expect("nobody in the way");
    for value in 0..100 {
        set(&engine, table, 3, value);
    }
    engine.drop_table("registers").expect("it is there");
    writer.commit().expect("it began before");
    drop(reader);
    engine.collect();
    assert_eq!(engine.stats().waiting_versions, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Endings.

/// However a transaction ends, nothing of it stays registered, owned or waiting.
#[test]
fn every_ending_gives_everything_up() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 2)]);
    for mode in [Mode::ReadWrite, Mode::OwnAtStatement] {
        for ending in 0..4 {
            let mut open = begin_as(&engine, mode);
            put(&mut open, table, 1, 3).expect("nobody in the way");
            insert(&mut open, table, 9, 9).expect("nobody in the way");
            delete(&mut open, table, 2).expect("nobody in the way");
            match ending {
                0 => open.abort(),
                1 => drop(open),
                2 => {
                    let young = engine.create_table(registers(&format!("{mode:?}"), Storage::Ordered));
                    assert_eq!(rule(get(&mut open, young.expect("a new table"), 1)), "older-than-schema");
                    assert_eq!(engine.stats().active, 0, "an aborted transaction gives everything up at once");
                    assert_eq!(get(&mut begin(&engine), table, 9).expect("nobody in the way"), None);
                }
                _ => {
                    let owned = mode == Mode::OwnAtStatement;
                    let younger = get(&mut begin(&engine), table, 1);
                    assert_eq!(younger.expect("nobody commits"), Some(1));
                    assert_eq!(
                        open.commit().is_err(),
                        !owned,
                        "a younger reader forbids what is not owned, and pushes owners"
                    );
                    let mut undo = begin(&engine);
                    put(&mut undo, table, 1, 1).expect("nobody in the way");
                    put(&mut undo, table, 2, 2).expect("nobody in the way");
                    delete(&mut undo, table, 9).expect("nobody in the way");
                    undo.commit().expect("nobody in the way");
                }
            }
            assert_eq!(engine.stats().active, 0);
            assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1), (2, 2)]);
        }
    }
    engine.collect();
    assert_eq!(engine.stats().waiting_versions, 0);
}

/// An owned transaction may end on another thread than the one that began it.
#[test]
fn a_transaction_may_end_on_another_thread() {
    let (engine, _, table) = with_registers(Options::default(), &[(1, 1)]);
    let (send, receive) = mpsc::channel();
    let mut open = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut open, table, 1, 2).expect("nobody in the way");
    let other = thread::spawn(move || {
        let open: Open = receive.recv().expect("a transaction comes");
        open.commit().expect("nobody in the way").claimed().0
    });
    let expected = at(&open);
    send.send(open).expect("somebody listens");
    assert_eq!(other.join().expect("no panic"), expected);
    assert_eq!((now(&engine, table, 1), engine.stats().active), (Some(2), 0));
}

/// A visitor or a body that panics takes its transaction with it, and nothing else.
#[test]
fn a_panic_of_the_caller_aborts_the_transaction() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 2)]);
    let mut open = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut open, table, 1, 3).expect("nobody in the way");
    let visit = AssertUnwindSafe(|| open.scan(&Scan::table(table), &mut |_| panic!("the visitor's own")));
    assert!(catch_unwind(visit).is_err());
    assert_eq!(get(&mut open, table, 1).expect("the statement has only read"), Some(3));
    drop(open);
    let body = || {
        engine.run(Begin::default(), RetryPolicy::default(), |open| -> model::Result<()> {
            put(open, table, 2, 3)?;
            panic!("the body's own")
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    assert_eq!(engine.stats().active, 0);
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1), (2, 2)]);
}
