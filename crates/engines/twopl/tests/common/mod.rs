//! What the tests share: two small tables, and short ways to read and write them.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod statements;

use model::{
    Access, Begin, ColumnType, Columns, Error, Interactive, Item, Key, RowBuf, Scan, Schema, Storage, TableId, ValueRef,
};
use seriatim_twopl::{Options, Transaction, TwoPhaseLocking};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// Options under which nothing ever waits: a conflict is an abort, so one thread can drive many transactions.
pub fn impatient() -> Options {
    Options { wait_limit: Duration::ZERO, ..Options::default() }
}

/// Accounts: `id` (key), `name` (unique, may be NULL), `amount` (indexed).
pub fn accounts(name: &str, storage: Storage) -> Schema {
    Schema::table(name)
        .column("id", ColumnType::Int)
        .nullable("name", ColumnType::Text)
        .column("amount", ColumnType::Int)
        .key(["id"])
        .unique("by_name", ["name"])
        .index("by_amount", ["amount"])
        .storage(storage)
        .build()
        .expect("a good schema")
}

/// Integer keys, byte rows, no index.
pub fn registers(name: &str) -> Schema {
    Schema::bytes(name).u64_key().build().expect("a good schema")
}

pub fn account_key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

pub fn account(id: i64, name: Option<&str>, amount: i64) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(id), name.map_or(ValueRef::Null, ValueRef::Text), ValueRef::Int(amount)])
}

/// An engine with one table of registers, holding these.
pub fn with_registers(options: Options, rows: &[(u64, u64)]) -> (TwoPhaseLocking, TableId) {
    let engine = TwoPhaseLocking::new(options);
    let table = engine.create_table(registers("registers")).expect("a new table");
    let mut load = engine.begin(Begin::default()).expect("room for one");
    for &(key, value) in rows {
        put(&mut load, table, key, value).expect("alone");
    }
    model::Finish::commit(load).expect("alone");
    (engine, table)
}

pub type Open<'e> = Transaction<&'e TwoPhaseLocking>;

pub fn begin(engine: &TwoPhaseLocking) -> Open<'_> {
    engine.begin(Begin::default()).expect("room for one more")
}

pub fn put(access: &mut impl Access, table: TableId, key: u64, value: u64) -> model::Result<()> {
    access.put(table, &Key::from_u64(key), RowBuf::from_bytes(&value.to_be_bytes()).row())
}

pub fn get(access: &mut impl Access, table: TableId, key: u64) -> model::Result<Option<u64>> {
    let mut row = RowBuf::new();
    let found = access.read(table, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(found.then(|| Key::to_u64(row.bytes()).expect("eight bytes")))
}

pub fn delete(access: &mut impl Access, table: TableId, key: u64) -> model::Result<bool> {
    access.delete(table, &Key::from_u64(key))
}

/// The keys and values from `lower` to `upper`, both included.
pub fn range(access: &mut impl Access, table: TableId, lower: u64, upper: u64) -> model::Result<Vec<(u64, u64)>> {
    let bounds = (Bound::Included(Key::from_u64(lower)), Bound::Included(Key::from_u64(upper)));
    let mut seen = Vec::new();
    let integer = |bytes: &[u8]| Key::to_u64(bytes).expect("eight bytes");
    access.scan(&Scan::table(table).between(bounds.0, bounds.1), &mut |item: Item<'_>| {
        seen.push((integer(item.key), integer(item.row.bytes())));
        ControlFlow::Continue(())
    })?;
    Ok(seen)
}

/// The rule that aborted a transaction.
pub fn rule<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.expect_err("an abort").abort().expect("an abort").rule
}
