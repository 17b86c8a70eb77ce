//! Reads: points lock their record; scans lock their range and wait for transactions that are changing a record in it.

use super::TwoPhaseLocking;
use super::begin::Transaction;
use super::locks::LockMode;
use super::store::{Keyspace, Record, Table, is_empty_range};
use model::{Columns, Direction, Item, Key, Predicate, Result, RowBuf, RowRef, Scan, ScanEnd, TableId, Touch};
use std::ops::{Bound, ControlFlow, Deref};
use std::sync::Arc;

/// Number of records that a scan collects under the map's latch at a time.
const BATCH: usize = 64;

/// One stretch of a scan, and what it reuses from row to row.
struct Walk<'s, 'v> {
    keyspace: Arc<Keyspace>,
    direction: Direction,
    filter: Option<&'s Predicate>,
    columns: Columns<'s>,
    examine: Option<usize>,
    visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    row: RowBuf,
    shown: RowBuf,
}

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Reads the row under `key`, whose record stays locked.
    pub(super) fn read_point(
        &mut self,
        table: TableId,
        key: &[u8],
        (mode, action): (LockMode, Touch),
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        table.schema.check_columns(columns)?;
        self.check_key_bytes(key)?;
        self.check_declared(&table, key, action)?;
        let found = self.read_row(&table, key, mode, columns, row);
        self.end_of_read();
        found
    }

    fn read_row(
        &mut self,
        table: &Table,
        key: &[u8],
        mode: LockMode,
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        row.clear();
        let (_, found) = self.with_record(&table.rows, key, mode, |state| {
            state.row.as_ref().map(|stored| row.project(stored.row(), columns)).is_some()
        })?;
        Ok(found)
    }

    /// Visits the rows of a range; see [`model::Access::scan`].
    pub(super) fn scan_range(
        &mut self,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        self.check_may_scan(&table, scan)?;
        if is_empty_range(&scan.lower, &scan.upper) {
            return Ok(ScanEnd::Finished);
        }
        self.lock_range(&table.rows, scan.lower.clone(), scan.upper.clone())?;
        let Scan { direction, filter, columns, examine, .. } = *scan;
        let (row, shown) = (RowBuf::new(), RowBuf::new());
        let mut walk = Walk { keyspace: table.rows.clone(), direction, filter, columns, examine, visit, row, shown };
        let end = self.walk(&mut walk, scan.lower.clone(), scan.upper.clone())?;
        if let ScanEnd::Stopped(position) = &end {
            walk.keyspace.ranges.shrink(&self.owner, direction, position.clone(), &self.engine.sleepers);
        }
        self.end_of_read();
        Ok(end)
    }

    /// Visits record after record. Records that have a row count as examined.
    fn walk(&mut self, walk: &mut Walk<'_, '_>, mut lower: Bound<Key>, mut upper: Bound<Key>) -> Result<ScanEnd> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut examined = 0;
        loop {
            batch.clear();
            walk.keyspace.collect((&lower, &upper), walk.direction, BATCH, &mut batch);
            let Some(last) = batch.last() else { return Ok(ScanEnd::Finished) };
            match walk.direction {
                Direction::Forward => lower = Bound::Excluded(last.key.clone()),
                Direction::Backward => upper = Bound::Excluded(last.key.clone()),
            }
            for record in &batch {
                let Some(flow) = self.visit(walk, record)? else { continue };
                examined += 1;
                if flow.is_break() || walk.examine.is_some_and(|most| examined >= most) {
                    return Ok(ScanEnd::Stopped(record.key.clone()));
                }
            }
        }
    }

    /// Shows one record to the visitor if its row passes; `None` if it has none.
    fn visit(&mut self, walk: &mut Walk<'_, '_>, record: &Arc<Record>) -> Result<Option<ControlFlow<()>>> {
        if !self.peek(&walk.keyspace, record, &mut walk.row)? {
            return Ok(None);
        }
        Ok(Some(walk.show(&record.key)))
    }

    /// Copies the row of a record in a locked range; false if it has none. Waits for whoever is changing it: no lock is
    /// needed to keep the others away, since the range does (I4).
    fn peek(&mut self, keyspace: &Arc<Keyspace>, record: &Arc<Record>, row: &mut RowBuf) -> Result<bool> {
        assert!(!self.ranges.is_empty(), "I4: a scan looks at records with its range locked");
        let mut state = record.latch();
        if state.lock.is_exclusive_to_another(&self.owner) {
            drop(state);
            match self.lock(keyspace, record, LockMode::Shared)? {
                Some(locked) => state = locked,
                None => return Ok(false),
            }
        }
        match &state.row {
            Some(stored) => row.set_bytes(stored.bytes()),
            None => return Ok(false),
        }
        Ok(true)
    }
}

impl Walk<'_, '_> {
    fn show(&mut self, key: &[u8]) -> ControlFlow<()> {
        let row = self.row.row();
        if self.filter.is_some_and(|filter| !filter.matches(row)) {
            return ControlFlow::Continue(());
        }
        let row: RowRef<'_> = match self.columns {
            Columns::All => row,
            columns => {
                self.shown.project(row, columns);
                self.shown.row()
            }
        };
        (self.visit)(Item { key, row })
    }
}
