//! The limit on ages: a transaction that is older keeps neither versions nor rows, even if nobody ever calls it again.
//!
//! A transaction that is too old and between two statements is *doomed*, by whoever notices: it enters no further statement, so
//! nobody reads what was kept for it, and its rows are taken by those who want them. One that is in a statement works, and is left
//! alone ([`crate::order::Starts`]).

use crate::begin::Transaction;
use crate::node::NodeRef;
use crate::order::Seat;
use crate::writer::Writer;
use crate::{Hyper, Reason};
use env::time::Duration;
use model::{Error, Result, TableId};
use parts::epoch;
use std::ops::Deref;
use std::sync::Arc;

/// Bounds on the time between two looks at an owner that is too old, or about to be.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Runs a statement.
    ///
    /// # Errors
    /// The transaction is too old; what the statement returns.
    #[inline]
    pub(super) fn statement<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.engine.options.transaction_age.is_none() {
            return run(self);
        }
        self.enter()?;
        let done = run(self);
        self.leave();
        done
    }

    /// Enters a statement, during which it is not doomed.
    ///
    /// # Errors
    /// It is too old.
    pub(super) fn enter(&mut self) -> Result<()> {
        let (Some(limit), Some(_), Some(worker)) =
            (self.engine.options.transaction_age, self.core.start, &self.core.worker)
        else {
            return Ok(()); // Without a limit, or a start; or it has ended.
        };
        let is_young = self.engine.clock.since(self.core.began) <= limit;
        if is_young && self.engine.starts.enter_statement(worker.slot) {
            return Ok(());
        }
        let error = Error::from(Reason::Age.abort_of(self.core.name));
        self.core.poison = Some(error.clone());
        self.engine.roll_back(&mut self.core, Some(Reason::Age));
        Err(error)
    }

    fn leave(&mut self) {
        if let (Some(_), Some(worker)) = (self.core.start, &self.core.worker) {
            self.engine.starts.leave_statement(worker.slot);
        }
    }
}

impl Hyper {
    /// When those began that are just young enough; `None` where ages have no limit.
    fn oldest_allowed(&self) -> Option<u64> {
        let limit = self.options.transaction_age?;
        Some(self.clock.now().saturating_sub(self.clock.ticks_in(limit)))
    }

    /// Dooms all that are too old and between two statements.
    pub(super) fn doom_old(&self) {
        if let Some(oldest) = self.oldest_allowed() {
            self.starts.doom_all(oldest);
        }
    }

    /// Returns whether an owner is doomed, or is now. Then its rows are given back one by one, to those who want them.
    pub(super) fn take_if_old(&self, owner: &Writer) -> bool {
        let Some(oldest) = self.oldest_allowed() else { return false };
        let is_doomed = self.starts.doom(owner.seat, oldest);
        if is_doomed && owner.status.gives_up() {
            self.sleepers.wake(owner.status.address());
        }
        is_doomed
    }

    /// Undoes what a doomed owner has done to a row. False if it is not doomed: then it undoes that itself.
    pub(super) fn take_back(&self, id: TableId, key: &[u8], owner: &Arc<Writer>) -> bool {
        if self.options.transaction_age.is_none() || !self.starts.is_doomed(owner.seat) {
            return false;
        }
        let guard = epoch::pin();
        let Some(table) = self.tables.pinned_even_dropped(id.0, &guard) else { return true };
        let Some(node) = table.index.get(key, &guard) else { return true };
        let (place, node) = (node.place, NodeRef::of(node));
        let (slot, mut freed) = (place.slot as usize, 0);
        let mut rows = table.block(place.block).write();
        if !rows.is_of(slot, node) {
            return true;
        }
        while rows.head(slot).is_some_and(|undo| undo.is_of(Some(owner))) {
            freed += rows.undo(slot).memory();
        }
        let left = rows.leave(slot, &table.layout);
        drop(rows);
        self.memory.meter.credit(freed);
        if let Some(node) = left {
            table.remove(node, key, place);
        }
        true
    }

    /// When to look at an owner again at the latest: when it becomes too old or, if it is and a statement of it runs still, from time
    /// to time. `None` where ages have no limit.
    pub(super) fn until_too_old(&self, owner: &Writer) -> Option<Duration> {
        let limit = self.options.transaction_age?;
        let left = limit.saturating_sub(self.clock.since(self.starts.began(owner.seat)));
        Some(if left.is_zero() { limit / 8 } else { left }.clamp(SHORTEST_LOOK, LONGEST_LOOK))
    }

    /// The place of a transaction that starts, for those who meet its rows.
    pub(super) fn take_seat(&self, slot: u64) -> Seat {
        if self.options.transaction_age.is_some() { self.starts.take_seat(slot) } else { Seat::default() }
    }
}
