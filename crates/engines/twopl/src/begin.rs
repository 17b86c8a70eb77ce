//! An open transaction: its identity, its locks, its undo log.

use super::doors::Mark;
use super::locks::{Granted, Kind, LockMode, Owner, Refusal, WaitPolicy, wait_for_lock};
use super::store::{Catalog, Keyspace, Record, State, Table};
use super::{Reason, TwoPhaseLocking};
use model::{
    Abort, Begin, Error, Footprint, Invalid, Key, Limit, LimitKind, Mode, Result, RowBuf, Scan, Supervisor, TableId,
    Target, Timestamp, Touch,
};
use parts::sync::MutexGuard;
use parts::sync::atomic::Ordering::Relaxed;
use std::ops::{Bound, Deref};
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
        for same_key in footprint.keys().chunk_by(|one, next| (one.table, &one.key) == (next.table, &next.key)) {
            let first = &same_key[0];
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

    /// Locks the record of a key, there or not, and looks at it.
    ///
    /// # Errors
    /// [`LimitKind::Locks`]; the abort that ended the wait for another transaction.
    pub(super) fn with_record<R>(
        &mut self,
        keyspace: &Arc<Keyspace>,
        key: &[u8],
        mode: LockMode,
        look: impl FnOnce(&mut State) -> R,
    ) -> Result<(Arc<Record>, R)> {
        loop {
            let record = keyspace.record(key);
            let Some(mut state) = self.lock(keyspace, &record, mode)? else { continue };
            let seen = look(&mut state);
            drop(state);
            return Ok((record, seen));
        }
    }

    /// Locks a record; `None` if it has left its map. An exclusive lock also waits out the ranges that cover it (I4).
    ///
    /// # Errors
    /// Same as [`Transaction::with_record`].
    pub(super) fn lock<'r>(
        &mut self,
        keyspace: &Arc<Keyspace>,
        record: &'r Arc<Record>,
        mode: LockMode,
    ) -> Result<Option<MutexGuard<'r, State>>> {
        let mut state = record.latch();
        if state.gone {
            return Ok(None);
        }
        let is_full = self.locks() >= self.engine.options.locks;
        if is_full && !state.lock.is_held_by(&self.owner) {
            drop(state);
            keyspace.forget_if_empty(record);
            return Err(self.locks_limit());
        }
        let granted = match state.lock.request(&self.owner, mode) {
            Some(granted) => granted,
            None => {
                let waited = self.with_wait_policy(keyspace, &record.key, |policy, owner| {
                    wait_for_lock((&record.state, state), |state| &mut state.lock, (owner, mode), policy)
                });
                let (guard, granted) = waited.map_err(|refusal| self.refused(keyspace, &record.key, refusal))?;
                state = guard;
                granted
            }
        };
        self.note(keyspace, record, granted);
        if granted.newly_exclusive && keyspace.ranges.is_any() {
            drop(state);
            let wait_out = |policy: &WaitPolicy<'_>, owner: &_| keyspace.ranges.wait_out(owner, &record.key, policy);
            let waited = self.with_wait_policy(keyspace, &record.key, wait_out);
            waited.map_err(|refusal| self.refused(keyspace, &record.key, refusal))?;
            state = record.latch();
        }
        Ok(Some(state))
    }

    fn note(&mut self, keyspace: &Arc<Keyspace>, record: &Arc<Record>, granted: Granted) {
        if granted.first {
            self.locked.push((keyspace.clone(), record.clone()));
        }
    }

    /// Returns the number of records and ranges that the transaction has locked.
    fn locks(&self) -> u64 {
        (self.locked.len() + self.ranges.len()) as u64
    }

    fn locks_limit(&self) -> Error {
        Limit { kind: LimitKind::Locks, limit: self.engine.options.locks, actual: self.locks() + 1 }.into()
    }

    /// Locks a range.
    ///
    /// # Errors
    /// [`LimitKind::Locks`].
    pub(super) fn lock_range(&mut self, keyspace: &Arc<Keyspace>, lower: Bound<Key>, upper: Bound<Key>) -> Result<()> {
        if self.locks() >= self.engine.options.locks {
            return Err(self.locks_limit());
        }
        keyspace.ranges.lock(&self.owner, lower, upper);
        self.ranges.push(keyspace.clone());
        Ok(())
    }

    fn with_wait_policy<R>(
        &self,
        keyspace: &Keyspace,
        key: &Key,
        wait: impl FnOnce(&WaitPolicy<'_>, &Arc<Owner>) -> R,
    ) -> R {
        let TwoPhaseLocking { sleepers, clock, options, counters, .. } = &*self.engine;
        let limit = self.how.wait_limit.unwrap_or(options.wait_limit);
        let about = |other| self.abort_for(Reason::WaitLimit, keyspace, Target::Key(key.clone()), Some(other));
        let supervisor = self.supervisor.as_deref().map(|supervisor| (supervisor, &about as &dyn Fn(_) -> _));
        wait(&WaitPolicy { sleepers, clock, limit, waits: &counters.waits, supervisor }, &self.owner)
    }

    fn refused(&mut self, keyspace: &Keyspace, key: &Key, refusal: Refusal) -> Error {
        self.fail(refusal.reason, keyspace, Target::Key(key.clone()), Some(refusal.other))
    }

    fn abort_for(&self, reason: Reason, keyspace: &Keyspace, target: Target, other: Option<Timestamp>) -> Abort {
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
