//! Reads of one key: the version of the snapshot, and what is logged of it. Section 2.2.

use crate::begin::{Core, Transaction};
use crate::block::{Rows, Version};
use crate::node::NodeRef;
use crate::predicates::looked_at;
use crate::stop::Stop;
use crate::table::Table;
use crate::tables::unknown;
use crate::undo::{ColumnSet, Undecided};
use crate::wait::Refusal;
use crate::writer::Writer;
use crate::{Hyper, Validation};
use model::{Columns, Key, LogPosition, Result, RowBuf, RowRef, TableId};
use parts::epoch::{self, Guard};
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::spin::Backoff;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;

/// The eyes of a transaction: what it sees of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'t> {
    pub start: u64,
    pub own: Option<&'t Arc<Writer>>,
    /// Where the greatest log position of what it sees is noted. `Relaxed`: read by whoever owns the view, afterwards.
    pub rests_on: Option<&'t AtomicU64>,
    /// Whether it stops at rows that it could not change now ([`Core::reads_wait`]).
    pub stops: bool,
    /// Who ends its waits for writers that decide.
    pub stop: Stop<'t>,
}

impl Core {
    /// What it sees now.
    #[inline]
    pub fn view<'c>(&'c self, engine: &'c Hyper) -> View<'c> {
        let (own, stop) = (self.writer.as_ref(), self.stop(engine));
        View { start: self.start(), own, rests_on: Some(&self.rests_on), stops: self.reads_wait, stop }
    }
}

/// Why a look for a row found no answer.
#[derive(Debug)]
enum Unread {
    /// The row has another place by now.
    Moved,
    /// It was written by somebody who is deciding.
    Undecided(Undecided),
    /// It stops there.
    Refused(Refusal),
}

impl View<'_> {
    /// What is committed at the moment of each look.
    pub fn newest(engine: &Hyper) -> View<'_> {
        View { start: u64::MAX, own: None, rests_on: None, stops: false, stop: engine.never() }
    }

    /// The version of a row that it sees.
    #[inline]
    pub fn of<'r>(&self, rows: &'r Rows, slot: usize) -> std::result::Result<Version<'r>, Undecided> {
        let version = rows.visible(slot, self.start, self.own)?;
        let position = version.position();
        if position > LogPosition::ZERO
            && let Some(noted) = self.rests_on
        {
            noted.fetch_max(position.to_raw(), Relaxed);
        }
        Ok(version)
    }

    /// Copies the row of a key that it sees; `None` if there is none. Returns whether the newest version is its own.
    ///
    /// A row's index entry is looked at again under the latch: it may have left the index since it was found (Y6).
    ///
    /// # Errors
    /// It stops at the row, or its statement must.
    #[inline]
    pub fn read(
        &self,
        table: &Table,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> std::result::Result<Read, Refusal> {
        let mut backoff = Backoff::new();
        loop {
            let read = self.read_once(table, key, columns, row, &epoch::pin());
            match read {
                Ok(read) => return Ok(read),
                Err(Unread::Moved) => backoff.pause(),
                Err(Unread::Undecided(undecided)) => drop(self.stop.await_decision(&undecided.0)?),
                Err(Unread::Refused(refusal)) => return Err(refusal),
            }
        }
    }

    /// The same by one look, which waits for nobody.
    #[inline]
    fn read_once(
        &self,
        table: &Table,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
        guard: &Guard,
    ) -> std::result::Result<Read, Unread> {
        let Some(node) = table.index.get(key, guard) else {
            row.clear();
            return Ok(Read { found: false, is_own: false });
        };
        let (place, node) = (node.place, NodeRef::of(node));
        let rows = table.block(place.block).read();
        let slot = place.slot as usize;
        if !rows.is_of(slot, node) {
            return Err(Unread::Moved);
        }
        if let Some(found) = rows.copy_unversioned(slot, columns, row) {
            return Ok(Read { found, is_own: false });
        }
        if self.stops {
            self.check_free(&rows, slot).map_err(Unread::Refused)?;
        }
        let version = self.of(&rows, slot).map_err(Unread::Undecided)?;
        let found = version.is_there();
        if found {
            version.copy(columns, row);
        } else {
            row.clear();
        }
        Ok(Read { found, is_own: rows.is_owned_by(slot, self.own) })
    }
}

/// Result of a read of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub found: bool,
    /// Whether the reader has written or locked the row, so that nobody else can change it before the reader ends.
    pub is_own: bool,
}

impl Hyper {
    /// Reads what is committed of a row, without a transaction: the table is looked up again after each wait.
    pub(super) fn read_newest(
        &self,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
        rests_on: &AtomicU64,
    ) -> Result<Read> {
        let view = View { rests_on: Some(rests_on), ..View::newest(self) };
        let mut backoff = Backoff::new();
        loop {
            let guard = epoch::pin();
            let table = self.tables.pinned(id.0, &guard).ok_or_else(|| unknown(id))?;
            table.schema().check_key(key)?;
            table.schema().check_columns(columns)?;
            let read = view.read_once(table, key, columns, row, &guard);
            drop(guard);
            match read {
                Ok(read) => return Ok(read),
                Err(Unread::Moved) => backoff.pause(),
                Err(Unread::Undecided(undecided)) => drop(view.stop.await_decision(&undecided.0)?),
                Err(Unread::Refused(_)) => unreachable!("it stops nowhere"),
            }
        }
    }

    /// Shows rows from all over a table as they are committed now. Logs nothing and waits for nobody: rows that move or are being
    /// decided are left out. None with single versions, where a look needs a transaction.
    pub(super) fn sample_committed(
        &self,
        id: TableId,
        most: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) {
        let Ok(table) = self.counted_table(id) else { return };
        if self.options.single_version {
            return;
        }
        let (mut row, mut keys) = (RowBuf::new(), table.index.sample(most));
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let guard = epoch::pin();
            let read = View::newest(self).read_once(&table, &key, Columns::All, &mut row, &guard);
            drop(guard);
            if read.is_ok_and(|read| read.found) && visit(row.row()).is_break() {
                return;
            }
        }
    }

    /// The columns that count of a read of these.
    #[inline]
    pub(super) fn counted(&self, columns: ColumnSet) -> ColumnSet {
        if self.options.validation == Validation::Rows { ColumnSet::ALL } else { columns }
    }

    /// Returns whether reads of a transaction are logged.
    #[inline]
    pub(super) fn logs(&self, core: &Core) -> bool {
        core.is_logged() && self.options.validation != Validation::Snapshots && !self.options.single_version
    }

    /// Logs a read of one key.
    #[inline]
    pub(super) fn log_point(&self, core: &mut Core, table: TableId, key: &[u8], columns: ColumnSet) {
        if self.logs(core) && core.skips(table).is_none() {
            let columns = self.counted(columns);
            let most = self.options.predicates as usize;
            core.worker().log.point(table, key, columns, most);
        }
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Reads a row.
    #[inline]
    pub(super) fn read_point(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        self.begin_statement()?;
        let mut stops = self.core.reads_wait && self.core.skips(table).is_none();
        loop {
            let Transaction { engine, core } = self;
            let table = engine.table(table)?;
            table.schema().check_key(key)?;
            table.schema().check_columns(columns)?;
            match (View { stops, ..core.view(engine) }).read(table, key, columns, row) {
                Ok(read) => {
                    if !read.is_own {
                        engine.log_point(core, table.id, key, looked_at(columns, None));
                    }
                    return Ok(read.found);
                }
                Err(refusal) => {
                    let id = table.id;
                    stops = self.make_way(refusal, id, key)?;
                }
            }
        }
    }

    /// Reads several rows; see [`model::Access::read_many`].
    pub(super) fn read_points(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        self.begin_statement()?;
        let mut row = std::mem::take(&mut self.core.worker().before);
        let mut numbered = keys.iter().enumerate();
        let read = keys.chunks(SIDE_BY_SIDE).try_for_each(|together| {
            self.engine.table(table)?.prefetch(together, looked_at(columns, None));
            numbered.by_ref().take(together.len()).try_for_each(|(at, key)| {
                let found = self.read_point(table, key, columns, &mut row)?;
                each(at, found.then(|| row.row()));
                Ok(())
            })
        });
        // It is gone where a read has failed.
        self.core.worker.iter_mut().for_each(|worker| std::mem::swap(&mut worker.before, &mut row));
        read
    }
}
