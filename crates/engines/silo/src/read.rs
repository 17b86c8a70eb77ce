//! The read path: stable copies of rows, which write nothing that others see.
//!
//! A read notes the record and its word; a read of a key that has no record notes the leaf that would have it, and a
//! scan the leaves that it passed. Commit looks at both again (`commit.rs`). A snapshot notes nothing.

use crate::Silo;
use crate::begin::Transaction;
use crate::record::RecordRef;
use crate::store::TableRef;
use crate::worker::{LeafRead, Place};
use model::{Columns, Direction, Item, Key, Result, RowBuf, Scan, ScanEnd, TableId};
use parts::epoch;
use parts::index::Entry;
use parts::index::ordered::Cursor;
use parts::spin::Backoff;
use std::ops::{ControlFlow, Deref};

/// A scan on its way, and the memory that it borrows from its worker.
struct Walk<'s, 'v> {
    table: TableRef,
    scan: &'s Scan<'s>,
    visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    batch: Vec<RecordRef>,
    /// The transaction's own writes in the range, in the scan's order.
    own: Vec<u32>,
    next_own: usize,
    examined: usize,
    row: RowBuf,
    shown: RowBuf,
}

impl<H: Deref<Target = Silo>> Transaction<H> {
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
        if columns == Columns::All {
            return self.read_row(table, key, row);
        }
        table.schema.check_columns(columns)?;
        let mut whole = std::mem::take(&mut self.worker().row);
        let found = self.read_row(table, key, &mut whole);
        row.clear();
        if matches!(found, Ok(true)) {
            row.project(whole.row(), columns);
        }
        self.worker().row = whole;
        found
    }

    /// Prefetches the rows of a few keys into the CPU's cache. A hint: the read itself reports an error in the table or a key.
    pub(super) fn prefetch_points(&mut self, table: TableId, keys: &[Key]) {
        let Ok(place) = self.table(table) else { return };
        if keys.iter().all(|key| place.schema.check_key(key).is_ok()) {
            place.index.prefetch(keys);
        }
    }

    /// Reads a whole row: the transaction's own, the snapshot's, or the newest one, which is noted.
    #[inline]
    fn read_row(&mut self, table: TableRef, key: &[u8], row: &mut RowBuf) -> Result<bool> {
        if let Some(own) = self.worker().writes.own(table.id, key) {
            row.set_bytes(own.unwrap_or_default());
            return Ok(own.is_some());
        }
        if let Some(epoch) = self.snapshot {
            row.clear();
            let record = table.index.get(key, &epoch::pin());
            return Ok(record.is_ok_and(|record| record.read_at(epoch, row.bytes_mut())));
        }
        self.fetch(table, key, row.bytes_mut()).map(|(_, found)| found)
    }

    /// Copies the newest row of a key and notes what was read: a record, or the leaf without one. Returns the record,
    /// and whether it has a row.
    #[inline]
    pub(super) fn fetch(
        &mut self,
        table: TableRef,
        key: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(Option<RecordRef>, bool)> {
        self.worker.as_ref().map_or(Ok(()), |worker| worker.check_room(&self.engine.options))?;
        let worker = self.worker();
        let mut backoff = Backoff::new();
        loop {
            let guard = epoch::pin();
            match table.index.get(key, &guard) {
                Ok(record) => {
                    let word = record.read(into);
                    if word.is_dead() {
                        backoff.pause(); // It has left the index.
                        continue;
                    }
                    if word.is_absent() {
                        // Should the record leave the index, its leaf tells whether another one has come.
                        let count = table.index.count_of(Some(key), &guard);
                        if !record.word.is_still(word) {
                            continue;
                        }
                        worker.leaves.push(LeafRead { table, place: Place::Key(Key::from_bytes(key)), count });
                    }
                    worker.note(record, word, table.id);
                    return Ok((Some(record), !word.is_absent()));
                }
                Err(count) => {
                    into.clear();
                    worker.leaves.push(LeafRead { table, place: Place::Key(Key::from_bytes(key)), count });
                    return Ok((None, false));
                }
            }
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
        let worker = self.worker();
        let (mut own, batch) = (std::mem::take(&mut worker.own), std::mem::take(&mut worker.batch));
        let (row, shown) = (std::mem::take(&mut worker.row), RowBuf::new());
        own.clear();
        worker.writes.in_range(table.id, (&scan.lower, &scan.upper), scan.direction, &mut own);
        let mut walk = Walk { table, scan, visit, batch, own, next_own: 0, examined: 0, row, shown };
        let end = self.walk(&mut walk);
        let Walk { batch, own, row, .. } = walk;
        if let Some(worker) = &mut self.worker {
            (worker.batch, worker.own, worker.row) = (batch, own, row);
        }
        end
    }

    /// Visits leaf after leaf, and in it record after record, with the transaction's own writes between them.
    fn walk(&mut self, walk: &mut Walk<'_, '_>) -> Result<ScanEnd> {
        let scan = walk.scan;
        let (lower, upper) = (scan.lower.as_ref().map(|key| &key[..]), scan.upper.as_ref().map(|key| &key[..]));
        let mut cursor = Cursor::new(lower, upper, scan.direction);
        loop {
            let more = self.next_leaf(walk, &mut cursor)?;
            for at in 0..walk.batch.len() {
                let record = walk.batch[at];
                let (end, is_own) = self.show_own(walk, Some(record.key()));
                if let Some(end) = end {
                    return Ok(end);
                }
                let is_shown = !is_own && self.read_next(walk, record)?;
                if let Some(end) = is_shown.then(|| walk.show(record.key())).flatten() {
                    return Ok(end);
                }
            }
            if !more {
                return Ok(self.show_own(walk, None).0.unwrap_or(ScanEnd::Finished));
            }
        }
    }

    /// Fetches the records of the next leaf, and notes the leaf.
    fn next_leaf(&mut self, walk: &mut Walk<'_, '_>, cursor: &mut Cursor) -> Result<bool> {
        let notes = self.snapshot.is_none();
        self.worker.as_ref().map_or(Ok(()), |worker| worker.check_room(&self.engine.options))?;
        let worker = self.worker();
        let most = walk.scan.examine.map_or(usize::MAX, |most| most.saturating_sub(walk.examined).max(1));
        walk.batch.clear();
        let (table, leaves) = (walk.table, &mut worker.leaves);
        Ok(table.index.scan_leaf(cursor, most, &mut walk.batch, |count, low| {
            if notes {
                leaves.push(LeafRead { table, place: Place::From(low.map(Key::from_bytes)), count });
            }
        }))
    }

    /// Copies the row of a record of a scan, and notes it. False if it has none.
    fn read_next(&mut self, walk: &mut Walk<'_, '_>, record: RecordRef) -> Result<bool> {
        if let Some(epoch) = self.snapshot {
            return Ok(record.read_at(epoch, walk.row.bytes_mut()));
        }
        self.worker.as_ref().map_or(Ok(()), |worker| worker.check_room(&self.engine.options))?;
        let word = record.read(walk.row.bytes_mut());
        self.worker().note(record, word, walk.table.id);
        Ok(!word.is_absent())
    }

    /// Shows the own writes that come before a key (all that are left, without one). Returns the scan's end, if it ends
    /// there, and whether the last one was of the key itself.
    fn show_own(&mut self, walk: &mut Walk<'_, '_>, until: Option<&[u8]>) -> (Option<ScanEnd>, bool) {
        while let Some(&at) = walk.own.get(walk.next_own) {
            let writes = &self.worker().writes;
            let key = &writes.entries[at as usize].key;
            let order = until.map_or(std::cmp::Ordering::Less, |until| match walk.scan.direction {
                Direction::Forward => key[..].cmp(until),
                Direction::Backward => until.cmp(&key[..]),
            });
            if order.is_gt() {
                break;
            }
            walk.next_own += 1;
            let mut end = None;
            if let Some(Some(bytes)) = writes.value(at as usize) {
                walk.row.set_bytes(bytes);
                let key = key.clone();
                end = walk.show(&key);
            }
            if end.is_some() || order.is_eq() {
                return (end, true);
            }
        }
        (None, false)
    }
}

impl Walk<'_, '_> {
    /// Shows the row at hand to the visitor, if it passes. Returns the scan's end, if it ends here.
    fn show(&mut self, key: &[u8]) -> Option<ScanEnd> {
        self.examined += 1;
        let row = self.row.row();
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
