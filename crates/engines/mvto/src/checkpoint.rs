//! Checkpoints: all rows, written while transactions run and without delaying them: no version is kept for a checkpoint, no
//! guard is held while it writes, and it waits only for transactions in the middle of their commit.
//!
//! A checkpoint notes the end of the log as its *start*, and then walks over all rows and writes the newest version of each at that
//! moment. Replay takes each key's newest version by timestamp, so it does no harm if the checkpoint contains changes of records
//! behind the start. It must hold that
//!
//! - **C1** every record behind the start is replayed (`recover.rs`), and its segment exists (`wal`, L8);
//! - **C2** every change of a record before the start is in the checkpoint. A transaction that logged before the start owned its
//!   tuples before it. So the walk finds its version, or finds the tuple owned by a committing transaction, and comes back. (An
//!   executing owner logs later, behind the start.)
//! - **C3** before the checkpoint becomes valid, the log is durable past every version in it, deletions included. So the checkpoint
//!   contains no part of a transaction whose record could be lost.
//!
//! Reasons: docs/decisions/0020.

use crate::catalog::{Catalog, Table};
use crate::engine::{Mvto, log_fault};
use crate::ownership::Holder;
use crate::store::Tuple;
use env::Clock;
use env::time::{Duration, Instant};
use model::{Invalid, Key, LogPosition, Result, TableId, Timestamp};
use parts::epoch;
use parts::index::Entry;
use std::sync::PoisonError;
use wal::redo::{encode_checkpoint_row, encode_checkpoint_start, encode_create};
use wal::{CheckpointTurn, CheckpointWriter, LogError, Pace};

/// Report of a finished checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Every record of the log up to here is in it.
    pub start: LogPosition,
    /// Tables.
    pub tables: usize,
    /// Rows.
    pub rows: u64,
    /// Bytes of keys and rows.
    pub bytes: u64,
    /// Duration.
    pub elapsed: Duration,
}

/// Encoded rows are written when they are so many bytes, or the batch's last.
const BATCH_BYTES: usize = 256 << 10;
/// Pause before a row is looked at again that a transaction commits.
const COMMIT_PAUSE: Duration = Duration::from_micros(50);

impl<C: Clock> Mvto<C> {
    /// Writes a checkpoint, while transactions run, and removes the log that it makes unnecessary. One at a time: waits for the one
    /// that is being written, which then goes at full pace.
    ///
    /// # Errors
    /// The database is in memory, or the disk could not take it: then the one before stays.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        self.checkpoint_at(Pace::Full)
    }

    /// Same as [`Mvto::checkpoint`], at this pace.
    ///
    /// # Errors
    /// Same as [`Mvto::checkpoint`].
    pub fn checkpoint_at(&self, pace: Pace) -> Result<CheckpointReport> {
        let Some(log) = &self.log else {
            return Err(Invalid::Unsupported { what: "a checkpoint of a database in memory" }.into());
        };
        let turn = self.checkpoints.take(pace);
        let started = Instant::now();
        let (writer, catalog) = {
            // A table is in the catalog, or its creation is logged behind the start.
            let _unchanged = self.changing_catalog.lock().unwrap_or_else(PoisonError::into_inner);
            (log.begin_checkpoint().map_err(log_fault)?, self.catalog())
        };
        let report = CheckpointReport { start: writer.start(), ..CheckpointReport::default() };
        // Read after the start: who draws later logs behind the start.
        let begun = self.sites.latest();
        let mut writing = Writing { engine: self, writer, begun, turn, rests_on: LogPosition::ZERO, report };
        writing.catalog(&catalog).map_err(log_fault)?;
        for table in catalog.tables() {
            writing.rows(table).map_err(log_fault)?;
        }
        let Writing { writer, rests_on, mut report, turn, .. } = writing;
        writer.finish(u64::MAX, rests_on).map_err(log_fault)?;
        drop(turn);
        report.elapsed = started.elapsed();
        Ok(report)
    }
}

impl<C> Mvto<C> {
    /// Lets the checkpoint that is being written, and later ones, go at full pace: the engine is about to be closed.
    pub fn hurry_checkpoint(&self) {
        self.checkpoints.hurry();
    }
}

/// A checkpoint being written.
struct Writing<'a, C> {
    engine: &'a Mvto<C>,
    writer: CheckpointWriter,
    /// The last timestamp that was drawn at a moment after the start.
    begun: Timestamp,
    turn: CheckpointTurn<'a>,
    /// The end of the last record among those of the versions that were found.
    rests_on: LogPosition,
    report: CheckpointReport,
}

/// Rows encoded under one guard.
#[derive(Default)]
struct Batch {
    rows: Vec<u8>,
    /// End offset of each row.
    ends: Vec<usize>,
    /// Keys to come back to.
    later: Vec<Key>,
}

impl<C: Clock> Writing<'_, C> {
    fn catalog(&mut self, catalog: &Catalog) -> std::result::Result<(), LogError> {
        let mut record = Vec::new();
        encode_checkpoint_start(&mut record, catalog.next_id());
        self.writer.write(&record)?;
        for table in catalog.tables() {
            record.clear();
            encode_create(&mut record, table.id, &table.schema);
            self.writer.write(&record)?;
        }
        self.report.tables = catalog.tables().count();
        Ok(())
    }

    fn rows(&mut self, table: &Table) -> std::result::Result<(), LogError> {
        let (id, mut walk, mut batch) = (table.id, table.space().walk(), Batch::default());
        while !walk.is_finished {
            walk.batch(|tuples, _| self.encode_all(id, tuples, &mut batch));
            self.write(&mut batch)?;
            for key in std::mem::take(&mut batch.later) {
                self.encode_later(table, &key, &mut batch);
                self.write(&mut batch)?;
            }
            self.turn.rest();
        }
        Ok(())
    }

    /// Encodes rows. The bound stands still meanwhile: newest versions are looked at by somebody who is not registered, and those that
    /// are replaced stay as they are (S5).
    fn encode_all(&mut self, id: TableId, tuples: &[&Tuple], batch: &mut Batch) {
        let engine = self.engine;
        let _still = engine.bound.hold_still();
        tuples.iter().for_each(|tuple| self.encode(id, tuple, batch));
    }

    /// Encodes the newest version of a row, or notes its key for later: if there is enough to write, or somebody commits there
    /// who may have logged before the start (C2).
    fn encode(&mut self, id: TableId, tuple: &Tuple, batch: &mut Batch) {
        if batch.rows.len() >= BATCH_BYTES || self.is_committing(tuple) {
            batch.later.push(Key::from_bytes(tuple.key()));
            return;
        }
        let Some(version) = tuple.newest() else { return };
        self.rests_on = self.rests_on.max(version.log_position());
        let Some(row) = version.row() else { return };
        encode_checkpoint_row(&mut batch.rows, id, version.begin().0, tuple.key(), row.bytes());
        batch.ends.push(batch.rows.len());
        self.report.rows += 1;
        self.report.bytes += (tuple.key().len() + row.bytes().len()) as u64;
    }

    /// Encodes what is left of a key once nobody commits there who may have logged before the start.
    fn encode_later(&mut self, table: &Table, key: &[u8], batch: &mut Batch) {
        loop {
            let guard = epoch::pin();
            let Some(tuple) = table.space().get(key, &guard) else { return };
            self.encode_all(table.id, &[tuple], batch);
            if batch.later.pop().is_none() {
                return;
            }
            drop(guard);
            env::thread::sleep(COMMIT_PAUSE);
        }
    }

    fn is_committing(&self, tuple: &Tuple) -> bool {
        matches!(tuple.ownership.holder(), Holder::Committing(owner) if owner <= self.begun)
    }

    /// Writes what was encoded. No guard is held.
    fn write(&mut self, batch: &mut Batch) -> std::result::Result<(), LogError> {
        let mut start = 0;
        for end in batch.ends.drain(..) {
            self.writer.write(&batch.rows[start..end])?;
            start = end;
        }
        batch.rows.clear();
        Ok(())
    }
}
