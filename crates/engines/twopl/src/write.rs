//! Writes: lock the row, refuse, then change it in place.

use super::TwoPhaseLocking;
use super::begin::Transaction;
use super::locks::LockMode;
use super::store::{Record, Table};
use model::{Delta, Duplicate, Limit, LimitKind, Result, RowBuf, RowRef, TableId, Touch};
use std::ops::Deref;
use std::sync::Arc;

/// A row that is locked exclusively and about to be changed.
struct Target {
    table: Arc<Table>,
    record: Arc<Record>,
    before: Option<RowBuf>,
    /// Whether this transaction has already written the row.
    is_changed: bool,
}

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Writes a row; where one is already only if `may_replace`.
    pub(super) fn write_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>, may_replace: bool) -> Result<()> {
        self.check_writable()?;
        let target = {
            let table = self.table(table)?;
            table.schema.check_key(key)?;
            table.schema.check_row(key, row)?;
            self.target(table, key, if may_replace { Touch::Overwrite } else { Touch::Insert })?
        };
        if target.before.is_some() && !may_replace {
            return Err(Duplicate { table: target.table.schema.clone(), key: key.into() }.into());
        }
        self.change(target, Some(RowBuf::from_bytes(row.bytes())))
    }

    /// Changes columns of a row; false if there is none.
    pub(super) fn update_row(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        let target = self.target(table, key, Touch::Update)?;
        let Some(before) = &target.before else { return Ok(false) };
        let mut after = RowBuf::new();
        target.table.schema.change(before.row(), delta, &mut after)?;
        target.table.schema.check_row(key, after.row())?;
        self.change(target, Some(after))?;
        Ok(true)
    }

    /// Deletes a row; false if there was none.
    pub(super) fn delete_row(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        let target = self.target(table, key, Touch::Delete)?;
        if target.before.is_none() {
            return Ok(false);
        }
        self.change(target, None)?;
        Ok(true)
    }

    /// Locks a row for a change.
    fn target(&mut self, table: Arc<Table>, key: &[u8], action: Touch) -> Result<Target> {
        self.check_key_bytes(key)?;
        self.check_declared(&table, key, action)?;
        let look = |state: &mut super::store::State| (state.row.clone(), state.changed);
        let (record, (before, is_changed)) = self.with_record(&table.rows, key, LockMode::Exclusive, look)?;
        Ok(Target { table, record, before, is_changed })
    }

    /// Changes a row, unless a limit forbids it.
    fn change(&mut self, target: Target, after: Option<RowBuf>) -> Result<()> {
        let (rows, bytes) = self.check_limits(&target, after.as_ref())?;
        (self.rows_written, self.bytes_written) = (rows, bytes);
        self.set(&target.record, after);
        Ok(())
    }

    /// Changes a record that is locked exclusively; what stood there at first goes to the undo log.
    fn set(&mut self, record: &Arc<Record>, after: Option<RowBuf>) {
        let mut state = record.latch();
        assert!(state.lock.is_exclusive_to(&self.owner), "I1: a row is changed under its exclusive lock");
        let before = std::mem::replace(&mut state.row, after);
        let is_changed = std::mem::replace(&mut state.changed, true);
        if !is_changed || self.next_savepoint > 0 {
            self.undo.push((record.clone(), before));
        }
    }

    /// Returns the rows and bytes that the transaction will have written with this change.
    fn check_limits(&self, target: &Target, after: Option<&RowBuf>) -> Result<(u64, u64)> {
        let options = &self.engine.options;
        let row_bytes = after.map_or(0, |row| row.bytes().len()) as u64;
        let rows = self.rows_written + u64::from(!target.is_changed);
        let bytes = self.bytes_written + target.record.key.len() as u64 + row_bytes;
        check_limit(LimitKind::RowBytes, options.row_bytes, row_bytes)?;
        check_limit(LimitKind::WriteSetRows, options.write_set_rows, rows)?;
        check_limit(LimitKind::WriteSetBytes, options.write_set_bytes, bytes)?;
        Ok((rows, bytes))
    }

    pub(super) fn check_key_bytes(&self, key: &[u8]) -> Result<()> {
        check_limit(LimitKind::KeyBytes, self.engine.options.key_bytes, key.len() as u64)
    }
}

fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}
