//! An open transaction: how it begins, what it sees, and how it fails.

use crate::record::VersionRef;
use crate::slots::{Meaning, count};
use crate::store::{TableRef, find};
use crate::words::{Id, Phase};
use crate::worker::Worker;
use crate::{Hekaton, Reason};
use model::{Abort, Begin, Error, Invalid, Limit, LimitKind, Mode, Result, TableId, Target, Timestamp};
use parts::spin::Backoff;
use parts::sync::Arc;
use std::ops::Deref;

/// An open transaction, over a borrowed or an owned handle of its engine. Dropping it aborts.
#[derive(Debug)]
pub struct Transaction<H: Deref<Target = Hekaton>> {
    pub(super) engine: H,
    /// `None` once it has ended.
    pub(super) worker: Option<Box<Worker>>,
    pub(super) how: Begin,
    /// Its begin timestamp: it reads what had committed then. [`NOT_YET`] before its first access.
    pub(super) begin: u64,
    pub(super) poison: Option<Error>,
}

/// No timestamp: none is drawn that is so low.
pub(super) const NOT_YET: u64 = 0;

/// Why a transaction cannot commit: a conflict with another one.
#[derive(Debug)]
pub(super) struct Conflict {
    pub reason: Reason,
    pub table: Option<TableId>,
    pub target: Target,
    /// The other transaction: by its end timestamp if it has committed, else by its begin timestamp.
    pub other: Option<u64>,
}

impl Conflict {
    /// An abort of a transaction on which this one has speculated.
    pub fn of_dependency() -> Box<Conflict> {
        Box::new(Conflict { reason: Reason::DependencyAborted, table: None, target: Target::None, other: None })
    }
}

/// The newest version of a chain that a transaction sees at a timestamp.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    /// Its own.
    Mine(VersionRef),
    /// Another transaction's, committed at that timestamp.
    Committed(VersionRef, u64),
    /// Another transaction's, which commits at that timestamp, if it does.
    Perhaps(VersionRef, Id, u64),
    /// None.
    Nothing,
}

impl Hekaton {
    /// Returns what a transaction sees at a timestamp in a chain that begins with a version. Versions below the one that it sees are
    /// not looked at: their memory may be gone (K7).
    #[inline]
    pub(super) fn seen(&self, mut next: Option<VersionRef>, at: u64, me: Id) -> Seen {
        while let Some(version) = next {
            match self.slots.read(&version.begin, me) {
                Meaning::Mine => return Seen::Mine(version),
                Meaning::At(begin) if begin <= at => return Seen::Committed(version, begin),
                Meaning::Perhaps(maker, end) if end <= at => return Seen::Perhaps(version, maker, end),
                Meaning::At(_) | Meaning::Perhaps(..) | Meaning::Open(_) => next = version.previous,
            }
        }
        Seen::Nothing
    }

    /// Ends a transaction: its worker goes back to its slot.
    pub(super) fn end(&self, mut worker: Box<Worker>) {
        worker.clear();
        let id = worker.id;
        self.tend(&mut worker);
        worker.id = id.next();
        self.slots.end(id, worker);
    }
}

impl<H: Deref<Target = Hekaton>> Transaction<H> {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`model::LimitKind::Transactions`].
    pub(super) fn begin(engine: H, how: Begin) -> Result<Self> {
        let Some(worker) = engine.slots.take() else {
            let limit = engine.slots.limit();
            return Err(Limit { kind: LimitKind::Transactions, limit, actual: limit + 1 }.into());
        };
        Ok(Transaction { engine, worker: Some(worker), how, begin: NOT_YET, poison: None })
    }

    /// Draws the begin timestamp, unless that has been done.
    #[inline]
    pub(super) fn ensure_begun(&mut self) {
        if self.begin == NOT_YET {
            let id = self.worker().id;
            self.begin = self.engine.slots.begin(id);
        }
    }

    /// The worker of a transaction that has not ended.
    #[inline]
    pub(super) fn worker(&mut self) -> &mut Worker {
        self.worker.as_mut().expect("a statement begins by looking whether the transaction is open")
    }

    /// The table of a statement.
    ///
    /// # Errors
    /// The abort that poisoned the transaction; [`Invalid::UnknownTable`]; the abort of a transaction on which this one has speculated.
    #[inline]
    pub(super) fn table(&mut self, id: TableId) -> Result<TableRef> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        self.ensure_begun();
        if self.worker().standing.as_ref().is_some_and(|standing| standing.has_failed()) {
            return Err(self.fail(*Conflict::of_dependency()));
        }
        let table = find(&self.engine.tables, id).filter(|table| !table.is_dropped());
        table.ok_or_else(|| Invalid::UnknownTable { table: format!("number {}", id.0) }.into())
    }

    /// Whether it may write.
    pub(super) fn writes(&self) -> bool {
        matches!(self.how.mode, Mode::ReadWrite | Mode::OwnAtStatement)
    }

    /// Checks that the transaction may write.
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.writes() { Ok(()) } else { Err(self.poison.clone().unwrap_or(Invalid::ReadOnly.into())) }
    }

    /// Whether what it reads must be there still when it commits.
    #[inline]
    pub(super) fn validates(&self) -> bool {
        self.engine.options.validates && self.writes()
    }

    /// Returns the newest version that it sees of a chain: its own, or the newest that had committed when it began. One whose maker is
    /// about to commit before that is taken as committed, and its maker as one on whom this transaction's own commit depends (K5); a
    /// transaction that only reads waits for the maker instead, and always commits.
    #[inline]
    pub(super) fn see(&mut self, newest: impl Fn() -> Option<VersionRef>) -> Option<VersionRef> {
        let mut backoff = Backoff::new();
        loop {
            let (begin, me) = (self.begin, self.worker().id);
            match self.engine.seen(newest(), begin, me) {
                Seen::Mine(version) | Seen::Committed(version, _) => return Some(version),
                Seen::Nothing => return None,
                Seen::Perhaps(version, maker, _) if self.writes() => {
                    if self.speculate(maker) {
                        return Some(version);
                    }
                }
                Seen::Perhaps(..) => backoff.pause(),
            }
        }
    }

    /// Makes the transaction's commit depend on another one's; false if that one is decided by now.
    pub(super) fn speculate(&mut self, on: Id) -> bool {
        let worker = self.worker.as_mut().expect("a statement begins by looking whether the transaction is open");
        if worker.speculated.contains(&on) {
            return true;
        }
        let standing = worker.standing.get_or_insert_with(Arc::default);
        let is_open = self.engine.slots.depend(standing, on);
        if is_open {
            worker.speculated.push(on);
            count(&self.engine.slots.slot(worker.id).counts.speculated, 1);
        }
        is_open
    }

    /// Waits until the transactions on which it has speculated are decided: they are all in their commits.
    ///
    /// # Errors
    /// One of them has aborted, and so has this one.
    pub(super) fn check_speculation(&mut self) -> Result<()> {
        let is_sound = self.worker().standing.as_ref().is_none_or(|standing| standing.settle());
        if is_sound { Ok(()) } else { Err(self.fail(*Conflict::of_dependency())) }
    }

    /// Aborts the transaction, which keeps the reason.
    pub(super) fn fail(&mut self, conflict: Conflict) -> Error {
        let Conflict { reason, table, target, other } = conflict;
        let abort = Abort {
            class: reason.class(),
            rule: reason.rule(),
            explanation: reason.explanation(),
            table: table.and_then(|table| find(&self.engine.tables, table)).map(|table| table.schema.clone()),
            target,
            transaction: Timestamp(self.begin),
            other: other.map(Timestamp),
            met: None,
        };
        let error = Error::from(abort);
        self.poison = Some(error.clone());
        self.roll_back(reason);
        error
    }

    /// Takes back what it wrote. Once.
    pub(super) fn roll_back(&mut self, reason: Reason) {
        let Some(mut worker) = self.worker.take() else { return };
        let slot = self.engine.slots.slot(worker.id);
        if self.begin != NOT_YET {
            self.engine.slots.decide(worker.id, Phase::Aborted);
            self.engine.undo(&mut worker, 0);
        }
        count(&slot.counts.aborted[reason as usize], 1);
        self.engine.end(worker);
    }
}

impl<H: Deref<Target = Hekaton>> Drop for Transaction<H> {
    fn drop(&mut self) {
        self.roll_back(Reason::Requested);
    }
}
