//! The end of a transaction: commit with a serial point, or roll back; then release all locks at once.

use super::begin::Transaction;
use super::locks::Kind;
use super::{Reason, TwoPhaseLocking};
use model::{Committed, LogPosition, Result, SerialPoint};
use parts::sync::atomic::Ordering::Relaxed;
use std::ops::Deref;

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Draws the serial point while every lock is held (I1), then gives them back.
    ///
    /// # Errors
    /// The abort that poisoned the transaction.
    pub(super) fn finish(mut self) -> Result<Committed> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        assert!(!self.ended, "I1: a serial point is drawn before any lock is released");
        // Relaxed: whoever meets this transaction does so through a latch, which orders the two draws.
        let serial_point = SerialPoint(self.engine.counters.committed.fetch_add(1, Relaxed) + 1);
        self.undo.clear();
        self.end();
        Ok(Committed { serial_point: Some(serial_point), log_position: LogPosition::ZERO })
    }

    /// Puts back what stood in every changed record, and gives the locks back. Once.
    pub(super) fn roll_back(&mut self, reason: Reason) {
        if self.ended {
            return;
        }
        self.undo_to(0);
        if self.owner.kind != Kind::Reconnaissance {
            self.engine.counters.aborted[reason as usize].fetch_add(1, Relaxed);
        }
        self.end();
    }

    /// Puts back what stood in the records that the undo log names from `mark` on.
    pub(super) fn undo_to(&mut self, mark: usize) {
        for (record, before) in self.undo.drain(mark..).rev() {
            let mut state = record.latch();
            assert!(state.lock.is_exclusive_to(&self.owner), "I1: a row is restored under its exclusive lock");
            state.row = before;
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.unlock();
        self.engine.counters.open.fetch_sub(1, Relaxed);
    }

    /// After a statement that reads, reconnaissance keeps nothing.
    pub(super) fn end_of_read(&mut self) {
        if self.owner.kind == Kind::Reconnaissance && !self.ended {
            self.unlock();
        }
    }

    /// Releases all locks, ranges last: a record that is free again but still in a range makes no transaction wait twice.
    fn unlock(&mut self) {
        let sleepers = &self.engine.sleepers;
        for (keyspace, record) in self.locked.drain(..) {
            keyspace.release(&record, &self.owner, sleepers);
        }
        for keyspace in self.ranges.drain(..) {
            keyspace.ranges.release(&self.owner, sleepers);
        }
    }
}

impl<H: Deref<Target = TwoPhaseLocking>> Drop for Transaction<H> {
    fn drop(&mut self) {
        self.roll_back(Reason::Requested);
    }
}
