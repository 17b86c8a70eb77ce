//! Tables of registers (eight-byte keys, eight-byte rows) and short ways to read and write them.

use crate::fixture::{Sessions, begin};
use model::{
    Abort, Access, Columns, Error, Finish, Invalid, Item, Key, Limit, Mode, Result, RowBuf, Scan, Schema, Storage,
    TableId,
};
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Eight-byte keys, byte rows.
pub fn registers(name: &str, storage: Storage) -> Schema {
    Schema::bytes(name).u64_key().storage(storage).build().expect("a good schema")
}

/// Writes a register, whether or not it is there.
///
/// # Errors
/// Same as [`Access::put`].
pub fn put(access: &mut impl Access, table: TableId, key: u64, value: u64) -> Result<()> {
    access.put(table, &Key::from_u64(key), RowBuf::from_bytes(&value.to_be_bytes()).row())
}

/// Writes a register that must not be there.
///
/// # Errors
/// Same as [`Access::insert`].
pub fn insert(access: &mut impl Access, table: TableId, key: u64, value: u64) -> Result<()> {
    access.insert(table, &Key::from_u64(key), RowBuf::from_bytes(&value.to_be_bytes()).row())
}

/// Deletes a register; returns whether it was there.
///
/// # Errors
/// Same as [`Access::delete`].
pub fn delete(access: &mut impl Access, table: TableId, key: u64) -> Result<bool> {
    access.delete(table, &Key::from_u64(key))
}

/// Reads a register.
///
/// # Errors
/// Same as [`Access::read`].
pub fn get(access: &mut impl Access, table: TableId, key: u64) -> Result<Option<u64>> {
    let mut row = RowBuf::new();
    let found = access.read(table, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(found.then(|| integer(row.bytes())))
}

/// Reads a register that will be written.
///
/// # Errors
/// Same as [`Access::read_for_update`].
pub fn get_for_update(access: &mut impl Access, table: TableId, key: u64) -> Result<Option<u64>> {
    let mut row = RowBuf::new();
    let found = access.read_for_update(table, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(found.then(|| integer(row.bytes())))
}

/// Returns all keys and values, in order.
///
/// # Errors
/// Same as [`Access::scan`].
pub fn all(access: &mut impl Access, table: TableId) -> Result<Vec<(u64, u64)>> {
    range(access, table, Bound::Unbounded, Bound::Unbounded)
}

/// Returns the keys and values within these bounds, in order.
///
/// # Errors
/// Same as [`Access::scan`].
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

/// Writes registers in a transaction of their own.
pub fn load<F: Sessions>(engine: &Arc<F::Engine>, table: TableId, rows: &[(u64, u64)]) {
    let mut open = begin::<F>(engine, Mode::ReadWrite);
    for &(key, value) in rows {
        put(&mut open, table, key, value).expect("nobody in the way");
    }
    open.commit().expect("nobody in the way");
}

/// All registers, read in a transaction of its own.
pub fn state<F: Sessions>(engine: &Arc<F::Engine>, table: TableId) -> Vec<(u64, u64)> {
    let mut open = begin::<F>(engine, Mode::ReadOnly);
    let rows = all(&mut open, table).expect("nobody in the way");
    open.commit().expect("nobody in the way");
    rows
}

/// The rule that aborted a transaction.
#[track_caller]
pub fn rule<T: Debug>(result: std::result::Result<T, Error>) -> &'static str {
    abort(result).rule
}

/// The abort that a transaction met.
#[track_caller]
pub fn abort<T: Debug>(result: std::result::Result<T, Error>) -> Abort {
    match result {
        Err(Error::Aborted(abort)) => *abort,
        other => panic!("an abort, not {other:?}"),
    }
}

/// The limit that a statement met.
#[track_caller]
pub fn limit<T: Debug>(result: std::result::Result<T, Error>) -> Limit {
    match result {
        Err(Error::Limit(limit)) => limit,
        other => panic!("a limit, not {other:?}"),
    }
}

/// The mistake that a statement is.
#[track_caller]
pub fn invalid<T: Debug>(result: std::result::Result<T, Error>) -> Invalid {
    match result {
        Err(Error::Invalid(invalid)) => invalid,
        other => panic!("a mistake, not {other:?}"),
    }
}
