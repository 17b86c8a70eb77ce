//! Writes: read where the statement must know what is there, refuse, then buffer. Nothing is shared before commit.

use crate::Silo;
use crate::begin::Transaction;
use crate::record::RecordRef;
use crate::store::TableRef;
use model::{Delta, Duplicate, Limit, LimitKind, Result, RowBuf, RowRef, TableId};
use parts::epoch;
use std::ops::Deref;

impl<H: Deref<Target = Silo>> Transaction<H> {
    /// Writes a row whether or not one is there: nothing is read.
    pub(super) fn put_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.target(table, key)?;
        table.schema.check_row(key, row)?;
        self.buffer(table, key, Some(row.bytes()), None)
    }

    /// Writes a row where there is none.
    pub(super) fn insert_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.target(table, key)?;
        table.schema.check_row(key, row)?;
        let mut before = std::mem::take(&mut self.worker().row);
        let found = self.read_before(table, key, &mut before);
        self.worker().row = before;
        let (record, is_there) = found?;
        if is_there {
            // The caller acts on this answer whether or not the transaction commits: it must be true of one moment.
            self.check_reads()?;
            return Err(Duplicate { table: table.schema.clone(), key: key.into() }.into());
        }
        self.buffer(table, key, Some(row.bytes()), record)
    }

    /// Changes columns of a row; false if there is none.
    pub(super) fn update_row(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let table = self.target(table, key)?;
        let worker = self.worker();
        let (mut before, mut after) = (std::mem::take(&mut worker.row), std::mem::take(&mut worker.changed));
        let updated = self.read_before(table, key, &mut before).and_then(|(record, is_there)| {
            if is_there {
                table.schema.change(before.row(), delta, &mut after)?;
                table.schema.check_changed(key, delta, after.row())?;
                self.buffer(table, key, Some(after.bytes()), record)?;
            }
            Ok(is_there)
        });
        let worker = self.worker();
        (worker.row, worker.changed) = (before, after);
        updated
    }

    /// Deletes a row; false if there was none.
    pub(super) fn delete_row(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let table = self.target(table, key)?;
        let mut before = std::mem::take(&mut self.worker().row);
        let found = self.read_before(table, key, &mut before);
        self.worker().row = before;
        let (record, is_there) = found?;
        if is_there {
            self.buffer(table, key, None, record)?;
        }
        Ok(is_there)
    }

    /// The table of a write.
    fn target(&mut self, table: TableId, key: &[u8]) -> Result<TableRef> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        check_limit(LimitKind::KeyBytes, self.engine.options.key_bytes.min(u64::from(u32::MAX)), key.len() as u64)?;
        Ok(table)
    }

    /// Reads the row before a change, and the record if one is known.
    fn read_before(&mut self, table: TableRef, key: &[u8], row: &mut RowBuf) -> Result<(Option<RecordRef>, bool)> {
        if let Some(own) = self.worker().writes.own(table.id, key) {
            row.set_bytes(own.unwrap_or_default());
            return Ok((None, own.is_some()));
        }
        self.fetch(table, key, row.bytes_mut())
    }

    /// Buffers a value, unless a limit forbids it. Looks the record up if it is not known.
    fn buffer(&mut self, table: TableRef, key: &[u8], row: Option<&[u8]>, record: Option<RecordRef>) -> Result<()> {
        let worker = self.worker.as_mut().expect("a statement begins by looking whether the transaction is open");
        let options = &self.engine.options;
        let found = worker.writes.find(table.id, key);
        let (rows, bytes) = worker.writes.sizes_with(found, key, row);
        check_limit(
            LimitKind::RowBytes,
            options.row_bytes.min(u64::from(u32::MAX)),
            row.map_or(0, <[u8]>::len) as u64,
        )?;
        check_limit(LimitKind::WriteSetRows, options.write_set_rows, rows)?;
        check_limit(LimitKind::WriteSetBytes, options.write_set_bytes, bytes)?;
        let at = found.unwrap_or_else(|| {
            let record = record.or_else(|| table.index.get(key, &epoch::pin()).ok());
            worker.writes.add(table, key, record)
        });
        worker.writes.buffer(at, row);
        Ok(())
    }
}

fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}
