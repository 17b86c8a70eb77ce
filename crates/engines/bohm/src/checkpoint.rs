//! Checkpoints: the rows at the end of a batch, written while later batches go on.
//!
//! A checkpoint has a *boundary*, the last complete batch when it begins. Versions are immutable, so what was visible at the boundary can
//! be read as long as it is there; but no version is kept for the checkpoint: a walk over all tables writes every key whose version at
//! the boundary is visible still, and skips the others. A planner that frees a version that was visible at the boundary hands its row
//! over instead. So each row comes by one of the two ways, perhaps by both, and memory holds one row more of a key at most, until it is
//! written.
//!
//! - **C1** While the boundary is being set it is pinned, so no planner has freed a version of it before it hands over.
//! - **C2** The walk reads as of the last complete batch of each moment. What it skips was replaced at or below that batch. The
//!   checkpoint ends when all planners have collected up to the last such batch: then everything that was skipped is handed over.
//! - **C3** The boundary is durable before the checkpoint has its name (`wal`, L8), and only segments go whose batches are all at or
//!   below the boundary (its bound): what is behind it is executed again.

use crate::Bohm;
use crate::Shared;
use crate::position::Position;
use crate::read::newest_at;
use crate::store::Table;
use crate::version::VersionRef;
use env::time::{Duration, Instant};
use model::{Invalid, LogPosition, Pending, Result, TableId};
use parts::index::Entry;
use parts::memory::Meter;
use parts::sync::Mutex;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Waker};
use wal::redo::{encode_checkpoint_row, encode_checkpoint_start, encode_create};
use wal::{CheckpointTurn, CheckpointTurns, CheckpointWriter, Pace};

const NONE: u64 = 0;
/// Pause before planners are asked again whether they have handed everything over: somebody reads at an old batch.
const READER_PAUSE: Duration = Duration::from_micros(500);

/// Report of a finished checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Its boundary: it has all batches up to this one, and nothing of later ones.
    pub batch: u64,
    /// Where the log ended when it began.
    pub start: LogPosition,
    /// Tables.
    pub tables: usize,
    /// Rows, those twice that came by both ways.
    pub rows: u64,
    /// Rows that planners have handed over.
    pub handed_over: u64,
    /// Bytes of keys and rows.
    pub bytes: u64,
    /// Duration.
    pub elapsed: Duration,
}

/// What planners and a checkpoint share.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    turns: CheckpointTurns,
    /// The boundary. Stored with `Release` while it is pinned; planners acquire it after they have computed their low-water mark.
    boundary: AtomicU64,
    /// Rows handed over, encoded.
    handed_over: Mutex<HandedOver>,
    /// For each planner the low-water mark up to which it has collected. Stored with `Release` behind what it has handed over.
    collected: Box<[AtomicU64]>,
    /// Counts what was handed over.
    meter: Arc<Meter>,
}

/// Encoded rows, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct HandedOver {
    rows: Vec<u8>,
    /// End of each row.
    ends: Vec<usize>,
    /// Bytes of keys and rows.
    bytes: u64,
}

impl HandedOver {
    fn add(&mut self, table: TableId, key: &[u8], row: &[u8]) {
        encode_checkpoint_row(&mut self.rows, table, 0, key, row);
        self.ends.push(self.rows.len());
        self.bytes += (key.len() + row.len()) as u64;
    }

    /// Returns whether the checkpoint of a boundary shows a version that a planner is about to free: the next version begins
    /// behind.
    #[inline]
    pub fn shows(&self, boundary: u64, version: VersionRef, next: Position) -> bool {
        boundary != NONE && version.begin().batch() <= boundary && boundary < next.batch()
    }

    /// Adds the row of such a version.
    pub fn hand_over(&mut self, table: TableId, key: &[u8], version: VersionRef) {
        if let Some(row) = version.row(version.content()) {
            self.add(table, key, row);
        }
    }

    fn append(&mut self, other: &mut HandedOver) {
        let base = self.rows.len();
        self.rows.append(&mut other.rows);
        self.ends.extend(other.ends.drain(..).map(|end| base + end));
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Checkpoints {
    pub fn new(planners: usize, meter: Arc<Meter>) -> Checkpoints {
        Checkpoints {
            turns: CheckpointTurns::default(),
            boundary: AtomicU64::new(NONE),
            handed_over: Mutex::default(),
            collected: (0..planners).map(|_| AtomicU64::new(0)).collect(),
            meter,
        }
    }

    /// The boundary of the checkpoint that is being written, or zero. A planner reads it after its low-water mark (C1).
    pub fn boundary(&self) -> u64 {
        self.boundary.load(Acquire)
    }

    /// Takes what a planner hands over, which has collected up to a mark.
    pub fn take(&self, planner: u8, rows: &mut HandedOver, collected: u64) {
        if !rows.ends.is_empty() {
            self.meter.charge(rows.rows.len());
            self.rows().append(rows);
        }
        self.collected[usize::from(planner)].store(collected, Release);
    }

    fn have_all_collected(&self, batch: u64) -> bool {
        self.collected.iter().all(|collected| collected.load(Acquire) >= batch)
    }

    /// Takes out what was handed over, which counts no more.
    fn take_rows(&self) -> HandedOver {
        let rows = std::mem::take(&mut *self.rows());
        self.meter.credit(rows.rows.len());
        rows
    }

    fn rows(&self) -> parts::sync::MutexGuard<'_, HandedOver> {
        self.handed_over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bohm {
    /// Writes a checkpoint of the last complete batch while later ones go on, and removes the log that it makes unnecessary. One at a
    /// time: waits for the one that is being written, which then goes at full pace. A snapshot that is open for long delays its end.
    ///
    /// # Errors
    /// The database is in memory, or the disk could not take it: then the one before stays.
    pub fn write_checkpoint(&self, pace: Pace) -> Result<CheckpointReport> {
        let Some(input) = self.shared.log() else {
            return Err(Invalid::Unsupported { what: "a checkpoint of a database in memory" }.into());
        };
        input.check_log()?;
        let shared = &*self.shared;
        let turn = shared.checkpoints.turns.take(pace);
        let started = Instant::now();
        let pinned = shared.pipeline.readers.pin()?;
        let boundary = Boundary::set(&shared.checkpoints, pinned.batch);
        let mut record = Vec::new();
        let (mut writer, tables) = {
            // A table is there, or its creation is logged behind the start.
            let names = shared.tables.names();
            encode_checkpoint_start(&mut record, TableId(names.next));
            let shows = |table: &&Table| shared.tables.find_at(table.id, pinned.position()).is_ok();
            (input.log.begin_checkpoint()?, shared.tables.all().filter(shows).collect::<Vec<_>>())
        };
        let (batch, start) = (pinned.batch, writer.start());
        drop(pinned);
        writer.write(&record)?;
        for table in &tables {
            record.clear();
            encode_create(&mut record, table.id, &table.schema);
            writer.write(&record)?;
        }
        let report = CheckpointReport { batch, start, tables: tables.len(), ..CheckpointReport::default() };
        let mut writing = Writing { shared, writer, turn, seen: batch, report };
        for table in tables {
            writing.walk(table)?;
        }
        writing.await_planners()?;
        let Writing { writer, mut report, turn, .. } = writing;
        writer.finish(input.stamps.of(batch + 1), start)?;
        drop((boundary, turn));
        report.elapsed = started.elapsed();
        Ok(report)
    }

    /// Lets the checkpoint that is being written, and later ones, go at full pace: the engine is about to be closed.
    pub fn hurry_checkpoint(&self) {
        self.shared.checkpoints.turns.hurry();
    }
}

/// A boundary that is set.
struct Boundary<'c>(&'c Checkpoints);

impl Boundary<'_> {
    fn set(checkpoints: &Checkpoints, batch: u64) -> Boundary<'_> {
        drop(checkpoints.take_rows());
        checkpoints.boundary.store(batch, Release);
        Boundary(checkpoints)
    }
}

impl Drop for Boundary<'_> {
    fn drop(&mut self) {
        // Relaxed: who sees it late hands over what nobody wants.
        self.0.boundary.store(NONE, Relaxed);
        drop(self.0.take_rows());
    }
}

/// A checkpoint being written.
struct Writing<'e> {
    shared: &'e Shared,
    writer: CheckpointWriter,
    turn: CheckpointTurn<'e>,
    /// The last batch as of whose end the walk has read.
    seen: u64,
    report: CheckpointReport,
}

impl Writing<'_> {
    /// Writes the rows that are visible now and were at the boundary.
    fn walk(&mut self, table: &Table) -> Result<()> {
        let (mut walk, mut records, mut rows) = (table.index.walk(), Vec::new(), HandedOver::default());
        let mut has_more = true;
        while has_more {
            let pinned = self.shared.pipeline.readers.pin()?;
            self.seen = self.seen.max(pinned.batch);
            records.clear();
            has_more = table.index.walk_on(&mut walk, &mut records);
            for record in &records {
                let Some(version) = newest_at(*record, pinned.position()) else { continue };
                if version.begin().batch() > self.report.batch {
                    continue;
                }
                if let Some(row) = version.row(version.content()) {
                    rows.add(table.id, record.key(), row);
                }
            }
            drop(pinned);
            self.write(&mut rows)?;
            self.write_handed_over()?;
            self.turn.rest();
        }
        Ok(())
    }

    fn write(&mut self, rows: &mut HandedOver) -> Result<()> {
        let mut start = 0;
        for &end in &rows.ends {
            self.writer.write(&rows.rows[start..end])?;
            start = end;
        }
        self.report.rows += rows.ends.len() as u64;
        self.report.bytes += rows.bytes;
        rows.rows.clear();
        rows.ends.clear();
        rows.bytes = 0;
        Ok(())
    }

    fn write_handed_over(&mut self) -> Result<()> {
        let mut rows = self.shared.checkpoints.take_rows();
        self.report.handed_over += rows.ends.len() as u64;
        self.write(&mut rows)
    }

    /// Waits until planners have handed over what the walk has skipped (C2). They collect before they plan a batch, so there is one for
    /// them whenever it helps; nobody waits for its execution.
    fn await_planners(&mut self) -> Result<()> {
        let mut marker: Option<Pending<u64>> = None;
        while !self.shared.checkpoints.have_all_collected(self.seen) {
            self.shared.wake_planners(self.seen, &mut marker);
            self.write_handed_over()?;
            // Threads leave a batch soon after it; who reads at an old one may take long.
            env::thread::sleep(READER_PAUSE);
        }
        self.write_handed_over()
    }
}

impl Shared {
    /// Has planners collect up to a batch, by a batch with a marker, once the last marker has come. While somebody reads behind an older
    /// batch they cannot, so they get none: each would be kept for as long as that reader.
    fn wake_planners(&self, seen: u64, marker: &mut Option<Pending<u64>>) {
        let is_read = self.pipeline.readers.oldest(seen) < seen;
        if !is_read && marker.as_mut().is_none_or(has_come) {
            *marker = Some(self.mark());
        }
    }
}

/// Returns whether a marker's batch is known. Asked until it is.
fn has_come(marker: &mut Pending<u64>) -> bool {
    Pin::new(marker).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;
    use crate::Options;

    /// A snapshot may stay open for hours: no batches pile up behind it, and planners go on when it is closed.
    #[test]
    fn planners_get_no_batch_for_a_checkpoint_while_an_old_snapshot_is_open() {
        let engine = Arc::new(Bohm::new(Options::default()));
        let snapshot = engine.snapshot().expect("a free slot");
        engine.settle();
        let seen = engine.shared.pipeline.readers.complete();
        engine.hold(); // What is submitted stays in the queue, where it is counted.
        let mut marker = None;
        let mut queued = || {
            engine.shared.wake_planners(seen, &mut marker);
            engine.queued()
        };
        assert_eq!([queued(), queued()], [0, 0]);
        drop(snapshot);
        let behind = engine.snapshot().expect("a free slot");
        assert_eq!([queued(), queued()], [1, 1], "one at a time, and a later reader is not in the way");
        drop(behind);
        engine.release();
    }
}
