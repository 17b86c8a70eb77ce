//! Operations of a transaction body.

use crate::{Columns, Delta, Draws, Error, Extreme, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::ops::ControlFlow;

/// Keys that are looked up side by side, at most: about as many misses as a core has under way at once.
pub const SIDE_BY_SIDE: usize = 16;

/// The reads and writes of one transaction. A transaction reads its own writes.
///
/// Keys are encoded ([`crate::Key`]). Reads fill a buffer of the caller. After an abort every call returns that abort.
///
/// # Errors
/// Every method: [`crate::Error::Aborted`] if the protocol had to abort the transaction, [`crate::Error::Invalid`] for
/// an unknown table or a key or row that does not fit it, [`crate::Error::Limit`] at a limit, [`crate::Error::NotYet`] in
/// engines that run a body before everything that it reads is there.
pub trait Access {
    /// Reads the row under `key` into `row`; `false` if there is none (then `row` is empty).
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool>;

    /// Reads several rows of a table whose keys do not depend on each other, and shows each to `each` with the position of its
    /// key, in any order; `None` where there is no row. An engine may look them up side by side. Provided by one read after the
    /// other, of groups that were announced ([`Access::prefetch`]).
    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        let mut row = RowBuf::new();
        for (group, keys) in keys.chunks(SIDE_BY_SIDE).enumerate() {
            self.prefetch(table, keys);
            for (at, key) in keys.iter().enumerate() {
                let found = self.read(table, key, columns, &mut row)?;
                each(group * SIDE_BY_SIDE + at, found.then(|| row.row()));
            }
        }
        Ok(())
    }

    /// Announces rows of a table that will be read or written soon. A hint: an engine may look the keys up side by side, so that
    /// its waits for memory overlap. What is wrong with the table or a key is reported by the read or the write.
    #[inline]
    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        let _ = (table, keys);
    }

    /// Same as [`Access::read`], and announces that the row will be written: engines that can, lock it now, so that on hot rows
    /// transactions queue instead of aborting.
    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.read(table, key, columns, row)
    }

    /// Writes a whole row, whether or not one is there.
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()>;

    /// Inserts a row under a key that has none.
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

    /// Copies the columns of a scan of a row with the least or the greatest value of a column, and returns its key; `None` if no row
    /// of the scan has a value. Of several such rows, any. [`Scan::direction`] and [`Scan::examine`] have no effect.
    ///
    /// The answer is protected, and by an engine that can, nothing else: other rows of the range may come, go and change as long as
    /// none is further out.
    fn extreme(&mut self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
        let found = of.find_by_scan(scan, row, |scan, visit| self.scan(scan, visit))?;
        Ok(found.map(|(key, _)| key))
    }

    /// Tells what a trial run would write; `None` deletes. A hint, from procedures that find their footprints by trial runs
    /// ([`crate::Procedure::guesses`]), for the trial runs of those behind them.
    #[inline]
    fn foresee(&mut self, table: TableId, key: &[u8], row: Option<RowRef<'_>>) {
        let _ = (table, key, row);
    }

    /// Random numbers and the time of this transaction ([`crate::Begin::draws`]). `None`: it was begun without.
    fn draws(&mut self) -> Option<&mut Draws> {
        None
    }
}

/// A transaction body. It may run more than once, and each run must do the same where it reads the same: no effect but through
/// `Access`, and no random number or time but [`Access::draws`]. [`Error::NotYet`] is passed on at once: the engine runs the
/// body again when what it wanted to read is there.
pub trait Program {
    /// Result of a body that wants to commit.
    type Output;
    /// Result of a body that wants to abort; an engine's error is converted to one.
    type Error: From<Error>;

    /// Runs the body.
    ///
    /// # Errors
    /// Errors of the body, or what [`Access`] returned.
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<Self::Output, Self::Error>;
}

/// Forwards every call to what the pointer points to.
macro_rules! forward {
    ($pointer:ty) => {
        impl<A: Access + ?Sized> Access for $pointer {
            fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
                (**self).read(table, key, columns, row)
            }
            fn read_many(
                &mut self,
                table: TableId,
                keys: &[Key],
                columns: Columns<'_>,
                each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
            ) -> Result<()> {
                (**self).read_many(table, keys, columns, each)
            }
            fn prefetch(&mut self, table: TableId, keys: &[Key]) {
                (**self).prefetch(table, keys);
            }
            fn read_for_update(
                &mut self,
                table: TableId,
                key: &[u8],
                columns: Columns<'_>,
                row: &mut RowBuf,
            ) -> Result<bool> {
                (**self).read_for_update(table, key, columns, row)
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
            fn extreme(&mut self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
                (**self).extreme(scan, of, row)
            }
            fn foresee(&mut self, table: TableId, key: &[u8], row: Option<RowRef<'_>>) {
                (**self).foresee(table, key, row);
            }
            fn draws(&mut self) -> Option<&mut Draws> {
                (**self).draws()
            }
        }
    };
}

forward!(&mut A);
forward!(Box<A>);
