//! Scans of tables, by key order or by an index.
//!
//! A scan requests a batch of stored rows or index entries from the engine, copies their bytes, and releases the engine. Rows
//! are decoded on demand, the filter's columns first. The next batch resumes after the last key. Batches start small and
//! double, counted in rows that the engine examines: a statement that stops after a few rows has read, and protected against
//! phantoms, only about those. Rows that are read one by one are announced ([`ahead`]). Filter and columns are pushed down
//! as far as the engine supports them ([`pushed`]).

mod ahead;
mod entry;
mod pushed;
mod range;
mod stored;
#[cfg(test)]
mod tests;

use super::super::evaluate::is_null;
use super::super::scope::{Run, out_of_step};
use crate::error::Result;
use crate::plan::{Path, Scan};
use crate::storage::{decode_columns, decode_row};
use crate::types::{Datum, Row};
use ahead::Ahead;
use entry::EntryFilter;
use model::{Columns, Direction, Key, RowBuf, RowRef, ScanEnd};
pub use pushed::Logged;
pub(super) use pushed::Pushed;
use range::{Entries, Range};
use std::collections::VecDeque;
use std::ops::ControlFlow;
pub(super) use stored::{Decoded, StoredRows};

const FIRST_BATCH: usize = 8;
const LARGEST_BATCH: usize = 256;
/// A row has so many times the columns that are asked for before they are picked out of it one by one.
const WIDE: usize = 8;

/// The state of a scan.
#[derive(Default)]
pub struct ScanState {
    started: bool,
    /// Ranges still to be read.
    ranges: VecDeque<Range>,
    /// Rows read and not yet consumed.
    batch: Batch,
    batch_size: usize,
    pushed: Pushed,
    /// What the entries of an index decide.
    entry_filter: Option<EntryFilter>,
    /// Rows that the engine expects.
    ahead: Ahead,
    /// Columns of scanned rows; `None` means all.
    columns: Option<Vec<u16>>,
    buffer: RowBuf,
    decoded: Row,
}

/// Keys and stored rows, concatenated in one buffer.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// End of each key, and of the row that follows it.
    ends: Vec<(usize, usize)>,
    /// Position of the next row.
    at: usize,
    entries: bool,
}

/// One place in a batch.
struct Found<'b> {
    key: &'b [u8],
    /// The stored row; `None` for an index entry.
    row: Option<&'b [u8]>,
    /// The key of the index entry that leads to the row.
    entry: &'b [u8],
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.at = 0;
    }

    fn push(&mut self, key: &[u8], row: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn is_at_end(&self) -> bool {
        self.at == self.ends.len()
    }

    /// Keys of the rows to which the entries that are left lead.
    fn rest(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.get(self.at..).unwrap_or_default().iter().map(|&(key_end, row_end)| &self.bytes[key_end..row_end])
    }

    /// Returns the next key with its row.
    fn take(&mut self) -> Option<Found<'_>> {
        let (key_end, row_end) = *self.ends.get(self.at)?;
        let start = self.at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        self.at += 1;
        let (key, row) = (&self.bytes[start..key_end], &self.bytes[key_end..row_end]);
        Some(if self.entries {
            Found { key: row, row: None, entry: key }
        } else {
            Found { key, row: Some(row), entry: &[] }
        })
    }
}

impl ScanState {
    pub fn next(&mut self, scan: &Scan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if !self.started {
            self.start(scan, run)?;
        }
        // The batch is taken out while its rows are decoded, so that the state's other fields remain usable.
        let mut batch = std::mem::take(&mut self.batch);
        let result = self.next_of(&mut batch, scan, run);
        self.batch = batch;
        result
    }

    fn start(&mut self, scan: &Scan, run: &mut Run<'_, '_>) -> Result<()> {
        self.started = true;
        self.batch_size = FIRST_BATCH;
        count_scan(scan, run);
        self.ranges = run.ranges(scan)?;
        self.pushed = run.push_down(scan)?;
        self.entry_filter = EntryFilter::new(scan);
        if self.ranges.iter().any(|range| matches!(range, Range::Between(entries) if !entries.index)) {
            self.columns = pushed::asked(scan, self.pushed.rest_columns.as_deref());
            if let Some(batch) = self.pushed.only_extremes(scan, self.columns.as_deref(), run)? {
                self.batch = batch;
                self.ranges.clear();
            }
        } else if !scan.for_update && self.pushed.filter.is_none() {
            // Rows that are found one by one are read whole, unless they are wide and little of them is asked for.
            let asked = pushed::asked(scan, self.pushed.rest_columns.as_deref());
            self.columns = asked.filter(|asked| asked.len() * WIDE <= scan.table.columns.len());
        }
        Ok(())
    }

    fn next_of(&mut self, batch: &mut Batch, scan: &Scan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        loop {
            while !batch.is_at_end() {
                if batch.entries && self.entry_filter.is_none() {
                    self.ahead.of_entries(scan, batch, run);
                }
                let Some(found) = batch.take() else { break };
                run.tick()?;
                if let Some(row) = self.consider(scan, found, run)? {
                    return Ok(Some(row));
                }
            }
            self.ahead.of_ranges(scan, &self.ranges, run);
            let Some(range) = self.ranges.front_mut() else { return Ok(None) };
            match range {
                Range::Key(key) => {
                    let key = std::mem::take(key);
                    self.ranges.pop_front();
                    if let Some(row) = self.read(scan, &key, run)? {
                        return Ok(Some(row));
                    }
                }
                Range::Entry(index, entry) => {
                    let (index, entry) = (*index, std::mem::take(entry));
                    self.ranges.pop_front();
                    if run.exec.transaction.read(index, &entry, Columns::All, &mut self.buffer)? {
                        let key = Key::from_bytes(self.buffer.bytes());
                        if let Some(row) = self.read(scan, &key, run)? {
                            return Ok(Some(row));
                        }
                    }
                }
                Range::Between(entries) => {
                    run.exec.check_cancel()?; // No row of the last batch may have passed.
                    if !fill(batch, entries, self.batch_size, &self.pushed, self.columns.as_deref(), run)? {
                        self.ranges.pop_front();
                    }
                    self.batch_size = (self.batch_size * 2).min(LARGEST_BATCH);
                }
            }
        }
    }

    /// Returns the row of a key from the engine, if it passes the filter.
    fn consider(&mut self, scan: &Scan, found: Found<'_>, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let table = scan.table.storage.id();
        if let (None, Some(filter)) = (found.row, &mut self.entry_filter)
            && !filter.passes(scan, found.entry, run)?
        {
            run.count_removed(scan);
            return Ok(None);
        }
        let (columns, stored) = match found.row {
            Some(row) => (self.columns.as_deref(), row),
            None if run.exec.transaction.read(
                table,
                found.key,
                pushed::as_columns(self.columns.as_deref()),
                &mut self.buffer,
            )? =>
            {
                if !self.pushed.passes(self.buffer.row()) {
                    run.count_removed(scan);
                    return Ok(None);
                }
                (self.columns.as_deref(), self.buffer.bytes())
            }
            None => return Ok(None),
        };
        let row = Stored { columns, row: RowRef::new(stored) };
        if !self.pushed.rest_holds(scan, row, found.key, &mut self.decoded, run)? {
            return Ok(None);
        }
        if scan.for_update {
            // The row is read again when it is owned: it is unchanged, or the engine aborts the transaction.
            if !run.exec.transaction.read_for_update(table, found.key, Columns::All, &mut self.buffer)? {
                return Ok(None);
            }
            return finish(scan, Stored { columns: None, row: self.buffer.row() }, found.key).map(Some);
        }
        finish(scan, row, found.key).map(Some)
    }

    /// Reads the row under one key. Takes ownership at once if the row will be written.
    fn read(&mut self, scan: &Scan, key: &[u8], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let table = scan.table.storage.id();
        let found = if scan.for_update {
            run.exec.transaction.read_for_update(table, key, Columns::All, &mut self.buffer)?
        } else {
            let columns = pushed::as_columns(self.columns.as_deref());
            run.exec.transaction.read(table, key, columns, &mut self.buffer)?
        };
        let row = Stored { columns: self.columns.as_deref(), row: self.buffer.row() };
        let passes =
            found && self.pushed.passes(row.row) && self.pushed.rest_holds(scan, row, key, &mut self.decoded, run)?;
        if passes { finish(scan, row, key).map(Some) } else { Ok(None) }
    }
}

/// Counts a scan of the table, or of its index.
fn count_scan(scan: &Scan, run: &mut Run<'_, '_>) {
    let relation = match &scan.path {
        Path::All => Some(scan.table.oid),
        Path::Index { index, .. } | Path::Alternatives { index, .. } | Path::AnyOf { index, .. } => {
            scan.table.indexes.get(*index).map(|index| index.oid)
        }
    };
    if let Some(relation) = relation {
        run.exec.counts(relation).scans += 1;
    }
}

/// A row of the engine: these columns only, or all.
#[derive(Clone, Copy)]
struct Stored<'r> {
    columns: Option<&'r [u16]>,
    row: RowRef<'r>,
}

impl Stored<'_> {
    /// Refills `out` with the wanted columns; other columns become NULL.
    fn decode(&self, scan: &Scan, wanted: Option<&[usize]>, out: &mut Row) -> Result<()> {
        match self.columns {
            None => decode_row(self.row, &scan.table.columns, wanted, out),
            Some(columns) => decode_columns(self.row, columns, &scan.table.columns, wanted, out),
        }
    }
}

impl Pushed {
    /// Returns whether a whole row passes the predicate that the engine evaluates in scans.
    fn passes(&self, row: RowRef<'_>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(row))
    }

    /// Returns whether a row passes the remaining conjuncts; decodes their columns only.
    fn rest_holds(
        &self,
        scan: &Scan,
        row: Stored<'_>,
        key: &[u8],
        decoded: &mut Row,
        run: &mut Run<'_, '_>,
    ) -> Result<bool> {
        let Some(filter) = scan.filter.as_ref().filter(|_| !self.rest.is_empty()) else { return Ok(true) };
        row.decode(scan, self.rest_columns.as_deref(), decoded)?;
        if scan.with_key {
            decoded.push(Datum::Bytea(key.into()));
        }
        let conjuncts = pushed::conjuncts(filter);
        for &at in &self.rest {
            if !run.holds(&conjuncts[at], decoded)? {
                run.count_removed(scan);
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Decodes the row with the plan's columns.
fn finish(scan: &Scan, stored: Stored<'_>, key: &[u8]) -> Result<Row> {
    let mut row = Row::with_capacity(scan.table.columns.len() + usize::from(scan.with_key));
    stored.decode(scan, scan.wanted.as_deref(), &mut row)?;
    if scan.with_key {
        row.push(Datum::Bytea(key.into()));
    }
    Ok(row)
}

/// Reads a batch for which the engine examines `size` rows. Returns `false` if the range ends with it.
fn fill(
    batch: &mut Batch,
    entries: &mut Entries,
    size: usize,
    pushed: &Pushed,
    columns: Option<&[u16]>,
    run: &mut Run<'_, '_>,
) -> Result<bool> {
    batch.clear();
    batch.entries = entries.index;
    let direction = if entries.backward { Direction::Backward } else { Direction::Forward };
    let (lower, upper) = (entries.lower.clone(), entries.upper.clone());
    let mut scan = model::Scan { direction, ..model::Scan::table(entries.table).between(lower, upper).examine(size) };
    if !entries.index {
        (scan.filter, scan.columns) = (pushed.filter.as_ref(), pushed::as_columns(columns));
    }
    let end = run.exec.transaction.scan(&scan, &mut |item| {
        batch.push(item.key, item.row.bytes());
        ControlFlow::Continue(())
    })?;
    match end {
        ScanEnd::Finished => Ok(false),
        ScanEnd::Stopped(position) => {
            let rest = scan.resume(position);
            (entries.lower, entries.upper) = (rest.lower, rest.upper);
            Ok(true)
        }
    }
}
