//! An open transaction: what it holds (identity, locks, undo log), how it begins, and how it fails.

use super::doors::Mark;
use super::locks::{Kind, LockMode, Owner, Refusal};
use super::store::{Catalog, Keyspace, Record, Table};
use super::{Reason, TwoPhaseLocking};
use model::{
    Abort, Begin, Error, Footprint, Invalid, Key, Limit, LimitKind, Mode, Result, RowBuf, Scan, Supervisor, TableId,
    Target, Timestamp, Touch,
};
use parts::sync::atomic::Ordering::Relaxed;
use std::ops::Deref;
use std::sync::Arc;

/// An open transaction, over a borrowed or an owned handle of its engine. Dropping it aborts.
#[derive(Debug)]
pub struct Transaction<H: Deref<Target = TwoPhaseLocking>> {
    pub(super) engine: H,
    pub(super) owner: Arc<Owner>,
    pub(super) how: Begin,
    /// Observes its waits, and may end them.
    pub(super) supervisor: Option<Arc<dyn Supervisor>>,
    catalog: Arc<Catalog>,
    /// Declared footprint of a procedure; its keys are locked before it runs.
    footprint: Option<Footprint>,
    /// Each locked record once.
    pub(super) locked: Vec<(Arc<Keyspace>, Arc<Record>)>,
    /// The keyspace of each locked range.
    pub(super) ranges: Vec<Arc<Keyspace>>,
    /// Undo log, oldest first: each changed record with its row before the transaction's first change of it and, once there has
    /// been a savepoint, before every change.
    pub(super) undo: Vec<(Arc<Record>, Option<RowBuf>)>,
    pub(super) rows_written: u64,
    pub(super) bytes_written: u64,
    /// Open savepoints, oldest first.
    pub(super) savepoints: Vec<Mark>,
    pub(super) next_savepoint: u64,
    pub(super) poison: Option<Error>,
    pub(super) ended: bool,
}

impl TwoPhaseLocking {
    /// The age of a transaction that has not been tried before.
    pub(super) fn next_timestamp(&self) -> Timestamp {
        Timestamp(self.counters.begun.fetch_add(1, Relaxed) + 1)
    }
}

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Begins a transaction of this age.
    ///
    /// # Errors
    /// [`LimitKind::Transactions`].
    pub(super) fn begin(engine: H, how: Begin, kind: Kind, timestamp: Timestamp) -> Result<Self> {
        let limit = engine.options.transactions;
        let open = engine.counters.open.fetch_add(1, Relaxed);
        if open >= limit {
            engine.counters.open.fetch_sub(1, Relaxed);
            return Err(Limit { kind: LimitKind::Transactions, limit, actual: open + 1 }.into());
        }
        Ok(Transaction {
            owner: Owner::new(kind, timestamp),
            how,
            supervisor: None,
            catalog: engine.catalog(),
            engine,
            footprint: None,
            locked: Vec::new(),
            ranges: Vec::new(),
            undo: Vec::new(),
            rows_written: 0,
            bytes_written: 0,
            savepoints: Vec::new(),
            next_savepoint: 0,
            poison: None,
            ended: false,
        })
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
            self.with_record(&table.rows, &first.key, mode, |_| ())?;
        }
        self.footprint = Some(footprint);
        Ok(())
    }

    /// The table of a statement.
    ///
    /// # Errors
    /// The abort that poisoned the transaction; [`Invalid::UnknownTable`].
    pub(super) fn table(&mut self, id: TableId) -> Result<Arc<Table>> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        let number = id.0 as usize;
        if number >= self.catalog.tables.len() {
            self.catalog = self.engine.catalog();
        }
        let table = self.catalog.tables.get(number).cloned().flatten().filter(|table| !table.is_dropped());
        table.ok_or_else(|| Invalid::UnknownTable { table: format!("number {number}") }.into())
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
    pub(super) fn check_declared(&mut self, table: &Table, key: &[u8], action: Touch) -> Result<()> {
        match &self.footprint {
            Some(footprint) if !footprint.covers(table.id, key, action) => {
                Err(self.fail(Reason::FootprintMiss, &table.rows, Target::Key(key.into()), None))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a range is declared.
    ///
    /// # Errors
    /// The abort [`Reason::FootprintMiss`]; [`Invalid::Undeclared`] if the footprint has no range of the table, so that a
    /// retry would not help.
    pub(super) fn check_may_scan(&mut self, table: &Table, scan: &Scan<'_>) -> Result<()> {
        let Some(footprint) = &self.footprint else { return Ok(()) };
        if footprint.covers_range(table.id, &scan.lower, &scan.upper) {
            return Ok(());
        }
        if footprint.ranges().iter().any(|range| range.table == table.id) {
            let target = Target::Range(scan.lower.clone(), scan.upper.clone());
            return Err(self.fail(Reason::FootprintMiss, &table.rows, target, None));
        }
        Err(Invalid::Undeclared { table: table.schema.name().into() }.into())
    }

    pub(super) fn refused(&mut self, keyspace: &Keyspace, key: &Key, refusal: Refusal) -> Error {
        self.fail(refusal.reason, keyspace, Target::Key(key.clone()), Some(refusal.other))
    }

    pub(super) fn abort_for(
        &self,
        reason: Reason,
        keyspace: &Keyspace,
        target: Target,
        other: Option<Timestamp>,
    ) -> Abort {
        Abort {
            class: reason.class(),
            rule: reason.rule(),
            explanation: reason.explanation(),
            table: Some(keyspace.schema.clone()),
            target,
            transaction: self.owner.timestamp,
            other,
        }
    }

    /// Aborts for a reason, which every later call gets to hear.
    pub(super) fn fail(
        &mut self,
        reason: Reason,
        keyspace: &Keyspace,
        target: Target,
        other: Option<Timestamp>,
    ) -> Error {
        let error = Error::from(self.abort_for(reason, keyspace, target, other));
        self.poison = Some(error.clone());
        self.roll_back(reason);
        error
    }
}
