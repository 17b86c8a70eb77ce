//! Long loops of one statement: now and then they look whether it must stop.

use crate::Reason;
use model::{Error, Result, Supervisor, Timestamp};
use std::time::Duration;

/// Parts of blocks, of [`model::columns::BATCH_ROWS`] rows at most, that a scan passes over between two looks: some tens of microseconds.
pub(crate) const PARTS_BETWEEN_LOOKS: u64 = 64;

/// Fetches of a walk along the index, of [`crate::scan::MOST_FETCHED`] rows at most, between two looks.
pub(crate) const FETCHES_BETWEEN_LOOKS: u64 = 64;

/// Who says that a statement must stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<'v> {
    pub supervisor: Option<&'v dyn Supervisor>,
    /// The transaction.
    pub name: Timestamp,
}

/// Counts steps, and looks after so many.
#[derive(Debug)]
pub(crate) struct Steps<'v> {
    stop: Stop<'v>,
    between_looks: u64,
    done: u64,
}

impl<'v> Stop<'v> {
    /// Looks after each `between_looks` steps of a loop that begins now.
    pub fn every(self, between_looks: u64) -> Steps<'v> {
        Steps { stop: self, between_looks, done: 0 }
    }

    /// # Errors
    /// The statement must stop.
    fn look(self) -> Result<()> {
        match self.supervisor.and_then(Supervisor::wait_limit) {
            Some(Duration::ZERO) => Err(Error::Unavailable(Box::new(Reason::Interrupted.abort_of(self.name)))),
            _ => Ok(()),
        }
    }
}

impl Steps<'_> {
    /// Counts a step.
    ///
    /// # Errors
    /// The statement must stop.
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(self.between_looks) { self.stop.look() } else { Ok(()) }
    }
}
