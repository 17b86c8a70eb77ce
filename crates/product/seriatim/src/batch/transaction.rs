//! What a procedure reads and writes, and what a reader reads.

use crate::batch::defined::Defined;
use crate::batch::table::TableAt;
use crate::range::Reads;
use crate::resolve::ResolvedTable;
use crate::{DateTime, Error, Record, Result};
use model::{Access, Columns, Item, Key, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::cell::RefCell;
use std::fmt;
use std::ops::{ControlFlow, Deref};
use tables::Layout;

/// One unchanging state of the database: what a procedure sees in its place of the order, or what a reader sees as of the last
/// complete batch. Tables read it: [`Table::get`](crate::batch::Table::get) and its fellows.
pub struct Snapshot<'t> {
    /// Reads go through a shared reference, so that iterations over several tables can be nested; no code of the caller runs
    /// while it is borrowed.
    access: RefCell<&'t mut (dyn Access + 't)>,
    tables: &'t Defined,
}

/// A procedure's transaction: a [`Snapshot`] that can also write and sees its own writes.
///
/// Reads borrow it shared and writes borrow it exclusively, as those of [`seriatim::Transaction`](crate::Transaction).
pub struct Transaction<'t> {
    view: Snapshot<'t>,
    /// Why a write could not be completed: the procedure cannot commit.
    failure: Option<Error>,
}

impl<'t> Snapshot<'t> {
    pub(crate) fn new(access: &'t mut (dyn Access + 't), tables: &'t Defined) -> Snapshot<'t> {
        Snapshot { access: RefCell::new(access), tables }
    }

    pub(crate) fn layout(&self, table: TableAt) -> Result<&'t Layout> {
        self.tables.layout(table)
    }

    pub(crate) fn resolve(&self, table: TableAt) -> Result<ResolvedTable<'t>> {
        self.tables.resolve(table)
    }

    /// Reads a row and lets `make` look at it.
    pub(crate) fn read<T>(
        &self,
        table: TableId,
        key: &[u8],
        columns: Columns<'_>,
        make: impl FnOnce(&RowBuf) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut row = RowBuf::new();
        let found = self.access.borrow_mut().read(table, key, columns, &mut row)?;
        if found { make(&row).map(Some) } else { Ok(None) }
    }
}

impl<'t> Transaction<'t> {
    pub(crate) fn new(access: &'t mut (dyn Access + 't), tables: &'t Defined) -> Transaction<'t> {
        Transaction { view: Snapshot::new(access, tables), failure: None }
    }

    /// The procedure's time: when it was submitted. It is the same in every run, and when the procedure is executed again.
    pub fn now(&mut self) -> DateTime {
        let micros = self.view.access.get_mut().draws().map_or(0, |draws| draws.now());
        DateTime { micros }
    }

    /// The next random number, uniform over all values: the same numbers in every run. Not for secrets.
    pub fn random(&mut self) -> u64 {
        self.view.access.get_mut().draws().map_or(0, model::Draws::number)
    }

    /// Same as [`Snapshot::read`], for a row that will be written.
    pub(crate) fn read_for_update<T>(
        &mut self,
        table: TableId,
        key: &[u8],
        make: impl FnOnce(&RowBuf) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut row = RowBuf::new();
        let found = self.view.access.get_mut().read_for_update(table, key, Columns::All, &mut row)?;
        if found { make(&row).map(Some) } else { Ok(None) }
    }

    /// Writes a record.
    pub(crate) fn write<R: Record>(
        &mut self,
        record: &R,
        work: impl FnOnce(&mut dyn Access, RowRef<'_>) -> tables::Result<()>,
    ) -> Result<()> {
        let mut row = RowBuf::new();
        record.encode(&mut row);
        self.change(|access| work(access, row.row()))
    }

    /// Runs a statement that writes several rows of the engine. There is no way back from half of one: a procedure in which one
    /// failed does not commit. A duplicate is found before anything is written.
    pub(crate) fn change<T>(&mut self, work: impl FnOnce(&mut dyn Access) -> tables::Result<T>) -> Result<T> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let done = work(&mut **self.view.access.get_mut()).map_err(Error::from);
        if let Err(error) = &done
            && !matches!(error, Error::Duplicate(_))
        {
            self.failure = Some(error.clone());
        }
        done
    }

    /// Why it must not commit, whatever its body returned.
    pub(crate) fn into_failure(self) -> Option<Error> {
        self.failure
    }
}

impl<'t> Deref for Transaction<'t> {
    type Target = Snapshot<'t>;

    fn deref(&self) -> &Snapshot<'t> {
        &self.view
    }
}

impl Reads for Snapshot<'_> {
    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        Ok(self.access.borrow_mut().scan(scan, visit)?)
    }

    fn read_many(&self, rows: TableId, keys: &[Key], each: &mut dyn FnMut(usize, Option<RowRef<'_>>)) -> Result<()> {
        Ok(self.access.borrow_mut().read_many(rows, keys, Columns::All, each)?)
    }
}

impl fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("failure", &self.failure).finish_non_exhaustive()
    }
}
