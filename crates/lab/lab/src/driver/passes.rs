//! Programs of the driver itself: they fill tables before a run, and show them to the audit after it.

use crate::workloads::Record;
use model::{Access, Columns, Error, Key, Program, Result, RowBuf, Scan, ScanEnd, TableId};
use std::ops::{Bound, ControlFlow};

/// Writes a batch of records.
pub(crate) struct Load {
    tables: Vec<TableId>,
    records: Vec<Record>,
}

impl Load {
    pub fn new(tables: &[TableId], records: impl Iterator<Item = Record>) -> Load {
        Load { tables: tables.to_vec(), records: records.collect() }
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }
}

impl Program for Load {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        self.records.iter().try_for_each(|record| access.put(self.tables[record.table], &record.key, record.row.row()))
    }
}

/// A row with its key.
pub(crate) type Found = (Key, RowBuf);

/// Returns the rows of a table, some in each transaction.
pub(crate) trait Pass: Program<Output = Vec<Found>, Error = Error> {
    /// Returns whether there may be more rows.
    fn has_more(&self) -> bool;

    /// Goes on behind what the last run has returned.
    fn advance(&mut self);
}

/// Rows of an ordered table.
pub(crate) struct Walk {
    table: TableId,
    rows: usize,
    /// Where the next transaction begins, and where the last has ended.
    from: Bound<Key>,
    end: ScanEnd,
    has_more: bool,
}

impl Walk {
    /// So many rows in a transaction.
    pub fn new(table: TableId, rows: usize) -> Walk {
        Walk { table, rows, from: Bound::Unbounded, end: ScanEnd::Finished, has_more: true }
    }
}

impl Program for Walk {
    type Output = Vec<Found>;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Vec<Found>> {
        let (mut found, rows) = (Vec::new(), self.rows);
        let scan = Scan::table(self.table).between(self.from.clone(), Bound::Unbounded);
        self.end = access.scan(&scan, &mut |item| {
            found.push((Key::from_bytes(item.key), RowBuf::from_bytes(item.row.bytes())));
            if found.len() < rows { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }
}

impl Pass for Walk {
    fn has_more(&self) -> bool {
        self.has_more
    }

    fn advance(&mut self) {
        match &self.end {
            ScanEnd::Finished => self.has_more = false,
            ScanEnd::Stopped(key) => self.from = Bound::Excluded(key.clone()),
        }
    }
}

/// Rows of a table that cannot be walked: those of the keys that were loaded.
pub(super) struct Look<I> {
    table: TableId,
    keys: I,
    rows: usize,
    batch: Vec<Key>,
}

impl<I: Iterator<Item = Key>> Look<I> {
    /// So many rows in a transaction.
    pub fn new(table: TableId, mut keys: I, rows: usize) -> Look<I> {
        let batch = keys.by_ref().take(rows).collect();
        Look { table, keys, rows, batch }
    }
}

impl<I: Iterator<Item = Key>> Program for Look<I> {
    type Output = Vec<Found>;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Vec<Found>> {
        let (mut found, mut row) = (Vec::new(), RowBuf::new());
        for key in &self.batch {
            if access.read(self.table, key, Columns::All, &mut row)? {
                found.push((key.clone(), row.clone()));
            }
        }
        Ok(found)
    }
}

impl<I: Iterator<Item = Key>> Pass for Look<I> {
    fn has_more(&self) -> bool {
        !self.batch.is_empty()
    }

    fn advance(&mut self) {
        self.batch.clear();
        self.batch.extend(self.keys.by_ref().take(self.rows));
    }
}
