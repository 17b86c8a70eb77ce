//! Records the history of transactions that one thread runs: the history of a script, for the judges.

use model::history::{Operation, Outcome, Transaction};
use model::{Access, Columns, Delta, Direction, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::ops::ControlFlow;

/// The transactions that have ended, on a clock that counts beginnings and ends.
#[derive(Debug, Default)]
pub struct Log {
    now: u64,
    history: Vec<Transaction>,
}

/// A transaction with what it has done. Unlike [`model::history::Recorder`] it adds no access that could change what the engine
/// does: the scripts record every step.
#[derive(Debug)]
pub struct Observed<T> {
    inner: T,
    start: u64,
    operations: Vec<Operation>,
}

impl Log {
    /// Observes a transaction from now on.
    pub fn begin<T>(&mut self, inner: T) -> Observed<T> {
        self.now += 1;
        Observed { inner, start: self.now, operations: Vec::new() }
    }

    /// Ends a transaction and notes what became of it.
    pub fn end<T, R>(&mut self, open: Observed<T>, end: impl FnOnce(T) -> R, outcome: impl FnOnce(&R) -> Outcome) -> R {
        let ended = end(open.inner);
        self.now += 1;
        let client = self.history.len() as u32;
        let (outcome, operations) = (outcome(&ended), open.operations);
        self.history.push(Transaction { client, start_ns: open.start, end_ns: self.now, outcome, operations });
        ended
    }

    /// Notes a read that was a transaction of its own.
    pub fn note_single_read(&mut self, table: TableId, key: Key, seen: Option<Vec<u8>>) {
        let mut observed = self.begin(());
        observed.operations.push(Operation::Read(table, key, seen));
        self.end(observed, |()| (), |()| Outcome::Committed(None));
    }

    /// The transactions that have ended.
    pub fn into_history(self) -> Vec<Transaction> {
        self.history
    }
}

impl<T> Observed<T> {
    /// The transaction.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The transaction. What is done through this is not noted.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Returns the number of recorded operations.
    pub fn recorded(&self) -> usize {
        self.operations.len()
    }

    /// Forgets the operations after the first `count`: writes that were rolled back did not happen, and reads since may have
    /// seen them.
    pub fn forget_writes_after(&mut self, count: usize) {
        self.operations.truncate(count);
    }

    fn note_read(&mut self, table: TableId, key: &[u8], found: bool, row: &RowBuf) {
        self.operations.push(Operation::Read(table, key.into(), found.then(|| row.bytes().to_vec())));
    }
}

impl<T: Access> Access for Observed<T> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        assert_eq!(columns, Columns::All, "scripts read whole rows");
        let found = self.inner.read(table, key, columns, row)?;
        self.note_read(table, key, found, row);
        Ok(found)
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        assert_eq!(columns, Columns::All, "scripts read whole rows");
        let found = self.inner.read_for_update(table, key, columns, row)?;
        self.note_read(table, key, found, row);
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

    /// The row is read where this transaction has just written it.
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let mut row = RowBuf::new();
        if !self.inner.update(table, key, delta)? {
            self.note_read(table, key, false, &row);
            return Ok(false);
        }
        self.inner.read(table, key, Columns::All, &mut row)?;
        self.operations.push(Operation::Write(table, key.into(), row.bytes().to_vec()));
        Ok(true)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let found = self.inner.delete(table, key)?;
        match found {
            true => self.operations.push(Operation::Delete(table, key.into())),
            false => self.note_read(table, key, false, &RowBuf::new()),
        }
        Ok(found)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let mut seen: Vec<(Key, Vec<u8>)> = Vec::new();
        let end = self.inner.scan(scan, &mut |item| {
            seen.push((item.key.into(), item.row.bytes().to_vec()));
            visit(item)
        })?;
        if scan.filter.is_some() {
            let table = scan.table;
            self.operations.extend(seen.into_iter().map(|(key, row)| Operation::Read(table, key, Some(row))));
            return Ok(end);
        }
        let (lower, upper) = scan.seen(&end);
        if scan.direction == Direction::Backward {
            seen.reverse();
        }
        self.operations.push(Operation::Scan(scan.table, lower, upper, seen));
        Ok(end)
    }
}
