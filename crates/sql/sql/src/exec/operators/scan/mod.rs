//! Scans of tables, whole or by an index.
//!
//! A scan asks the engine for a batch of stored rows or index entries, copies their bytes, and lets go of the engine; rows
//! are decoded as they are asked for, the filter's columns first. The next batch resumes behind the last key. Batches start
//! small and double: a statement that stops after a few rows has read, and protected against phantoms, only about those.

mod range;

use super::super::evaluate::is_null;
use super::super::scope::{Run, out_of_step};
use crate::error::Result;
use crate::plan::{Expr, ExprKind, Scan};
use crate::storage::decode_row;
use crate::types::{Datum, Row};
use model::{Columns, Direction, Key, RowBuf, RowRef, ScanEnd};
use range::{Entries, Range};
use std::collections::VecDeque;
use std::ops::ControlFlow;

const FIRST_BATCH: usize = 8;
const LARGEST_BATCH: usize = 256;

/// The state of a scan.
#[derive(Default)]
pub struct ScanState {
    started: bool,
    /// What is still to be read.
    ranges: VecDeque<Range>,
    /// What was read and not yet asked for.
    batch: Batch,
    batch_size: usize,
    /// The columns of the filter, if it does not need all.
    filter_columns: Option<Vec<usize>>,
    buffer: RowBuf,
    decoded: Row,
}

/// Keys and stored rows, one after another in one buffer.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each key ends, and each row behind it.
    ends: Vec<(usize, usize)>,
    /// The next to be taken.
    at: usize,
    entries: bool,
}

/// What a place in a batch holds.
struct Found<'b> {
    key: &'b [u8],
    /// The stored row; of an index entry, `None`.
    row: Option<&'b [u8]>,
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

    /// The next key with its row.
    fn take(&mut self) -> Option<Found<'_>> {
        let (key_end, row_end) = *self.ends.get(self.at)?;
        let start = self.at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        self.at += 1;
        let row = &self.bytes[key_end..row_end];
        Some(if self.entries {
            Found { key: row, row: None }
        } else {
            Found { key: &self.bytes[start..key_end], row: Some(row) }
        })
    }
}

impl ScanState {
    pub fn next(&mut self, scan: &Scan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if !self.started {
            self.start(scan, run)?;
        }
        // The batch is taken out while its rows are decoded, so that the state's other fields can be used meanwhile.
        let mut batch = std::mem::take(&mut self.batch);
        let result = self.next_of(&mut batch, scan, run);
        self.batch = batch;
        result
    }

    fn start(&mut self, scan: &Scan, run: &mut Run<'_, '_>) -> Result<()> {
        self.started = true;
        self.batch_size = FIRST_BATCH;
        self.ranges = run.ranges(scan)?;
        self.filter_columns = scan.filter.as_ref().and_then(columns_of);
        Ok(())
    }

    fn next_of(&mut self, batch: &mut Batch, scan: &Scan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        loop {
            while let Some(found) = batch.take() {
                run.tick()?;
                if let Some(row) = self.consider(scan, found, run)? {
                    return Ok(Some(row));
                }
            }
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
                    if run.context.transaction.read(index, &entry, Columns::All, &mut self.buffer)? {
                        let key = Key::from_bytes(self.buffer.bytes());
                        if let Some(row) = self.read(scan, &key, run)? {
                            return Ok(Some(row));
                        }
                    }
                }
                Range::Between(entries) => {
                    if !fill(batch, entries, self.batch_size, run)? {
                        self.ranges.pop_front();
                    }
                    self.batch_size = (self.batch_size * 2).min(LARGEST_BATCH);
                }
            }
        }
    }

    /// The row under a key that came from the engine, if it passes the filter.
    fn consider(&mut self, scan: &Scan, found: Found<'_>, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let table = scan.table.storage.id();
        let stored = match found.row {
            Some(row) => row,
            None if run.context.transaction.read(table, found.key, Columns::All, &mut self.buffer)? => {
                self.buffer.bytes()
            }
            None => return Ok(None),
        };
        if !passes(scan, self.filter_columns.as_deref(), stored, &mut self.decoded, run)? {
            return Ok(None);
        }
        if scan.for_update {
            // The row is read again as it is owned: it is the same one, or the engine aborts the transaction.
            if !run.context.transaction.read_for_update(table, found.key, &mut self.buffer)? {
                return Ok(None);
            }
            return finish(scan, self.buffer.bytes(), found.key).map(Some);
        }
        finish(scan, stored, found.key).map(Some)
    }

    /// The row under one key: it is owned at once if it will be written.
    fn read(&mut self, scan: &Scan, key: &[u8], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let table = scan.table.storage.id();
        let found = if scan.for_update {
            run.context.transaction.read_for_update(table, key, &mut self.buffer)?
        } else {
            run.context.transaction.read(table, key, Columns::All, &mut self.buffer)?
        };
        let stored = self.buffer.bytes();
        if !found || !passes(scan, self.filter_columns.as_deref(), stored, &mut self.decoded, run)? {
            return Ok(None);
        }
        finish(scan, stored, key).map(Some)
    }
}

/// Whether a stored row passes the filter, of which only the columns are decoded.
fn passes(
    scan: &Scan,
    columns: Option<&[usize]>,
    stored: &[u8],
    decoded: &mut Row,
    run: &mut Run<'_, '_>,
) -> Result<bool> {
    let Some(filter) = &scan.filter else { return Ok(true) };
    decode_row(RowRef::new(stored), &scan.table.columns, columns, decoded)?;
    run.holds(filter, decoded)
}

/// The row as the plan wants it.
fn finish(scan: &Scan, stored: &[u8], key: &[u8]) -> Result<Row> {
    let mut row = Row::with_capacity(scan.table.columns.len() + usize::from(scan.with_key));
    decode_row(RowRef::new(stored), &scan.table.columns, scan.wanted.as_deref(), &mut row)?;
    if scan.with_key {
        row.push(Datum::Bytea(key.into()));
    }
    Ok(row)
}

/// Reads a batch; `false` if the range ends with it.
fn fill(batch: &mut Batch, entries: &mut Entries, size: usize, run: &mut Run<'_, '_>) -> Result<bool> {
    batch.clear();
    batch.entries = entries.index;
    let direction = if entries.backward { Direction::Backward } else { Direction::Forward };
    let scan = model::Scan {
        table: entries.table,
        index: None,
        lower: entries.lower.clone(),
        upper: entries.upper.clone(),
        direction,
        filter: None,
        columns: Columns::All,
        examine: None,
    };
    let end = run.context.transaction.scan(&scan, &mut |item| {
        batch.push(item.key, item.row.bytes());
        if batch.ends.len() < size { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
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

/// The columns that an expression looks at, in order; `None` if a subquery may look at any.
fn columns_of(expression: &Expr) -> Option<Vec<usize>> {
    let mut columns = Vec::new();
    let mut all = false;
    expression.walk(&mut |expression| match expression.kind {
        ExprKind::Column(column) => columns.push(column),
        ExprKind::Subquery(_) => all = true,
        _ => {}
    });
    columns.sort_unstable();
    columns.dedup();
    (!all).then_some(columns)
}
