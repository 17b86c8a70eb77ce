//! An attempt: the reads and writes of a body in its place, held to its footprint.
//!
//! Reads follow the references that planning has left, and evaluate the producer of a version that is empty. Writes are
//! drafted in the placeholders, and published when the body has ended.

use crate::call::{CallRef, Slot};
use crate::ensure;
use crate::execute::Executor;
use crate::position::Position;
use crate::read::{scan_at, version_at};
use crate::store::Table;
use crate::version::{Content, VersionRef};
use model::{
    Abort, AbortClass, Access, Columns, Delta, Draws, Duplicate, Error, Invalid, Item, Key, Limit, LimitKind, Result,
    RowBuf, RowRef, Scan, ScanEnd, TableId, Target, Touch,
};
use parts::sync::atomic::Ordering::Relaxed;
use std::ops::ControlFlow;

/// One run of a body.
pub(crate) struct Attempt<'a, 'e> {
    executor: &'a mut Executor<'e>,
    call: CallRef,
    /// Index of the slot that was looked at last: a row is often written after it was read.
    last: usize,
    draws: Option<Draws>,
    /// What every later call returns: the attempt has stopped, or its footprint has missed.
    pub poison: Option<Error>,
    /// Who executes what it wanted to read.
    pub blocked_on: Option<CallRef>,
}

impl<'a, 'e> Attempt<'a, 'e> {
    pub fn new(executor: &'a mut Executor<'e>, call: CallRef, draws: Option<Draws>) -> Attempt<'a, 'e> {
        Attempt { executor, call, last: 0, draws, poison: None, blocked_on: None }
    }

    /// Index of the slot of a key, if the footprint has it.
    #[inline]
    fn find(&mut self, table: TableId, key: &[u8]) -> Option<usize> {
        let found = self.call.find(table, key, self.last);
        self.last = found.unwrap_or(self.last);
        found
    }

    fn check(&self) -> Result<()> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    fn table(&self, id: TableId) -> Result<&'e Table> {
        // It may have been dropped behind this call.
        let unknown = || Invalid::UnknownTable { table: format!("number {}", id.0) };
        Ok(self.executor.shared.tables.get(id).ok_or_else(unknown)?)
    }

    /// An access outside of the footprint: a mistake, or a guess that missed.
    #[cold]
    fn undeclared<T>(&mut self, table: TableId, target: Target) -> Result<T> {
        if !self.call.is_guess {
            return Err(Invalid::Undeclared { table: format!("number {}", table.0) }.into());
        }
        let abort = Abort {
            class: AbortClass::Footprint,
            rule: "footprint-missed",
            explanation: "the trial run found other keys than the procedure touches in its place",
            table: Some(self.table(table)?.schema.clone()),
            target,
            transaction: self.call.position.timestamp(),
            other: None,
            met: None,
        };
        let error = Error::from(abort);
        self.poison = Some(error.clone());
        Err(error)
    }

    /// Sees to it that a version below the own position has its row.
    #[inline]
    fn make_ready(&mut self, version: VersionRef) -> Result<()> {
        let position = self.call.position;
        ensure(version.begin() < position, "B4: a read returns a version that begins below its position");
        self.executor.make_ready(version, position).map_err(|blocked_on| {
            self.blocked_on = Some(blocked_on);
            self.poison = Some(Error::NotYet);
            Error::NotYet
        })
    }

    /// Copies what the call sees under one of its keys: its draft, or the version that it reads.
    #[inline]
    fn read_slot(&mut self, slot: &Slot, columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let draft = slot.draft();
        if draft != Content::Empty {
            let placeholder = slot.placeholder();
            return Ok(show(placeholder.row(draft), columns, row));
        }
        let Some(version) = slot.below() else { return Ok(show(None, columns, row)) };
        self.make_ready(version)?;
        Ok(show(version.row(version.content()), columns, row))
    }

    /// Reads a key that a declared range covers.
    fn read_in_range(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        if !self.call.footprint.covers(table, key, Touch::Read) {
            return self.undeclared(table, Target::Key(key.into()));
        }
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        match version_at(table, key, self.call.position) {
            Some(version) => {
                self.make_ready(version)?;
                Ok(show(version.row(version.content()), columns, row))
            }
            None => Ok(show(None, columns, row)),
        }
    }

    /// Reads a key, with the action that a footprint must allow.
    #[inline]
    fn look(
        &mut self,
        table: TableId,
        key: &[u8],
        action: Touch,
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        self.check()?;
        let call = self.call;
        let slot = self.find(table, key).map(|at| &call.slots[at]);
        let is_declared = slot.is_some_and(|slot| slot.actions.allow(action));
        if !is_declared && action != Touch::Read {
            return self.undeclared(table, Target::Key(key.into()));
        }
        if columns != Columns::All {
            self.table(table)?.schema.check_columns(columns)?;
        }
        match slot {
            Some(slot) if is_declared || call.footprint.covers(table, key, Touch::Read) => {
                self.read_slot(slot, columns, row)
            }
            _ => self.read_in_range(table, key, columns, row),
        }
    }

    /// Drafts a row, or its absence.
    #[inline]
    fn draft(&mut self, table: &Table, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        let limit = self.executor.shared.options.row_bytes.min(u64::from(u32::MAX));
        let length = row.map_or(0, <[u8]>::len);
        if length as u64 > limit {
            return Err(Limit { kind: LimitKind::RowBytes, limit, actual: length as u64 }.into());
        }
        if length > table.row_bytes.load(Relaxed) as usize {
            table.make_room_for(length);
        }
        let at = self.find(table.id, key).expect("the footprint has the key");
        self.call.slots[at].set_draft(row, &mut self.executor.made);
        Ok(())
    }

    /// Looks whether a write is allowed. Returns its table.
    #[inline]
    fn target(&mut self, table: TableId, key: &[u8], action: Touch) -> Result<&'e Table> {
        self.check()?;
        let found = self.find(table, key);
        let is_declared = found.is_some_and(|at| self.call.slots[at].actions.allow(action));
        if !is_declared {
            return self.undeclared(table, Target::Key(key.into()));
        }
        self.table(table)
    }

    /// Reads the row before a change.
    fn before(&mut self, table: &Table, key: &[u8]) -> Result<(bool, RowBuf)> {
        let call = self.call;
        let slot = &call.slots[self.find(table.id, key).expect("the footprint has the key")];
        let mut row = RowBuf::new();
        Ok((self.read_slot(slot, Columns::All, &mut row)?, row))
    }
}

#[inline]
fn show(found: Option<&[u8]>, columns: Columns<'_>, row: &mut RowBuf) -> bool {
    match found {
        Some(bytes) => row.project(RowRef::new(bytes), columns),
        None => row.clear(),
    }
    found.is_some()
}

impl Access for Attempt<'_, '_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.look(table, key, Touch::Read, columns, row)
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        self.call.prefetch_keys(table, keys);
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.look(table, key, Touch::Update, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.target(table, key, Touch::Overwrite)?;
        table.schema.check_row(key, row)?;
        self.draft(table, key, Some(row.bytes()))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.target(table, key, Touch::Insert)?;
        table.schema.check_row(key, row)?;
        if self.before(table, key)?.0 {
            return Err(Duplicate { table: table.schema.clone(), key: key.into() }.into());
        }
        self.draft(table, key, Some(row.bytes()))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let table = self.target(table, key, Touch::Update)?;
        let (is_there, before) = self.before(table, key)?;
        if is_there {
            let mut after = RowBuf::new();
            table.schema.change(before.row(), delta, &mut after)?;
            table.schema.check_changed(key, delta, after.row())?;
            self.draft(table, key, Some(after.bytes()))?;
        }
        Ok(is_there)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let table = self.target(table, key, Touch::Delete)?;
        let (is_there, _) = self.before(table, key)?;
        if is_there {
            self.draft(table, key, None)?;
        }
        Ok(is_there)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.check()?;
        let call = self.call;
        if !call.footprint.covers_range(scan.table, &scan.lower, &scan.upper) {
            return self.undeclared(scan.table, Target::Range(scan.lower.clone(), scan.upper.clone()));
        }
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        let mut row_of = |key: &[u8], version: VersionRef, row: &mut RowBuf| {
            if version.begin() == call.position {
                let at = self.find(table.id, key).expect("the own placeholder is of a declared key");
                return self.read_slot(&call.slots[at], Columns::All, row);
            }
            self.make_ready(version)?;
            Ok(show(version.row(version.content()), Columns::All, row))
        };
        scan_at(table, call.position, scan, &mut row_of, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

/// Abort of a procedure that panicked: its body, its retry, or its trial run.
pub(crate) fn panicked(position: Position) -> Error {
    let abort = Abort {
        class: AbortClass::Requested,
        rule: "panicked",
        explanation: "the procedure panicked: it has no effect",
        table: None,
        target: Target::None,
        transaction: position.timestamp(),
        other: None,
        met: None,
    };
    abort.into()
}
