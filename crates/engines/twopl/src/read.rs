//! Reads: points lock their record; scans lock their range and wait for transactions that are changing a record in it.

use super::TwoPhaseLocking;
use super::begin::Transaction;
use super::locks::LockMode;
use super::record::{Record, RecordRef};
use super::store::{TableRef, is_empty_range};
use model::{Columns, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId, Touch};
use parts::epoch;
use parts::index::Entry;
use parts::index::ordered::Cursor;
use std::ops::{ControlFlow, Deref};

/// A record of a locked range, as a scan found it.
enum Found {
    /// It has a row, which nobody else may change while the range is locked (I4).
    Row(RecordRef),
    /// Another transaction held it exclusively. It may be gone by now.
    Locked(Key),
}

/// A scan on its way.
struct Walk<'s, 'v> {
    table: TableRef,
    scan: &'s Scan<'s>,
    visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    examined: usize,
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
        self.check_declared(table, key, action)?;
        row.clear();
        let record = self.lock(table, key, mode, 0)?;
        let stored = record.row().map(RowRef::new);
        stored.inspect(|&stored| row.project(stored, columns));
        let found = stored.is_some();
        self.end_of_read();
        Ok(found)
    }

    /// Prefetches the rows of a few keys into the CPU's cache. A hint: the read itself reports an error in the table or a key.
    pub(super) fn prefetch_points(&mut self, table: TableId, keys: &[Key]) {
        let Ok(place) = self.table(table) else { return };
        if keys.iter().all(|key| place.schema.check_key(key).is_ok()) {
            place.index.prefetch(keys);
        }
    }

    /// Visits the rows of a range; see [`model::Access::scan`].
    pub(super) fn scan_range(
        &mut self,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        self.check_may_scan(table, scan)?;
        if is_empty_range(&scan.lower, &scan.upper) {
            return Ok(ScanEnd::Finished);
        }
        self.lock_range(table, scan.lower.clone(), scan.upper.clone())?;
        let end = self.walk(&mut Walk { table, scan, visit, examined: 0, shown: RowBuf::new() })?;
        if let ScanEnd::Stopped(position) = &end {
            let (owner, sleepers) = (&self.open_worker().owner, &self.engine.sleepers);
            table.ranges.shrink(owner, scan.direction, position.clone(), sleepers);
        }
        self.end_of_read();
        Ok(end)
    }

    /// Visits record after record. Records that have a row count as examined.
    fn walk(&mut self, walk: &mut Walk<'_, '_>) -> Result<ScanEnd> {
        let scan = walk.scan;
        let (lower, upper) = (scan.lower.as_ref().map(|key| &key[..]), scan.upper.as_ref().map(|key| &key[..]));
        let mut cursor = Cursor::new(lower, upper, scan.direction);
        let mut batch = Vec::new();
        loop {
            let more = self.next_leaf(walk, &mut cursor, &mut batch);
            for found in batch.drain(..) {
                let record = match found {
                    Found::Row(record) => record,
                    // Waits for whoever is changing it.
                    Found::Locked(key) => self.lock(walk.table, &key, LockMode::Shared, 0)?,
                };
                if let Some(end) = walk.show(record) {
                    return Ok(end);
                }
            }
            if !more {
                return Ok(ScanEnd::Finished);
            }
        }
    }

    /// Collects the records of the next leaf that have a row, or may get one from whoever holds them. No lock is needed to
    /// keep others away, since the range does (I4). Returns whether more may follow.
    fn next_leaf(&self, walk: &Walk<'_, '_>, cursor: &mut Cursor, found: &mut Vec<Found>) -> bool {
        let worker = self.open_worker();
        assert!(!worker.ranges.is_empty(), "I4: a scan looks at records with its range locked");
        let most = walk.scan.examine.map_or(usize::MAX, |most| most.saturating_sub(walk.examined).max(1));
        let guard = epoch::pin();
        let mut records: Vec<&Record> = Vec::new();
        let more = walk.table.index.scan_leaf(cursor, most, &guard, &mut records);
        found.extend(records.into_iter().filter_map(|record| {
            if self.engine.lock_table.is_exclusive_to_another(&record.word, &worker.owner) {
                return Some(Found::Locked(Key::from_bytes(record.key())));
            }
            let record = record.handle();
            record.has_row().then_some(Found::Row(record))
        }));
        more
    }
}

impl Walk<'_, '_> {
    /// Shows a row to the visitor, if there is one and it passes. Returns the scan's end, if it ends here.
    fn show(&mut self, record: RecordRef) -> Option<ScanEnd> {
        let row = RowRef::new(record.row()?);
        self.examined += 1;
        let mut flow = ControlFlow::Continue(());
        if self.scan.filter.is_none_or(|filter| filter.matches(row)) {
            let key = record.key();
            flow = match self.scan.columns {
                Columns::All => (self.visit)(Item { key, row }),
                columns => {
                    self.shown.project(row, columns);
                    (self.visit)(Item { key, row: self.shown.row() })
                }
            };
        }
        let is_over = flow.is_break() || self.scan.examine.is_some_and(|most| self.examined >= most);
        is_over.then(|| ScanEnd::Stopped(Key::from_bytes(record.key())))
    }
}
