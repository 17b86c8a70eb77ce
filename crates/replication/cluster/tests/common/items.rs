//! Items that are selected by their class. A history of them is one of a table for each class, which has the items of the class: so judges
//! who know no predicates see exactly what each scan has asked for, and what each write has changed of it.

use check::KeyForm;
use env::Randomness;
use model::history::Operation;
use model::{
    Access, ColumnType, Columns, Comparison, Delta, Error, Key, Predicate, Result, RowBuf, Scan, Schema, TableId,
    Value, ValueRef,
};
use std::ops::{Bound, ControlFlow};

const IDS: u64 = 8;
const CLASSES: i64 = 3;
const CLASS: u16 = 1;
const VALUE: u16 = 2;
/// The number of the first class's table in a history.
const FIRST: u32 = 1 << 20;

pub fn schema() -> Schema {
    let items = Schema::table("items").column("id", ColumnType::Int).column("class", ColumnType::Int);
    items.column("value", ColumnType::Int).key(["id"]).build().expect("a good schema")
}

/// How the keys of a class are shown to the judges; `None` for other tables.
pub fn form(table: TableId) -> Option<KeyForm> {
    let class = table.0.checked_sub(FIRST)?;
    Some(KeyForm::Text(format!("class {class}").into()))
}

fn key(id: u64) -> Key {
    let mut key = Key::new();
    key.push_value(ValueRef::Int(id as i64), false);
    key
}

fn row(id: u64, class: i64, value: i64) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(id as i64), ValueRef::Int(class), ValueRef::Int(value)])
}

fn classes() -> impl Iterator<Item = (i64, TableId)> {
    (0..CLASSES).map(|class| (class, TableId(FIRST + class as u32)))
}

fn is_of(row: &RowBuf, class: i64) -> bool {
    row.get(CLASS.into()) == ValueRef::Int(class)
}

fn note_read(notes: &mut Vec<Operation>, key: &Key, row: Option<&RowBuf>) {
    let of_class = |class| row.filter(|row| is_of(row, class)).map(|row| row.bytes().to_vec());
    notes.extend(classes().map(|(class, table)| Operation::Read(table, key.clone(), of_class(class))));
}

fn note_write(notes: &mut Vec<Operation>, key: &Key, row: Option<&RowBuf>) {
    notes.extend(classes().map(|(class, table)| match row.filter(|row| is_of(row, class)) {
        Some(row) => Operation::Write(table, key.clone(), row.bytes().to_vec()),
        None => Operation::Delete(table, key.clone()),
    }));
}

/// Scans the items of a class from an item on, up to `most`. Returns their keys.
fn select(
    access: &mut dyn Access,
    table: TableId,
    (class, first, most): (i64, u64, u64),
    notes: &mut Vec<Operation>,
) -> Result<Vec<Key>> {
    let filter = Predicate::Compare(CLASS, Comparison::Equal, Value::Int(class));
    let scan = Scan::table(table).between(Bound::Included(key(first)), Bound::Unbounded).filter(&filter);
    let (mut seen, mut left) = (Vec::new(), most);
    let end = access.scan(&scan, &mut |item| {
        seen.push((Key::from_bytes(item.key), item.row.bytes().to_vec()));
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let (lower, upper) = scan.seen(&end);
    let keys = seen.iter().map(|(key, _)| key.clone()).collect();
    notes.push(Operation::Scan(TableId(FIRST + class as u32), lower, upper, seen));
    Ok(keys)
}

/// Reads all items, by their classes.
pub fn read_all(access: &mut dyn Access, table: TableId, notes: &mut Vec<Operation>) -> Result<()> {
    (0..CLASSES).try_for_each(|class| select(access, table, (class, 0, u64::MAX), notes).map(drop))
}

/// Gives an item a class and a value. Returns whether it is there.
fn update(
    access: &mut dyn Access,
    table: TableId,
    key: &Key,
    (class, value): (i64, i64),
    notes: &mut Vec<Operation>,
) -> Result<()> {
    let delta = Delta::new().set(CLASS, class).set(VALUE, value);
    let mut row = RowBuf::new();
    if access.update(table, key, &delta)? {
        access.read(table, key, Columns::All, &mut row)?;
        note_write(notes, key, Some(&row));
    } else {
        note_read(notes, key, None);
    }
    Ok(())
}

/// One statement on the items; each write has a value of its own.
pub fn statement(
    access: &mut dyn Access,
    table: TableId,
    random: &mut Randomness,
    written: u64,
    reads_only: bool,
    notes: &mut Vec<Operation>,
) -> Result<()> {
    let (id, class) = (random.in_range(0..IDS), random.in_range(0..CLASSES as u64) as i64);
    // A statement writes fewer rows than this.
    let value = (written * 2 * IDS) as i64;
    let (at, new) = (key(id), row(id, class, value));
    let mut found = RowBuf::new();
    match random.in_range(0..if reads_only { 4 } else { 12 }) {
        0..=2 => select(access, table, (class, id, 1 + random.in_range(0..4)), notes).map(drop),
        3 => {
            let is_there = access.read(table, &at, Columns::All, &mut found)?;
            note_read(notes, &at, is_there.then_some(&found));
            Ok(())
        }
        4 => {
            access.put(table, &at, new.row())?;
            note_write(notes, &at, Some(&new));
            Ok(())
        }
        5 | 6 => match access.insert(table, &at, new.row()) {
            Ok(()) => {
                note_read(notes, &at, None);
                note_write(notes, &at, Some(&new));
                Ok(())
            }
            Err(Error::Duplicate(_)) => Ok(()),
            Err(error) => Err(error),
        },
        7 => {
            let is_there = access.read(table, &at, Columns::All, &mut found)?;
            note_read(notes, &at, is_there.then_some(&found));
            if access.delete(table, &at)? {
                note_write(notes, &at, None);
            }
            Ok(())
        }
        8 | 9 => update(access, table, &at, (class, value), notes),
        _ => {
            // All of one class become another one.
            let other = (class + 1) % CLASSES;
            let keys = select(access, table, (class, 0, u64::MAX), notes)?;
            (1..).zip(keys).try_for_each(|(nr, key)| update(access, table, &key, (other, value + nr), notes))
        }
    }
}
