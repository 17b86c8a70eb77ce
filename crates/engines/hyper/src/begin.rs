//! An open transaction: how it begins and where it starts, and how it fails.

use crate::order::Seat;
use crate::savepoints::Savepoints;
use crate::skips::Skips;
use crate::worker::{Counts, Worker, count};
use crate::writer::{Commit, Writer};
use crate::{Hyper, Reason};
use model::{Abort, Begin, Error, Invalid, Met, Mode, Result, Supervisor, TableId, Target, Timestamp};
use parts::sync::atomic::AtomicU64;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// An open transaction, over a borrowed or an owned handle of its engine. Dropping it aborts.
#[derive(Debug)]
pub struct Transaction<H: Deref<Target = Hyper>> {
    pub(super) engine: H,
    pub(super) core: Core,
}

/// A transaction without its engine.
#[derive(Debug)]
pub(super) struct Core {
    /// `None` once it has ended.
    pub worker: Option<Box<Worker>>,
    pub how: Begin,
    /// It reads what had committed by then; `None` before its first access.
    pub start: Option<u64>,
    /// By which others name it, from its start on.
    pub name: Timestamp,
    /// By which others find it, where ages have a limit.
    pub seat: Seat,
    /// When it started, by the engine's clock.
    pub began: u64,
    /// Its versions' status, from its first write on.
    pub writer: Option<Arc<Writer>>,
    /// Bytes of keys and rows that it has written.
    pub bytes: u64,
    /// Rows that it has changed.
    pub changed_rows: u64,
    pub savepoints: Savepoints,
    pub poison: Option<Error>,
    /// Greatest log position among the versions that it has read.
    pub rests_on: AtomicU64,
    pub supervisor: Option<Arc<dyn Supervisor>>,
    /// Whether it reads in order to write: then its reads wait for whoever owns the row, and move its start to see what that one
    /// has written. Else the write would fail.
    pub reads_wait: bool,
    /// The statement that passes over rows, if there is one.
    pub skips: Option<Skips>,
    pub wait_limit: Duration,
}

/// Why a transaction cannot go on: a conflict with another one.
#[derive(Debug)]
pub(super) struct Conflict {
    pub reason: Reason,
    pub table: TableId,
    pub target: Target,
    pub other: Option<Timestamp>,
    /// Both sides of it, if it is with something that was read.
    pub met: Option<Box<Met>>,
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Begins a transaction. It starts with its first access.
    ///
    /// # Errors
    /// [`model::LimitKind::Transactions`].
    pub(super) fn begin(engine: H, how: Begin) -> Result<Self> {
        engine.check_log()?;
        let worker = engine.shelves.take(engine.options.transactions, |shelf| engine.new_worker(shelf))?;
        let wait_limit = how.wait_limit.unwrap_or(engine.options.wait_limit);
        let core = Core {
            worker: Some(worker),
            how,
            start: None,
            name: Timestamp::ZERO,
            seat: Seat::default(),
            began: 0,
            writer: None,
            bytes: 0,
            changed_rows: 0,
            savepoints: Savepoints::default(),
            poison: None,
            rests_on: AtomicU64::new(0),
            supervisor: None,
            reads_wait: how.mode == Mode::OwnAtStatement,
            skips: None,
            wait_limit,
        };
        Ok(Transaction { engine, core })
    }

    /// Returns the bytes that its log of predicates takes.
    pub fn predicate_bytes(&self) -> usize {
        self.core.worker.as_ref().map_or(0, |worker| worker.log.bytes())
    }

    /// Aborts the transaction, which keeps the reason.
    pub(super) fn fail(&mut self, conflict: Conflict) -> Error {
        let reason = conflict.reason;
        let error = Error::from(self.abort_of(conflict));
        self.core.poison = Some(error.clone());
        self.engine.roll_back(&mut self.core, Some(reason));
        error
    }

    /// A conflict as an abort.
    pub(super) fn abort_of(&self, conflict: Conflict) -> Abort {
        let Conflict { reason, table, target, other, met } = conflict;
        Abort {
            class: reason.class(),
            rule: reason.rule(),
            explanation: reason.explanation(),
            table: self.engine.schema(table),
            target,
            transaction: self.core.name,
            other,
            met,
        }
    }

    /// Begins a statement of a transaction, which starts now if it has not started.
    ///
    /// # Errors
    /// The abort that poisoned the transaction.
    #[inline]
    pub(super) fn begin_statement(&mut self) -> Result<()> {
        if let Some(error) = &self.core.poison {
            return Err(error.clone());
        }
        self.engine.start(&mut self.core)
    }

    /// Checks that the transaction may write.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.core.how.mode {
            Mode::ReadWrite | Mode::OwnAtStatement => Ok(()),
            Mode::ReadOnly | Mode::Snapshot => Err(self.core.poison.clone().unwrap_or(Invalid::ReadOnly.into())),
        }
    }
}

impl Core {
    /// The worker of a transaction that has not ended.
    #[inline]
    pub fn worker(&mut self) -> &mut Worker {
        self.worker.as_mut().expect("a statement begins by looking whether the transaction is open")
    }

    /// The start of a transaction that has one.
    #[inline]
    pub fn start(&self) -> u64 {
        self.start.expect("a statement begins by starting the transaction")
    }

    /// Returns whether it commits without a look at what it has read.
    pub fn reads_only(&self) -> bool {
        matches!(self.how.mode, Mode::ReadOnly | Mode::Snapshot)
    }

    /// Returns whether what it reads must be remembered for validation.
    #[inline]
    pub fn is_logged(&self) -> bool {
        !self.reads_only()
    }
}

impl Hyper {
    fn new_worker(&self, shelf: usize) -> Option<Box<Worker>> {
        let counts = Arc::new(Counts::default());
        let slot = self.starts.add()?;
        self.counts().push(counts.clone());
        Some(Box::new(Worker::new(slot, shelf, counts)))
    }

    /// Starts a transaction that has not started: from here on it sees what has committed by now (Y2, Y5).
    ///
    /// # Errors
    /// The log could not raise its ceiling above the start.
    #[inline]
    pub(super) fn start(&self, core: &mut Core) -> Result<()> {
        if core.start.is_none() { self.start_now(core) } else { Ok(()) }
    }

    fn start_now(&self, core: &mut Core) -> Result<()> {
        let reads_only = core.reads_only();
        core.seat = self.take_seat(core.worker().slot);
        core.began = self.clock.now();
        let began = core.began;
        let worker = core.worker();
        let start = match (self.options.single_version, self.options.claims) {
            (true, true) => self.order.draw(),
            (true, false) => self.order.now(),
            (false, claims) => self.starts.start(worker.slot, &self.order, claims, reads_only),
        };
        worker.number += 1;
        let name = if self.options.claims { start } else { OWN_NAMES | worker.slot << 40 | worker.number };
        self.starts.describe(worker.slot, Timestamp(name), began);
        self.check_ceiling(core, start)?;
        (core.start, core.name) = (Some(start), Timestamp(name));
        if let Some(supervisor) = &core.supervisor {
            supervisor.transaction_begins(core.name);
        }
        Ok(())
    }

    /// Undoes what a transaction has written, and ends it. Once.
    pub(super) fn roll_back(&self, core: &mut Core, reason: Option<Reason>) {
        let Some(mut worker) = core.worker.take() else { return };
        reason.inspect(|reason| count(&worker.counts.aborted[*reason as usize], 1));
        if self.options.single_version {
            self.undo_alone(&mut worker);
        } else if let Some(writer) = core.writer.take() {
            let has_age = self.options.transaction_age.is_some();
            let is_doomed = has_age && !self.starts.enter_statement(worker.slot);
            let is_awaited = if is_doomed { writer.status.gives_up() } else { writer.status.aborts() };
            if is_awaited {
                self.sleepers.wake(writer.status.address());
            }
            self.undo_down_to(&mut worker, 0, is_doomed.then_some(&writer));
        }
        self.end(worker, None);
    }

    /// Ends a transaction: versions that nobody reads any more are collected, and its worker goes back to its shelf.
    pub(super) fn end(&self, mut worker: Box<Worker>, left: Option<Arc<Commit>>) {
        self.starts.leave(worker.slot);
        worker.clear_writes();
        worker.log.clear();
        left.iter().for_each(|commit| self.collect_when_logged(commit));
        if let Some((over, collectable)) = self.shelves.leave(&worker, left, || self.collectable()) {
            worker.validated = collectable.validated;
            // Entries that the worker keeps stay counted.
            let freed = self.collect_versions(&over, collectable, |chain| {
                worker.keep(chain);
                0
            });
            worker.made -= freed as isize;
        }
        // A steady load frees as much as it makes, and writes to no counter.
        worker.count_made(&self.memory.meter);
        self.shelves.put(worker);
    }
}

/// Set in the names of transactions whose starts are not their own: no timestamp has it.
const OWN_NAMES: u64 = 1 << 63;

impl<H: Deref<Target = Hyper>> Drop for Transaction<H> {
    fn drop(&mut self) {
        self.engine.roll_back(&mut self.core, Some(Reason::Requested));
    }
}
