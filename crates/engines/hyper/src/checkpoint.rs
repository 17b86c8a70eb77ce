//! Checkpoints: all rows, written while transactions run and without delaying them. No version is kept for one, no latch is
//! held while it writes, and it waits for transactions in the middle of their commit only.
//!
//! A checkpoint notes the end of the log as its *start*, then walks over all blocks and writes what is committed in each at that
//! moment. Replay of the log from the start on, in its order, does the rest: whatever a checkpoint has of later changes is
//! overwritten by them again. It must hold that
//!
//! - **C1** every record behind the start is replayed, and its segment exists (`wal`, L8);
//! - **C2** every change of a record before the start is in the checkpoint: who has appended one is deciding until it is
//!   published, and the walk waits for its decision;
//! - **C3** before the checkpoint becomes valid, the log is durable past every version in it. Deleted rows are durable before
//!   they leave their slots (Y10).
//! - **C4** before the checkpoint becomes valid, the log is durable past the drops of tables beside it: a drop gives rows back at once,
//!   and whoever replays no drop would find the table without them.

use crate::Hyper;
use crate::read::View;
use crate::table::Table;
use model::columns::BATCH_ROWS;
use model::{Columns, Invalid, LogPosition, Result, RowBuf, TableId};
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use wal::redo::{encode_checkpoint_row, encode_checkpoint_start, encode_create};
use wal::{CheckpointWriter, Pace};

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
}

impl Hyper {
    /// Writes a checkpoint, while transactions run, and removes the log that it makes unnecessary. One at a time: waits for the one
    /// that is being written, which then goes at full pace.
    ///
    /// # Errors
    /// The database is in memory, or the disk could not take it: then the one before stays.
    pub fn write_checkpoint(&self, pace: Pace) -> Result<CheckpointReport> {
        let Some(log) = &self.log else {
            return Err(Invalid::Unsupported { what: "a checkpoint of a database in memory" }.into());
        };
        let mut turn = self.checkpoints.take(pace);
        let mut record = Vec::new();
        let (mut writer, tables) = {
            // A table is listed, or its creation is logged behind the start.
            let names = self.names();
            encode_checkpoint_start(&mut record, TableId(names.next));
            (log.begin_checkpoint()?, names.listed.clone())
        };
        let mut report =
            CheckpointReport { start: writer.start(), tables: tables.len(), ..CheckpointReport::default() };
        writer.write(&record)?;
        // One that was dropped meanwhile is dropped by the log, too (C4).
        let tables: Vec<Arc<Table>> = tables.iter().filter_map(|(_, id)| self.counted_table(*id).ok()).collect();
        for table in &tables {
            record.clear();
            encode_create(&mut record, table.id, table.schema());
            writer.write(&record)?;
        }
        let rests_on = AtomicU64::new(0);
        for table in tables {
            for block in 0..table.blocks.count() {
                write_block(self, &table, block, &rests_on, &mut writer, &mut report)?;
                turn.rest();
            }
        }
        let rests_on = LogPosition::from_raw(rests_on.load(Relaxed)).max(self.names().last_drop);
        writer.finish(u64::MAX, rests_on)?;
        Ok(report)
    }

    /// Lets the checkpoint that is being written, and later ones, go at full pace: the engine is about to be closed.
    pub fn hurry_checkpoint(&self) {
        self.checkpoints.hurry();
    }
}

/// Copies what is committed in a block, some slots at a time, and writes it without the latch.
fn write_block(
    engine: &Hyper,
    table: &Table,
    number: u32,
    rests_on: &AtomicU64,
    writer: &mut CheckpointWriter,
    report: &mut CheckpointReport,
) -> Result<()> {
    let Some(block) = table.blocks.get(number) else { return Ok(()) };
    let view = View { rests_on: Some(rests_on), ..View::newest(engine) };
    let (mut rows, mut ends, mut row, mut slot) = (Vec::new(), Vec::new(), RowBuf::new(), 0);
    loop {
        let (undecided, is_over) = {
            let latched = block.read();
            let end = latched.slots().min(slot + BATCH_ROWS);
            let mut undecided = None;
            while slot < end {
                match view.of(&latched, slot) {
                    Ok(version) if version.is_there() => {
                        version.copy(Columns::All, &mut row);
                        let key = latched.key(slot).expect("a row has a key");
                        encode_checkpoint_row(&mut rows, table.id, 0, key, row.bytes());
                        ends.push(rows.len());
                        report.bytes += (key.len() + row.bytes().len()) as u64;
                    }
                    Ok(_) => {}
                    Err(waits) => {
                        undecided = Some(waits);
                        break;
                    }
                }
                slot += 1;
            }
            (undecided, slot >= latched.slots())
        };
        let mut start = 0;
        for end in ends.drain(..) {
            writer.write(&rows[start..end])?;
            report.rows += 1;
            start = end;
        }
        rows.clear();
        match undecided {
            Some(undecided) => {
                engine.never().await_decision(&undecided.0)?;
            }
            None if is_over => return Ok(()),
            None => {}
        }
    }
}
