//! Writes: a version is put on top of the chain at once, where others find it and pass over it until its maker commits. First updater
//! wins: who finds a newer version than it may see aborts, and does not wait (K3).

use crate::begin::{Conflict, Seen, Transaction};
use crate::reclaim::Garbage;
use crate::record::{Latched, RecordRef, VersionRef};
use crate::slots::Meaning;
use crate::store::TableRef;
use crate::words::{Id, NEVER};
use crate::worker::{Read, Worker, Write};
use crate::{Hekaton, Reason};
use model::{Delta, Duplicate, Key, Limit, LimitKind, Result, RowBuf, RowRef, TableId, Target};
use parts::index::Entry;
use parts::spin::Backoff;
use parts::sync::atomic::Ordering::{Relaxed, Release};
use std::ops::Deref;

impl<H: Deref<Target = Hekaton>> Transaction<H> {
    /// Writes a row whether or not one is there.
    pub(super) fn put_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.target(table, key)?;
        table.schema.check_row(key, row)?;
        self.write(table, key, Some(row.bytes()))
    }

    /// Writes a row where there is none.
    pub(super) fn insert_row(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let table = self.target(table, key)?;
        table.schema.check_row(key, row)?;
        if self.current(table, key).is_some_and(|version| version.row().is_some()) {
            // The caller acts on this answer whether or not the transaction commits.
            self.check_speculation()?;
            self.note_present(table, key);
            return Err(Duplicate { table: table.schema.clone(), key: key.into() }.into());
        }
        // No later writer commits before this one does, so the absence needs no second look (K3).
        self.write(table, key, Some(row.bytes()))
    }

    /// Changes columns of a row; false if there is none.
    pub(super) fn update_row(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let table = self.target(table, key)?;
        let Some(version) = self.before(table, key)? else { return Ok(false) };
        let mut after = std::mem::take(&mut self.worker().after);
        let written = self.change(table, key, (version, delta), &mut after);
        if let Some(worker) = &mut self.worker {
            worker.after = after;
        }
        self.keep_answer(table, key, written)
    }

    fn change(
        &mut self,
        table: TableRef,
        key: &[u8],
        (version, delta): (VersionRef, &Delta),
        after: &mut RowBuf,
    ) -> Result<()> {
        let before = RowRef::new(version.row().expect("a version with a row"));
        table.schema.change(before, delta, after)?;
        table.schema.check_changed(key, delta, after.row())?;
        self.write(table, key, Some(after.bytes()))
    }

    /// Deletes a row; false if there was none.
    pub(super) fn delete_row(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let table = self.target(table, key)?;
        if self.before(table, key)?.is_none() {
            return Ok(false);
        }
        let written = self.write(table, key, None);
        self.keep_answer(table, key, written)
    }

    /// The answer of a statement that has found a row. If it was refused after that, the row is noted: nothing protects it else.
    fn keep_answer(&mut self, table: TableRef, key: &[u8], written: Result<()>) -> Result<bool> {
        if written.is_err() && self.worker.is_some() {
            self.note_present(table, key);
        }
        written.map(|()| true)
    }

    /// The table of a write.
    fn target(&mut self, table: TableId, key: &[u8]) -> Result<TableRef> {
        self.check_writable()?;
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        check_limit(LimitKind::KeyBytes, self.engine.options.key_bytes.min(u64::from(u32::MAX)), key.len() as u64)?;
        Ok(table)
    }

    /// The version that the transaction sees under a key, not noted.
    fn current(&mut self, table: TableRef, key: &[u8]) -> Option<VersionRef> {
        let record = table.index.get(key)?;
        self.see(|| record.newest())
    }

    /// The row that a statement is about to replace. Its presence needs no second look, since the write fails if it is replaced
    /// meanwhile (K3); its absence does.
    fn before(&mut self, table: TableRef, key: &[u8]) -> Result<Option<VersionRef>> {
        let found = self.current(table, key).filter(|version| version.row().is_some());
        if found.is_none() && self.validates() {
            let worker = self.worker.as_mut().expect("a statement begins by looking whether the transaction is open");
            worker.check_room(&self.engine.options)?;
            worker.absent.push((table, Key::from_bytes(key)));
        }
        Ok(found)
    }

    /// Writes a value, unless a limit forbids it or another transaction was first.
    fn write(&mut self, table: TableRef, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        self.check_limits(table, key, row)?;
        let mut backoff = Backoff::new();
        loop {
            let record = table.index.get_or_insert(key);
            if let Some(latched) = record.latch() {
                match self.place(latched, (table, record), row) {
                    Placed::Done => return Ok(()),
                    Placed::Refused(other) => {
                        let target = Target::Key(Key::from_bytes(record.key()));
                        let table = Some(table.id);
                        return Err(self.fail(Conflict { reason: Reason::FirstUpdaterWins, table, target, other }));
                    }
                    Placed::Again => {}
                }
            }
            backoff.pause(); // Its maker rolls back, or the record leaves its index.
        }
    }

    /// Puts a version on top of a latched chain, if the transaction sees the one that is there now.
    fn place(&mut self, mut latched: Latched, (table, record): (TableRef, RecordRef), row: Option<&[u8]>) -> Placed {
        let (begin, me) = (self.begin, self.worker().id);
        let newest = latched.newest();
        let (previous, instead_of) = match newest.map(|version| (version, self.engine.seen_first(version, begin, me))) {
            None => (None, None),
            Some((version, Seen::Mine(_))) => (version.previous, Some(version)),
            Some((version, Seen::Committed(..))) => (Some(version), None),
            Some((version, Seen::Perhaps(_, maker, _))) => {
                if !self.speculate(maker) {
                    return Placed::Again;
                }
                (Some(version), None)
            }
            Some((version, Seen::Nothing)) => return self.refusal(version),
        };
        let version = VersionRef::allocate(me.word(), previous, row);
        match (instead_of, previous) {
            (Some(own), _) => own.begin.store(NEVER, Relaxed),
            (None, Some(previous)) => previous.end.store(me.word(), Release),
            (None, None) => {}
        }
        latched.set(Some(version));
        drop(latched);
        let worker = self.worker();
        worker.changed += u64::from(instead_of.is_none());
        worker.bytes += (record.key().len() + row.map_or(0, <[u8]>::len)) as u64;
        worker.writes.push(Write { table, record, version, instead_of });
        Placed::Done
    }

    /// Why a version cannot be replaced: its maker is open, or has committed later than this transaction began, or rolls back.
    fn refusal(&mut self, newest: VersionRef) -> Placed {
        let me = self.worker().id;
        match self.engine.slots.read(&newest.begin, me) {
            Meaning::At(NEVER) => Placed::Again,
            Meaning::At(end) => Placed::Refused(Some(end)),
            Meaning::Open(maker) | Meaning::Perhaps(maker, _) => {
                Placed::Refused(Some(self.engine.slots.begin_of(maker)))
            }
            Meaning::Mine => unreachable!("its own version is seen by it"),
        }
    }

    fn check_limits(&mut self, table: TableRef, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        let me = self.worker().id;
        let newest = table.index.get(key).and_then(|record| record.newest());
        let is_mine = newest.is_some_and(|version| version.begin_word() == me.word());
        let row_bytes = row.map_or(0, <[u8]>::len) as u64;
        let (options, worker) = (&self.engine.options, self.worker.as_ref().expect("just looked at"));
        check_limit(LimitKind::RowBytes, options.row_bytes.min(u64::from(u32::MAX)), row_bytes)?;
        check_limit(LimitKind::WriteSetRows, options.write_set_rows, worker.changed + u64::from(!is_mine))?;
        check_limit(LimitKind::WriteSetBytes, options.write_set_bytes, worker.bytes + key.len() as u64 + row_bytes)
    }

    /// Notes a row that a refused write has found: it must be there still when the transaction commits.
    fn note_present(&mut self, table: TableRef, key: &[u8]) {
        let Some(record) = table.index.get(key).filter(|_| self.validates()) else { return };
        let Some(version) = self.see(|| record.newest()) else { return };
        let worker = self.worker();
        if version.begin_word() != worker.id.word() {
            worker.reads.push(Read { table, record, version });
        }
    }
}

/// What became of a write.
enum Placed {
    Done,
    /// Another transaction was first: its timestamp, if it is known.
    Refused(Option<u64>),
    /// What is on top goes in a moment.
    Again,
}

impl<H: Deref<Target = Hekaton>> Transaction<H> {
    /// Takes back what was written since a savepoint. What its statements have found stays read.
    pub(super) fn undo_to(&mut self, stay: usize) {
        let validates = self.validates();
        let worker = self.worker.as_mut().expect("a statement begins by looking whether the transaction is open");
        for at in stay..worker.writes.len() {
            let Write { table, record, version, instead_of } = worker.writes[at];
            match version.previous.filter(|previous| previous.row().is_some()) {
                _ if !validates || instead_of.is_some() => {}
                Some(previous) => worker.reads.push(Read { table, record, version: previous }),
                None => worker.absent.push((table, Key::from_bytes(record.key()))),
            }
        }
        self.engine.undo(worker, stay);
    }
}

impl Hekaton {
    /// What a transaction sees of the first version of a chain alone.
    fn seen_first(&self, version: VersionRef, at: u64, me: Id) -> Seen {
        match self.slots.read(&version.begin, me) {
            Meaning::Mine => Seen::Mine(version),
            Meaning::At(begin) if begin <= at => Seen::Committed(version, begin),
            Meaning::Perhaps(maker, end) if end <= at => Seen::Perhaps(version, maker, end),
            Meaning::At(_) | Meaning::Perhaps(..) | Meaning::Open(_) => Seen::Nothing,
        }
    }

    /// Takes back what a transaction has written, from the last write to the first that does not stay.
    pub(super) fn undo(&self, worker: &mut Worker, stay: usize) {
        while worker.writes.len() > stay {
            let write = worker.writes.pop().expect("just counted");
            take_back(self, write, worker);
        }
    }
}

/// Takes one version off its chain, with those that others have put on top of it: these speculate on its maker, and abort with it.
fn take_back(engine: &Hekaton, Write { table, record, version, instead_of }: Write, worker: &mut Worker) {
    let me = worker.id;
    let mut latched = record.latch().expect("a record with a version of an open transaction is in its index");
    let is_there = is_in_chain(engine, latched.newest(), version, me);
    if is_there {
        match (instead_of, version.previous) {
            (Some(own), _) => own.begin.store(me.word(), Relaxed),
            (None, Some(previous)) => previous.end.store(NEVER, Release),
            (None, None) => {}
        }
        latched.set(instead_of.or(version.previous));
    }
    version.begin.store(NEVER, Release);
    let is_empty = engine.options.collects && latched.newest().is_none_or(|newest| newest.row().is_none());
    drop(latched);
    worker.garbage.push(Garbage::Version(version, None));
    if is_empty {
        Garbage::look_after(&mut worker.garbage, record, table, None);
    }
}

/// Whether a version is in its chain still. Whoever was below it, and has aborted, took it off too. Versions below the newest committed
/// one are not looked at: their memory may be gone.
fn is_in_chain(engine: &Hekaton, mut next: Option<VersionRef>, sought: VersionRef, me: Id) -> bool {
    while let Some(version) = next {
        if version == sought {
            return true;
        }
        if let Meaning::At(begin) = engine.slots.read(&version.begin, me)
            && begin != NEVER
        {
            return false;
        }
        next = version.previous;
    }
    false
}

fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}
