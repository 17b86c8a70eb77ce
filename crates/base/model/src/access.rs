//! What a transaction body may say.

use crate::{Columns, Delta, Error, Item, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::ops::ControlFlow;

/// The reads and writes of one transaction. A transaction reads its own writes.
///
/// Keys are encoded ([`crate::Key`]). Reads fill a buffer of the caller. After an abort every call returns that abort.
///
/// # Errors
/// Every method: [`crate::Error::Aborted`] if the protocol had to abort the transaction, [`crate::Error::Invalid`] for
/// an unknown table or a key or row that does not fit it, [`crate::Error::Limit`] at a limit.
pub trait Access {
    /// Reads the row under `key` into `row`; `false` if there is none (then `row` is empty).
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool>;

    /// As [`Access::read`] of the whole row, and announces that it will be written: engines that can, own the row now,
    /// so that on hot rows transactions queue instead of aborting.
    fn read_for_update(&mut self, table: TableId, key: &[u8], row: &mut RowBuf) -> Result<bool> {
        self.read(table, key, Columns::All, row)
    }

    /// Writes a whole row, whether or not one is there.
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()>;

    /// Writes a row where none is.
    ///
    /// # Errors
    /// [`crate::Error::Duplicate`] if one is.
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()>;

    /// Changes columns of the row under `key`; `false` if there is none.
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool>;

    /// Deletes the row under `key`; `false` if there was none.
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool>;

    /// Visits the rows of a range in order until the visitor breaks. The whole range up to where it stopped is
    /// protected: no phantom can appear in it.
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd>;
}

/// A transaction body: no effect but through `Access`, so that it may run more than once.
pub trait Program {
    /// What it returns when it wants to commit.
    type Output;
    /// What it returns when it wants to abort; an engine's error becomes one.
    type Error: From<Error>;

    /// Runs the body.
    ///
    /// # Errors
    /// The body's own, or what [`Access`] returned.
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<Self::Output, Self::Error>;
}

impl<A: Access + ?Sized> Access for &mut A {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        (**self).read(table, key, columns, row)
    }
    fn read_for_update(&mut self, table: TableId, key: &[u8], row: &mut RowBuf) -> Result<bool> {
        (**self).read_for_update(table, key, row)
    }
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        (**self).put(table, key, row)
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        (**self).insert(table, key, row)
    }
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        (**self).update(table, key, delta)
    }
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        (**self).delete(table, key)
    }
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        (**self).scan(scan, visit)
    }
}
