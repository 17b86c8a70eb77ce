//! An open transaction: a snapshot of the local store, its own writes before it, and what it has read.

use crate::age::{Aging, Reading};
use crate::columns::ColumnSet;
use crate::core::{Core, Snapshot, Waiting};
use crate::error::{Conflict, WaitEnd, requested};
use crate::locks::{Held, Patience, Taken};
use crate::payload;
use crate::read_set::{Range, ReadSet};
use crate::replica::Table;
use crate::writes::Writes;
use env::time::Duration;
use model::{
    Abort, Access, Begin, Columns, Committed, Delta, Direction, Draws, Duplicate, Durability, Error, Extreme, Finish,
    Invalid, Item, Key, Limit, LimitKind, LogPosition, Mode, Pending, Result, RowBuf, RowRef, Savepoint, Savepoints,
    Scan, ScanEnd, Supervised, Supervisor, TableId, Timestamp, Value,
};
use parts::promise::promise;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use total::Position;

/// An open transaction.
pub struct Transaction {
    core: Arc<Core>,
    how: Begin,
    number: u64,
    snapshot: Option<Snapshot<Reading>>,
    /// Since it began to read, if ages have a limit.
    aging: Option<Aging>,
    read_set: ReadSet,
    writes: Writes,
    /// The rows that it has among the transactions of this node.
    held: Held,
    reads_wait: bool,
    supervisor: Option<Arc<dyn Supervisor>>,
    poison: Option<Error>,
    draws: Option<Draws>,
    _open: Opened,
}

/// One open transaction more, until it is dropped.
struct Opened(Arc<Core>);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("number", &self.number).field("how", &self.how).finish_non_exhaustive()
    }
}

impl Transaction {
    pub(crate) fn begin(core: &Arc<Core>, how: Begin) -> Result<Transaction> {
        if let Some(failure) = core.progress.failure() {
            return Err(failure);
        }
        let limit = core.options.transactions;
        let before = core.open.fetch_add(1, Relaxed);
        let opened = Opened(core.clone());
        if before >= limit {
            return Err(Limit { kind: LimitKind::Transactions, limit, actual: before + 1 }.into());
        }
        let number = core.numbers.fetch_add(1, Relaxed) + 1;
        Ok(Transaction {
            core: core.clone(),
            how,
            number,
            snapshot: None,
            aging: None,
            read_set: ReadSet::default(),
            writes: Writes::default(),
            held: Held::new(&core.locks, number),
            reads_wait: how.mode == Mode::OwnAtStatement,
            supervisor: None,
            poison: None,
            draws: how.draws.map(Draws::restarted),
            _open: opened,
        })
    }

    fn reads_only(&self) -> bool {
        matches!(self.how.mode, Mode::ReadOnly | Mode::Snapshot)
    }

    fn owns_at_statement(&self) -> bool {
        self.how.mode == Mode::OwnAtStatement
    }

    fn check(&self) -> Result<()> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// Begins its snapshot, if it has none yet: who can only read has waited for everything that was acknowledged before (C6).
    fn begin_snapshot(&mut self) -> Result<()> {
        self.check()?;
        self.check_age()?;
        if self.snapshot.is_none() {
            if self.reads_only() {
                self.core.catch_up_for(self.how.mode, self.how.staleness)?;
            }
            self.aging = Aging::begin(&self.core, self.number);
            let snapshot = self.core.snapshot()?;
            self.set_snapshot(snapshot);
        }
        Ok(())
    }

    fn set_snapshot(&mut self, Snapshot { local, base, place, tables }: Snapshot) {
        let local = Reading::new(local);
        self.aging.iter().for_each(|aging| aging.reads(&local));
        self.snapshot = Some(Snapshot { local, base, place, tables });
    }

    /// Aborts it if it is too old.
    fn check_age(&mut self) -> Result<()> {
        if self.aging.as_ref().is_some_and(Aging::is_over) { Err(self.fail(*Conflict::aged())) } else { Ok(()) }
    }

    /// Reads what its snapshot has.
    fn read_local<T>(&mut self, read: impl FnOnce(&mut Box<dyn model::Transaction>) -> Result<T>) -> Result<T> {
        let snapshot = self.snapshot.as_ref().expect("it was begun");
        snapshot.local.enter(read).unwrap_or_else(|| Err(self.fail(*Conflict::aged())))
    }

    fn base(&self) -> Position {
        self.snapshot.as_ref().map_or_else(Position::default, |snapshot| snapshot.base)
    }

    /// A table: as it was when the snapshot began, or a younger one.
    fn table(&self, id: TableId) -> Result<Arc<Table>> {
        self.check()?;
        let known = self.snapshot.as_ref().and_then(|snapshot| snapshot.tables.get(&id).cloned());
        let table = known.or_else(|| self.core.generation().tables().get(&id).cloned());
        table.ok_or_else(|| Invalid::UnknownTable { table: format!("number {}", id.0) }.into())
    }

    /// The table of a key, which fits it.
    fn table_of(&self, id: TableId, key: &[u8]) -> Result<Arc<Table>> {
        let table = self.table(id)?;
        table.schema.check_key(key)?;
        Ok(table)
    }

    /// The table of a write.
    fn table_to_write(&self, id: TableId, key: &[u8]) -> Result<Arc<Table>> {
        self.check()?;
        if self.reads_only() {
            return Err(Invalid::ReadOnly.into());
        }
        let table = self.table_of(id, key)?;
        check_limit(LimitKind::KeyBytes, self.core.options.key_bytes, key.len())?;
        Ok(table)
    }

    fn abort_of(&self, conflict: Conflict) -> Abort {
        let tables = self.core.generation().tables();
        conflict.abort(Timestamp(self.number), |table| tables.get(&table).map(|table| table.schema.clone()))
    }

    /// Aborts it: its rows go to those that wait for them.
    fn fail(&mut self, conflict: Conflict) -> Error {
        self.core.count_abort(conflict.rule);
        let error = Error::from(self.abort_of(conflict));
        self.end(error.clone());
        error
    }

    fn end(&mut self, why: Error) {
        self.held = Held::new(&self.core.locks, self.number);
        self.snapshot = None;
        self.poison = Some(why);
    }

    /// Takes a row among the transactions of this node, if this one owns at the statement (C8).
    fn take_row(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        if !self.owns_at_statement() {
            return Ok(());
        }
        let at = (table, Key::from_bytes(key));
        let tables = self.core.generation().tables();
        let number = Timestamp(self.number);
        let abort = |holder: u64| {
            let conflict = Conflict::waited(WaitEnd::Limit, at.clone(), holder);
            conflict.abort(number, |table| tables.get(&table).map(|table| table.schema.clone()))
        };
        let limit = self.how.wait_limit.unwrap_or(self.core.options.wait_limit);
        let patience = Patience { limit, supervisor: self.supervisor.as_deref(), abort: &abort };
        match self.held.take(&at, &patience) {
            Ok(Taken::AtOnce | Taken::AfterAWait) => Ok(()),
            Err((why, holder)) => {
                let conflict = Conflict::waited(why, at, holder);
                if self.supervisor.is_some() && why != WaitEnd::Deadlock {
                    return Err(Error::Unavailable(Box::new(self.abort_of(*conflict))));
                }
                Err(self.fail(*conflict))
            }
        }
    }

    /// Moves the snapshot on if a row has been written since it began: a later one is read, if what was read before still holds.
    ///
    /// # Errors
    /// It does not: at its place in the order the transaction would be refused for the same.
    fn refresh(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        self.begin_snapshot()?;
        let base = self.base();
        let window = self.core.window();
        let Some(writer) = window.writer(table, key).filter(|writer| writer.position > base) else { return Ok(()) };
        let checked = window.check(&self.read_set, base);
        drop(window);
        if let Err(conflict) = checked {
            return Err(self.fail(*conflict));
        }
        self.core.progress.wait_reached(writer.position, self.core.options.catch_up)?;
        let later = self.core.snapshot()?;
        // Between the check and the snapshot others may have been applied.
        let checked = self.core.window().check(&self.read_set, base);
        match checked {
            Ok(()) => {
                self.set_snapshot(later);
                Ok(())
            }
            Err(conflict) => Err(self.fail(*conflict)),
        }
    }

    /// Takes a row after the transactions of this node that came before, and reads it as it is then.
    fn wait_for_row(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        self.take_row(table, key)?;
        self.refresh(table, key)
    }

    /// Before a read that goes on to write, of a row that it may find free: waits if it is not, and reads it as it is now.
    fn make_way(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        if self.held.is_taken_from(&(table, Key::from_bytes(key))) {
            self.take_row(table, key)?;
        }
        self.refresh(table, key)
    }

    fn waits(&self) -> bool {
        self.reads_wait && self.owns_at_statement()
    }

    /// Reads a row of the state below the own writes.
    fn read_state(&mut self, table: &Table, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.begin_snapshot()?;
        let found = self.read_local(|local| local.read(table.local, key, columns, row))?;
        if !found {
            row.clear();
        }
        let whole = (found && columns == Columns::All).then(|| row.row());
        self.note_point(table.id, key, whole, columns)?;
        Ok(found)
    }

    /// Finds a row with the least or greatest value of a column in the state below the own writes.
    fn extreme_of_state(
        &mut self,
        table: &Table,
        scan: &Scan<'_>,
        of: Extreme,
        row: &mut RowBuf,
    ) -> Result<Option<(Key, Value)>> {
        let (mut whole, scanned) = (RowBuf::new(), Scan { table: table.local, columns: Columns::All, ..scan.clone() });
        let Some(key) = self.read_local(|local| local.extreme(&scanned, of, &mut whole))? else {
            row.clear();
            return Ok(None);
        };
        row.project(whole.row(), scan.columns);
        Ok(Some((key, whole.get(of.column.into()).to_owned())))
    }

    fn note_point(
        &mut self,
        table: TableId,
        key: &[u8],
        whole: Option<RowRef<'_>>,
        columns: Columns<'_>,
    ) -> Result<()> {
        if self.reads_only() {
            return Ok(());
        }
        self.read_set.add_point(table, key, whole, ColumnSet::wanted(columns), self.core.options.read_set)
    }

    /// Reads a row that will be written: the own write, or the state's. Without columns, it only looks whether there is one.
    fn look(&mut self, table: &Table, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        if let Some(own) = self.writes.get(table.id, key) {
            match own {
                Some(own) => row.set_bytes(own.bytes()),
                None => row.clear(),
            }
            return Ok(own.is_some());
        }
        self.refresh(table.id, key)?;
        self.read_state(table, key, columns, row)
    }

    fn write(&mut self, table: TableId, key: &[u8], row: Option<RowRef<'_>>) -> Result<()> {
        let options = &self.core.options;
        if let Some(row) = row {
            check_limit(LimitKind::RowBytes, options.row_bytes, row.bytes().len())?;
        }
        let row = row.map(|row| RowBuf::from_bytes(row.bytes()));
        self.writes.write(table, key, row, options.write_set_rows, options.write_set_bytes)
    }

    /// Scans until the end; before a read that goes on to write, to a row that another transaction of this node has, or that was written
    /// since the snapshot began: then its key.
    fn scan_once(
        &mut self,
        table: &Table,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<(ScanEnd, Option<Key>)> {
        let waits = self.waits();
        let Transaction { core, snapshot, writes, held, .. } = self;
        let Snapshot { local, base, .. } = snapshot.as_ref().expect("it was begun");
        let is_newer = |key: &[u8]| core.window().writer(table.id, key).is_some_and(|writer| writer.position > *base);
        let mut taken = None;
        let end = local.enter(|local| {
            let mut state = |scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>| {
                let scan = Scan { table: table.local, ..scan.clone() };
                local.scan(&scan, &mut |item| {
                    if waits && (held.is_taken_from(&(table.id, Key::from_bytes(item.key))) || is_newer(item.key)) {
                        taken = Some(Key::from_bytes(item.key));
                        return ControlFlow::Break(());
                    }
                    visit(item)
                })
            };
            if writes.are_in(scan) { writes.scan(scan, state, visit) } else { state(scan, visit) }
        });
        let end = end.unwrap_or_else(|| Err(self.fail(*Conflict::aged())))?;
        // The visitor may have stopped at an own write in front of it.
        let taken = taken.filter(|key| end == ScanEnd::Stopped(key.clone()));
        Ok((end, taken))
    }

    /// Notes what a scan has asked for, as far as it went: its filter says which rows count, and its columns what of them.
    fn note_range(&mut self, scan: &Scan<'_>, bounds: (Bound<Key>, Bound<Key>)) -> Result<()> {
        if self.reads_only() {
            return Ok(());
        }
        // What a sieve leaves out depends on its column.
        let sieved = scan.sieves.iter().fold(ColumnSet::NONE, |set, (column, _)| set.with(ColumnSet::of(*column)));
        let range = Range::of(scan.table, bounds, scan.filter, ColumnSet::wanted(scan.columns).with(sieved));
        self.read_set.add_range(range, self.core.options.read_set)
    }

    /// Checks that what was read holds behind everything that was acknowledged before. Returns the number of transactions that it then
    /// stands behind.
    fn confirm(&mut self) -> Result<u64> {
        self.check()?;
        let place = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.place);
        if self.reads_only() || self.read_set.is_empty() {
            return Ok(place);
        }
        self.core.catch_up()?;
        let window = self.core.window();
        let (checked, last) = (window.check(&self.read_set, self.base()), window.place());
        drop(window);
        match checked {
            Ok(()) => Ok(place.max(last)),
            Err(conflict) => Err(self.fail(*conflict)),
        }
    }
}

fn check_limit(kind: LimitKind, limit: u64, actual: usize) -> Result<()> {
    let actual = actual as u64;
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}

impl Access for Transaction {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let table = self.table_of(table, key)?;
        table.schema.check_columns(columns)?;
        if let Some(own) = self.writes.get(table.id, key) {
            match own {
                Some(own) => row.project(own.row(), columns),
                None => row.clear(),
            }
            return Ok(own.is_some());
        }
        if self.waits() {
            self.make_way(table.id, key)?;
        }
        self.read_state(&table, key, columns, row)
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        if !self.reads_only() {
            let table = self.table_of(table, key)?;
            self.wait_for_row(table.id, key)?;
        }
        self.read(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.table_to_write(table, key)?;
        table.schema.check_row(key, row)?;
        self.take_row(table.id, key)?;
        self.write(table.id, key, Some(row))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.table_to_write(table, key)?;
        table.schema.check_row(key, row)?;
        self.take_row(table.id, key)?;
        if self.look(&table, key, Columns::None, &mut RowBuf::new())? {
            // The answer says what the state has: it must not be an old one.
            self.confirm()?;
            return Err(Duplicate { table: table.schema.clone(), key: key.into() }.into());
        }
        self.write(table.id, key, Some(row))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let table = self.table_to_write(table, key)?;
        self.take_row(table.id, key)?;
        let (mut before, mut after) = (RowBuf::new(), RowBuf::new());
        // The whole row is written, so the whole row was read.
        if !self.look(&table, key, Columns::All, &mut before)? {
            return Ok(false);
        }
        table.schema.change(before.row(), delta, &mut after)?;
        table.schema.check_changed(key, delta, after.row())?;
        self.write(table.id, key, Some(after.row()))?;
        Ok(true)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let table = self.table_to_write(table, key)?;
        self.take_row(table.id, key)?;
        let is_there = self.look(&table, key, Columns::None, &mut RowBuf::new())?;
        if is_there {
            self.write(table.id, key, None)?;
        }
        Ok(is_there)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        self.begin_snapshot()?;
        let mut left = scan.clone();
        loop {
            let (end, taken) = self.scan_once(&table, &left, visit)?;
            let Some(taken) = taken else {
                self.note_range(&left, left.seen(&end))?;
                return Ok(end);
            };
            let (lower, upper) = (left.lower.clone(), left.upper.clone());
            match left.direction {
                Direction::Forward => {
                    self.note_range(&left, (lower, Bound::Excluded(taken.clone())))?;
                    left.lower = Bound::Included(taken.clone());
                }
                Direction::Backward => {
                    self.note_range(&left, (Bound::Excluded(taken.clone()), upper))?;
                    left.upper = Bound::Included(taken.clone());
                }
            }
            self.make_way(table.id, &taken)?;
        }
    }

    /// Notes that no row has a value further out, and the row found; other rows of the scan may come, go and change.
    fn extreme(&mut self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
        if self.waits() {
            let found = of.find_by_scan(scan, row, |scan, visit| self.scan(scan, visit))?;
            return Ok(found.map(|(key, _)| key));
        }
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        table.schema.check_columns(Columns::Some(&[of.column]))?;
        self.begin_snapshot()?;
        let found = if self.writes.are_in(scan) {
            of.find_by_scan(scan, row, |scan, visit| self.scan_once(&table, scan, visit).map(|(end, _)| end))?
        } else {
            self.extreme_of_state(&table, scan, of, row)?
        };
        let beyond = of.beyond(found.as_ref().map(|(_, value)| value), scan.filter);
        let others = Scan { filter: Some(&beyond), columns: Columns::None, ..scan.clone() };
        self.note_range(&others, (scan.lower.clone(), scan.upper.clone()))?;
        let Some((key, _)) = found else { return Ok(None) };
        if !self.reads_only() && self.writes.get(table.id, &key).is_none() {
            let looked_at = scan.filter.map_or(ColumnSet::NONE, ColumnSet::looked_at).with(ColumnSet::of(of.column));
            let columns = ColumnSet::wanted(scan.columns).with(looked_at);
            self.read_set.add_point(table.id, &key, None, columns, self.core.options.read_set)?;
        }
        Ok(Some(key))
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

impl Finish for Transaction {
    fn poison(&self) -> Option<&Error> {
        self.poison.as_ref()
    }

    /// What was read is ordered, and so as durable as the order.
    fn rests_on(&self) -> LogPosition {
        LogPosition::ZERO
    }

    fn timestamp(&self) -> Option<Timestamp> {
        Some(Timestamp(self.number))
    }

    fn start(&mut self) -> Result<()> {
        self.begin_snapshot()
    }

    fn check_reads(&mut self) -> Result<()> {
        self.confirm().map(drop)
    }

    /// No effect: the order is what makes a transaction durable.
    fn set_durability(&mut self, _: Durability) {}

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.how.wait_limit = limit;
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.reads_wait = wait;
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        Some(self)
    }

    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        if let Some(why) = self.poison.take() {
            return Pending::ready(Err(why));
        }
        if self.writes.is_empty() {
            let confirmed = self.check_age().and_then(|()| self.confirm()).map(LogPosition::from_raw);
            return Pending::ready(confirmed.map(|log_position| Committed { serial_point: None, log_position }));
        }
        if let Err(error) = self.check_age().and_then(|()| self.core.check_memory(&self.writes)) {
            return Pending::ready(Err(error));
        }
        let payload = payload::transaction(self.base(), &self.read_set, &self.writes);
        self.snapshot = None;
        let held = std::mem::replace(&mut self.held, Held::new(&self.core.locks, self.number));
        let (promise, pending) = promise();
        let waiting = Waiting::Commit { promise, number: self.number, held: Some(held) };
        if let Err((error, waiting)) = self.core.propose(payload, waiting) {
            waiting.refuse(error);
        }
        pending
    }

    fn abort(mut self) {
        let why = requested(Timestamp(self.number));
        self.end(why);
    }
}

impl Savepoints for Transaction {
    fn savepoint(&mut self) -> Result<Savepoint> {
        self.check()?;
        Ok(Savepoint { transaction: self.number, number: self.writes.savepoint() })
    }

    /// Reads stay in the read set, and rows stay taken.
    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check()?;
        let is_there = savepoint.transaction == self.number && self.writes.roll_back_to(savepoint.number);
        if is_there { Ok(()) } else { Err(Invalid::UnknownSavepoint.into()) }
    }

    fn release(&mut self, savepoint: Savepoint) {
        if savepoint.transaction == self.number {
            self.writes.release(savepoint.number);
        }
    }
}

impl Supervised for Transaction {
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>) {
        supervisor.transaction_begins(Timestamp(self.number));
        self.supervisor = Some(supervisor);
    }
}
