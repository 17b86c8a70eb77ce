//! Long loops of one statement, and waits for decisions: now and then they look whether it must stop.

use crate::begin::Core;
use crate::writer::{Status, Writer};
use crate::{Hyper, Reason};
use model::{Error, Result, Supervisor, Timestamp};
use parts::spin::Backoff;
use parts::wait::{WaitTable, Waited};
use std::time::Duration;

/// Parts of blocks, of [`model::columns::BATCH_ROWS`] rows at most, that a scan passes over between two looks: some tens of microseconds.
pub(crate) const PARTS_BETWEEN_LOOKS: u64 = 64;

/// Fetches of a walk along the index, of [`crate::scan::MOST_FETCHED`] rows at most, between two looks.
pub(crate) const FETCHES_BETWEEN_LOOKS: u64 = 64;

/// Looks at another writer before a waiter sleeps: some tens of microseconds. A model checker would have to explore every one.
pub(crate) const LOOKS_BEFORE_SLEEP: u32 = if cfg!(any(loom, feature = "shuttle")) { 1 } else { 200 };

/// How long a reader sleeps between two looks. A supervisor wakes one sleeper of a transaction, and those of a view are several.
const SLEEP_BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Who says that a statement must stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<'v> {
    supervisor: Option<&'v dyn Supervisor>,
    /// The transaction.
    name: Timestamp,
    /// Where it sleeps until a writer has decided.
    sleepers: &'v WaitTable,
}

/// Counts steps, and looks after so many.
#[derive(Debug)]
pub(crate) struct Steps<'v> {
    stop: Stop<'v>,
    between_looks: u64,
    /// Steps since the last look.
    done: u64,
}

impl Hyper {
    /// Nobody stops what runs for no transaction.
    pub(crate) fn never(&self) -> Stop<'_> {
        Stop { supervisor: None, name: Timestamp::ZERO, sleepers: &self.sleepers }
    }
}

impl Core {
    /// Who stops its statements.
    #[inline]
    pub(crate) fn stop<'c>(&'c self, engine: &'c Hyper) -> Stop<'c> {
        engine.never().of(self.supervisor.as_deref(), self.name)
    }
}

impl<'v> Stop<'v> {
    /// The same for a transaction with a supervisor.
    #[inline]
    pub fn of(self, supervisor: Option<&'v dyn Supervisor>, name: Timestamp) -> Stop<'v> {
        Stop { supervisor, name, ..self }
    }

    /// Waits until a writer that has drawn its timestamp has decided, and returns what. That takes a moment, or for as long as the log's
    /// disk takes to make room for its record.
    ///
    /// # Errors
    /// The statement must stop.
    pub fn await_decision(self, writer: &Writer) -> Result<Status> {
        let mut backoff = Backoff::new();
        for _ in 0..LOOKS_BEFORE_SLEEP {
            match writer.status.load() {
                Status::Deciding(_) => backoff.pause(),
                status => return Ok(status),
            }
        }
        self.sleep_until_decided(writer)?;
        Ok(writer.status.load())
    }

    #[cold]
    fn sleep_until_decided(self, writer: &Writer) -> Result<()> {
        let status = &writer.status;
        if !status.await_decision() {
            return Ok(());
        }
        let remaining = || {
            let limit = self.supervisor?.wait_limit();
            Some(limit.map_or(SLEEP_BETWEEN_LOOKS, |limit| limit.min(SLEEP_BETWEEN_LOOKS)))
        };
        match self.sleepers.wait(status.address(), remaining, || status.is_deciding()) {
            Waited::Released => Ok(()),
            Waited::TimedOut => Err(self.interrupted()),
        }
    }

    /// Looks after each `between_looks` steps of a loop that begins now.
    pub fn every(self, between_looks: u64) -> Steps<'v> {
        Steps { stop: self, between_looks, done: 0 }
    }

    /// Looks whether the statement must stop.
    ///
    /// # Errors
    /// It must.
    pub fn look(self) -> Result<()> {
        match self.supervisor.and_then(Supervisor::wait_limit) {
            Some(Duration::ZERO) => Err(self.interrupted()),
            _ => Ok(()),
        }
    }

    fn interrupted(self) -> Error {
        Error::Unavailable(Box::new(Reason::Interrupted.abort_of(self.name)))
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
        if self.done < self.between_looks {
            return Ok(());
        }
        self.done = 0;
        self.stop.look()
    }
}
