//! The read path: the newest version that had committed when the transaction began. Nothing that others see is written, unless the
//! reader speculates (`begin.rs`, `see`).
//!
//! A transaction that may write notes the versions that it reads, the keys that it finds absent and the ranges that it scans; commit
//! looks at them again (`commit.rs`). Transactions that only read, and snapshot isolation, note nothing.

use crate::Hekaton;
use crate::begin::Transaction;
use crate::record::{RecordRef, VersionRef};
use crate::store::TableRef;
use crate::worker::{Range, Read};
use model::{Columns, Direction, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use parts::index::Entry;
use parts::index::ordered::Cursor;
use std::ops::{Bound, ControlFlow, Deref};

/// A scan on its way.
struct Walk<'s, 'v> {
    scan: &'s Scan<'s>,
    visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    examined: usize,
    shown: RowBuf,
}

impl<H: Deref<Target = Hekaton>> Transaction<H> {
    /// Reads the row under `key`.
    pub(super) fn read_point(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        table.schema.check_columns(columns)?;
        row.clear();
        let found = self.fetch(table, key)?;
        if let Some(bytes) = found.as_ref().and_then(VersionRef::row) {
            match columns {
                Columns::All => row.set_bytes(bytes),
                columns => row.project(RowRef::new(bytes), columns),
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Prefetches the records of a few keys and their newest versions into the CPU's cache. A hint: the read itself reports an error in
    /// the table or a key.
    pub(super) fn prefetch_points(&mut self, table: TableId, keys: &[Key]) {
        let Ok(place) = self.table(table) else { return };
        if keys.iter().any(|key| place.schema.check_key(key).is_err()) {
            return;
        }
        let batch = &mut self.worker().batch;
        batch.clear();
        place.index.prefetch(keys, |record| batch.push(record));
        batch.iter().filter_map(|record| record.newest()).for_each(VersionRef::prefetch);
    }

    /// The version that the transaction sees under a key, or the absence of a row; noted if it must be there still at the end.
    #[inline]
    fn fetch(&mut self, table: TableRef, key: &[u8]) -> Result<Option<VersionRef>> {
        let record = table.index.get(key);
        let seen = record.and_then(|record| self.see(|| record.newest()));
        if !self.validates() {
            return Ok(seen);
        }
        self.worker.as_ref().map_or(Ok(()), |worker| worker.check_room(&self.engine.options))?;
        let worker = self.worker();
        match (record, seen) {
            (Some(_), Some(version)) if version.begin_word() == worker.id.word() => {}
            (Some(record), Some(version)) if version.row().is_some() => {
                worker.reads.push(Read { table, record, version });
            }
            // By its key: a record without a row may leave the index, and another one come.
            _ => worker.absent.push((table, Key::from_bytes(key))),
        }
        Ok(seen)
    }

    /// Visits the rows of a range; see [`model::Access::scan`].
    pub(super) fn scan_range(
        &mut self,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        if self.validates() {
            self.worker.as_ref().map_or(Ok(()), |worker| worker.check_room(&self.engine.options))?;
            self.worker().ranges.push(Range { table, lower: scan.lower.clone(), upper: scan.upper.clone() });
        }
        let mut batch = std::mem::take(&mut self.worker().batch);
        let mut walk = Walk { scan, visit, examined: 0, shown: RowBuf::new() };
        let end = self.walk(table, &mut walk, &mut batch);
        self.worker().batch = batch;
        if let ScanEnd::Stopped(last) = &end {
            self.narrow(last, scan.direction);
        }
        Ok(end)
    }

    /// Cuts the range of the last scan off behind the last key that it looked at.
    fn narrow(&mut self, last: &Key, direction: Direction) {
        if !self.validates() {
            return;
        }
        let range = self.worker().ranges.last_mut().expect("the scan has noted its range");
        let bound = match direction {
            Direction::Forward => &mut range.upper,
            Direction::Backward => &mut range.lower,
        };
        *bound = Bound::Included(last.clone());
    }

    /// Visits leaf after leaf, and in it record after record.
    fn walk(&mut self, table: TableRef, walk: &mut Walk<'_, '_>, batch: &mut Vec<RecordRef>) -> ScanEnd {
        let scan = walk.scan;
        let (lower, upper) = (scan.lower.as_ref().map(|key| &key[..]), scan.upper.as_ref().map(|key| &key[..]));
        let mut cursor = Cursor::new(lower, upper, scan.direction);
        loop {
            let most = scan.examine.map_or(usize::MAX, |most| most.saturating_sub(walk.examined).max(1));
            batch.clear();
            let more = table.index.scan_leaf(&mut cursor, most, batch);
            for record in &*batch {
                let Some(version) = self.see(|| record.newest()) else { continue };
                let end = version.row().and_then(|row| walk.show(record.key(), RowRef::new(row)));
                if let Some(end) = end {
                    return end;
                }
            }
            if !more {
                return ScanEnd::Finished;
            }
        }
    }
}

impl Walk<'_, '_> {
    /// Shows a row to the visitor, if it passes. Returns the scan's end, if it ends here.
    fn show(&mut self, key: &[u8], row: RowRef<'_>) -> Option<ScanEnd> {
        self.examined += 1;
        let mut flow = ControlFlow::Continue(());
        if self.scan.filter.is_none_or(|filter| filter.matches(row)) {
            flow = match self.scan.columns {
                Columns::All => (self.visit)(Item { key, row }),
                columns => {
                    self.shown.project(row, columns);
                    (self.visit)(Item { key, row: self.shown.row() })
                }
            };
        }
        let is_over = flow.is_break() || self.scan.examine.is_some_and(|most| self.examined >= most);
        is_over.then(|| ScanEnd::Stopped(Key::from_bytes(key)))
    }
}
