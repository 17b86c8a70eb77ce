//! A transaction of the small engine: a copy of the committed rows, what it has read, and what it has written.

use super::{Flaw, Small};
use model::twin::Twin;
use model::{
    Abort, AbortClass, Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Finish, Invalid, Item, Key,
    LimitKind, LogPosition, Mode, Pending, Result, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, Schema,
    SerialPoint, TableId, Target, Timestamp,
};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow, Deref, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// Keys of a table that were read.
type Read = (TableId, (Bound<Key>, Bound<Key>));

#[derive(Debug)]
pub struct Transaction<H: Deref<Target = Small>> {
    engine: H,
    how: Begin,
    number: u64,
    view: Option<View>,
    reads: Vec<Read>,
    savepoints: Vec<(u64, View)>,
    marks: u64,
}

/// The rows that a transaction sees, and what it has written of them.
#[derive(Clone, Debug)]
struct View {
    twin: Twin,
    /// The rows without its own writes, where they are wanted.
    pristine: Option<Box<Twin>>,
    schemas: Vec<Arc<Schema>>,
    /// Commits that it sees.
    at: usize,
    /// Bytes of each written key and row.
    writes: BTreeMap<(TableId, Key), u64>,
}

impl<H: Deref<Target = Small>> Transaction<H> {
    pub(super) fn begin(engine: H, how: Begin) -> Result<Self> {
        let open = engine.open.fetch_add(1, SeqCst) + 1;
        if let Err(limit) = engine.check(LimitKind::Transactions, engine.knobs.transactions, open) {
            engine.open.fetch_sub(1, SeqCst);
            return Err(limit);
        }
        let number = engine.begun.fetch_add(1, SeqCst) + 1;
        let anew = |draws| if engine.flaw == Flaw::DrawsAnew { Draws::new(number, 0) } else { draws };
        let how = Begin { draws: how.draws.map(anew), ..how };
        let (view, reads, savepoints, marks) = Default::default();
        Ok(Transaction { engine, how, number, view, reads, savepoints, marks })
    }

    /// Takes the rows that it will see.
    fn take_rows(&mut self) -> Result<()> {
        let flaw = self.engine.flaw;
        let refreshes = matches!(flaw, Flaw::ReadsCommitted | Flaw::ReadsUncommitted);
        if self.view.is_some() && !refreshes {
            return Ok(());
        }
        let store = self.engine.store();
        let is_late = flaw == Flaw::ReadsThePast && !store.commits.is_empty();
        let twin = if is_late { store.before.clone() } else { store.twin.clone() };
        let at = store.commits.len() - usize::from(is_late);
        let pristine = (flaw == Flaw::ForgetsOwnWrites).then(|| Box::new(twin.clone()));
        let mut view = View { pristine, twin, schemas: store.schemas.clone(), at, writes: BTreeMap::new() };
        drop(store);
        if let Some(mut before) = self.view.take() {
            apply(&mut before, &mut view.twin);
            view.writes = before.writes;
        }
        self.view = Some(view);
        Ok(())
    }

    fn view(&mut self) -> Result<&mut View> {
        self.take_rows()?;
        Ok(self.view.as_mut().expect("it has started"))
    }

    /// The rows that reads see.
    fn read_view(&mut self) -> Result<&mut Twin> {
        let View { twin, pristine, .. } = self.view()?;
        Ok(pristine.as_deref_mut().unwrap_or(twin))
    }

    fn note(&mut self, table: TableId, lower: Bound<Key>, upper: Bound<Key>) {
        self.reads.push((table, (lower, upper)));
    }

    fn note_key(&mut self, table: TableId, key: &[u8]) {
        self.note(table, Bound::Included(key.into()), Bound::Included(key.into()));
    }

    /// Runs a statement that may write `row` under `key`, within the limits.
    fn write<T>(
        &mut self,
        (table, key): (TableId, &[u8]),
        row: Option<RowRef<'_>>,
        run: impl FnOnce(&mut Twin) -> Result<T>,
    ) -> Result<T> {
        if matches!(self.how.mode, Mode::ReadOnly | Mode::Snapshot) && self.engine.flaw != Flaw::WritesAsReader {
            return Err(Invalid::ReadOnly.into());
        }
        self.check_limits((table, key), row)?;
        let bytes = (key.len() + row.map_or(0, |row| row.bytes().len())) as u64;
        let view = self.view()?;
        let result = run(&mut view.twin)?;
        view.writes.insert((table, key.into()), bytes);
        if self.engine.flaw == Flaw::ReadsUncommitted {
            let view = self.view.as_mut().expect("it has started");
            apply(view, &mut self.engine.store().twin);
        }
        Ok(result)
    }

    fn check_limits(&mut self, (table, key): (TableId, &[u8]), row: Option<RowRef<'_>>) -> Result<()> {
        let row_bytes = row.map_or(0, |row| row.bytes().len());
        let view = self.view()?;
        let is_new = !view.writes.contains_key(&(table, Key::from_bytes(key)));
        let rows = view.writes.len() as u64 + u64::from(is_new);
        let bytes = view.writes.values().sum::<u64>() + (key.len() + row_bytes) as u64;
        let (engine, knobs) = (&self.engine, &self.engine.knobs);
        engine.check(LimitKind::KeyBytes, knobs.key_bytes, key.len() as u64)?;
        engine.check(LimitKind::RowBytes, knobs.row_bytes, row_bytes as u64)?;
        engine.check(LimitKind::WriteSetRows, knobs.write_set_rows, rows)?;
        engine.check(LimitKind::WriteSetBytes, knobs.write_set_bytes, bytes)
    }

    /// The first key that it has read and somebody else has written since.
    fn conflict(&self, view: &View, commits: &[Vec<(TableId, Key)>]) -> Option<(TableId, Key)> {
        let flaw = self.engine.flaw;
        let counts = |(_, (lower, upper)): &&Read| match flaw {
            Flaw::LosesUpdates => lower != upper,
            Flaw::ShowsPhantoms => lower == upper && *lower != Bound::Unbounded,
            Flaw::ReadsCommitted | Flaw::ReadsUncommitted => false,
            _ => true,
        };
        let reads: Vec<&Read> = self.reads.iter().filter(counts).collect();
        let mut written = commits[view.at..].iter().flatten();
        let read = |(table, key): &(TableId, Key)| {
            let covers = |(lower, upper): &(Bound<Key>, Bound<Key>)| (lower.as_ref(), upper.as_ref()).contains(key);
            reads.iter().any(|(of, range)| of == table && covers(range))
        };
        written.find(|it| read(it)).cloned()
    }

    fn finish(&mut self) -> Result<Committed> {
        self.take_rows()?;
        let mut view = self.view.take().expect("it has started");
        let mut store = self.engine.store();
        let durability = self.how.durability;
        let position = |commits: usize| match durability {
            Some(Durability::Async | Durability::None) => LogPosition::ZERO,
            _ => LogPosition::from_raw(commits as u64),
        };
        let serial = |store: &super::Store, commits: usize, reader: u64| {
            let rising = store.epoch << 48 | (commits as u64) << 20 | reader;
            match self.engine.flaw {
                Flaw::ClaimsNothing => None,
                Flaw::ClaimsAtTimes if self.number.is_multiple_of(3) => None,
                Flaw::ClaimsWrongOrder => Some(SerialPoint(u64::MAX - rising)),
                _ => Some(SerialPoint(rising)),
            }
        };
        if view.writes.is_empty() {
            store.readers += 1;
            let log_position = if view.at > store.durable { position(view.at) } else { LogPosition::ZERO };
            return Ok(Committed { serial_point: serial(&store, view.at, store.readers), log_position });
        }
        if let Some((table, key)) = self.conflict(&view, &store.commits) {
            return Err(self.abort_for(view.schemas[table.0 as usize].clone(), key));
        }
        if self.engine.flaw == Flaw::ReadsThePast {
            store.before = store.twin.clone();
        }
        if self.engine.flaw == Flaw::CommitsHalf {
            let first = view.writes.keys().next().cloned();
            view.writes.retain(|written, _| Some(written) == first.as_ref());
        }
        apply(&mut view, &mut store.twin);
        store.commits.push(view.writes.into_keys().collect());
        let commits = store.commits.len();
        Ok(Committed { serial_point: serial(&store, commits, 0), log_position: position(commits) })
    }

    fn abort_for(&self, table: Arc<Schema>, key: Key) -> Error {
        Error::from(Abort {
            class: AbortClass::ReadWrite,
            rule: "changed-since",
            explanation: "another transaction has written what it has read",
            table: Some(table),
            target: Target::Key(key),
            transaction: Timestamp(self.number),
            other: None,
            met: None,
        })
    }
}

/// Applies what a transaction has written.
fn apply(view: &mut View, to: &mut Twin) {
    for (table, key) in view.writes.keys() {
        let mut row = RowBuf::new();
        match view.twin.read(*table, key, Columns::All, &mut row).expect("it was written") {
            true => to.put(*table, key, row.row()).expect("it was written"),
            false => drop(to.delete(*table, key).expect("it was written")),
        }
    }
    to.commit();
}

impl<H: Deref<Target = Small>> Access for Transaction<H> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let found = self.read_view()?.read(table, key, columns, row)?;
        self.note_key(table, key);
        Ok(found)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.write((table, key), Some(row), |twin| twin.put(table, key, row))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.note_key(table, key);
        let overwrites = self.engine.flaw == Flaw::OverwritesOnInsert;
        self.write((table, key), Some(row), |twin| match overwrites {
            true => twin.put(table, key, row),
            false => twin.insert(table, key, row),
        })
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.note_key(table, key);
        self.write((table, key), None, |twin| twin.update(table, key, delta))
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.note_key(table, key);
        self.write((table, key), None, |twin| twin.delete(table, key))
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.note(scan.table, scan.lower.clone(), scan.upper.clone());
        if self.engine.flaw != Flaw::SkipsTheLast {
            return self.read_view()?.scan(scan, visit);
        }
        let mut left = 0;
        let twin = self.read_view()?;
        twin.scan(scan, &mut |_| {
            left += 1;
            ControlFlow::Continue(())
        })?;
        twin.scan(scan, &mut |item| {
            left -= 1;
            if left == 0 { ControlFlow::Continue(()) } else { visit(item) }
        })
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.how.draws.as_mut()
    }
}

impl<H: Deref<Target = Small>> Finish for Transaction<H> {
    fn poison(&self) -> Option<&Error> {
        None // Conflicts are found at commit.
    }

    fn rests_on(&self) -> LogPosition {
        let seen = self.view.as_ref().map_or(0, |view| view.at);
        if seen > self.engine.store().durable { LogPosition::from_raw(seen as u64) } else { LogPosition::ZERO }
    }

    fn timestamp(&self) -> Option<Timestamp> {
        None // Aborts do not name whom they met.
    }

    fn start(&mut self) -> Result<()> {
        self.take_rows()
    }

    fn set_durability(&mut self, durability: Durability) {
        self.how.durability = Some(durability);
    }

    fn set_wait_limit(&mut self, _: Option<Duration>) {}

    fn set_reads_wait(&mut self, _: bool) {}

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        Pending::ready(self.finish())
    }

    fn abort(self) {}
}

impl<H: Deref<Target = Small>> Drop for Transaction<H> {
    fn drop(&mut self) {
        if self.engine.flaw == Flaw::KeepsAborted && self.view.as_ref().is_some_and(|view| !view.writes.is_empty()) {
            let _ = self.finish(); // A conflict of an aborted transaction is nobody's business.
        }
        self.engine.open.fetch_sub(1, SeqCst);
    }
}

impl<H: Deref<Target = Small>> Savepoints for Transaction<H> {
    fn savepoint(&mut self) -> Result<Savepoint> {
        let view = self.view()?.clone();
        self.marks += 1;
        self.savepoints.push((self.marks, view));
        Ok(Savepoint { transaction: self.number, number: self.marks })
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        let at = self.position(savepoint).ok_or(Invalid::UnknownSavepoint)?;
        self.savepoints.truncate(at + 1);
        if self.engine.flaw != Flaw::KeepsRolledBack {
            self.view = Some(self.savepoints[at].1.clone());
        }
        Ok(())
    }

    fn release(&mut self, savepoint: Savepoint) {
        if let Some(at) = self.position(&savepoint) {
            self.savepoints.truncate(at);
        }
    }
}

impl<H: Deref<Target = Small>> Transaction<H> {
    fn position(&self, savepoint: &Savepoint) -> Option<usize> {
        let at = self.savepoints.iter().position(|(number, _)| *number == savepoint.number)?;
        (savepoint.transaction == self.number).then_some(at)
    }
}
