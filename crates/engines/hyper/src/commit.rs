//! Commit: draw the timestamp, validate against those who have drawn theirs meanwhile, publish. Sections 2.3 and 2.7.
//!
//! ```text
//! section   the writer says "deciding at 17", takes its place among the recent, the counter shows 17     (Y1, Y2)
//! ----      THE PLACE IN THE SERIAL ORDER
//! validate  the writes of those between the start and 17, committed or deciding, against the predicates
//! log       its redo record is appended
//! publish   the writer says "committed": one store                                                       (Y3)
//! ```
//!
//! A writer that is still deciding and has drawn a lower timestamp counts by its decision, which is awaited only if its
//! writes meet a predicate. Decisions wait for lower timestamps only, so none waits for itself.

use crate::Hyper;
use crate::begin::{Conflict, Core, Transaction};
use crate::block::{Rows, Version};
use crate::order::Drawn;
use crate::predicates::{Images, Tree, Values};
use crate::worker::count;
use crate::writer::{Commit, Status, Write, Writer};
use model::{Committed, Error, Fault, LogPosition, Result, SerialPoint};
use parts::sync::atomic::Ordering::Relaxed;
use std::ops::Deref;
use std::sync::Arc;

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Commits.
    ///
    /// # Errors
    /// The abort that poisoned the transaction, or a conflict.
    pub(super) fn finish(mut self) -> Result<Committed> {
        if let Some(error) = &self.core.poison {
            return Err(error.clone());
        }
        self.enter()?;
        // A transaction without an access takes its place now.
        self.engine.start(&mut self.core)?;
        if self.engine.options.single_version {
            return self.finish_alone();
        }
        let start = self.core.start();
        if self.core.changed_rows == 0 {
            return self.finish_reader(start);
        }
        let room = match self.engine.prepare_record(&mut self.core) {
            Ok(room) => room,
            Err(error) => return Err(self.fail_with(error)),
        };
        let writer = self.core.writer.take().expect("whoever has changed a row has a writer");
        let worker = self.core.worker();
        let (writes, validated) = (std::mem::take(&mut worker.writes), worker.validated);
        let drawn = self.engine.order.draw_for(writer, writes, start, validated);
        let Drawn { commit, others, forgotten, is_awaited } = drawn;
        forgotten.into_iter().for_each(|commit| self.core.worker().keep_room(commit));
        let status = &commit.writer.status;
        if is_awaited {
            self.engine.sleepers.wake(status.address());
        }
        match self.engine.validate(&mut self.core, others, commit.at) {
            Ok(None) => {}
            Ok(Some(conflict)) => return Err(self.take_back(&commit, |open| open.fail(conflict))),
            Err(error) => return Err(self.take_back(&commit, |open| open.fail_with(error))),
        }
        let logged = self.engine.check_ceiling(&self.core, commit.at);
        let position = match logged.and_then(|()| self.engine.append(&mut self.core, &commit, room)) {
            Ok(position) => position,
            Err(error) => return Err(self.take_back(&commit, |open| open.fail_with(error))),
        };
        let rests_on = self.core.rests_on();
        assert!(self.engine.log.is_none() || rests_on < position, "Y10: who reads a version is logged after it");
        commit.writer.logged(position);
        if status.commits() {
            self.engine.sleepers.wake(status.address());
        }
        let log_position = self.core.to_await(&self.engine, position);
        let worker = self.core.worker.take().expect("open: it would be poisoned");
        count(&worker.counts.committed, 1);
        worker.count_log();
        let at = commit.at;
        self.engine.end(worker, Some(commit));
        Ok(self.engine.committed(at, log_position))
    }

    /// Takes what was to be committed back, and has it undone.
    fn take_back(&mut self, commit: &Commit, fail: impl FnOnce(&mut Self) -> Error) -> Error {
        self.core.worker().writes = commit.writes.iter().map(Write::again).collect();
        self.core.writer = Some(commit.writer.clone());
        let error = fail(self);
        self.engine.order.forget_aborted(commit);
        error
    }

    /// Ends a transaction that has changed nothing: its place is its start.
    fn finish_reader(&mut self, start: u64) -> Result<Committed> {
        let rests_on = self.core.rests_on();
        // On a failed log, what was read may never become durable, and must not be acknowledged (design, rule 4).
        if rests_on > self.engine.durable_position()
            && let Err(Error::Fault(Fault::LogFailed { detail })) = self.engine.check_log()
        {
            return Err(self.fail_with(Fault::log_failed_at_commit(detail).into()));
        }
        let Transaction { engine, core } = self;
        let mut worker = core.worker.take().expect("open: it would be poisoned");
        // Rows that it has locked are free again: nothing of them has changed.
        if let Some(writer) = core.writer.take() {
            if writer.status.aborts() {
                engine.sleepers.wake(writer.status.address());
            }
            engine.undo_down_to(&mut worker, 0, None);
        }
        count(&worker.counts.read_only, 1);
        worker.count_log();
        engine.end(worker, None);
        Ok(engine.committed(start, core.to_await(engine, rests_on)))
    }
}

impl Core {
    /// Greatest log position among the versions that it has read.
    pub fn rests_on(&self) -> LogPosition {
        LogPosition::from_raw(self.rests_on.load(Relaxed))
    }
}

impl Hyper {
    pub(super) fn committed(&self, at: u64, log_position: LogPosition) -> Committed {
        Committed { serial_point: self.options.claims.then_some(SerialPoint(at)), log_position }
    }

    /// Tests the writes of those who have drawn a timestamp below `end` against what a transaction has read by; `others` are
    /// the first of those that matter. Returns the conflict, if there is one.
    ///
    /// # Errors
    /// The statement must stop.
    pub(super) fn validate(&self, core: &mut Core, others: Vec<Arc<Commit>>, end: u64) -> Result<Option<Conflict>> {
        let log = &core.worker.as_ref().expect("it is open").log;
        if others.is_empty() || log.is_empty() {
            return Ok(None);
        }
        let (tree, mut tested, mut validated) = (Tree::build(log), 0, Ok(None));
        self.order.between(others, end, |commit| {
            tested += commit.writes.len() as u64;
            let met = commit.writes.iter().find(|write| self.is_met(&tree, &commit.writer, write));
            if let Some(write) = met {
                validated = core.stop(self).await_decision(&commit.writer).map(|status| {
                    let has_committed = matches!(status, Status::Committed(_));
                    has_committed.then(|| self.predicate_met(log, &commit.writer, write))
                });
            }
            matches!(validated, Ok(None))
        });
        count(&core.worker().counts.tested, tested);
        validated
    }

    /// Returns whether a write meets a tree.
    fn is_met(&self, tree: &Tree, writer: &Arc<Writer>, write: &Write) -> bool {
        tree.meets(write, &RowImages { engine: self, writer, write })
    }
}

/// The images of a row before and after a write, found in its chain: section 2.3.
pub(crate) struct RowImages<'e> {
    pub engine: &'e Hyper,
    pub writer: &'e Arc<Writer>,
    pub write: &'e Write,
}

impl Images for RowImages<'_> {
    fn any(&self, accepts: &mut dyn for<'v> FnMut(Values<'v>) -> bool) -> bool {
        // A table that the validator has read from, dropped since or not.
        let Some(table) = self.engine.found_table(self.write.table) else { return true };
        let rows = table.block(self.write.place.block).read();
        let rows: &Rows = &rows;
        if self.write.place.slot as usize >= rows.slots() {
            return true; // Undone, and taken off the block's end: the caller finds that its writer has aborted.
        }
        // An entry that is not there was undone, if its writer has aborted; nobody else takes it away from a validator.
        let Some((after, before)) = rows.around(self.write.place.slot as usize, self.writer) else { return false };
        let mut accepts_version =
            |version: &Version<'_>| version.is_there() && accepts(&|column| version.column(column));
        accepts_version(&after) || accepts_version(&before)
    }
}
