//! Record of a transaction as its observer saw it, and an [`Access`] that records.

use crate::{
    Access, Columns, Delta, Direction, Draws, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, SerialPoint, TableId,
};
use std::ops::{Bound, ControlFlow};

/// One observed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The client that ran it.
    pub client: u32,
    /// When the client began it, nanoseconds of one monotonic clock.
    pub start_ns: u64,
    /// When the client knew the outcome.
    pub end_ns: u64,
    /// Outcome as the client observed it.
    pub outcome: Outcome,
    /// Operations in order.
    pub operations: Vec<Operation>,
}

/// Outcome of a transaction as its client observed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It committed, at the serial point that the engine claims, if it claims one.
    Committed(Option<SerialPoint>),
    /// It did not happen.
    Aborted,
    /// It may or may not have happened.
    Unknown,
}

/// One observed operation. Rows are bytes: the observer compares them and does not look into them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A read; `None`: there was no row.
    Read(TableId, Key, Option<Vec<u8>>),
    /// A write of the whole row.
    Write(TableId, Key, Vec<u8>),
    /// A delete.
    Delete(TableId, Key),
    /// A scan of the part of the range that was visited, with what it saw, in ascending order.
    Scan(TableId, Bound<Key>, Bound<Key>, Vec<(Key, Vec<u8>)>),
}

impl Operation {
    /// The table that it was on.
    pub fn table(&self) -> TableId {
        match self {
            Operation::Read(table, ..)
            | Operation::Write(table, ..)
            | Operation::Delete(table, ..)
            | Operation::Scan(table, ..) => *table,
        }
    }
}

/// Passes everything on and writes down what happened. Rows are read whole. Filtered scans are written down as reads of the rows
/// that they saw, since judges do not know predicates; their range is then read again without the filter and written down as a
/// scan, and a row that passes the filter but was not shown as a read of nothing.
#[derive(Debug)]
pub struct Recorder<A> {
    inner: A,
    operations: Vec<Operation>,
}

impl<A: Access> Recorder<A> {
    /// Starts with nothing written down.
    pub fn new(inner: A) -> Recorder<A> {
        Recorder { inner, operations: Vec::new() }
    }

    /// The access inside, and what was written down.
    pub fn into_parts(self) -> (A, Vec<Operation>) {
        (self.inner, self.operations)
    }

    /// The access inside, to look at.
    pub fn get(&self) -> &A {
        &self.inner
    }

    /// The access inside. Operations through it are not recorded.
    pub fn inner(&mut self) -> &mut A {
        &mut self.inner
    }

    /// Returns the number of recorded operations.
    pub fn recorded(&self) -> usize {
        self.operations.len()
    }

    /// Forgets all but the first `count` operations: what was rolled back did not happen, and reads since then may have seen
    /// it.
    pub fn truncate(&mut self, count: usize) {
        self.operations.truncate(count);
    }

    /// All rows of a range, in ascending order.
    fn read_range(&mut self, table: TableId, lower: &Bound<Key>, upper: &Bound<Key>) -> Result<Vec<(Key, Vec<u8>)>> {
        let mut rows = Vec::new();
        self.inner.scan(&Scan::table(table).between(lower.clone(), upper.clone()), &mut |item| {
            rows.push((item.key.into(), item.row.bytes().to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    /// Notes a read of a whole row, and shows columns of it.
    fn show(&mut self, table: TableId, key: &[u8], found: Option<&RowBuf>, columns: Columns<'_>, row: &mut RowBuf) {
        row.clear();
        self.note_read(table, key, found.is_some(), found.unwrap_or(row));
        found.inspect(|whole| row.project(whole.row(), columns));
    }

    fn note_read(&mut self, table: TableId, key: &[u8], found: bool, row: &RowBuf) {
        let seen = found.then(|| row.bytes().to_vec());
        self.operations.push(Operation::Read(table, key.into(), seen));
    }
}

impl<A: Access> Access for Recorder<A> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let mut whole = RowBuf::new();
        let found = self.inner.read(table, key, Columns::All, &mut whole)?;
        self.show(table, key, found.then_some(&whole), columns, row);
        Ok(found)
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        self.inner.prefetch(table, keys);
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let mut whole = RowBuf::new();
        let found = self.inner.read_for_update(table, key, Columns::All, &mut whole)?;
        self.show(table, key, found.then_some(&whole), columns, row);
        Ok(found)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.inner.put(table, key, row)?;
        self.operations.push(Operation::Write(table, key.into(), row.bytes().to_vec()));
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.inner.insert(table, key, row)?;
        self.operations.push(Operation::Read(table, key.into(), None));
        self.operations.push(Operation::Write(table, key.into(), row.bytes().to_vec()));
        Ok(())
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let mut row = RowBuf::new();
        let found = self.inner.update(table, key, delta)?;
        if found {
            self.inner.read(table, key, Columns::All, &mut row)?;
            self.operations.push(Operation::Write(table, key.into(), row.bytes().to_vec()));
        } else {
            self.note_read(table, key, false, &row);
        }
        Ok(found)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let mut row = RowBuf::new();
        let before = self.inner.read(table, key, Columns::All, &mut row)?;
        self.note_read(table, key, before, &row);
        let found = self.inner.delete(table, key)?;
        if found {
            self.operations.push(Operation::Delete(table, key.into()));
        }
        Ok(found)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let whole = Scan { columns: Columns::All, ..scan.clone() };
        let mut seen: Vec<(Key, Vec<u8>)> = Vec::new();
        let mut shown = RowBuf::new();
        let end = self.inner.scan(&whole, &mut |item| {
            seen.push((item.key.into(), item.row.bytes().to_vec()));
            shown.project(item.row, scan.columns);
            visit(Item { row: shown.row(), ..item })
        })?;
        let (lower, upper) = scan.seen(&end);
        if let Some(filter) = scan.filter {
            let read = |(key, row): &(Key, Vec<u8>)| Operation::Read(scan.table, key.clone(), Some(row.clone()));
            self.operations.extend(seen.iter().map(read));
            let all = self.read_range(scan.table, &lower, &upper)?;
            let passes = |(key, row): &&(Key, Vec<u8>)| {
                filter.matches(RowRef::new(row)) && !seen.iter().any(|(seen, _)| seen == key)
            };
            let missed = all.iter().filter(passes).map(|(key, _)| Operation::Read(scan.table, key.clone(), None));
            self.operations.extend(missed);
            seen = all;
        } else if scan.direction == Direction::Backward {
            seen.reverse();
        }
        self.operations.push(Operation::Scan(scan.table, lower, upper, seen));
        Ok(end)
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        self.inner.draws()
    }
}
