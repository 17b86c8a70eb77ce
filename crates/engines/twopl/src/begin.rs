//! An open transaction: what it holds (identity, locks, undo log), how it begins, and how it fails.

use super::locks::{Kind, LockMode, Refusal};
use super::store::TableRef;
use super::worker::Worker;
use super::{Reason, TwoPhaseLocking};
use model::{
    Abort, Begin, Error, Footprint, Invalid, Key, Mode, Result, Scan, Supervisor, TableId, Target, Timestamp, Touch,
};
use parts::sync::atomic::Ordering::Acquire;
use std::ops::Deref;
use std::sync::Arc;

/// An open transaction, over a borrowed or an owned handle of its engine. Dropping it aborts.
#[derive(Debug)]
pub struct Transaction<H: Deref<Target = TwoPhaseLocking>> {
    pub(super) engine: H,
    /// `None` once it has ended.
    pub(super) worker: Option<Box<Worker>>,
    pub(super) kind: Kind,
    pub(super) timestamp: Timestamp,
    pub(super) how: Begin,
    /// Observes its waits, and may end them.
    pub(super) supervisor: Option<Arc<dyn Supervisor>>,
    /// Declared footprint of a procedure; its keys are locked before it runs.
    footprint: Option<Footprint>,
    pub(super) rows_written: u64,
    pub(super) bytes_written: u64,
    pub(super) next_savepoint: u64,
    pub(super) poison: Option<Error>,
}

const IS_OPEN: &str = "a statement begins by looking whether the transaction is open";

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Begins a transaction, of this age if it was tried before.
    ///
    /// # Errors
    /// [`model::LimitKind::Transactions`].
    pub(super) fn begin(engine: H, how: Begin, kind: Kind, age: Option<Timestamp>) -> Result<Self> {
        let make = |shelf| Box::new(Worker::new(engine.lock_table.new_owner(), shelf));
        let (mut worker, timestamp) = engine.shelves.take(engine.options.transactions, age, make)?;
        worker.owner.begin(kind, timestamp);
        // Acquire: partner of the change's store; the catalog itself comes under its latch.
        let version = engine.version.load(Acquire);
        if worker.catalogs.last().is_none_or(|catalog| catalog.version != version) {
            worker.catalogs.clear();
            worker.catalogs.push(engine.catalog());
        }
        Ok(Transaction {
            engine,
            worker: Some(worker),
            kind,
            timestamp,
            how,
            supervisor: None,
            footprint: None,
            rows_written: 0,
            bytes_written: 0,
            next_savepoint: 0,
            poison: None,
        })
    }

    /// The worker of a transaction that has not ended.
    #[inline]
    pub(super) fn worker(&mut self) -> &mut Worker {
        self.worker.as_mut().expect(IS_OPEN)
    }

    /// Same as [`Transaction::worker`], to look at.
    #[inline]
    pub(super) fn open_worker(&self) -> &Worker {
        self.worker.as_ref().expect(IS_OPEN)
    }

    /// Locks what a procedure declared, in the order of tables and keys (I7); from now on it may touch nothing else.
    ///
    /// # Errors
    /// [`Invalid`] for what cannot be a key, a limit, or the transaction's wait limit.
    pub(super) fn lock_footprint(&mut self, footprint: Footprint) -> Result<()> {
        let mut last = None;
        for same_key in footprint.keys().chunk_by(|one, next| (one.table, &one.key) == (next.table, &next.key)) {
            let first = &same_key[0];
            let place = Some((first.table, &first.key));
            assert!(last < place, "I7: a footprint is locked in the order of tables and keys");
            last = place;
            let table = self.table(first.table)?;
            table.schema.check_key(&first.key)?;
            let writes = same_key.iter().any(|entry| entry.touch.writes());
            let mode = if writes { LockMode::Exclusive } else { LockMode::Shared };
            self.lock(table, &first.key, mode, 0)?;
        }
        self.footprint = Some(footprint);
        Ok(())
    }

    /// The table of a statement.
    ///
    /// # Errors
    /// The abort that poisoned the transaction; [`Invalid::UnknownTable`].
    #[inline]
    pub(super) fn table(&mut self, id: TableId) -> Result<TableRef> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        let number = id.0 as usize;
        let mut known = self.open_worker().table(number);
        if known.is_none() && self.refresh_catalog() {
            known = self.open_worker().table(number);
        }
        let table = known.filter(|table| !table.is_dropped());
        table.ok_or_else(|| Invalid::UnknownTable { table: format!("number {number}") }.into())
    }

    /// Takes the present catalog beside those that the transaction has; false if it has that one.
    #[cold]
    fn refresh_catalog(&mut self) -> bool {
        let catalog = self.engine.catalog();
        let is_new = self.open_worker().catalogs.last().is_none_or(|last| last.version != catalog.version);
        if is_new {
            self.worker().catalogs.push(catalog);
        }
        is_new
    }

    /// Checks that the transaction may write.
    pub(super) fn check_writable(&self) -> Result<()> {
        match self.how.mode {
            Mode::ReadWrite | Mode::OwnAtStatement => Ok(()),
            Mode::ReadOnly | Mode::Snapshot => Err(self.poison.clone().unwrap_or(Invalid::ReadOnly.into())),
        }
    }

    /// Checks that a key is declared.
    ///
    /// # Errors
    /// The abort [`Reason::FootprintMiss`].
    pub(super) fn check_declared(&mut self, table: TableRef, key: &[u8], action: Touch) -> Result<()> {
        match &self.footprint {
            Some(footprint) if !footprint.covers(table.id, key, action) => {
                Err(self.fail(Reason::FootprintMiss, table, Target::Key(key.into()), None))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a range is declared.
    ///
    /// # Errors
    /// The abort [`Reason::FootprintMiss`]; [`Invalid::Undeclared`] if the footprint has no range of the table, so that a
    /// retry would not help.
    pub(super) fn check_may_scan(&mut self, table: TableRef, scan: &Scan<'_>) -> Result<()> {
        let Some(footprint) = &self.footprint else { return Ok(()) };
        if footprint.covers_range(table.id, &scan.lower, &scan.upper) {
            return Ok(());
        }
        if footprint.ranges().iter().any(|range| range.table == table.id) {
            let target = Target::Range(scan.lower.clone(), scan.upper.clone());
            return Err(self.fail(Reason::FootprintMiss, table, target, None));
        }
        Err(Invalid::Undeclared { table: table.schema.name().into() }.into())
    }

    pub(super) fn refused(&mut self, table: TableRef, key: &Key, refusal: Refusal) -> Error {
        self.fail(refusal.reason, table, Target::Key(key.clone()), Some(refusal.other))
    }

    pub(super) fn abort_for(&self, reason: Reason, table: TableRef, target: Target, other: Option<Timestamp>) -> Abort {
        Abort {
            class: reason.class(),
            rule: reason.rule(),
            explanation: reason.explanation(),
            table: Some(table.schema.clone()),
            target,
            transaction: self.timestamp,
            other,
            met: None,
        }
    }

    /// Aborts for a reason, which every later call gets to hear.
    pub(super) fn fail(&mut self, reason: Reason, table: TableRef, target: Target, other: Option<Timestamp>) -> Error {
        let error = Error::from(self.abort_for(reason, table, target, other));
        self.poison = Some(error.clone());
        self.roll_back(reason);
        error
    }
}
