//! Writes: lock the row, refuse, then change it in place.

use super::TwoPhaseLocking;
use super::begin::Transaction;
use super::locks::LockMode;
use super::record::RecordRef;
use super::store::TableRef;
use super::worker::Undo;
use model::{Delta, Duplicate, Error, Limit, LimitKind, Result, RowRef, TableId, Touch};
use parts::index::Entry;
use std::ops::Deref;

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Writes a row; where one is already only if `may_replace`.
    pub(super) fn write_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>, may_replace: bool) -> Result<()> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        table.schema.check_row(key, row)?;
        let action = if may_replace { Touch::Overwrite } else { Touch::Insert };
        let record = self.target(table, key, action, row.bytes().len())?;
        if record.has_row() && !may_replace {
            return Err(Duplicate { table: table.schema.clone(), key: key.into() }.into());
        }
        self.change(record, Some(row.bytes()))
    }

    /// Changes columns of a row; false if there is none.
    pub(super) fn update_row(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        let record = self.target(table, key, Touch::Update, 0)?;
        let Some(before) = record.row() else { return Ok(false) };
        let mut after = std::mem::take(&mut self.worker().row);
        let changed = table.schema.change(RowRef::new(before), delta, &mut after);
        let changed = changed.and_then(|()| table.schema.check_changed(key, delta, after.row())).map_err(Error::from);
        let changed = changed.and_then(|()| self.change(record, Some(after.bytes())));
        self.worker().row = after;
        changed?;
        Ok(true)
    }

    /// Deletes a row; false if there was none.
    pub(super) fn delete_row(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        let record = self.target(table, key, Touch::Delete, 0)?;
        if !record.has_row() {
            return Ok(false);
        }
        self.change(record, None)?;
        Ok(true)
    }

    /// Locks a row for a change; `row_bytes` are expected if it is new.
    fn target(&mut self, table: TableRef, key: &[u8], action: Touch, row_bytes: usize) -> Result<RecordRef> {
        self.check_key_bytes(key)?;
        self.check_declared(table, key, action)?;
        // A row that is too long is refused below, and needs no room.
        let row_bytes = if row_bytes as u64 <= self.row_bytes() { row_bytes } else { 0 };
        self.lock(table, key, LockMode::Exclusive, row_bytes)
    }

    /// Changes a row, unless a limit forbids it. What stood there at first goes to the undo log.
    fn change(&mut self, record: RecordRef, after: Option<&[u8]>) -> Result<()> {
        let (rows, bytes) = self.check_limits(record, after)?;
        let is_exclusive = self.engine.lock_table.is_exclusive_to(&record.word, &self.open_worker().owner);
        assert!(is_exclusive, "I1: a row is changed under its exclusive lock");
        (self.rows_written, self.bytes_written) = (rows, bytes);
        let was_changed = record.is_changed();
        if !was_changed || self.next_savepoint > 0 {
            let worker = self.worker();
            let start = worker.before.len();
            worker.before.extend_from_slice(record.row().unwrap_or_default());
            worker.undo.push(Undo { record, start, had_row: record.has_row(), was_changed });
            record.set_changed(true);
        }
        record.set_row(after);
        Ok(())
    }

    /// Returns the rows and bytes that the transaction will have written with this change.
    fn check_limits(&self, record: RecordRef, after: Option<&[u8]>) -> Result<(u64, u64)> {
        let options = &self.engine.options;
        let row_bytes = after.map_or(0, <[u8]>::len) as u64;
        let rows = self.rows_written + u64::from(!record.is_changed());
        let bytes = self.bytes_written + record.key().len() as u64 + row_bytes;
        check_limit(LimitKind::RowBytes, self.row_bytes(), row_bytes)?;
        check_limit(LimitKind::WriteSetRows, options.write_set_rows, rows)?;
        check_limit(LimitKind::WriteSetBytes, options.write_set_bytes, bytes)?;
        Ok((rows, bytes))
    }

    /// Longest row: lengths have 32 bits.
    fn row_bytes(&self) -> u64 {
        self.engine.options.row_bytes.min(u64::from(u32::MAX))
    }

    pub(super) fn check_key_bytes(&self, key: &[u8]) -> Result<()> {
        check_limit(LimitKind::KeyBytes, self.engine.options.key_bytes.min(u64::from(u32::MAX)), key.len() as u64)
    }
}

fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}
