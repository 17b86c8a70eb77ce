//! One version of each row, and one transaction at a time: what the paper compares its versions with.
//!
//! Section 4 sets the protocol beside single-version concurrency control, which runs one transaction after another. Here a transaction
//! keeps what it has replaced in its own list, for its way back only: rows have no chains, nobody needs a snapshot, nothing is logged of
//! reads, and a commit forgets the list. A second transaction is refused while one is open.
//!
//! For experiments ([`crate::Options::single_version`]): in memory, and without savepoints.

use crate::Hyper;
use crate::begin::{Core, Transaction};
use crate::block::Rows;
use crate::undo::{ColumnSet, Image};
use crate::worker::{Worker, count};
use crate::writer::Write;
use model::{Committed, LogPosition, Result};
use std::ops::Deref;

/// Images that are kept for the next transactions.
const KEPT: usize = 256;
/// Bytes of an image that is used again.
const KEPT_BYTES: usize = 1024;

/// What a transaction has replaced, one entry for each of its writes.
#[derive(Debug, Default)]
pub(crate) struct Replaced(Vec<Before>);

#[derive(Debug, Default)]
struct Before {
    was_there: bool,
    image: Image,
}

impl Replaced {
    /// Copies what stands in a slot before the write of this number changes it.
    pub fn keep(&mut self, number: usize, rows: &Rows, slot: usize, copied: ColumnSet) {
        if self.0.len() == number {
            self.0.push(Before::default());
        }
        let before = &mut self.0[number];
        if before.image.memory() > KEPT_BYTES {
            *before = Before::default();
        }
        before.was_there = rows.is_in_place(slot);
        before.image.clear();
        if before.was_there {
            before.image.fill(rows.store(), slot, rows.store().stored(copied));
        }
    }

    /// Forgets what is not worth to be kept.
    pub fn shrink(&mut self) {
        self.0.truncate(KEPT);
    }

    /// Puts back what a write has replaced.
    fn put_back(&self, number: usize, rows: &mut Rows, slot: usize) {
        let Before { was_there, image } = &self.0[number];
        rows.put_back(slot, *was_there, image);
    }
}

impl Hyper {
    /// Commits the only open transaction: rows that it has deleted leave the index.
    fn commit_alone(&self, core: &mut Core) -> Result<Committed> {
        let start = core.start();
        let at = if core.changed_rows > 0 && self.options.claims { self.order.draw() } else { start };
        let is_writer = core.changed_rows > 0;
        let worker = core.worker.take().expect("open: it would be poisoned");
        worker.writes.iter().filter(|write| write.columns == ColumnSet::ALL).for_each(|write| self.leave_slot(write));
        count(if is_writer { &worker.counts.committed } else { &worker.counts.read_only }, 1);
        self.end(worker, None);
        Ok(self.committed(at, LogPosition::ZERO))
    }

    /// Undoes what the only open transaction has written.
    pub(super) fn undo_alone(&self, worker: &mut Worker) {
        for (number, write) in worker.writes.iter().enumerate().rev() {
            let Some(table) = self.found_table(write.table) else { continue };
            let mut rows = table.block(write.place.block).write();
            worker.replaced.put_back(number, &mut rows, write.place.slot as usize);
        }
        // Not before: a row that was deleted and inserted again has one slot and two entries.
        worker.writes.iter().for_each(|write| self.leave_slot(write));
    }

    /// Frees the slot of a row that is gone.
    fn leave_slot(&self, write: &Write) {
        let Some(table) = self.found_table(write.table) else { return };
        let slot = write.place.slot as usize;
        let mut rows = table.block(write.place.block).write();
        if rows.key(slot) != Some(&write.key) {
            return; // An earlier entry was of the same row.
        }
        let left = rows.leave(slot, &table.layout);
        drop(rows);
        if let Some(node) = left {
            table.remove(node, &write.key, write.place);
        }
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Commits where nobody else is open.
    pub(super) fn finish_alone(&mut self) -> Result<Committed> {
        let Transaction { engine, core } = self;
        engine.commit_alone(core)
    }
}
