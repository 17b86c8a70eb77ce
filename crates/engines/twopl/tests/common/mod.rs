//! Shared by the tests: two small tables, and short ways to read and write them.
#![allow(dead_code, unused_imports, reason = "each test takes what it needs")]

pub use conformance::registers::{delete, get, put, rule};

use conformance::registers;
use model::{Access, Begin, ColumnType, Interactive, Key, RowBuf, Schema, Storage, TableId, ValueRef};
use seriatim_twopl::{Options, Transaction, TwoPhaseLocking};
use std::ops::Bound;
use std::time::Duration;

/// Options under which nothing ever waits: a conflict is an abort, so one thread can drive many transactions.
pub fn impatient() -> Options {
    Options { wait_limit: Duration::ZERO, ..Options::default() }
}

/// Accounts: `id` (key), `name` (may be NULL), `amount`.
pub fn accounts(name: &str, storage: Storage) -> Schema {
    Schema::table(name)
        .column("id", ColumnType::Int)
        .nullable("name", ColumnType::Text)
        .column("amount", ColumnType::Int)
        .key(["id"])
        .storage(storage)
        .build()
        .expect("a good schema")
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

/// The keys and values from `lower` to `upper`, both included.
pub fn range(access: &mut impl Access, table: TableId, lower: u64, upper: u64) -> model::Result<Vec<(u64, u64)>> {
    registers::range(access, table, Bound::Included(lower), Bound::Included(upper))
}

/// Eight-byte keys, byte rows.
pub fn registers(name: &str) -> Schema {
    registers::registers(name, Storage::Ordered)
}
