//! An attempt: one run of a body in its turn. It reads speculative versions where there are any, keeps what it writes to itself,
//! and notes both for certification.

use crate::Core;
use crate::object::{Active, Met, Object, Row, Step, View};
use crate::options::Policy;
use crate::store::{KeyRange, Table};
use crate::turn::{Place, Seen, Turn};
use model::{
    Abort, AbortClass, Access, Columns, Delta, Draws, Duplicate, Error, Invalid, Item, Key, Limit, LimitKind, Result,
    RowBuf, RowRef, Scan, ScanEnd, TableId, Target,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// One run of a body.
pub(crate) struct Attempt<'e> {
    core: &'e Core,
    /// Its turn; none yet where it gets one when it commits ([`Policy::ConflictAware`]).
    turn: Turn,
    /// What it has met, under [`Policy::ConflictAware`]: it must run again.
    pub(crate) met: Option<Met>,
    /// The place up to which everything was applied when it began.
    base: Place,
    pub(crate) entries: BTreeMap<(TableId, Key), Entry>,
    pub(crate) ranges: Vec<ScannedRange>,
    /// Tables whose ranges it is entered in.
    entered: Vec<TableId>,
    /// Whose speculative rows it has read.
    pub(crate) rests_on: Vec<Turn>,
    written_rows: u64,
    written_bytes: u64,
    draws: Option<Draws>,
    is_read_only: bool,
    /// What every later call returns.
    poison: Option<Error>,
}

/// An object that an attempt has to do with.
pub(crate) struct Entry {
    pub object: Arc<Object>,
    /// What it has read under the key.
    pub read: Option<(Seen, Row)>,
    /// What it will write; without a row, a deletion.
    pub write: Option<Row>,
}

/// A range that was scanned, up to where the scan stopped.
#[derive(Debug)]
pub(crate) struct ScannedRange {
    pub table: TableId,
    pub range: KeyRange,
    /// Rows in it, without the own writes. They are in the entries.
    pub rows: u64,
}

impl<'e> Attempt<'e> {
    pub fn new(core: &'e Core, turn: Turn, draws: Option<Draws>, is_read_only: bool) -> Attempt<'e> {
        if core.speculates() {
            core.slots.begin(turn);
        }
        Attempt {
            core,
            turn,
            met: None,
            base: core.applied(),
            entries: BTreeMap::new(),
            ranges: Vec::new(),
            entered: Vec::new(),
            rests_on: Vec::new(),
            written_rows: 0,
            written_bytes: 0,
            draws: draws.map(Draws::restarted),
            is_read_only,
            poison: None,
        }
    }

    pub fn core(&self) -> &'e Core {
        self.core
    }

    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// Gives it the turn in which it commits.
    pub fn set_turn(&mut self, turn: Turn) {
        self.turn = turn;
    }

    pub fn base(&self) -> Place {
        self.base
    }

    pub fn active(&self) -> Active<'e> {
        Active { slots: &self.core.slots, turn: self.turn }
    }

    /// Ends what it has in objects and ranges, all but what was installed.
    pub fn leave(&mut self) {
        let (active, speculates) = (self.active(), self.core.speculates());
        for id in std::mem::take(&mut self.entered) {
            if let Ok(table) = self.core.tables.find(id) {
                table.ranges.leave(self.turn);
            }
        }
        for ((id, _), entry) in std::mem::take(&mut self.entries) {
            if !speculates || entry.object.leave(active) {
                self.core.sweep(id, entry.object);
            }
        }
    }

    /// Forgets what it would write: its body has failed, and what it has read is certified.
    pub fn forget_writes(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.write = None);
    }

    fn check(&self) -> Result<()> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn abort(&mut self, object: &Object) -> Error {
        let table = self.core.tables.find(object.table).ok().map(|table| table.schema.clone());
        let abort = Abort {
            class: AbortClass::ReadWrite,
            rule: "overtaken",
            explanation: "an earlier transaction wrote what this one had read or owned, or will write it: it runs again",
            table,
            target: Target::Key(object.key.clone()),
            transaction: self.turn.timestamp(),
            other: None,
            met: None,
        };
        let error = Error::from(abort);
        self.poison = Some(error.clone());
        error
    }

    /// Notes that an object is held.
    #[cold]
    fn meet(&mut self, object: &Object, met: Met) -> Error {
        self.met = Some(met);
        self.abort(object)
    }

    /// Reads an object, as the policy says.
    fn view(&mut self, object: &Object) -> Result<View> {
        match self.core.options.policy {
            Policy::Speculative => self.pass(object, |active| object.read(active)),
            Policy::ConflictAware => object.read_committed().map_err(|met| self.meet(object, met)),
        }
    }

    /// Repeats a step on an object until no earlier owner is in the way.
    fn pass<T>(&mut self, object: &Object, step: impl Fn(Active<'_>) -> Step<T>) -> Result<T> {
        let active = self.active();
        loop {
            match step(active) {
                Step::Done(value) => return Ok(value),
                Step::Blocked(signal) => active.slots.sleep(self.turn, signal),
                Step::Aborted => return Err(self.abort(object)),
            }
        }
    }

    /// The entry of a key: made before anything is done to the object, so that it is left in the end.
    fn enter(&mut self, table: &Table, key: &[u8]) -> Result<Arc<Object>> {
        let place = (table.id, Key::from_bytes(key));
        if let Some(entry) = self.entries.get(&place) {
            return Ok(entry.object.clone());
        }
        let limit = self.core.options.read_set;
        check_limit(LimitKind::ReadSet, limit, self.entries.len() as u64 + 1)?;
        let object = table.get_or_insert(key);
        self.entries.insert(place, Entry { object: object.clone(), read: None, write: None });
        Ok(object)
    }

    /// Reads a key below the own writes.
    pub(crate) fn read_base(&mut self, table: &Table, key: &[u8]) -> Result<Row> {
        let object = self.enter(table, key)?;
        let place = (table.id, Key::from_bytes(key));
        if let Some((_, row)) = &self.entries[&place].read {
            return Ok(row.clone());
        }
        let View { row, seen, rests_on } = self.view(&object)?;
        self.rests_on.extend(rests_on);
        let entry = self.entries.get_mut(&place).expect("it was entered");
        entry.read = Some((seen, row.clone()));
        Ok(row)
    }

    /// Reads a key: the own write, if there is one.
    fn look(&mut self, table: &Table, key: &[u8]) -> Result<Row> {
        let own = self.entries.get(&(table.id, Key::from_bytes(key))).and_then(|entry| entry.write.clone());
        match own {
            Some(row) => Ok(row),
            None => self.read_base(table, key),
        }
    }

    /// Owns a key that will be written.
    fn own(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        if self.is_read_only {
            return Err(Invalid::ReadOnly.into());
        }
        let object = self.enter(table, key)?;
        if !self.core.speculates() {
            return object.check(None).map_err(|met| self.meet(&object, met));
        }
        self.pass(&object, |active| object.own(active))?;
        table.ranges.abort_later(self.turn, key, &self.core.slots);
        Ok(())
    }

    fn write(&mut self, table: &Table, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        let options = &self.core.options;
        let length = row.map_or(0, <[u8]>::len) as u64;
        check_limit(LimitKind::RowBytes, options.row_bytes, length)?;
        let place = (table.id, Key::from_bytes(key));
        let entry = self.entries.get(&place).expect("it is owned");
        let before = entry.write.as_ref().map(|row| (key.len() + row.as_ref().map_or(0, |row| row.len())) as u64);
        let rows = self.written_rows + u64::from(before.is_none());
        let bytes = self.written_bytes - before.unwrap_or(0) + key.len() as u64 + length;
        check_limit(LimitKind::WriteSetRows, options.write_set_rows, rows)?;
        check_limit(LimitKind::WriteSetBytes, options.write_set_bytes, bytes)?;
        (self.written_rows, self.written_bytes) = (rows, bytes);
        self.entries.get_mut(&place).expect("it is owned").write = Some(row.map(Arc::from));
        Ok(())
    }

    /// The table of a write, or of a read of one key, with its key checked.
    fn table(&self, id: TableId, key: &[u8]) -> Result<&'e Table> {
        self.check()?;
        let table = self.core.tables.find(id)?;
        table.schema.check_key(key)?;
        check_limit(LimitKind::KeyBytes, self.core.options.key_bytes, key.len() as u64)?;
        Ok(table)
    }

    /// Enters a range, and returns its table.
    pub(crate) fn enter_range(&mut self, scan: &Scan<'_>) -> Result<(&'e Table, KeyRange)> {
        self.check()?;
        let table = self.core.tables.find(scan.table)?;
        table.schema.check_scan(scan)?;
        check_limit(
            LimitKind::ReadSet,
            self.core.options.read_set,
            (self.ranges.len() + self.entries.len()) as u64 + 1,
        )?;
        let range = KeyRange { lower: scan.lower.clone(), upper: scan.upper.clone() };
        if self.core.speculates() {
            table.ranges.enter(self.turn, range.clone());
            self.entered.push(table.id);
        }
        Ok((table, range))
    }
}

pub(crate) fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}

/// Copies the wanted columns of a row.
pub(crate) fn show(found: Option<&[u8]>, columns: Columns<'_>, row: &mut RowBuf) -> bool {
    row.clear();
    match (found, columns) {
        (Some(bytes), Columns::All) => row.set_bytes(bytes),
        (Some(bytes), columns) => row.project(RowRef::new(bytes), columns),
        (None, _) => {}
    }
    found.is_some()
}

impl Access for Attempt<'_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let table = self.table(table, key)?;
        table.schema.check_columns(columns)?;
        Ok(show(self.look(table, key)?.as_deref(), columns, row))
    }

    /// Owns the key first, so that later transactions wait instead of reading what will be replaced.
    fn read_for_update(&mut self, id: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let table = self.table(id, key)?;
        if !self.is_read_only {
            self.own(table, key)?;
        }
        self.read(id, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.table(table, key)?;
        table.schema.check_row(key, row)?;
        self.own(table, key)?;
        self.write(table, key, Some(row.bytes()))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.table(table, key)?;
        table.schema.check_row(key, row)?;
        self.own(table, key)?;
        if self.look(table, key)?.is_some() {
            return Err(Duplicate { table: table.schema.clone(), key: key.into() }.into());
        }
        self.write(table, key, Some(row.bytes()))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let table = self.table(table, key)?;
        self.own(table, key)?;
        let Some(before) = self.look(table, key)? else { return Ok(false) };
        let mut after = RowBuf::new();
        table.schema.change(RowRef::new(&before), delta, &mut after)?;
        table.schema.check_changed(key, delta, after.row())?;
        self.write(table, key, Some(after.bytes()))?;
        Ok(true)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let table = self.table(table, key)?;
        self.own(table, key)?;
        let is_there = self.look(table, key)?.is_some();
        if is_there {
            self.write(table, key, None)?;
        }
        Ok(is_there)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        crate::read::scan(self, scan, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}
