//! Checkpoints: all rows as of a bound, written while transactions run.
//!
//! The bound is registered like a transaction's timestamp, so nothing that is visible there is collected; every transaction
//! below it has ended, so nothing below it changes and no stamp is needed (DESIGN 8.5). Index entries are not written: they
//! follow from the rows.

use crate::catalog::{Catalog, Table};
use crate::engine::{Mvto, log_fault};
use crate::recover::{encode_checkpoint_row, encode_checkpoint_start, encode_create};
use env::Clock;
use env::time::{Duration, Instant};
use model::{Invalid, Result, Timestamp};
use parts::index::Entry;
use std::sync::{Arc, PoisonError};
use wal::{CheckpointWriter, LogError};

/// What a checkpoint wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Every transaction before this is in it, none from here on.
    pub bound: Timestamp,
    /// Tables.
    pub tables: usize,
    /// Rows.
    pub rows: u64,
    /// Bytes of keys and rows.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// A registered snapshot, forgotten when dropped.
struct Snapshot<'a, C: Clock>(&'a Mvto<C>, Timestamp);

impl<C: Clock> Drop for Snapshot<'_, C> {
    fn drop(&mut self) {
        self.0.forget_snapshot(self.1);
    }
}

impl<C: Clock> Mvto<C> {
    /// Writes a checkpoint, while transactions run, and removes the log that it makes unnecessary. One at a time: waits for the one
    /// that is being written.
    ///
    /// # Errors
    /// The database is in memory, or the disk could not take it: then the one before stays.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        let Some(log) = &self.log else {
            return Err(Invalid::Unsupported { what: "a checkpoint of a database in memory" }.into());
        };
        let _turn = self.writing_checkpoint.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let (snapshot, catalog, mut writer) = {
            let _unchanged = self.changing_catalog.lock().unwrap_or_else(PoisonError::into_inner);
            let snapshot = Snapshot(self, self.register_snapshot());
            // Begun after the bound was taken: whatever is below the bound is in the log below the writer's start.
            let writer = log.begin_checkpoint().map_err(log_fault)?;
            (snapshot, self.catalog(), writer)
        };
        let mut report = CheckpointReport { bound: snapshot.1, ..CheckpointReport::default() };
        write_catalog(&catalog, &mut writer).map_err(log_fault)?;
        for table in catalog.tables() {
            write_table(table, &mut writer, &mut report).map_err(log_fault)?;
        }
        writer.finish(report.bound.0).map_err(log_fault)?;
        report.elapsed = started.elapsed();
        Ok(report)
    }
}

fn write_catalog(catalog: &Catalog, writer: &mut CheckpointWriter) -> std::result::Result<(), LogError> {
    let mut record = Vec::new();
    encode_checkpoint_start(&mut record, catalog.next_id());
    writer.write(&record)?;
    for table in catalog.tables() {
        record.clear();
        encode_create(&mut record, table.id, &table.schema);
        writer.write(&record)?;
    }
    Ok(())
}

fn write_table(
    table: &Arc<Table>,
    writer: &mut CheckpointWriter,
    report: &mut CheckpointReport,
) -> std::result::Result<(), LogError> {
    report.tables += 1;
    let mut record = Vec::new();
    table.rows().space().for_each(|tuple, _| {
        let Some(version) = tuple.version_below(report.bound) else { return Ok(()) };
        let Some(row) = version.row() else { return Ok(()) };
        record.clear();
        encode_checkpoint_row(&mut record, table.id, version.begin(), tuple.key(), row);
        report.rows += 1;
        report.bytes += (tuple.key().len() + row.bytes().len()) as u64;
        writer.write(&record)
    })
}
