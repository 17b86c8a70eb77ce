//! What the tests share: an engine on a clock that they move, tables of registers, and short ways to read and write.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod script;
pub mod statements;

use env::{Clock, SimClock};
use model::{
    Access, Begin, Columns, Error, Finish, Interactive, Item, Key, Mode, Result, RowBuf, Scan, Schema, Storage, TableId,
};
use seriatim_mvto::{Mvto, Options, Transaction};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

/// An engine in memory, on a clock that advances by one tick with each reading.
pub type Engine = Arc<Mvto<SimClock>>;
/// One of its transactions.
pub type Open = Transaction<Engine>;

/// Nobody waits: what would be a wait is an abort, so that one thread can drive many transactions.
pub fn impatient() -> Options {
    Options { wait_limit: Duration::ZERO, sites: 1, ..Options::default() }
}

/// An engine whose timestamps are the readings of the returned clock.
pub fn engine_and_clock(options: Options) -> (Engine, SimClock) {
    let clock = SimClock::new(0, 1);
    (Arc::new(Mvto::in_memory_with(options, clock.clone()).expect("nothing can fail in memory")), clock)
}

/// Eight-byte keys, byte rows.
pub fn registers(name: &str, storage: Storage) -> Schema {
    Schema::bytes(name).u64_key().storage(storage).build().expect("a good schema")
}

/// An engine with one ordered table of registers that hold these values.
pub fn with_registers(options: Options, rows: &[(u64, u64)]) -> (Engine, SimClock, TableId) {
    let (engine, clock) = engine_and_clock(options);
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let mut load = begin(&engine);
    for &(key, value) in rows {
        put(&mut load, table, key, value).expect("alone");
    }
    load.commit().expect("alone");
    (engine, clock, table)
}

/// Begins a transaction, and draws its timestamp now instead of at its first statement.
pub fn begin(engine: &Engine) -> Open {
    begin_as(engine, Mode::ReadWrite)
}

/// As [`begin`], in another mode.
pub fn begin_as(engine: &Engine, mode: Mode) -> Open {
    let mut transaction = engine.begin_owned(Begin { mode, ..Begin::default() }).expect("begin itself only notes down");
    transaction.savepoint().expect("the clock is healthy and nobody is in the way");
    transaction
}

/// Its begin timestamp.
pub fn at(transaction: &Open) -> u64 {
    transaction.timestamp().expect("it has touched data").0
}

/// The present in engine time: timestamps are the clock's readings.
pub fn reading(clock: &SimClock) -> u64 {
    clock.now()
}

pub fn put(access: &mut impl Access, table: TableId, key: u64, value: u64) -> Result<()> {
    access.put(table, &Key::from_u64(key), RowBuf::from_bytes(&value.to_be_bytes()).row())
}

pub fn insert(access: &mut impl Access, table: TableId, key: u64, value: u64) -> Result<()> {
    access.insert(table, &Key::from_u64(key), RowBuf::from_bytes(&value.to_be_bytes()).row())
}

pub fn delete(access: &mut impl Access, table: TableId, key: u64) -> Result<bool> {
    access.delete(table, &Key::from_u64(key))
}

pub fn get(access: &mut impl Access, table: TableId, key: u64) -> Result<Option<u64>> {
    let mut row = RowBuf::new();
    let found = access.read(table, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(found.then(|| integer(row.bytes())))
}

/// All keys and values, in order.
pub fn all(access: &mut impl Access, table: TableId) -> Result<Vec<(u64, u64)>> {
    range(access, table, Bound::Unbounded, Bound::Unbounded)
}

/// The keys and values within these bounds, in order.
pub fn range(
    access: &mut impl Access,
    table: TableId,
    lower: Bound<u64>,
    upper: Bound<u64>,
) -> Result<Vec<(u64, u64)>> {
    let mut seen = Vec::new();
    let scan = Scan::table(table).between(lower.map(Key::from_u64), upper.map(Key::from_u64));
    access.scan(&scan, &mut |item: Item<'_>| {
        seen.push((integer(item.key), integer(item.row.bytes())));
        ControlFlow::Continue(())
    })?;
    Ok(seen)
}

/// The integer of an eight-byte key or row.
pub fn integer(bytes: &[u8]) -> u64 {
    Key::to_u64(bytes).expect("eight bytes")
}

/// Writes one register in a transaction of its own; its timestamp.
pub fn set(engine: &Engine, table: TableId, key: u64, value: u64) -> u64 {
    let mut transaction = begin(engine);
    put(&mut transaction, table, key, value).expect("nobody in the way");
    transaction.commit().expect("nobody in the way").serial_point.0
}

/// Reads one register in a transaction of its own.
pub fn now(engine: &Engine, table: TableId, key: u64) -> Option<u64> {
    get(&mut begin_as(engine, Mode::ReadOnly), table, key).expect("nobody in the way")
}

/// The rule that aborted a transaction.
#[track_caller]
pub fn rule<T: std::fmt::Debug>(result: std::result::Result<T, Error>) -> &'static str {
    result.expect_err("an abort").abort().expect("an abort").rule
}
