//! Mistakes of the caller: each is a clear error of its statement, which changes nothing, and the transaction stays usable.

use crate::fixture::{Knobs, Open, Sessions, begin, with_registers};
use crate::registers::{all, delete, get, get_for_update, insert, invalid, put, registers, state};
use model::{
    Access, ColumnType, Columns, Comparison, Delta, Error, Finish, Invalid, Key, Mode, Predicate, Result, RowBuf, Scan,
    Schema, Storage, TableId, Value, ValueRef,
};
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

/// An engine with a table of registers and a table of people, in which ann is the first.
struct Place<F: Sessions> {
    engine: Arc<F::Engine>,
    registers: TableId,
    people: TableId,
}

fn people() -> Schema {
    let people = Schema::table("people").column("id", ColumnType::Int).nullable("name", ColumnType::Text);
    people.column("age", ColumnType::Int).key(["id"]).build().expect("a good schema")
}

fn person(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

impl<F: Sessions> Place<F> {
    fn new(age: i64) -> Place<F> {
        let (engine, registers) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
        let people = F::create_table(&engine, people()).expect("a new table");
        let mut load = begin::<F>(&engine, Mode::ReadWrite);
        let ann = RowBuf::from_values(&[ValueRef::Int(1), ValueRef::Text("ann"), ValueRef::Int(age)]);
        load.put(people, &person(1), ann.row()).expect("nobody in the way");
        load.commit().expect("nobody in the way");
        Place { engine, registers, people }
    }

    /// Makes a mistake in a transaction that writes before and after it: the writes arrive, the mistake leaves nothing.
    #[track_caller]
    fn mistake<T: Debug>(&self, what: impl FnOnce(&mut Open<F>) -> Result<T>) -> Invalid {
        let before = state::<F>(&self.engine, self.registers);
        let value = before[0].1 + 1;
        let mut open = begin::<F>(&self.engine, Mode::ReadWrite);
        put(&mut open, self.registers, 1, value).expect("nobody in the way");
        let mistake = invalid(what(&mut open));
        assert!(open.poison().is_none(), "it lives on");
        assert_eq!(get(&mut open, self.registers, 1).expect("it lives on"), Some(value));
        put(&mut open, self.registers, 2, value).expect("it lives on");
        open.commit().expect("it lives on");
        assert_eq!(state::<F>(&self.engine, self.registers), [(1, value), (2, value)]);
        mistake
    }
}

fn nobody(_: model::Item<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Unknown tables are named.
pub fn unknown_tables_are_named<F: Sessions>() {
    let place = Place::<F>::new(30);
    let nowhere = TableId(99);
    let unknown = Invalid::UnknownTable { table: "number 99".into() };
    assert_eq!(place.mistake(|open| get(open, nowhere, 1)), unknown);
    assert_eq!(place.mistake(|open| get_for_update(open, nowhere, 1)), unknown);
    assert_eq!(place.mistake(|open| put(open, nowhere, 1, 1)), unknown);
    assert_eq!(place.mistake(|open| insert(open, nowhere, 1, 1)), unknown);
    assert_eq!(place.mistake(|open| delete(open, nowhere, 1)), unknown);
    assert_eq!(place.mistake(|open| open.update(nowhere, b"", &Delta::new())), unknown);
    assert_eq!(place.mistake(|open| all(open, nowhere)), unknown);
}

/// Keys that do not fit their table are refused by every statement.
pub fn keys_of_the_wrong_shape_are_refused<F: Sessions>() {
    let place = Place::<F>::new(30);
    let good = RowBuf::from_values(&[ValueRef::Int(1), ValueRef::Null, ValueRef::Int(1)]);
    let key = Invalid::Key { table: "people".into() };
    for wrong in [&b""[..], b"seven b", b"nine byte"] {
        let mut row = RowBuf::new();
        assert_eq!(place.mistake(|open| open.read(place.people, wrong, Columns::All, &mut row)), key);
        assert_eq!(place.mistake(|open| open.put(place.people, wrong, good.row())), key);
        assert_eq!(place.mistake(|open| open.delete(place.people, wrong)), key);
    }
    let in_registers = Invalid::Key { table: "registers".into() };
    assert_eq!(place.mistake(|open| open.delete(place.registers, b"short")), in_registers);
}

/// Rows that do not fit their table are refused by puts and inserts.
pub fn rows_of_the_wrong_shape_are_refused<F: Sessions>() {
    let place = Place::<F>::new(30);
    let row = |values: &[ValueRef<'_>]| RowBuf::from_values(values);
    let good = row(&[ValueRef::Int(1), ValueRef::Null, ValueRef::Int(1)]);
    let wrong_rows = [
        row(&[ValueRef::Int(1), ValueRef::Null]),
        row(&[ValueRef::Int(1), ValueRef::Null, ValueRef::Null]),
        row(&[ValueRef::Int(1), ValueRef::Int(1), ValueRef::Int(1)]),
        row(&[ValueRef::Int(2), ValueRef::Null, ValueRef::Int(1)]),
        RowBuf::from_bytes(b""),
        RowBuf::from_bytes(b"\x03\x00 no typed row"),
        RowBuf::from_bytes(&good.bytes()[..10]),
    ];
    for wrong in &wrong_rows {
        let mistake = place.mistake(|open| open.put(place.people, &person(1), wrong.row()));
        assert!(matches!(mistake, Invalid::Row { .. }), "{mistake:?}");
    }
    for wrong in &wrong_rows {
        let mistake = place.mistake(|open| open.insert(place.people, &person(7), wrong.row()));
        assert!(matches!(mistake, Invalid::Row { .. }), "{mistake:?}");
    }
}

/// Changes that a row does not allow are refused.
pub fn updates_that_make_no_sense_are_refused<F: Sessions>() {
    let place = Place::<F>::new(i64::MAX);
    let wrong = [
        Delta::new().add(2, 1),
        Delta::new().add(1, 1),
        Delta::new().set(7, 1i64),
        Delta::new().set(2, "old"),
        Delta::new().set(2, Value::Null),
        Delta::new().set(0, 2i64),
    ];
    for delta in wrong {
        let mistake = place.mistake(|open| open.update(place.people, &person(1), &delta));
        assert!(matches!(mistake, Invalid::Row { .. }), "{delta:?}: {mistake:?}");
    }
    let mistake = place.mistake(|open| open.update(place.registers, &Key::from_u64(1), &Delta::new().add(0, 1)));
    assert!(matches!(mistake, Invalid::Row { .. }), "byte rows have no columns: {mistake:?}");
}

/// Columns that are not there are refused by reads, whether or not there is a row.
pub fn reads_of_columns_that_are_not_there_are_refused<F: Sessions>() {
    let place = Place::<F>::new(30);
    for id in [1, 2] {
        let mut row = RowBuf::new();
        let mistake = place.mistake(|open| open.read(place.people, &person(id), Columns::Some(&[3]), &mut row));
        assert!(matches!(mistake, Invalid::Row { .. }), "{mistake:?}");
    }
    let mut row = RowBuf::new();
    let read = |open: &mut Open<F>| open.read(place.registers, &Key::from_u64(1), Columns::Some(&[0]), &mut row);
    let mistake = place.mistake(read);
    assert!(matches!(mistake, Invalid::Row { .. }), "{mistake:?}");
}

/// Columns that are not there are refused by scans and by their filters.
pub fn scans_of_columns_that_are_not_there_are_refused<F: Sessions>() {
    let place = Place::<F>::new(30);
    let filter = Predicate::Compare(3, Comparison::Equal, Value::Int(1));
    let nested = Predicate::Not(Box::new(Predicate::Compare(9, Comparison::Equal, Value::Null)));
    let scans = [
        Scan::table(place.people).columns(Columns::Some(&[3])),
        Scan::table(place.people).filter(&filter),
        Scan::table(place.people).filter(&nested),
        Scan::table(place.registers).filter(&filter),
        Scan::table(place.registers).columns(Columns::Some(&[0])),
    ];
    for scan in &scans {
        let mistake = place.mistake(|open| open.scan(scan, &mut nobody));
        assert!(matches!(mistake, Invalid::Row { .. }), "{mistake:?}");
    }
}

/// A table stored by hash has no ranges.
pub fn a_hash_table_has_no_ranges<F: Sessions>() {
    let place = Place::<F>::new(30);
    let hash = F::create_table(&place.engine, registers("hash", Storage::Hash)).expect("a new table");
    assert_eq!(place.mistake(|open| all(open, hash)), Invalid::NotOrdered { table: "hash".into() });
}

/// Read-only transactions refuse every write, and read on.
pub fn read_only_transactions_refuse_to_write<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
    for mode in [Mode::ReadOnly, Mode::Snapshot] {
        let mut open = begin::<F>(&engine, mode);
        assert_eq!(invalid(put(&mut open, table, 1, 2)), Invalid::ReadOnly);
        assert_eq!(invalid(insert(&mut open, table, 2, 2)), Invalid::ReadOnly);
        assert_eq!(invalid(delete(&mut open, table, 1)), Invalid::ReadOnly);
        assert_eq!(invalid(open.update(table, &Key::from_u64(1), &Delta::new())), Invalid::ReadOnly);
        assert_eq!(get_for_update(&mut open, table, 1).expect("it only reads"), Some(1));
        let mut other = begin::<F>(&engine, Mode::ReadWrite);
        assert_eq!(get(&mut other, table, 1).expect("readers do not exclude readers"), Some(1));
        other.commit().expect("nobody in the way");
        assert_eq!(get(&mut open, table, 1).expect("it lives on"), Some(1));
        open.commit().expect("nobody in the way");
    }
}

/// A taken key is refused by an insert, and the row that has it stays.
pub fn duplicates_are_refused_and_change_nothing<F: Sessions>() {
    for mode in [Mode::ReadWrite, Mode::OwnAtStatement] {
        let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
        let mut open = begin::<F>(&engine, mode);
        for key in [1, 2] {
            if key == 2 {
                insert(&mut open, table, 2, 2).expect("nobody in the way");
            }
            let refused = insert(&mut open, table, key, 9).expect_err("it is taken");
            assert!(matches!(refused, Error::Duplicate(_)), "{refused:?}");
            assert_eq!(get(&mut open, table, key).expect("it lives on"), Some(key));
        }
        assert!(delete(&mut open, table, 1).expect("it lives on"));
        insert(&mut open, table, 1, 3).expect("the key is free again");
        open.commit().expect("it lives on");
        assert_eq!(state::<F>(&engine, table), [(1, 3), (2, 2)]);
    }
}

/// After an abort, every call returns that abort, and what was written is gone at once.
pub fn an_aborted_transaction_keeps_its_reason<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
    let mut owner = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 2).expect("nobody in the way");
    let mut other = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut other, table, 5, 5).expect("nobody in the way");
    let Err(error) = get(&mut other, table, 1).and_then(|_| put(&mut other, table, 1, 3)) else {
        // The engine decides at commit.
        owner.commit().expect("nobody else has committed");
        let error = other.commit().expect_err("it read the row before the commit of the other one");
        assert!(error.abort().is_some(), "{error}");
        return;
    };
    let reason = error.to_string();
    assert!(error.abort().is_some() && error.is_retryable(), "{reason}");
    assert_eq!(get(&mut other, table, 5).expect_err("it was aborted").to_string(), reason);
    assert_eq!(other.poison().map(ToString::to_string), Some(reason.clone()));
    let mut third = begin::<F>(&engine, Mode::ReadWrite);
    assert_eq!(get(&mut third, table, 5).expect("what it owned is free"), None);
    third.commit().expect("nobody in the way");
    assert_eq!(other.commit().expect_err("it was aborted").to_string(), reason);
    owner.commit().expect("it was not disturbed");
    assert_eq!(state::<F>(&engine, table), [(1, 2)]);
}
