//! Limits: each is a named error, raised exactly at its value, and the transaction stays usable.

use crate::fixture::{Knobs, Open, Sessions, begin, with_registers};
use crate::registers::{all, delete, get, insert, limit, put, registers, state};
use model::{Access, Columns, Finish, Limit, LimitKind, Mode, RowBuf, Schema, Storage, TableId};
use std::sync::Arc;

fn with_limit(kind: LimitKind, limit: u64) -> Knobs {
    let mut knobs = Knobs::impatient();
    knobs.set(kind, limit);
    knobs
}

fn bytes<F: Sessions>(knobs: &Knobs) -> (Arc<F::Engine>, TableId) {
    let engine = F::open(knobs);
    let table = F::create_table(&engine, Schema::bytes("bytes").build().expect("a good schema")).expect("a new table");
    (engine, table)
}

/// A key that is too long is refused by every write.
pub fn a_key_that_is_too_long_is_refused<F: Sessions>() {
    let (engine, table) = bytes::<F>(&with_limit(LimitKind::KeyBytes, 10));
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    let row = RowBuf::from_bytes(b"row");
    open.put(table, &[7; 10], row.row()).expect("just at the limit");
    let expected = Limit { kind: LimitKind::KeyBytes, limit: 10, actual: 11 };
    assert_eq!(limit(open.put(table, &[7; 11], row.row())), expected);
    assert_eq!(limit(open.insert(table, &[7; 11], row.row())), expected);
    open.commit().expect("it lives on");
    F::collect(&engine);
    F::assert_idle(&engine, 1);
}

/// A row that is too long is refused, and the row that it was to replace stays.
pub fn a_row_that_is_too_long_is_refused<F: Sessions>() {
    let (engine, table) = bytes::<F>(&with_limit(LimitKind::RowBytes, 100));
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    open.put(table, b"a", RowBuf::from_bytes(&[1; 100]).row()).expect("just at the limit");
    let refused = open.put(table, b"a", RowBuf::from_bytes(&[1; 101]).row());
    assert_eq!(limit(refused), Limit { kind: LimitKind::RowBytes, limit: 100, actual: 101 });
    let mut row = RowBuf::new();
    assert!(open.read(table, b"a", Columns::All, &mut row).expect("it lives on"));
    assert_eq!(row.bytes().len(), 100, "the refused statement did not happen");
    open.commit().expect("it lives on");
}

/// One row too many is refused. A row counts once, however often it is written.
pub fn too_many_written_rows_are_refused<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&with_limit(LimitKind::WriteSetRows, 3), &[]);
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    for key in 0..3 {
        put(&mut open, table, key, key).expect("up to the limit");
    }
    assert_eq!(limit(put(&mut open, table, 3, 3)), Limit { kind: LimitKind::WriteSetRows, limit: 3, actual: 4 });
    assert_eq!(limit(insert(&mut open, table, 4, 4)).kind, LimitKind::WriteSetRows);
    assert_eq!(get(&mut open, table, 3).expect("it lives on"), None);
    put(&mut open, table, 1, 10).expect("no row more than before");
    assert!(delete(&mut open, table, 2).expect("no row more than before"));
    open.commit().expect("it lives on");
    assert_eq!(state::<F>(&engine, table), [(0, 0), (1, 10)]);
}

/// One byte too many is refused.
pub fn too_many_written_bytes_are_refused<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&with_limit(LimitKind::WriteSetBytes, 40), &[]);
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    put(&mut open, table, 1, 1).expect("16 bytes");
    put(&mut open, table, 2, 2).expect("32 bytes");
    assert_eq!(limit(put(&mut open, table, 3, 3)), Limit { kind: LimitKind::WriteSetBytes, limit: 40, actual: 48 });
    assert_eq!(all(&mut open, table).expect("it lives on"), [(1, 1), (2, 2)]);
    open.commit().expect("it lives on");
    assert_eq!(state::<F>(&engine, table), [(1, 1), (2, 2)]);
}

/// One open transaction too many is refused, at its begin or at its first access, until another one ends.
pub fn too_many_open_transactions_are_refused<F: Sessions>() {
    let engine = F::open(&with_limit(LimitKind::Transactions, 2));
    let table = F::create_table(&engine, registers("registers", Storage::Ordered)).expect("a new table");
    let begin_and_read = || -> model::Result<Open<F>> {
        let mut open = model::Interactive::begin_owned(&engine, model::Begin::default())?;
        get(&mut open, table, 1).map(|_| open)
    };
    let (first, second) = (begin_and_read().expect("room"), begin_and_read().expect("room"));
    let refused = begin_and_read().map(drop);
    assert_eq!(limit(refused), Limit { kind: LimitKind::Transactions, limit: 2, actual: 3 });
    drop(first);
    let third = begin_and_read().expect("room again");
    second.commit().expect("it was open all the time");
    third.commit().expect("nobody in the way");
}

/// One table too many is refused.
pub fn too_many_tables_are_refused<F: Sessions>() {
    let engine = F::open(&with_limit(LimitKind::Tables, 2));
    F::create_table(&engine, registers("one", Storage::Ordered)).expect("room");
    F::create_table(&engine, registers("two", Storage::Hash)).expect("room");
    let refused = F::create_table(&engine, registers("three", Storage::Ordered));
    assert_eq!(limit(refused), Limit { kind: LimitKind::Tables, limit: 2, actual: 3 });
}
