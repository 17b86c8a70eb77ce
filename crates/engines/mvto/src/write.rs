//! Writes: into the write buffer; and ownership.

use crate::begin::{Core, table};
use crate::catalog::Table;
use crate::engine::Mvto;
use crate::ownership::{Holder, Ownership};
use crate::read::Note;
use crate::reason::Reason;
use crate::store::Pinned;
use crate::view::View;
use crate::write_set::{Workspace, Write};
use env::Clock;
use model::{Columns, Delta, Duplicate, Invalid, Limit, LimitKind, Mode, Result, RowBuf, RowRef, TableId, Timestamp};
use parts::epoch;
use parts::index::Insert;
use parts::spin::Backoff;

/// Moves of a transaction for one tuple, at most. It moves again only if another writer has come in between.
const MOVES: usize = 100;

/// Result of claiming a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is owned.
    Owned,
    /// A later transaction came first. With [`Reason::LaterWriter`] and [`Reason::LaterReader`] the tuple is owned nevertheless.
    Late(Reason, Timestamp),
    /// An older transaction owns it and still executes. The committing claimant gives up what it owns before it waits (M7).
    Held,
}

/// What a statement knows of the tuple of the key that it writes, beyond what it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Nothing.
    Nothing,
    /// The index had none just now. Perhaps it has one when the transaction commits.
    Absent,
}

impl<C: Clock> Mvto<C> {
    /// Writes a whole row.
    pub(crate) fn put(&self, core: &mut Core, id: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_writable(core)?;
        self.start(core)?;
        self.replace(core, id, key, row, Known::Nothing)
    }

    /// Writes a row where none is.
    pub(crate) fn insert(&self, core: &mut Core, id: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_writable(core)?;
        self.own_now(core, id, key, Some(row.bytes().len()))?;
        let mut before = std::mem::take(&mut core.work.before);
        let taken = self.read(core, id, key, Columns::None, &mut before, Note::Update);
        core.work.before = before;
        if taken? {
            let table = table(self, &core.view, &core.work.catalog, id)?.schema.clone();
            return Err(Duplicate { table, key: key.into() }.into());
        }
        // A tuple without a row would be kept, or is met at the commit.
        self.replace(core, id, key, row, Known::Absent)
    }

    /// Changes columns of a row.
    pub(crate) fn update(&self, core: &mut Core, id: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.check_writable(core)?;
        self.change(core, id, key, |table, before, after| {
            table.schema.change(before, delta, after)?;
            table.schema.check_changed(key, delta, after.row()).map(|()| true)
        })
    }

    /// Deletes a row.
    pub(crate) fn delete(&self, core: &mut Core, id: TableId, key: &[u8]) -> Result<bool> {
        self.check_writable(core)?;
        self.change(core, id, key, |_, _, _| Ok(false))
    }

    /// Reads a row, owning it first where the mode says so.
    pub(crate) fn read_for_update(
        &self,
        core: &mut Core,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        self.own_now(core, id, key, None)?;
        self.read(core, id, key, columns, row, Note::Update)
    }

    /// Replaces a row that is there by what `new` makes of it, which fits the table, or deletes it where `new` says that nothing is left.
    fn change(
        &self,
        core: &mut Core,
        id: TableId,
        key: &[u8],
        new: impl FnOnce(&Table, RowRef<'_>, &mut RowBuf) -> std::result::Result<bool, Invalid>,
    ) -> Result<bool> {
        self.start(core)?;
        let (mut before, mut after) = (std::mem::take(&mut core.work.before), std::mem::take(&mut core.work.after));
        let changed = self.read_for_update(core, id, key, Columns::All, &mut before).and_then(|found| {
            if found {
                let table = table(self, &core.view, &core.work.catalog, id)?;
                let is_left = new(table, before.row(), &mut after)?;
                self.store(core, id, key, is_left.then(|| after.row()), Known::Nothing)?;
            }
            Ok(found)
        });
        (core.work.before, core.work.after) = (before, after);
        changed
    }

    /// Buffers a row that came from outside.
    fn replace(&self, core: &mut Core, id: TableId, key: &[u8], row: RowRef<'_>, known: Known) -> Result<()> {
        let table = table(self, &core.view, &core.work.catalog, id)?;
        table.schema.check_key(key)?;
        table.schema.check_row(key, row)?;
        self.store(core, id, key, Some(row), known)
    }

    /// Buffers a row's new value (`None`: deleted), which fits the table. Everything that can fail without aborting the transaction is
    /// checked before anything is buffered, so that a failed statement leaves nothing.
    fn store(&self, core: &mut Core, id: TableId, key: &[u8], row: Option<RowRef<'_>>, known: Known) -> Result<()> {
        self.check_write(core, id, key, row)?;
        self.reserve(core, 1)?;
        self.stage(core, id, key, row.map(RowRef::bytes), known)
    }

    /// Buffers one key's new value; in [`Mode::OwnAtStatement`] owns it first.
    #[inline]
    fn stage(&self, core: &mut Core, id: TableId, key: &[u8], row: Option<&[u8]>, known: Known) -> Result<()> {
        let at = self.enter_key(core, id, key, row.map(<[u8]>::len), known)?;
        core.work.writes.buffer(at, row);
        core.work.writes.count(&self.memory.meter);
        Ok(())
    }

    /// The write-set entry of a key, for a row of this length. In [`Mode::OwnAtStatement`] its tuple is owned.
    #[inline]
    fn enter_key(&self, core: &mut Core, id: TableId, key: &[u8], row: Option<usize>, known: Known) -> Result<usize> {
        let Workspace { catalog, writes, kept, .. } = &mut *core.work;
        let table = catalog.get(id).expect("the statement has found its table");
        let find = || if known == Known::Absent { None } else { find_pinned(table, key) };
        let at = writes.entry(id, key, || kept.take(id, key).or_else(find));
        if core.mode == Mode::OwnAtStatement {
            writes.entries[at].expected_row = row.map(|row| row as u32);
            self.own_entry(core, at)?;
        }
        Ok(at)
    }

    /// Owns the tuple of a write-set entry at the statement. Where a later transaction was there first, this one moves behind
    /// it, if it can.
    fn own_entry(&self, core: &mut Core, at: usize) -> Result<()> {
        if let Some(since) = core.view.skips(core.work.writes.entries[at].table) {
            return self.own_unchanged(core, at, since);
        }
        for _ in 0..MOVES {
            let Core { view, work, .. } = core;
            let Workspace { catalog, writes, .. } = &mut **work;
            let write = &mut writes.entries[at];
            let table = catalog.get(write.table).expect("the statement has found its table");
            match self.own(view, table, write)? {
                Claim::Owned => return Ok(()),
                Claim::Late(Reason::YoungerOwner, owner) if writes.owns_anything() => {
                    // The younger owner may wait for what this one owns; waiting for it could be a deadlock (M7).
                    return Err(conflict(Reason::YoungerOwner, view, table, &writes.entries[at].key, owner));
                }
                Claim::Late(..) | Claim::Held => self.advance(core)?,
            }
        }
        let write = &core.work.writes.entries[at];
        let table = core.work.catalog.get(write.table).expect("the statement has found its table");
        Err(conflict(Reason::YoungerOwner, &core.view, table, &write.key, None))
    }

    /// Owns the tuple of a write-set entry if its row is as it was at `since`, and gives it up otherwise. Never moves.
    fn own_unchanged(&self, core: &mut Core, at: usize, since: Timestamp) -> Result<()> {
        let Core { view, work, .. } = core;
        let Workspace { catalog, writes, .. } = &mut **work;
        let write = &mut writes.entries[at];
        if write.owned {
            return Ok(());
        }
        let table = catalog.get(write.table).expect("the statement has found its table");
        let claim = self.own(view, table, write)?;
        if !write.owned {
            // A younger transaction has it, or has read the gap: this one is passed over.
            let owner = if let Claim::Late(_, other) = claim { other } else { view.at };
            return Err(view.unavailable(Some((table, &write.key)), owner));
        }
        let tuple = write.tuple.as_ref().expect("owned");
        let newest = tuple.newest().map(|version| version.begin());
        if newest.is_some_and(|newest| newest <= since) {
            return Ok(());
        }
        write.owned = false;
        self.release(tuple);
        Err(view.unavailable(Some((table, &write.key)), newest.unwrap_or(view.at)))
    }

    /// Owns a row before it is read, so that what is read cannot become a reason to abort (design, rule 6).
    fn own_now(&self, core: &mut Core, id: TableId, key: &[u8], row: Option<usize>) -> Result<()> {
        self.start(core)?;
        if core.mode == Mode::OwnAtStatement {
            table(self, &core.view, &core.work.catalog, id)?.schema.check_key(key)?;
            self.check_write(core, id, key, None)?;
            self.enter_key(core, id, key, row, Known::Nothing)?;
        }
        Ok(())
    }

    /// Becomes the owner of a written key's tuple, placing one under its leaf's latch where there is none, and looks whether a
    /// later transaction has come first. Waits as M7 allows.
    pub(crate) fn own(&self, view: &View, table: &Table, write: &mut Write) -> Result<Claim> {
        let mut backoff = Backoff::new();
        while !write.owned {
            let Some(tuple) = &write.tuple else {
                if let Some(stamp) = self.place_owned(view, table, write) {
                    return Ok(Claim::Late(Reason::LaterGapReader, stamp));
                }
                continue;
            };
            let holder = match tuple.ownership.try_own(view.owner()) {
                Ok(()) => {
                    write.owned = true;
                    break;
                }
                Err(holder) => holder,
            };
            match (holder, view.moves) {
                // A collector has it for a moment: it sees the pin and lets go. An undated owner is about to show its timestamp.
                (Holder::Free | Holder::Undated | Holder::Dead, _) => backoff.pause(),
                _ if view.never_waits() && self.take_if_doomed(tuple, holder) => {}
                (Holder::Executing(owner) | Holder::Committing(owner), _) if view.never_waits() => {
                    return Err(view.unavailable(Some((table, &write.key)), owner));
                }
                (Holder::Executing(owner), true) if owner > view.name => {
                    return Ok(Claim::Late(Reason::YoungerOwner, owner));
                }
                (Holder::Executing(owner) | Holder::Committing(owner), false) if owner > view.at => {
                    return Ok(Claim::Late(Reason::YoungerOwner, owner));
                }
                (Holder::Executing(_), false) => return Ok(Claim::Held),
                (Holder::Executing(_) | Holder::Committing(_), _) => {
                    self.wait_while(view, table, tuple, |holder| must_wait(view, holder))?;
                }
            }
        }
        Ok(self.check_owned(view, write))
    }

    /// Inserts a tuple that is owned and has no version (M6). If a later transaction has read the gap, returns its stamp; a
    /// transaction that may move inserts all the same, and takes the stamp over as the tuple's: it has been pushed.
    fn place_owned(&self, view: &View, table: &Table, write: &mut Write) -> Option<Timestamp> {
        let guard = epoch::pin();
        let mut last_read = view.at;
        loop {
            let ownership = Ownership::owned_by(view.owner(), last_read);
            match table.space().insert(&write.key, last_read.0, &guard, ownership, write.row_length()) {
                Insert::Inserted(tuple) => (write.tuple, write.owned) = (Some(Pinned::adopt(tuple)), true),
                Insert::Exists(tuple) => write.tuple = Pinned::new(tuple),
                Insert::Stamped(stamp) if view.moves => {
                    last_read = Timestamp(stamp);
                    continue;
                }
                Insert::Stamped(stamp) => return Some(Timestamp(stamp)),
            }
            return None;
        }
    }

    /// Checks, after the tuple is owned, that no later transaction has read or written it (M3). A transaction that may move ignores
    /// later readers here: they have pushed it, and it compares with their stamps when it commits (`advance.rs` `settle`).
    /// Source: vMVCC, section 2, figure 2(b).
    fn check_owned(&self, view: &View, write: &Write) -> Claim {
        if write.is_undated {
            return Claim::Owned; // Looked at before it drew. Who has stamped since waits for the commit.
        }
        let tuple = write.tuple.as_ref().expect("owned");
        if let Some(newest) = tuple.newest().map(|version| version.begin()).filter(|&begin| begin > view.at) {
            return Claim::Late(Reason::LaterWriter, newest);
        }
        let last_read = tuple.ownership.last_read();
        if last_read > view.at && !view.moves {
            return Claim::Late(Reason::LaterReader, last_read);
        }
        Claim::Owned
    }

    fn check_writable(&self, core: &Core) -> Result<()> {
        match core.mode {
            Mode::ReadWrite | Mode::OwnAtStatement => Ok(()),
            Mode::ReadOnly | Mode::Snapshot => Err(Invalid::ReadOnly.into()),
        }
    }

    /// Checks that a row (`None`: its deletion) fits the limits.
    fn check_write(&self, core: &Core, id: TableId, key: &[u8], row: Option<RowRef<'_>>) -> Result<()> {
        let (options, writes) = (&self.options, &core.work.writes);
        let row_bytes = row.map_or(0, |row| row.bytes().len());
        check_limit(LimitKind::KeyBytes, options.key_bytes, key.len())?;
        check_limit(LimitKind::RowBytes, options.row_bytes, row_bytes)?;
        if writes.entries.len() >= options.write_set_rows && writes.find(id, key).is_none() {
            check_limit(LimitKind::WriteSetRows, options.write_set_rows, writes.entries.len() + 1)?;
        }
        check_limit(LimitKind::WriteSetBytes, options.write_set_bytes, writes.bytes + key.len() + row_bytes)?;
        self.check_memory(core, id, key, row)
    }
}

pub(crate) fn check_limit(kind: LimitKind, limit: usize, actual: usize) -> Result<()> {
    if actual <= limit {
        return Ok(());
    }
    Err(Limit { kind, limit: limit as u64, actual: actual as u64 }.into())
}

pub(crate) fn conflict(
    reason: Reason,
    view: &View,
    table: &Table,
    key: &[u8],
    other: impl Into<Option<Timestamp>>,
) -> model::Error {
    reason.abort(view.name, Some((table, key)), other.into()).into()
}

/// Returns whether a writer waits for this holder of a tuple (M7): for older transactions, and, if it executes, for all that commit.
fn must_wait(view: &View, holder: Holder) -> bool {
    match holder {
        Holder::Executing(owner) => view.moves && owner < view.name,
        Holder::Committing(owner) => view.moves || owner < view.at,
        Holder::Free | Holder::Undated | Holder::Dead => false,
    }
}

/// The tuple of a key, pinned, if the index has one. A collector that is about to kill it and sees our pin lets it live and
/// leaves it to us, so we look again until we have it or it is gone.
#[inline]
pub(crate) fn find_pinned(table: &Table, key: &[u8]) -> Option<Pinned> {
    let guard = epoch::pin();
    let mut backoff = Backoff::new();
    loop {
        let tuple = table.space().get(key, &guard)?;
        if let Some(pinned) = Pinned::new(tuple) {
            return Some(pinned);
        }
        backoff.pause();
    }
}
