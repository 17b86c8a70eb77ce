//! Reads of keys: the newest version below the reader's timestamp. The reader's stamp keeps older transactions from changing that
//! afterwards. Ranges: `scan.rs`.
//!
//! A reader looks under an epoch guard, and never waits under it (M11): to wait, it pins the tuple, drops the guard, sleeps,
//! and looks the key up again.
//!
//! Source: vMVCC, section 2. The order of steps on a tuple is `ownership.rs`'s; on a gap, `parts::index`'s.

use crate::begin::{Core, table};
use crate::catalog::{Catalog, Table};
use crate::engine::Mvto;
use crate::ownership::Holder;
use crate::read_set::ReadSet;
use crate::store::{Pinned, Tuple, VersionRef};
use crate::view::View;
use crate::wait::is_held;
use crate::write_set::{Own, ReadForUpdate, Workspace, WriteSet};
use env::Clock;
use model::{Columns, Key, Mode, Result, RowBuf, RowRef, TableId};
use parts::epoch::{self, Guard};
use parts::index::Entry;
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::spin::Backoff;

/// The tables that the reads of a transaction go to, and what it has written itself.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub catalog: &'a Catalog,
    pub writes: &'a WriteSet,
    /// Read set for its reads, if the transaction may have to move.
    pub reads: Option<&'a mut ReadSet>,
    /// Where tuples go that are read for update.
    pub kept: Option<&'a mut ReadForUpdate>,
}

/// Purpose of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// For its own sake. It is noted, in case the transaction moves.
    Read,
    /// To be written. A transaction that owns at the statement owns the row already, so no other changes it, and the read is not
    /// noted.
    Update,
}

/// Result of a look at a tuple.
pub(crate) enum Seen<'g> {
    /// The newest version below the reader, if any.
    Version(Option<VersionRef<'g>>),
    /// The tuple has left its index: look the key up again.
    Gone,
    /// A transaction holds it that the reader waits for: drop the guard, wait, and look the key up again.
    Held(Pinned),
}

/// A key's tuple, if it has one, and its newest version below the reader.
pub(crate) type FoundTuple<'g> = Option<(&'g Tuple, Option<VersionRef<'g>>)>;

impl<C: Clock> Mvto<C> {
    /// Reads one row, own writes first.
    pub(crate) fn read(
        &self,
        core: &mut Core,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
        note: Note,
    ) -> Result<bool> {
        row.clear();
        self.start(core)?;
        let Core { view, work, mode, .. } = core;
        let Workspace { catalog, writes, reads, kept, .. } = &mut **work;
        let reads = self.notes(view, reads, id).filter(|_| note == Note::Read);
        let kept = (note == Note::Update && *mode == Mode::ReadWrite).then_some(kept);
        self.read_at(view, Scope { catalog, writes, reads, kept }, id, key, columns, row)
    }

    /// Reads rows one after the other, and prefetches those that follow into the CPU's cache.
    pub(crate) fn read_many(
        &self,
        core: &mut Core,
        id: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        self.start(core)?;
        let mut row = std::mem::take(&mut core.work.before);
        let mut numbered = keys.iter().enumerate();
        let read = keys.chunks(SIDE_BY_SIDE).try_for_each(|together| {
            prefetch(&core.work.catalog, id, together);
            numbered.by_ref().take(together.len()).try_for_each(|(at, key)| {
                let found = self.read(core, id, key, columns, &mut row, Note::Read)?;
                each(at, found.then(|| row.row()));
                Ok(())
            })
        });
        core.work.before = row;
        read
    }

    /// Prefetches rows that will be read or written into the CPU's cache.
    pub(crate) fn prefetch(&self, core: &mut Core, id: TableId, keys: &[Key]) -> Result<()> {
        self.start(core)?;
        keys.chunks(SIDE_BY_SIDE).for_each(|together| prefetch(&core.work.catalog, id, together));
        Ok(())
    }

    /// Read set for its reads of a table, if the transaction may have to move and rests on them.
    pub(crate) fn notes<'a>(&self, view: &View, reads: &'a mut ReadSet, table: TableId) -> Option<&'a mut ReadSet> {
        (view.moves && view.skips(table).is_none()).then(|| {
            reads.count(&self.memory.meter);
            reads
        })
    }

    /// Reads one row as of a view, into an empty buffer.
    pub(crate) fn read_at(
        &self,
        view: &mut View,
        scope: Scope<'_>,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        let table = table(self, view, scope.catalog, id)?;
        table.schema.check_key(key)?;
        table.schema.check_columns(columns)?;
        let mut copy = |found: Option<RowRef<'_>>| found.map(|found| row.project(found, columns)).is_some();
        let id = table.id;
        match scope.writes.own(id, key) {
            Some(Own::Value(own)) => return Ok(copy(own.map(RowRef::new))),
            // Its newest version is what the transaction reads, and nobody else may write.
            Some(Own::Row(tuple)) => return Ok(copy(row_of(view, tuple.newest()))),
            None => {}
        }
        let is_found = self.visible(view, table, key, |tuple, found| {
            if let (Some(kept), Some(tuple)) = (scope.kept, tuple) {
                kept.keep(id, tuple);
            }
            copy(found)
        })?;
        scope.reads.into_iter().for_each(|reads| reads.note_key(id, key, self.options.read_set));
        Ok(is_found)
    }

    /// Shows `take` the tuple of a key, if it has one, and its row as of the begin timestamp; own writes are the caller's business.
    /// `take` runs under a guard.
    pub(crate) fn visible<R>(
        &self,
        view: &mut View,
        table: &Table,
        key: &[u8],
        take: impl FnOnce(Option<&Tuple>, Option<RowRef<'_>>) -> R,
    ) -> Result<R> {
        loop {
            let guard = epoch::pin();
            match self.seek(view, table, key, &guard) {
                Ok(None) => return Ok(take(None, None)),
                Ok(Some((tuple, version))) => return Ok(take(Some(tuple), row_of(view, version))),
                Err(held) => {
                    drop(guard);
                    self.wait_to_read(view, table, held)?;
                }
            }
        }
    }

    /// Looks a key up, and at its tuple.
    ///
    /// # Errors
    /// The tuple, held by a transaction that the reader waits for.
    pub(crate) fn seek<'g>(
        &self,
        view: &View,
        table: &Table,
        key: &[u8],
        guard: &'g Guard,
    ) -> std::result::Result<FoundTuple<'g>, Pinned> {
        let mut backoff = Backoff::new();
        loop {
            let found = if view.stamps {
                table.space().get_or_stamp(key, view.at.0, guard)
            } else {
                table.space().get(key, guard)
            };
            let Some(tuple) = found else { return Ok(None) };
            tuple.prefetch();
            match self.look(view, tuple, guard) {
                Seen::Version(version) => return Ok(Some((tuple, version))),
                Seen::Gone => backoff.pause(),
                Seen::Held(held) => return Err(held),
            }
        }
    }

    /// Looks at a tuple that a scan has found. One that is being killed may come back to life (a writer had it pinned), so its
    /// key is looked up again.
    ///
    /// # Errors
    /// Same as [`Mvto::seek`].
    #[inline]
    pub(crate) fn look_or_seek<'g>(
        &self,
        view: &View,
        table: &Table,
        tuple: &'g Tuple,
        guard: &'g Guard,
    ) -> std::result::Result<FoundTuple<'g>, Pinned> {
        match self.look(view, tuple, guard) {
            Seen::Version(version) => Ok(Some((tuple, version))),
            Seen::Gone => self.seek(view, table, tuple.key(), guard),
            Seen::Held(held) => Err(held),
        }
    }

    /// Raises the stamp, and then takes the newest version below the reader (M3), unless the reader must wait for the owner.
    #[inline]
    fn look<'g>(&self, view: &View, tuple: &'g Tuple, guard: &'g Guard) -> Seen<'g> {
        if !view.stamps {
            // No older transaction can write any more, so nothing below the reader changes, not even by a kill.
            return Seen::Version(tuple.version_below(view.at, guard));
        }
        loop {
            // Wait before stamping: a stamp raised before the wait would abort or push the older writers that queue here.
            if is_held(view, tuple, |holder| keeps_from_reading(view, holder)) {
                return Pinned::new(tuple).map_or(Seen::Gone, Seen::Held);
            }
            tuple.ownership.raise_last_read(view.at);
            match tuple.ownership.holder() {
                Holder::Dead => return Seen::Gone,
                holder if keeps_from_reading(view, holder) => {}
                // An older owner that executes is pushed: it will commit above the stamp (M10).
                holder @ (Holder::Executing(_) | Holder::Committing(_) | Holder::Undated | Holder::Free) => {
                    debug_assert!(holder != Holder::Undated, "M3: its place is not known yet");
                    debug_assert!(tuple.ownership.last_read() >= view.at, "M3: who reads has stamped");
                    return Seen::Version(tuple.version_below(view.at, guard));
                }
            }
        }
    }

    /// Waits for the owner that keeps the reader from a tuple. No guard is held.
    pub(crate) fn wait_to_read(&self, view: &View, table: &Table, held: Pinned) -> Result<()> {
        let waited = self.sleep_while(view, table, &held, |holder| keeps_from_reading(view, holder));
        held.unpin();
        waited
    }
}

/// Prefetches the rows of some keys into the CPU's cache. A hint: the read itself reports an error in the table or a key.
pub(crate) fn prefetch(catalog: &Catalog, id: TableId, keys: &[impl AsRef<[u8]>]) {
    let Some(table) = catalog.get(id) else { return };
    if keys.len() > 1 && keys.iter().all(|key| table.schema.check_key(key.as_ref()).is_ok()) {
        table.space().prefetch(keys, &epoch::pin());
    }
}

/// Returns whether a reader waits for this holder of the tuple (M3, M7).
///
/// Every reader waits, awake, until an undated owner shows its timestamp.
///
/// Every reader waits for a committing owner below its own timestamp. One with `view.waits` waits for older executing owners
/// too. If it may also move, it waits for every committing owner, even for one above it.
///
/// Example for the last: T20 waits for a row that T10 owns. T10 begins to commit, is pushed, and moves to 30. If T20 now read the
/// version before and went on, it could change what T10 has read before T10 has refreshed it, and T10 would abort.
fn keeps_from_reading(view: &View, holder: Holder) -> bool {
    match holder {
        Holder::Committing(owner) => owner < view.at || view.waits && view.moves,
        Holder::Executing(owner) => view.waits && owner < view.name,
        Holder::Undated => true,
        Holder::Free | Holder::Dead => false,
    }
}

/// The row of the version that was found. Its log position is what the answer must wait for (M9).
pub(crate) fn row_of<'g>(view: &mut View, version: Option<VersionRef<'g>>) -> Option<RowRef<'g>> {
    let version = version?;
    rest_on(view, version);
    version.row()
}

/// Remembers what the answer must wait for (M9).
pub(crate) fn rest_on(view: &mut View, version: VersionRef<'_>) {
    assert!(version.begin() < view.at, "M4: a reader sees only older versions");
    view.rests_on = view.rests_on.max(version.log_position());
}
