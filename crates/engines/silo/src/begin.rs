//! An open transaction: how it begins, and how it fails.

use crate::record::RecordRef;
use crate::store::{TableRef, find};
use crate::worker::{Counts, Worker, count};
use crate::{LOOKS_AT_THE_CLOCK, Reason, Silo};
use model::{Abort, Begin, Error, Invalid, Key, Mode, Result, TableId, Target, Timestamp};
use parts::index::Entry;
use parts::sync::Arc;
use std::ops::Deref;

/// An open transaction, over a borrowed or an owned handle of its engine. Dropping it aborts.
#[derive(Debug)]
pub struct Transaction<H: Deref<Target = Silo>> {
    pub(super) engine: H,
    /// `None` once it has ended.
    pub(super) worker: Option<Box<Worker>>,
    pub(super) how: Begin,
    /// Tells it from other open transactions.
    pub(super) number: u64,
    /// Epoch that it reads, if it reads a snapshot.
    pub(super) snapshot: Option<u64>,
    pub(super) poison: Option<Error>,
}

/// Why a transaction cannot commit: a conflict with another one.
#[derive(Debug)]
pub(super) struct Conflict {
    pub reason: Reason,
    pub table: TableId,
    pub target: Target,
    /// The transaction that wrote last, if it is known.
    pub other: Option<Timestamp>,
}

impl Conflict {
    /// Of a record, with the transaction that has changed it.
    pub fn of_record(reason: Reason, table: TableId, record: RecordRef, other: Option<Timestamp>) -> Conflict {
        Conflict { reason, table, target: Target::Key(Key::from_bytes(record.key())), other }
    }
}

impl<H: Deref<Target = Silo>> Transaction<H> {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`model::LimitKind::Transactions`].
    pub(super) fn begin(engine: H, how: Begin) -> Result<Self> {
        let mut worker = engine.shelves.take(engine.options.transactions, |shelf| engine.new_worker(shelf))?;
        worker.slot.begin(&engine.epochs);
        let snapshot = match how.mode {
            Mode::Snapshot => {
                engine.advance_if_due();
                Some(worker.slot.begin_snapshot(&engine.epochs))
            }
            _ => None,
        };
        let number = worker.next_number();
        Ok(Transaction { engine, worker: Some(worker), how, number, snapshot, poison: None })
    }

    /// The worker of a transaction that has not ended.
    #[inline]
    pub(super) fn worker(&mut self) -> &mut Worker {
        self.worker.as_mut().expect("a statement begins by looking whether the transaction is open")
    }

    /// The table of a statement.
    ///
    /// # Errors
    /// The abort that poisoned the transaction; [`Invalid::UnknownTable`].
    #[inline]
    pub(super) fn table(&self, id: TableId) -> Result<TableRef> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        let table = find(&self.engine.tables, id).filter(|table| !table.is_dropped());
        table.ok_or_else(|| Invalid::UnknownTable { table: format!("number {}", id.0) }.into())
    }

    /// Checks that the transaction may write.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.how.mode {
            Mode::ReadWrite | Mode::OwnAtStatement => Ok(()),
            Mode::ReadOnly | Mode::Snapshot => Err(self.poison.clone().unwrap_or(Invalid::ReadOnly.into())),
        }
    }

    /// Aborts the transaction, which keeps the reason.
    pub(super) fn fail(&mut self, conflict: Conflict) -> Error {
        let Conflict { reason, table, target, other } = conflict;
        let abort = Abort {
            class: reason.class(),
            rule: reason.rule(),
            explanation: reason.explanation(),
            table: find(&self.engine.tables, table).map(|table| table.schema.clone()),
            target,
            transaction: Timestamp(self.number),
            other,
            met: None,
        };
        let error = Error::from(abort);
        self.poison = Some(error.clone());
        self.roll_back(reason);
        error
    }

    /// Drops what it wrote. Once.
    pub(super) fn roll_back(&mut self, reason: Reason) {
        let Some(worker) = self.worker.take() else { return };
        count(&worker.counts.aborted[reason as usize]);
        self.engine.end(worker);
    }
}

impl Silo {
    fn new_worker(&self, shelf: usize) -> Box<Worker> {
        let counts = Arc::new(Counts::default());
        let number = {
            let mut all = self.counts();
            all.push(counts.clone());
            all.len() as u64
        };
        Box::new(Worker::new(number, shelf, self.epochs.slot(), counts))
    }

    /// Ends a transaction: its worker goes back to its shelf.
    pub(super) fn end(&self, mut worker: Box<Worker>) {
        worker.clear();
        worker.slot.end();
        if worker.ended().is_multiple_of(LOOKS_AT_THE_CLOCK) {
            self.advance_if_due();
        }
        self.shelves.put(worker, &self.epochs);
    }
}

impl<H: Deref<Target = Silo>> Drop for Transaction<H> {
    fn drop(&mut self) {
        self.roll_back(Reason::Requested);
    }
}
