//! Answers that must hold until the commit, images of changes that are merged, and tables that go while they are used.

mod common;

use common::{ByColumn, options_for, with_registers};
use conformance::registers::{get, insert, limit, put, rule};
use conformance::{Durable, Knobs};
use env::{SimDisk, SimDiskOptions};
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Error, Finish, Interactive, Key, LimitKind, Mode, Predicate,
    RowBuf, Savepoints, Scan, Schema, TableId, Tables, Value, ValueRef,
};
use seriatim_hyper::{Driver, Hyper, LogOptions, Options, Reason, Transaction, Validation};
use std::ops::ControlFlow;
use std::sync::Arc;

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

fn write(engine: &Hyper) -> Transaction<&Hyper> {
    begin(engine, Mode::ReadWrite)
}

fn accounts_schema(name: &str) -> Schema {
    let columns = ["id", "owner", "amount", "limit"].into_iter();
    let schema = columns.fold(Schema::table(name), |schema, column| schema.column(column, ColumnType::Int));
    schema.key(["id"]).build().expect("a good schema")
}

fn row(values: [i64; 4]) -> RowBuf {
    RowBuf::from_values(&values.map(ValueRef::Int))
}

/// An engine in memory, with accounts.
fn accounts(options: Options) -> (Arc<Hyper>, TableId) {
    let engine = Arc::new(Hyper::new(options));
    let table = with_accounts(&engine);
    (engine, table)
}

/// Accounts 0 to 9: `id`, `owner` = 0, `amount` = 10, `limit` = the greatest integer.
fn with_accounts(engine: &Hyper) -> TableId {
    let table = engine.create_table(accounts_schema("accounts")).expect("a new table");
    let mut load = write(engine);
    (0..10).for_each(|id| load.insert(table, &key(id), row([id, 0, 10, i64::MAX]).row()).expect("a new key"));
    load.commit().expect("nobody in the way");
    table
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn update(open: &mut Transaction<&Hyper>, table: TableId, id: i64, delta: Delta) {
    assert!(open.update(table, &key(id), &delta).expect("nobody in the way"), "account {id} is there");
}

fn account(open: &mut Transaction<&Hyper>, table: TableId, id: i64) -> [i64; 4] {
    let mut row = RowBuf::new();
    assert!(open.read(table, &key(id), Columns::All, &mut row).expect("reads do not fail"), "account {id} is there");
    std::array::from_fn(|column| row.get(column).as_int().expect("an integer"))
}

/// A statement that fails because of what stands in the row has told it.
#[test]
fn an_update_that_fails_has_read_its_row() {
    let (engine, table) = accounts(Options::default());
    let mut open = write(&engine);
    let overflow = open.update(table, &key(1), &Delta::new().add(3, 1));
    assert!(matches!(overflow, Err(Error::Invalid(_))), "{overflow:?}");
    update(&mut open, table, 2, Delta::new().set(2, 0));
    let mut other = write(&engine);
    update(&mut other, table, 1, Delta::new().set(3, 0));
    other.commit().expect("nobody in the way");
    assert_eq!(rule(open.commit()), Reason::PredicateMet.rule());
}

/// The limit of rows is met by an insert only where the key is free.
#[test]
fn an_insert_that_meets_a_limit_has_seen_a_free_key() {
    let (engine, table) = with_registers(options_for(&Knobs { write_set_rows: Some(1), ..Knobs::default() }));
    let mut open = write(&engine);
    put(&mut open, table, 1, 1).expect("nobody in the way");
    assert_eq!(limit(insert(&mut open, table, 2, 2)).limit, 1);
    let mut other = write(&engine);
    insert(&mut other, table, 2, 3).expect("nobody in the way");
    other.commit().expect("nobody in the way");
    assert_eq!(rule(open.commit()), Reason::PredicateMet.rule());
}

/// Snapshot isolation is the first committer's: a start that moved would lose the update that it has not read.
#[test]
fn snapshots_alone_lose_no_update() {
    let (engine, table) = with_registers(Options { validation: Validation::Snapshots, ..Options::default() });
    let mut load = write(&engine);
    put(&mut load, table, 1, 10).expect("nobody in the way");
    load.commit().expect("nobody in the way");
    let mut open = write(&engine);
    let seen = get(&mut open, table, 1).expect("reads do not fail").expect("a register");
    let mut other = write(&engine);
    put(&mut other, table, 1, seen + 1).expect("nobody in the way");
    other.commit().expect("nobody in the way");
    assert_eq!(rule(put(&mut open, table, 1, seen + 1)), Reason::RowChanged.rule());
}

/// A start moves only where all that was read holds: here a read was changed together with the row that refuses.
#[test]
fn a_start_does_not_move_over_a_changed_read() {
    let (engine, table) = with_registers(Options::default());
    let mut load = write(&engine);
    [1, 2].into_iter().for_each(|key| put(&mut load, table, key, 10).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    let mut open = write(&engine);
    assert_eq!(get(&mut open, table, 1).expect("reads do not fail"), Some(10));
    let mut other = write(&engine);
    [1, 2].into_iter().for_each(|key| put(&mut other, table, key, 11).expect("nobody in the way"));
    other.commit().expect("nobody in the way");
    assert_eq!(rule(put(&mut open, table, 2, 12)), Reason::PredicateMet.rule());
}

/// Where starts are the last commit's, a reader starts at one commit, and the next one is its first that it must not see.
#[test]
fn a_version_stays_for_whoever_started_at_the_commit_before() {
    let (engine, table) = with_registers(Options { claims: false, ..Options::default() });
    let change = |value| {
        let mut open = write(&engine);
        put(&mut open, table, 1, value).expect("nobody in the way");
        open.commit().expect("nobody in the way");
    };
    change(1);
    let oldest = begin(&engine, Mode::ReadOnly);
    change(2);
    let mut reader = begin(&engine, Mode::ReadOnly);
    change(3);
    oldest.commit().expect("a reader commits");
    engine.collect();
    assert_eq!(engine.stats().garbage, 1, "the second change is over, the third is not");
    assert_eq!(get(&mut reader, table, 1).expect("reads do not fail"), Some(2));
    reader.commit().expect("a reader commits");
}

/// A writer of a table that is dropped, whose start moves behind the drop.
fn moved_behind_a_drop(engine: &Hyper, table: TableId) -> Transaction<&Hyper> {
    let dropped = engine.create_table(accounts_schema("dropped")).expect("a new table");
    let mut load = write(engine);
    (0..3).for_each(|id| load.insert(dropped, &key(id), row([id, 0, 10, 0]).row()).expect("a new key"));
    load.commit().expect("nobody in the way");
    let mut open = write(engine);
    update(&mut open, dropped, 1, Delta::new().set(2, 9));
    assert!(open.delete(dropped, &key(0)).expect("nobody in the way"));
    open.insert(dropped, &key(5), row([5, 0, 0, 0]).row()).expect("a new key");
    let mut other = write(engine);
    update(&mut other, dropped, 2, Delta::new().set(2, 7));
    engine.drop_table("dropped").expect("it is listed");
    update(&mut other, table, 1, Delta::new().add(2, 1));
    other.commit().expect("nobody in the way");
    // The row was changed since: the start moves, and now nobody is older than the drop.
    update(&mut open, table, 1, Delta::new().add(2, 1));
    engine.collect();
    open
}

/// Numbers are not given again, and the limit counts tables that are there: also over a restart.
#[test]
fn dropped_tables_do_not_count() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let open = || {
        let log = LogOptions { segment_bytes: 1 << 16, driver: Driver::Caller, ..LogOptions::default() };
        let options = Options { log, ..options_for(&Knobs { tables: Some(2), ..Knobs::default() }) };
        Hyper::open(Arc::new(disk.clone()), options).expect("a good disk")
    };
    for opening in 0..2 {
        let engine = open();
        for round in 0..50 {
            let first = engine.create_table(accounts_schema("first")).expect("room");
            assert_eq!(first.0, opening * 100 + 2 * round);
            engine.create_table(accounts_schema("second")).expect("room");
            assert_eq!(limit(engine.create_table(accounts_schema("third"))).actual, 3);
            engine.drop_table("first").expect("it is there");
            engine.drop_table("second").expect("it is there");
        }
        engine.close().expect("a good disk");
    }
}

#[test]
fn writes_of_a_table_that_was_freed_are_undone() {
    let (engine, table) = accounts(Options::default());
    moved_behind_a_drop(&engine, table).abort();
    assert_eq!(account(&mut write(&engine), table, 1)[2], 11, "the first writer's only");
    engine.collect();
    assert_eq!((engine.stats().versioned, engine.stats().garbage), (0, 0));
}

/// They are logged, though nobody can look at them any more, and recovery passes over them.
#[test]
fn writes_of_a_table_that_was_freed_are_logged() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    {
        let engine = ByColumn::reopen(&disk).expect("a new database");
        let table = with_accounts(&engine);
        let committed = moved_behind_a_drop(&engine, table).commit().expect("nobody in the way");
        engine.wait_durable(committed.log_position).expect("the disk takes it");
    }
    let engine = ByColumn::reopen(&disk).expect("it recovers");
    let table = engine.table_named("accounts").expect("it was created");
    assert_eq!(account(&mut write(&engine), table, 1)[2], 12, "both writers'");
    assert_eq!(engine.table_named("dropped"), None);
}

/// Whoever has read such a table by a filter cannot look at the rows any more, and gives way.
#[test]
fn reads_of_a_table_that_was_freed_are_validated() {
    let (engine, table) = accounts(Options::default());
    let dropped = engine.create_table(accounts_schema("dropped")).expect("a new table");
    let mut load = write(&engine);
    (0..3).for_each(|id| load.insert(dropped, &key(id), row([id, 0, 10, 0]).row()).expect("a new key"));
    load.commit().expect("nobody in the way");
    let (mut open, mut late) = (write(&engine), write(&engine));
    let filter = Predicate::Compare(2, Comparison::Less, Value::Int(8));
    let scan = Scan::table(dropped).filter(&filter).columns(Columns::Some(&[0]));
    open.scan(&scan, &mut |_| ControlFlow::Continue(())).expect("reads do not fail");
    update(&mut late, dropped, 2, Delta::new().set(2, 7));
    let mut other = write(&engine);
    update(&mut other, table, 1, Delta::new().add(2, 1));
    other.commit().expect("nobody in the way");
    engine.drop_table("dropped").expect("it is listed");
    update(&mut open, table, 1, Delta::new().add(2, 1));
    late.commit().expect("it has read nothing");
    engine.collect();
    assert_eq!(rule(open.commit()), Reason::PredicateMet.rule());
}

/// Two changes of one row by one transaction are one entry: it holds what stood there before both.
#[test]
fn changes_of_other_columns_extend_the_entry() {
    for ends_well in [false, true] {
        let (engine, table) = accounts(Options::default());
        let mut reader = begin(&engine, Mode::ReadOnly);
        let mut open = write(&engine);
        update(&mut open, table, 1, Delta::new().set(1, 5));
        update(&mut open, table, 1, Delta::new().set(2, 6));
        assert_eq!(account(&mut reader, table, 1), [1, 0, 10, i64::MAX]);
        assert_eq!(account(&mut open, table, 1), [1, 5, 6, i64::MAX]);
        if ends_well {
            open.commit().expect("nobody in the way");
        } else {
            open.abort();
        }
        assert_eq!(account(&mut reader, table, 1), [1, 0, 10, i64::MAX]);
        let expected = if ends_well { [1, 5, 6, i64::MAX] } else { [1, 0, 10, i64::MAX] };
        assert_eq!(account(&mut write(&engine), table, 1), expected);
    }
}

/// The same around savepoints, one of which is released, so that its entries take in what follows.
#[test]
fn entries_before_and_behind_savepoints_go_back_to_their_own_moment() {
    let (engine, table) = accounts(Options::default());
    let mut reader = begin(&engine, Mode::ReadOnly);
    let mut open = write(&engine);
    update(&mut open, table, 1, Delta::new().set(1, 5));
    let outer = open.savepoints().expect("it has them").savepoint().expect("open");
    update(&mut open, table, 1, Delta::new().set(2, 6));
    let inner = open.savepoints().expect("it has them").savepoint().expect("open");
    assert!(open.delete(table, &key(1)).expect("nobody in the way"));
    open.insert(table, &key(1), row([1, 7, 7, 7]).row()).expect("a free key");
    open.savepoints().expect("it has them").release(inner);
    update(&mut open, table, 1, Delta::new().set(3, 8));
    assert_eq!(account(&mut open, table, 1), [1, 7, 7, 8]);
    open.savepoints().expect("it has them").rollback_to(&outer).expect("open");
    assert_eq!(account(&mut open, table, 1), [1, 5, 10, i64::MAX]);
    update(&mut open, table, 1, Delta::new().set(3, 9));
    assert_eq!(account(&mut reader, table, 1), [1, 0, 10, i64::MAX]);
    open.commit().expect("nobody in the way");
    assert_eq!(account(&mut reader, table, 1), [1, 0, 10, i64::MAX]);
    assert_eq!(account(&mut write(&engine), table, 1), [1, 5, 10, 9]);
}

/// Each of a row's moments stays readable while it comes, changes, goes and comes again, by one transaction or by many.
#[test]
fn a_row_that_comes_and_goes_has_a_version_for_each_reader() {
    let (engine, table) = accounts(Options::default());
    let mut readers = Vec::new();
    let there = |open: &mut Transaction<&Hyper>| {
        let mut row = RowBuf::new();
        let found = open.read(table, &key(77), Columns::Some(&[2]), &mut row).expect("reads do not fail");
        found.then(|| row.get(0).as_int().expect("an integer"))
    };
    for round in 0..12_i64 {
        let mut open = write(&engine);
        let expected = match round % 4 {
            0 => {
                open.insert(table, &key(77), row([77, 0, round, 0]).row()).expect("a free key");
                Some(round)
            }
            1 => {
                update(&mut open, table, 77, Delta::new().set(2, round));
                Some(round)
            }
            2 => {
                assert!(open.delete(table, &key(77)).expect("nobody in the way"));
                open.insert(table, &key(77), row([77, 0, round, 1]).row()).expect("a free key");
                Some(round)
            }
            _ => {
                assert!(open.delete(table, &key(77)).expect("nobody in the way"));
                None
            }
        };
        open.commit().expect("nobody in the way");
        readers.push((begin(&engine, Mode::ReadOnly), expected));
        let mut undone = write(&engine);
        undone.put(table, &key(77), row([77, 9, 9, 9]).row()).expect("nobody in the way");
        undone.abort();
        engine.collect();
    }
    // The middle ones end first: what they alone read may go, and nothing else.
    while !readers.is_empty() {
        let (mut reader, expected) = readers.remove(readers.len() / 2);
        assert_eq!(there(&mut reader), expected);
        reader.commit().expect("a reader commits");
        engine.collect();
        readers.iter_mut().for_each(|(reader, expected)| assert_eq!(there(reader), *expected));
    }
    while engine.collect() > 0 {}
    assert_eq!((engine.stats().versioned, engine.stats().garbage, engine.stats().rows), (0, 0, 10));
}

/// Commits forget older ones, but none against which somebody is still to be validated.
#[test]
fn a_commit_is_remembered_over_later_ones() {
    let (engine, table) = accounts(Options::default());
    let mut open = write(&engine);
    assert_eq!(account(&mut open, table, 1), [1, 0, 10, i64::MAX]);
    update(&mut open, table, 2, Delta::new().set(2, 0));
    for id in [1, 3, 4, 5, 6, 7, 8] {
        let mut other = write(&engine);
        update(&mut other, table, id, Delta::new().add(2, 1));
        other.commit().expect("nobody in the way");
    }
    assert_eq!(rule(open.commit()), Reason::PredicateMet.rule());
    let mut other = write(&engine);
    update(&mut other, table, 1, Delta::new().add(2, 1));
    other.commit().expect("nobody in the way");
    assert!(engine.stats().recent < 7, "now they go");
}

/// Commits that fail leave nothing, even beside a transaction that is older than they are.
#[test]
fn a_commit_that_fails_is_not_remembered() {
    let (engine, table) = accounts(Options::default());
    let idle = write(&engine);
    engine.collect();
    for round in 0..5 {
        assert_eq!(engine.stats().recent, round, "one commit of each round");
        let mut open = write(&engine);
        account(&mut open, table, 1);
        update(&mut open, table, 2, Delta::new().set(2, 0));
        let mut other = write(&engine);
        update(&mut other, table, 1, Delta::new().add(2, 1));
        other.commit().expect("nobody in the way");
        assert_eq!(rule(open.commit()), Reason::PredicateMet.rule());
    }
    idle.commit().expect("it has done nothing");
}

/// An insert that finds its key taken leaves nothing, whether a row is there or was there.
#[test]
fn inserts_that_fail_take_no_place() {
    let (engine, table) = accounts(Options::default());
    let mut reader = begin(&engine, Mode::ReadOnly);
    let mut open = write(&engine);
    assert!(open.delete(table, &key(9)).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
    let before = engine.stats().bytes;
    for _ in 0..3_000 {
        let mut open = write(&engine);
        let taken = open.insert(table, &key(1), row([1, 0, 0, 0]).row());
        assert!(matches!(taken, Err(Error::Duplicate(_))), "{taken:?}");
        open.insert(table, &key(9), row([9, 0, 0, 0]).row()).expect("it was deleted");
        open.abort();
    }
    assert_eq!((engine.stats().rows, engine.stats().bytes), (10, before));
    assert_eq!(account(&mut reader, table, 9), [9, 0, 10, i64::MAX]);
}

/// Columns from the 64th on share a bit: they are kept together, come back together, and conflict together.
#[test]
fn columns_that_share_a_bit_are_kept_together() {
    let engine = Hyper::new(Options::default());
    let columns = (0..70).fold(Schema::table("wide"), |schema, at| schema.column(format!("c{at}"), ColumnType::Int));
    let table = engine.create_table(columns.key(["c0"]).build().expect("a good schema")).expect("a new table");
    let mut load = write(&engine);
    for id in 1..3 {
        let values: Vec<_> = (0..70).map(|at| ValueRef::Int(if at == 0 { id } else { at })).collect();
        load.insert(table, &key(id), RowBuf::from_values(&values).row()).expect("a new key");
    }
    load.commit().expect("nobody in the way");
    let read = |open: &mut Transaction<&Hyper>, columns: &[u16]| -> Vec<i64> {
        let mut row = RowBuf::new();
        assert!(open.read(table, &key(1), Columns::Some(columns), &mut row).expect("reads do not fail"));
        (0..columns.len()).map(|at| row.get(at).as_int().expect("an integer")).collect()
    };
    let shown = [62, 63, 64, 69];
    let mut reader = begin(&engine, Mode::ReadOnly);
    let mut open = write(&engine);
    update(&mut open, table, 1, Delta::new().set(65, -1));
    update(&mut open, table, 1, Delta::new().set(62, -2).set(69, -3).set(63, -4));
    assert_eq!(read(&mut open, &shown), [-2, -4, 64, -3]);
    assert_eq!(read(&mut reader, &shown), [62, 63, 64, 69]);
    open.abort();
    let mut open = write(&engine);
    assert_eq!(read(&mut open, &shown), [62, 63, 64, 69]);
    update(&mut open, table, 2, Delta::new().set(1, 0));
    let mut other = write(&engine);
    update(&mut other, table, 1, Delta::new().set(66, 0));
    other.commit().expect("nobody in the way");
    assert_eq!(rule(open.commit()), Reason::PredicateMet.rule(), "coarser than need be, and never finer");
}

/// A sample shows what is committed. It reads nothing for anybody: who was open then commits, whatever it shows has changed since.
#[test]
fn a_sample_shows_committed_rows() {
    let (engine, table) = accounts(Options::default());
    let amounts = || {
        let mut amounts = Vec::new();
        engine.sample_rows(table, 64, &mut |row| {
            amounts.push(row.get(2).as_int().expect("an integer"));
            ControlFlow::Continue(())
        });
        amounts
    };
    let mut open = write(&engine);
    let mut other = write(&engine);
    (0..10).for_each(|id| update(&mut open, table, id, Delta::new().set(2, 11)));
    let are = |amount: i64| {
        let amounts = amounts();
        (5..=10).contains(&amounts.len()) && amounts.iter().all(|of| *of == amount)
    };
    assert!(are(10), "its own are not committed: {:?}", amounts());
    update(&mut other, with_one(&engine), 0, Delta::new().set(2, 12));
    open.commit().expect("nobody in the way");
    assert!(are(11), "{:?}", amounts());
    other.commit().expect("it has read nothing of the accounts");
    let mut shown = 0;
    engine.sample_rows(table, 64, &mut |_| {
        shown += 1;
        if shown < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(shown, 3, "no more than are asked for");
    let mut last = write(&engine);
    (0..10).for_each(|id| assert!(last.delete(table, &key(id)).expect("nobody in the way")));
    last.commit().expect("nobody in the way");
    assert!(amounts().is_empty());
}

/// Another table, with one account.
fn with_one(engine: &Hyper) -> TableId {
    let table = engine.create_table(accounts_schema("others")).expect("a new table");
    let mut load = write(engine);
    load.insert(table, &key(0), row([0, 0, 10, i64::MAX]).row()).expect("a new key");
    load.commit().expect("nobody in the way");
    table
}

/// As many wait for one transaction as may; the next one learns it at once, and goes on otherwise.
#[test]
fn waits_for_one_transaction_have_a_limit() {
    let (engine, table) = accounts(Options { waiters: 2, ..Options::default() });
    for round in 1..=2 {
        let mut owner = begin(&engine, Mode::OwnAtStatement);
        update(&mut owner, table, 1, Delta::new().add(2, 1));
        std::thread::scope(|scope| {
            let add = || {
                let mut open = begin(&engine, Mode::OwnAtStatement);
                update(&mut open, table, 1, Delta::new().add(2, 1));
                open.commit().expect("its start has moved");
            };
            let waiters = [scope.spawn(add), scope.spawn(add)];
            while engine.stats().asleep < 2 {
                std::thread::yield_now();
            }
            let mut late = begin(&engine, Mode::OwnAtStatement);
            let refused = late.update(table, &key(1), &Delta::new().add(2, 1));
            let refused = limit(refused);
            assert_eq!((refused.kind, refused.limit, refused.actual), (LimitKind::Waiters, 2, 3));
            assert_eq!(Error::from(refused).sqlstate(), "53400");
            update(&mut late, table, 2, Delta::new().add(2, 1));
            late.commit().expect("only the statement has failed");
            owner.commit().expect("it has the row");
            waiters.into_iter().for_each(|waiter| waiter.join().expect("no panic"));
        });
        let mut last = begin(&engine, Mode::ReadOnly);
        let mut found = RowBuf::new();
        for (id, expected) in [(1, 10 + 3 * round), (2, 10 + round)] {
            assert!(last.read(table, &key(id), Columns::Some(&[2]), &mut found).expect("reads do not fail"));
            assert_eq!(found.row().get(0), ValueRef::Int(expected));
        }
        assert_eq!(engine.stats().asleep, 0);
    }
}

/// Whoever sleeps for a row gets it when its owner goes back to a savepoint before it, and stays open.
#[test]
fn a_row_that_is_given_back_goes_to_whoever_sleeps_for_it() {
    let (engine, table) = accounts(Options::default());
    let add = |open: &mut Transaction<&Hyper>, id| update(open, table, id, Delta::new().add(2, 1));
    let mut owner = begin(&engine, Mode::OwnAtStatement);
    add(&mut owner, 0);
    let savepoint = owner.savepoint().expect("it is open");
    add(&mut owner, 1);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut open = begin(&engine, Mode::OwnAtStatement);
            add(&mut open, 1);
            open.commit().expect("nobody has read it");
        });
        while engine.stats().asleep == 0 {
            std::thread::yield_now();
        }
        owner.rollback_to(&savepoint).expect("it is its own");
        waiter.join().expect("it has got the row");
    });
    add(&mut owner, 2);
    owner.abort();
    let mut reader = begin(&engine, Mode::ReadOnly);
    assert_eq!([0, 1, 2].map(|id| account(&mut reader, table, id)[2]), [10, 11, 10]);
}

/// As many transactions are open on each thread as may be, and then on the next one: what the threads before have used is there.
#[test]
fn threads_that_are_gone_keep_no_transaction_from_beginning() {
    const LIMIT: u64 = 64;
    let (engine, _) = accounts(Options { transactions: LIMIT, ..Options::default() });
    for _ in 0..5 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let open: Vec<_> = (0..LIMIT).map(|_| write(&engine)).collect();
                let refused = limit(engine.begin(Begin::default()));
                assert_eq!((refused.kind, engine.stats().open), (LimitKind::Transactions, LIMIT));
                drop(open);
            });
        });
        assert_eq!(engine.stats().open, 0);
    }
}
