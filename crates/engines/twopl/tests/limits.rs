//! Bad input and limits: each a clear error, after which the transaction lives on and nothing is lost.

mod common;

use common::{account, account_key, accounts, begin, delete, get, put, range, registers, with_registers};
use model::{
    Access, Begin, Columns, Comparison, Delta, Error, Finish, Interactive, Key, LimitKind, Mode, Predicate, RowBuf,
    Savepoints, Scan, Storage, TableId, Value,
};
use seriatim_twopl::{Options, TwoPhaseLocking};
use std::ops::ControlFlow;
use std::sync::Arc;

fn limit<T: std::fmt::Debug>(result: Result<T, Error>) -> (LimitKind, u64, u64) {
    match result.expect_err("a limit") {
        Error::Limit(limit) => (limit.kind, limit.limit, limit.actual),
        other => panic!("not a limit: {other}"),
    }
}

fn text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.expect_err("a mistake").to_string()
}

#[test]
fn the_write_set_is_limited_in_rows_and_bytes() {
    let (engine, t) = with_registers(Options { write_set_rows: 2, write_set_bytes: 64, ..Options::default() }, &[]);
    let mut it = begin(&engine);
    put(&mut it, t, 1, 1).unwrap();
    put(&mut it, t, 2, 1).unwrap();
    assert_eq!(limit(put(&mut it, t, 3, 1)), (LimitKind::WriteSetRows, 2, 3));
    assert_eq!(get(&mut it, t, 3).unwrap(), None, "the statement did not happen");
    put(&mut it, t, 1, 2).expect("a row counts once");
    assert!(delete(&mut it, t, 2).unwrap());
    assert_eq!(limit(put(&mut it, t, 1, 3)), (LimitKind::WriteSetBytes, 64, 72), "bytes count each time");
    it.commit().unwrap();
    assert_eq!(range(&mut begin(&engine), t, 0, 9).unwrap(), [(1, 2)]);
}

#[test]
fn locks_are_limited() {
    let (engine, t) = with_registers(Options { locks: 2, ..Options::default() }, &[(1, 0)]);
    let mut it = begin(&engine);
    get(&mut it, t, 1).unwrap();
    range(&mut it, t, 0, 9).unwrap();
    assert_eq!(limit(get(&mut it, t, 2)), (LimitKind::Locks, 2, 3));
    assert_eq!(limit(range(&mut it, t, 0, 9)), (LimitKind::Locks, 2, 3));
    put(&mut it, t, 1, 1).expect("more of a lock that it has");
    assert_eq!(engine.stats().records, 1, "the key that was not locked left no record");
    it.commit().unwrap();
}

#[test]
fn keys_and_rows_are_limited() {
    let engine = TwoPhaseLocking::new(Options { key_bytes: 4, row_bytes: 3, ..Options::default() });
    let t = engine.create_table(model::Schema::bytes("bytes").build().unwrap()).unwrap();
    let mut it = begin(&engine);
    assert_eq!(limit(it.put(t, b"12345", RowBuf::new().row())), (LimitKind::KeyBytes, 4, 5));
    assert_eq!(limit(it.read(t, b"12345", Columns::All, &mut RowBuf::new())), (LimitKind::KeyBytes, 4, 5));
    assert_eq!(limit(it.put(t, b"1234", RowBuf::from_bytes(b"1234").row())), (LimitKind::RowBytes, 3, 4));
    it.put(t, b"1234", RowBuf::from_bytes(b"123").row()).unwrap();
    it.commit().unwrap();
}

#[test]
fn open_transactions_are_limited() {
    let engine = TwoPhaseLocking::new(Options { transactions: 2, ..Options::default() });
    let (first, _second) = (begin(&engine), begin(&engine));
    assert_eq!(limit(engine.begin(Begin::default())), (LimitKind::Transactions, 2, 3));
    drop(first);
    begin(&engine);
    begin(&engine);
}

#[test]
fn tables_come_and_go() {
    let engine = TwoPhaseLocking::new(Options { tables: 2, ..Options::default() });
    let t = engine.create_table(registers("one")).unwrap();
    assert_eq!(text(engine.create_table(registers("one"))), "table one already exists");
    let mut open = begin(&engine);
    put(&mut open, t, 1, 1).unwrap();
    let second = engine.create_table(registers("two")).unwrap();
    put(&mut open, second, 1, 1).expect("a table that is younger than the transaction");
    engine.drop_table("one").unwrap();
    assert_eq!(text(put(&mut open, t, 1, 2)), "table number 0 does not exist");
    assert_eq!(text(get(&mut open, TableId(7), 1)), "table number 7 does not exist");
    assert_eq!(text(engine.drop_table("one")), "table one does not exist");
    open.commit().unwrap();
    assert_eq!(limit(engine.create_table(registers("three"))), (LimitKind::Tables, 2, 3));
    assert_eq!(engine.table("two").map(|(id, schema)| (id, schema.name().to_owned())), Some((second, "two".into())));
    assert!(engine.table("one").is_none());
    assert_eq!(engine.tables().len(), 1);
}

/// The memory of a dropped table goes with the last transaction that may have met it.
#[test]
fn a_dropped_table_is_freed() {
    let (engine, t) = with_registers(Options::default(), &[(1, 1)]);
    let (_, schema) = engine.table("registers").expect("it is there");
    let mut open = begin(&engine);
    put(&mut open, t, 1, 2).unwrap();
    engine.drop_table("registers").unwrap();
    assert!(Arc::strong_count(&schema) > 1, "a transaction holds locks in it");
    open.commit().unwrap();
    assert_eq!(Arc::strong_count(&schema), 1);
}

#[test]
fn a_row_that_was_rolled_back_counts_again() {
    let (engine, t) = with_registers(Options { write_set_rows: 1, ..Options::default() }, &[]);
    let mut it = begin(&engine);
    let savepoint = it.savepoint().unwrap();
    put(&mut it, t, 1, 1).unwrap();
    it.rollback_to(&savepoint).unwrap();
    put(&mut it, t, 2, 1).unwrap();
    assert_eq!(limit(put(&mut it, t, 1, 1)), (LimitKind::WriteSetRows, 1, 2));
    it.commit().unwrap();
    assert_eq!(range(&mut begin(&engine), t, 0, 9).unwrap(), [(2, 1)]);
}

#[test]
fn serial_points_are_claimed_if_the_options_ask_for_them() {
    for claims in [true, false] {
        let (engine, t) = with_registers(Options { claims, ..Options::default() }, &[(1, 1)]);
        let mut it = begin(&engine);
        get(&mut it, t, 1).unwrap();
        assert_eq!(it.commit().unwrap().serial_point.is_some(), claims);
    }
}

#[test]
fn read_only_transactions_write_nothing() {
    let (engine, t) = with_registers(Options::default(), &[(1, 5)]);
    for mode in [Mode::ReadOnly, Mode::Snapshot] {
        let mut it = engine.begin(Begin { mode, ..Begin::default() }).unwrap();
        let refused = "cannot write in a read-only transaction";
        assert_eq!(text(put(&mut it, t, 1, 6)), refused);
        assert_eq!(text(it.insert(t, &Key::from_u64(2), RowBuf::new().row())), refused);
        assert_eq!(text(it.update(t, &Key::from_u64(1), &Delta::new())), refused);
        assert_eq!(text(delete(&mut it, t, 1)), refused);
        assert!(it.read_for_update(t, &Key::from_u64(1), Columns::All, &mut RowBuf::new()).unwrap());
        let mut other = begin(&engine);
        assert_eq!(get(&mut other, t, 1).unwrap(), Some(5), "it took a shared lock only");
        other.commit().unwrap();
        assert_eq!(it.commit().unwrap().log_position, model::LogPosition::ZERO);
    }
    engine.wait_durable(model::LogPosition::from_raw(9)).unwrap();
}

#[test]
fn invalid_requests_are_refused() {
    let engine = TwoPhaseLocking::new(Options::default());
    let accounts_table = engine.create_table(accounts("accounts", Storage::Hash)).unwrap();
    let ordered = engine.create_table(accounts("ordered", Storage::Ordered)).unwrap();
    let bytes = engine.create_table(registers("registers")).unwrap();
    let mut it = begin(&engine);
    it.put(accounts_table, &account_key(1), account(1, None, 1).row()).unwrap();
    let mut row = RowBuf::new();
    let mut all = |_: model::Item<'_>| ControlFlow::Continue(());
    let no_column = "the row does not fit table accounts: there is no column 9";
    assert_eq!(text(it.read(bytes, b"short", Columns::All, &mut row)), "the key does not fit table registers");
    assert_eq!(text(it.delete(bytes, b"short")), "the key does not fit table registers");
    assert_eq!(text(it.read(accounts_table, &account_key(1), Columns::Some(&[9]), &mut row)), no_column);
    let no_column_there = no_column.replace("accounts", "ordered");
    let filter = Predicate::Not(Box::new(Predicate::Compare(9, Comparison::Equal, Value::Null)));
    let in_order = Scan::table(ordered);
    assert_eq!(text(it.scan(&in_order.clone().filter(&filter), &mut all)), no_column_there);
    assert_eq!(text(it.scan(&in_order.columns(Columns::Some(&[9])), &mut all)), no_column_there);
    assert_eq!(
        text(it.scan(&Scan::table(accounts_table), &mut all)),
        "table accounts is stored by hash and has no ranges; create it with ordered storage"
    );
    let unfit = "the row does not fit table accounts: ";
    let wrong_row = it.put(accounts_table, &account_key(1), RowBuf::from_bytes(b"junk").row());
    assert_eq!(text(wrong_row), format!("{unfit}not a typed row"));
    let wrong_key = it.insert(accounts_table, &account_key(2), account(1, None, 1).row());
    assert_eq!(text(wrong_key), format!("{unfit}its key columns differ from the key under which it is stored"));
    let to_null = it.update(accounts_table, &account_key(1), &Delta::new().set(2, Value::Null));
    assert_eq!(text(to_null), format!("{unfit}NULL in column amount, which is not nullable"));
    it.commit().expect("it lives on");
}

#[test]
fn duplicates_are_refused_and_change_nothing() {
    let engine = TwoPhaseLocking::new(Options::default());
    let t = engine.create_table(accounts("accounts", Storage::Ordered)).unwrap();
    let mut it = begin(&engine);
    it.insert(t, &account_key(1), account(1, Some("ann"), 1).row()).unwrap();
    it.insert(t, &account_key(2), account(2, Some("bob"), 1).row()).unwrap();
    assert_eq!(
        text(it.insert(t, &account_key(1), account(1, Some("cy"), 1).row())),
        "duplicate key (id=1) in table accounts"
    );
    let mut row = RowBuf::new();
    assert!(it.read(t, &account_key(1), Columns::All, &mut row).unwrap());
    assert_eq!(row, account(1, Some("ann"), 1));
    assert!(it.delete(t, &account_key(1)).unwrap());
    it.insert(t, &account_key(1), account(1, Some("cy"), 1).row()).expect("the key is free again");
    it.commit().unwrap();
    assert_eq!(engine.stats().records, 2);
}

/// An owned transaction outlives the call that began it, and ends on another thread.
#[test]
fn an_owned_transaction_moves_between_threads() {
    let (engine, t) = with_registers(Options::default(), &[]);
    let engine = Arc::new(engine);
    let mut it = engine.begin_owned(Begin::default()).unwrap();
    put(&mut it, t, 1, 1).unwrap();
    std::thread::spawn(move || {
        put(&mut it, t, 2, 2).unwrap();
        it.commit().unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(range(&mut begin(&engine), t, 0, 9).unwrap(), [(1, 1), (2, 2)]);
}
