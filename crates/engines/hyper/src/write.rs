//! Writes: claim the row, keep what stood there, change it in place. Sections 2.1, 2.3 and 2.5.
//!
//! Whoever has put the newest entry of a row's chain and is open owns the row (Y7). A row that another transaction
//! owns, or has changed since this one started, refuses: [`Refusal`].

use crate::begin::{Conflict, Core, Transaction};
use crate::block::Rows;
use crate::node::{Node, NodeRef};
use crate::patch::Patch;
use crate::predicates::looked_at;
use crate::read::View;
use crate::table::Table;
use crate::undo::ColumnSet;
use crate::wait::Refusal;
use crate::worker::Worker;
use crate::writer::{Place, Status, Write, Writer};
use crate::{Hyper, Reason};
use model::{Columns, Delta, Duplicate, Key, Limit, LimitKind, Result, RowBuf, RowKind, RowRef, TableId, Target};
use parts::epoch::{self, Guard};
use parts::spin::Backoff;
use std::ops::Deref;
use std::sync::Arc;

/// What a statement does to a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// Writes it, whether or not one is there.
    Put(RowRef<'a>),
    /// Writes it where none is there.
    Insert(RowRef<'a>),
    /// Changes columns.
    Update(&'a Delta),
    Delete,
    /// Owns it, and copies columns of it.
    Lock(Columns<'a>),
}

/// A row under the exclusive latch of its block, which its statement may change.
struct Claimed<'r> {
    table: &'r Table,
    rows: &'r mut Rows,
    place: Place,
    key: &'r [u8],
}

impl Claimed<'_> {
    /// The note of a write of these columns.
    fn write(&self, columns: ColumnSet) -> Write {
        Write { table: self.table.id, place: self.place, key: Key::from_bytes(self.key), columns }
    }
}

/// Why a row could not be changed now.
enum Obstacle {
    /// It has left its place; or somebody else has inserted it.
    Moved,
    Refused(Refusal),
    Error(model::Error),
}

impl From<model::Error> for Obstacle {
    fn from(error: model::Error) -> Obstacle {
        Obstacle::Error(error)
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    pub(super) fn put_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.write(table, key, Wanted::Put(row)).map(drop)
    }

    pub(super) fn insert_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        if self.write(table, key, Wanted::Insert(row))? {
            return Ok(());
        }
        // The answer says that the key is taken: it must stay so until this one commits.
        self.engine.log_point(&mut self.core, table, key, ColumnSet::NONE);
        let schema = self.engine.table(table)?.schema().clone();
        Err(Duplicate { table: schema, key: key.into() }.into())
    }

    pub(super) fn update_row(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.write(table, key, Wanted::Update(delta))
    }

    pub(super) fn delete_row(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.write(table, key, Wanted::Delete)
    }

    /// Owns a row and reads columns of it. In a transaction that cannot write, reads them.
    pub(super) fn lock_row(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        if self.core.reads_only() {
            return self.read_point(table, key, columns, row);
        }
        row.clear();
        let found = self.write(table, key, Wanted::Lock(columns))?;
        if found {
            std::mem::swap(&mut self.core.worker().before, row);
        }
        Ok(found)
    }

    /// Does what a statement wants. Returns whether it found what it asks for: a row, or for an insert none.
    fn write(&mut self, table: TableId, key: &[u8], wanted: Wanted<'_>) -> Result<bool> {
        self.check_writable()?;
        self.begin_statement()?;
        let mut backoff = Backoff::new();
        loop {
            let Transaction { engine, core } = self;
            let table = engine.table(table)?;
            check(engine, table, key, wanted)?;
            engine.check_memory(core, table, key, wanted)?;
            match engine.attempt(core, table, key, wanted) {
                Ok(found) => return Ok(found),
                Err(Obstacle::Moved) => backoff.pause(),
                Err(Obstacle::Error(error)) => {
                    // The answer says what stands there: it must stay so until this one commits.
                    engine.log_point(core, table.id, key, ColumnSet::ALL);
                    return Err(error);
                }
                Err(Obstacle::Refused(refusal)) => {
                    let id = table.id;
                    if let Some(error) = self.passes_over(&refusal, id, key) {
                        return Err(error);
                    }
                    self.overcome(refusal, id, key)?;
                }
            }
        }
    }
}

/// Checks what can be said of a statement without its row.
fn check(engine: &Hyper, table: &Table, key: &[u8], wanted: Wanted<'_>) -> Result<()> {
    table.schema().check_key(key)?;
    if let Wanted::Put(row) | Wanted::Insert(row) = wanted {
        table.schema().check_row(key, row)?;
        check_limit(LimitKind::RowBytes, engine.options.row_limit(), row.bytes().len() as u64)?;
    }
    if let Wanted::Lock(columns) = wanted {
        table.schema().check_columns(columns)?;
    }
    check_limit(LimitKind::KeyBytes, engine.options.key_bytes, key.len() as u64)
}

fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}

impl Hyper {
    /// Does what a statement wants.
    fn attempt(
        &self,
        core: &mut Core,
        table: &Table,
        key: &[u8],
        wanted: Wanted<'_>,
    ) -> std::result::Result<bool, Obstacle> {
        if let Some(done) = self.change_claimed(core, table, key, wanted) {
            return done;
        }
        let guard = epoch::pin();
        // Most inserts find nothing: they look while they insert.
        let found = if matches!(wanted, Wanted::Insert(_)) { None } else { table.index.get(key, &guard) };
        match (found, wanted) {
            (Some(node), wanted) => self.claim(core, table, (key, node), wanted),
            (None, Wanted::Put(row) | Wanted::Insert(row)) => match self.add(core, table, key, row, &guard)? {
                Some(node) => self.claim(core, table, (key, node), wanted),
                None => Ok(true),
            },
            (None, Wanted::Update(_) | Wanted::Delete | Wanted::Lock(_)) => {
                self.log_point(core, table.id, key, ColumnSet::NONE);
                Ok(false)
            }
        }
    }

    /// Does what a statement wants with the row that the last write has claimed, without a look at the index; `None` if it is
    /// another one. It stays where it is, since its owner has an entry in its chain (Y6, Y7).
    #[inline]
    fn change_claimed(
        &self,
        core: &mut Core,
        table: &Table,
        key: &[u8],
        wanted: Wanted<'_>,
    ) -> Option<std::result::Result<bool, Obstacle>> {
        let last = core.worker().writes.last().filter(|last| last.table == table.id && *last.key == *key)?;
        let place = last.place;
        let mut rows = table.block(place.block).write();
        if !self.options.single_version && !rows.is_owned_by(place.slot as usize, core.writer.as_ref()) {
            return None;
        }
        Some(self.change(core, &mut Claimed { table, rows: &mut rows, place, key }, wanted))
    }

    /// Does what a statement wants where its key has an index entry.
    fn claim(
        &self,
        core: &mut Core,
        table: &Table,
        (key, node): (&[u8], &Node),
        wanted: Wanted<'_>,
    ) -> std::result::Result<bool, Obstacle> {
        let (place, node) = (node.place, NodeRef::of(node));
        let mut rows = table.block(place.block).write();
        if !rows.is_of(place.slot as usize, node) {
            return Err(Obstacle::Moved);
        }
        let start = core.skips(table.id).map_or(core.start(), |since| since.min(core.start()));
        let view = View { start, ..core.view(self) };
        view.check_free(&rows, place.slot as usize).map_err(Obstacle::Refused)?;
        if rows.head(place.slot as usize).is_some() {
            // What the statement finds, and perhaps answers, rests on the version in place.
            let seen = core.view(self).of(&rows, place.slot as usize).map(drop);
            assert!(seen.is_ok(), "Y7: below an own entry, and in a free row, all is decided");
        }
        self.change(core, &mut Claimed { table, rows: &mut rows, place, key }, wanted)
    }

    /// Changes a row that is free or its own: what stands in place is what the transaction sees.
    fn change(
        &self,
        core: &mut Core,
        claimed: &mut Claimed<'_>,
        wanted: Wanted<'_>,
    ) -> std::result::Result<bool, Obstacle> {
        let slot = claimed.place.slot as usize;
        let is_there = claimed.rows.is_in_place(slot);
        match wanted {
            Wanted::Insert(_) if is_there => Ok(false),
            Wanted::Put(new) if is_there => {
                let changed = differing(claimed, new);
                self.set(core, claimed, changed, Some(new)).map(|()| true)
            }
            Wanted::Put(new) | Wanted::Insert(new) => self.set(core, claimed, ColumnSet::ALL, Some(new)).map(|()| true),
            Wanted::Update(_) | Wanted::Delete | Wanted::Lock(_) if !is_there => {
                self.log_point(core, claimed.table.id, claimed.key, ColumnSet::NONE);
                Ok(false)
            }
            Wanted::Update(delta) => self.update(core, claimed, delta).map(|()| true),
            Wanted::Delete => self.set(core, claimed, ColumnSet::ALL, None).map(|()| true),
            Wanted::Lock(columns) => {
                claimed.rows.store().copy(slot, columns, &mut core.worker().before);
                self.own(core, claimed, ColumnSet::NONE, 0).map(|()| true)
            }
        }
    }

    /// Changes columns of a row that is there.
    fn update(&self, core: &mut Core, claimed: &mut Claimed<'_>, delta: &Delta) -> std::result::Result<(), Obstacle> {
        let slot = claimed.place.slot as usize;
        let mut patch = Patch::default();
        if !patch.fill(delta, claimed.table.schema(), claimed.rows, slot) {
            return self.update_whole(core, claimed, delta);
        }
        if patch.has_bytes() {
            let row_bytes = patch.row_bytes(claimed.rows.store(), slot) as u64;
            check_limit(LimitKind::RowBytes, self.options.row_limit(), row_bytes)?;
        }
        self.own(core, claimed, patch.columns(), (claimed.key.len() + patch.bytes()) as u64)?;
        claimed.rows.patch(slot, &patch);
        Ok(())
    }

    /// Same as [`Hyper::update`], by a copy of the row.
    fn update_whole(
        &self,
        core: &mut Core,
        claimed: &mut Claimed<'_>,
        delta: &Delta,
    ) -> std::result::Result<(), Obstacle> {
        let worker = core.worker();
        let (mut before, mut after) = (std::mem::take(&mut worker.before), std::mem::take(&mut worker.after));
        claimed.rows.store().copy(claimed.place.slot as usize, Columns::All, &mut before);
        let schema = claimed.table.schema();
        let checked = schema
            .change(before.row(), delta, &mut after)
            .and_then(|()| schema.check_changed(claimed.key, delta, after.row()));
        let done = checked.map_err(|invalid| Obstacle::Error(invalid.into())).and_then(|()| {
            check_limit(LimitKind::RowBytes, self.options.row_limit(), after.bytes().len() as u64)?;
            let differs =
                |column: &u16| before.row().raw(usize::from(*column)) != after.row().raw(usize::from(*column));
            let columns = delta.changes().iter().map(|(column, _)| *column).filter(differs);
            let changed = columns.fold(ColumnSet::NONE, |set, column| set.with(ColumnSet::of(column)));
            self.set(core, claimed, changed, Some(after.row()))
        });
        let worker = core.worker();
        (worker.before, worker.after) = (before, after);
        done
    }

    /// Keeps what stands in place, and replaces it.
    fn set(
        &self,
        core: &mut Core,
        claimed: &mut Claimed<'_>,
        changed: ColumnSet,
        new: Option<RowRef<'_>>,
    ) -> std::result::Result<(), Obstacle> {
        let bytes = claimed.key.len() + new.map_or(0, |row| row.bytes().len());
        self.own(core, claimed, changed, bytes as u64)?;
        claimed.rows.change(claimed.place.slot as usize, changed, new);
        Ok(())
    }

    /// Puts an entry in front of a row's chain, or adds columns to the own one that is there.
    fn own(
        &self,
        core: &mut Core,
        claimed: &mut Claimed<'_>,
        changed: ColumnSet,
        bytes: u64,
    ) -> std::result::Result<(), Obstacle> {
        if self.options.single_version {
            return self.own_alone(core, claimed, changed, bytes);
        }
        let (slot, floor) = (claimed.place.slot as usize, core.savepoints.floor());
        let own =
            claimed.rows.head(slot).filter(|head| head.is_of(core.writer.as_ref())).map(|head| head.number as usize);
        let is_new_row =
            !changed.is_empty() && own.is_none_or(|number| core.worker().writes[number].columns.is_empty());
        self.check_write_set(core, u64::from(is_new_row), bytes)?;
        core.bytes += bytes;
        core.changed_rows += u64::from(is_new_row);
        let copied = claimed.table.layout.copied(changed);
        if claimed.rows.is_in_place(slot) {
            claimed.table.note_written(changed);
        }
        match own {
            Some(number) if number >= floor => {
                let worker = core.worker();
                let write = &mut worker.writes[number];
                write.columns = write.columns.with(changed);
                worker.made += claimed.rows.extend(slot, changed, copied);
            }
            // Before the last savepoint: what stands there is to be found again.
            _ => {
                let (writer, worker) = core.writer_and_worker();
                let mut undo = worker.entry(writer);
                (undo.number, undo.changed) = (worker.writes.len() as u32, changed);
                worker.made += claimed.rows.push(slot, undo, copied);
                worker.push(claimed.write(changed));
            }
        }
        let (worker, meter) = (core.worker(), &self.memory.meter);
        if worker.made.unsigned_abs() >= meter.step() {
            worker.count_made(meter);
        }
        Ok(())
    }

    /// Keeps what stands in a row of which there is one version. Each write of a row counts.
    fn own_alone(
        &self,
        core: &mut Core,
        claimed: &mut Claimed<'_>,
        changed: ColumnSet,
        bytes: u64,
    ) -> std::result::Result<(), Obstacle> {
        let changes = u64::from(!changed.is_empty());
        self.check_write_set(core, changes, bytes)?;
        core.bytes += bytes;
        core.changed_rows += changes;
        let copied = claimed.table.layout.copied(changed);
        let worker = core.worker();
        worker.replaced.keep(worker.writes.len(), claimed.rows, claimed.place.slot as usize, copied);
        worker.push(claimed.write(changed));
        Ok(())
    }

    fn check_write_set(&self, core: &mut Core, rows: u64, bytes: u64) -> Result<()> {
        check_limit(LimitKind::WriteSetRows, self.options.write_set_rows, core.changed_rows + rows)?;
        check_limit(LimitKind::WriteSetBytes, self.options.write_set_bytes, core.bytes + bytes)
    }

    /// Inserts a row, unless its key has an index entry: then returns that.
    ///
    /// The row goes into its block under the latch of the key's leaf, so that whoever finds the key sees whose it is.
    fn add<'g>(
        &self,
        core: &mut Core,
        table: &'g Table,
        key: &[u8],
        row: RowRef<'_>,
        guard: &'g Guard,
    ) -> Result<Option<&'g Node>> {
        self.check_write_set(core, 1, (key.len() + row.bytes().len()) as u64)?;
        let place = table.new_place();
        let make = || {
            let node = table.allocate(key, place);
            let mut rows = table.block(place.block).write();
            // It has room, unless the last of its rows, or all of its table, have gone meanwhile.
            rows.make_room(place.slot as usize, &table.layout);
            rows.take(place.slot as usize, node);
            let set = self.set(core, &mut Claimed { table, rows: &mut rows, place, key }, ColumnSet::ALL, Some(row));
            assert!(set.is_ok(), "the limits were checked");
            node
        };
        let found = table.index.insert(key, guard, make).err();
        if found.is_some() {
            table.free_place(place);
        }
        Ok(found)
    }

    /// Undoes the writes of a worker from the last one down to a number; of a doomed writer, those that nobody else has undone. Rows
    /// that are gone leave the index.
    pub(super) fn undo_down_to(&self, worker: &mut Worker, floor: usize, doomed: Option<&Arc<Writer>>) {
        while worker.writes.len() > floor {
            let write = worker.pop().expect("more than the floor");
            // The table is there even if it was dropped, but the doomed keep nothing alive.
            let guard = epoch::pin();
            let Some(table) = self.tables.pinned_even_dropped(write.table.0, &guard) else { continue };
            let mut rows = table.block(write.place.block).write();
            if write.place.slot as usize >= rows.slots() {
                assert!(doomed.is_some(), "Y12");
                continue;
            }
            let head = rows.head(write.place.slot as usize);
            if doomed.is_some() && !head.is_some_and(|undo| undo.is_of(doomed)) {
                continue; // Undone by whoever wanted the row.
            }
            let undo = rows.undo(write.place.slot as usize);
            let left = rows.leave(write.place.slot as usize, &table.layout);
            drop(rows);
            worker.keep(Some(undo));
            if let Some(node) = left {
                table.remove(node, &write.key, write.place);
            }
        }
    }
}

/// The columns in which a new row differs from the one in place.
fn differing(claimed: &Claimed<'_>, new: RowRef<'_>) -> ColumnSet {
    let slot = claimed.place.slot as usize;
    if claimed.table.schema().rows() == RowKind::Bytes {
        return ColumnSet::of(0);
    }
    claimed.rows.store().differing(slot, new)
}

impl View<'_> {
    /// Returns whether a row is free or the transaction's own, in the version that it sees (Y7).
    pub fn check_free(&self, rows: &Rows, slot: usize) -> std::result::Result<(), Refusal> {
        let mut next = rows.head(slot);
        while let Some(undo) = next.filter(|undo| !undo.is_of(self.own)) {
            let writer: &Arc<Writer> = undo.writer();
            match writer.status.load() {
                Status::Committed(at) if at <= self.start => return Ok(()),
                // Who has locked the row has not changed it.
                Status::Committed(_) if undo.changed.is_empty() => next = undo.older.as_deref(),
                Status::Committed(_) => return Err(Refusal::Newer(writer.clone())),
                Status::Open => return Err(Refusal::Owned(writer.clone(), writer.status.seen())),
                Status::Deciding(_) | Status::Aborted => return Err(Refusal::Ending(writer.clone())),
            }
        }
        Ok(())
    }
}

impl Core {
    /// Its writer, made at its first write, and its worker.
    fn writer_and_worker(&mut self) -> (&Arc<Writer>, &mut Worker) {
        let writer = self.writer.get_or_insert_with(|| Arc::new(Writer::new(self.name, self.seat)));
        (writer, self.worker.as_mut().expect("a statement begins by looking whether the transaction is open"))
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// A conflict about a row.
    pub(super) fn conflict(reason: Reason, table: TableId, key: &[u8], other: &Writer) -> Conflict {
        Conflict { reason, table, target: Target::Key(Key::from_bytes(key)), other: Some(other.name), met: None }
    }

    /// Logs what rows showed that the transaction stops owning: it has seen them.
    pub(super) fn log_given_back(&mut self, floor: usize) {
        let Transaction { engine, core } = self;
        let given: Vec<(TableId, Key)> =
            core.worker().writes[floor..].iter().map(|write| (write.table, write.key.clone())).collect();
        for (table, key) in given {
            engine.log_point(core, table, &key, looked_at(Columns::All, None));
        }
    }
}
