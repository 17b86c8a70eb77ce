//! The end of a transaction: commit with a serial point, or roll back; then release all locks at once.

use super::begin::Transaction;
use super::locks::{Kind, Owner};
use super::record::RecordRef;
use super::store::TableRef;
use super::worker::Worker;
use super::{Reason, TwoPhaseLocking};
use model::{Committed, LogPosition, Result, SerialPoint};
use parts::epoch;
use parts::sync::atomic::Ordering::Relaxed;
use std::ops::Deref;
use std::sync::Arc;

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Draws the serial point while every lock is held (I1), then gives them back.
    ///
    /// # Errors
    /// The abort that poisoned the transaction.
    pub(super) fn finish(mut self) -> Result<Committed> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        let worker = self.worker.take().expect("I1: a serial point is drawn before any lock is released");
        let serial_point = self.engine.draw_serial_point();
        for undo in &worker.undo {
            undo.record.set_changed(false);
        }
        self.end(worker, true);
        Ok(Committed { serial_point, log_position: LogPosition::ZERO })
    }

    /// Puts back what stood in every changed record, and gives the locks back. Once.
    pub(super) fn roll_back(&mut self, reason: Reason) {
        if self.worker.is_none() {
            return;
        }
        self.undo_to(0);
        if self.kind != Kind::Reconnaissance {
            self.engine.counters.aborted[reason as usize].fetch_add(1, Relaxed);
        }
        if let Some(worker) = self.worker.take() {
            self.end(worker, false);
        }
    }

    /// Puts back what stood in the records that the undo log names from `mark` on.
    pub(super) fn undo_to(&mut self, mark: usize) {
        let lock_table = &self.engine.lock_table;
        let worker = self.worker.as_mut().expect("only what is open is rolled back");
        for undo in worker.undo.drain(mark..).rev() {
            let is_exclusive = lock_table.is_exclusive_to(&undo.record.word, &worker.owner);
            assert!(is_exclusive, "I1: a row is restored under its exclusive lock");
            undo.record.set_row(undo.had_row.then_some(&worker.before[undo.start..]));
            undo.record.set_changed(undo.was_changed);
            worker.before.truncate(undo.start);
        }
    }

    fn end(&self, mut worker: Box<Worker>, has_committed: bool) {
        self.engine.unlock(&mut worker);
        self.engine.shelves.put(worker, has_committed, &self.engine.version);
    }

    /// After a statement that reads, reconnaissance keeps nothing.
    pub(super) fn end_of_read(&mut self) {
        if let Some(worker) = self.worker.as_mut().filter(|_| self.kind == Kind::Reconnaissance) {
            self.engine.unlock(worker);
        }
    }
}

impl TwoPhaseLocking {
    /// A place in the serial order, if they are claimed. Relaxed: whoever meets the transaction does so through a lock,
    /// which orders the two draws.
    fn draw_serial_point(&self) -> Option<SerialPoint> {
        let draw = || SerialPoint(self.counters.serial_points.fetch_add(1, Relaxed) + 1);
        self.options.claims.then(draw)
    }

    /// Releases all locks, ranges last: a record that is free again but still in a range makes no transaction wait twice.
    fn unlock(&self, worker: &mut Worker) {
        for &(table, record) in &worker.locked {
            // The lock is held, so nobody else gives the record a row or takes it away.
            let is_empty = !record.has_row();
            if record.word.release(worker.owner.number, is_empty) {
                if is_empty {
                    table.index.remove(record, &epoch::pin());
                }
            } else {
                self.release_contended(table, record, &worker.owner, is_empty);
            }
        }
        worker.locked.clear();
        for table in worker.ranges.drain(..) {
            table.ranges.release(&worker.owner, &self.sleepers);
        }
    }

    #[cold]
    fn release_contended(&self, table: TableRef, record: RecordRef, owner: &Arc<Owner>, is_empty: bool) {
        let is_gone = self.lock_table.release(&record.word, owner, is_empty, &self.sleepers);
        if is_gone {
            table.index.remove(record, &epoch::pin());
        }
    }
}

impl<H: Deref<Target = TwoPhaseLocking>> Drop for Transaction<H> {
    fn drop(&mut self) {
        self.roll_back(Reason::Requested);
    }
}
