//! Reads as of a position: the version of a key, a range of keys, and a read-only [`Access`] over both.

use crate::Shared;
use crate::execute::Executor;
use crate::position::Position;
use crate::readers::Pinned;
use crate::record::RecordRef;
use crate::store::Table;
use crate::version::{Content, VersionRef};
use crate::{call::CallRef, ensure};
use model::{Access, Columns, Delta, Draws, Error, Invalid, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use parts::epoch;
use parts::index::KeyHash;
use parts::index::ordered::Cursor;
use parts::index::prefetch::SIDE_BY_SIDE;
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// The newest version of a key at or below a position.
pub(crate) fn version_at(table: &Table, key: &[u8], position: Position) -> Option<VersionRef> {
    let record = table.index.get(key, &epoch::pin())?;
    newest_at(record, position)
}

pub(crate) fn newest_at(record: RecordRef, position: Position) -> Option<VersionRef> {
    let mut version = record.newest();
    while version.begin() > position {
        let previous = version.previous()?;
        assert!(
            previous.begin() < version.begin(),
            "B8: a version that a reader may want is neither freed nor used again"
        );
        version = previous;
    }
    Some(version)
}

/// The newest versions of some keys at or below a position, looked up side by side.
fn versions_at(table: &Table, keys: &[Key], position: Position, found: &mut Vec<Option<VersionRef>>) -> Result<()> {
    keys.iter().try_for_each(|key| table.schema.check_key(key))?;
    let (guard, index) = (epoch::pin(), &table.index);
    if index.is_ordered() {
        index.prefetch_newest(keys, &guard);
        found.extend(keys.iter().map(|key| newest_at(index.get(key, &guard)?, position)));
        return Ok(());
    }
    // A step for all of them before the next one, with one hash of each key.
    let hashes: SmallVec<[KeyHash; SIDE_BY_SIDE]> = keys.iter().map(|key| index.begin_lookup(key)).collect();
    hashes.iter().for_each(|hash| index.prefetch_record(*hash));
    let records: SmallVec<[Option<RecordRef>; SIDE_BY_SIDE]> =
        keys.iter().zip(&hashes).map(|(key, hash)| index.get_hashed(key, *hash, &guard)).collect();
    records.iter().flatten().for_each(|record| record.newest().prefetch());
    found.extend(records.into_iter().map(|record| newest_at(record?, position)));
    Ok(())
}

fn project<'r>(row: RowRef<'_>, columns: Columns<'_>, shown: &'r mut RowBuf) -> RowRef<'r> {
    shown.project(row, columns);
    shown.row()
}

/// Who scans as of a position: copies the row of a version, `false` if it has none.
pub(crate) type RowOf<'r> = &'r mut dyn FnMut(&[u8], VersionRef, &mut RowBuf) -> Result<bool>;

/// Visits the rows of a range as of a position. Keys are in the index before any later batch is planned, so no phantom
/// can come (B3).
pub(crate) fn scan_at(
    table: &Table,
    position: Position,
    scan: &Scan<'_>,
    row_of: RowOf<'_>,
    visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
) -> Result<ScanEnd> {
    let (lower, upper) = (scan.lower.as_ref().map(|key| &key[..]), scan.upper.as_ref().map(|key| &key[..]));
    let mut cursor = Cursor::new(lower, upper, scan.direction);
    let (mut row, mut shown, mut records) = (RowBuf::new(), RowBuf::new(), Vec::new());
    let mut examined = 0;
    loop {
        records.clear();
        let most = scan.examine.map_or(usize::MAX, |most| most.saturating_sub(examined).max(1));
        let has_more = table.index.scan_leaf(&mut cursor, most, &mut records);
        for record in &records {
            let key = parts::index::Entry::key(&**record);
            let Some(version) = newest_at(*record, position) else { continue };
            if !row_of(key, version, &mut row)? {
                continue;
            }
            examined += 1;
            let mut flow = ControlFlow::Continue(());
            if scan.filter.is_none_or(|filter| filter.matches(row.row())) {
                flow = match scan.columns {
                    Columns::All => visit(Item { key, row: row.row() }),
                    columns => {
                        shown.project(row.row(), columns);
                        visit(Item { key, row: shown.row() })
                    }
                };
            }
            if flow.is_break() || scan.examine.is_some_and(|most| examined >= most) {
                return Ok(ScanEnd::Stopped(Key::from_bytes(key)));
            }
        }
        if !has_more {
            return Ok(ScanEnd::Finished);
        }
    }
}

/// State that a [`Trial`] reads.
pub(crate) trait State<'e> {
    /// The position as of which it is read: the same for all reads.
    fn position(&mut self) -> Result<Position>;

    /// Sees to it that a version has its row.
    fn make_ready(&mut self, version: VersionRef) -> Result<()>;

    /// The engine.
    fn shared(&self) -> &'e Shared;
}

/// The state at the end of the last complete batch: nobody waits for anything. It is fixed by the first read.
pub(crate) struct Boundary<'s> {
    pub shared: &'s Shared,
    pub pinned: Option<Pinned<'s>>,
}

impl<'s> Boundary<'s> {
    pub fn new(shared: &'s Shared) -> Boundary<'s> {
        Boundary { shared, pinned: None }
    }

    /// Fixes the state.
    pub fn pin(&mut self) -> Result<&Pinned<'s>> {
        if self.pinned.is_none() {
            self.pinned = Some(self.shared.pipeline.readers.pin()?);
        }
        Ok(self.pinned.as_ref().expect("it is pinned"))
    }
}

impl<'s> State<'s> for Boundary<'s> {
    fn position(&mut self) -> Result<Position> {
        Ok(self.pin()?.position())
    }

    fn make_ready(&mut self, version: VersionRef) -> Result<()> {
        ensure(version.content() != Content::Empty, "B10: below the end of a complete batch every version has its row");
        Ok(())
    }

    fn shared(&self) -> &'s Shared {
        self.shared
    }
}

/// The state at a position that an executing thread may evaluate.
pub(crate) struct Evaluated<'a, 'e> {
    pub executor: &'a mut Executor<'e>,
    pub position: Position,
    pub blocked_on: Option<CallRef>,
}

impl<'e> State<'e> for Evaluated<'_, 'e> {
    fn position(&mut self) -> Result<Position> {
        Ok(self.position)
    }

    fn make_ready(&mut self, version: VersionRef) -> Result<()> {
        self.executor.make_ready(version, self.position).map_err(|blocked_on| {
            self.blocked_on = Some(blocked_on);
            Error::NotYet
        })
    }

    fn shared(&self) -> &'e Shared {
        self.executor.shared
    }
}

/// A read-only [`Access`]: of trial runs, which look for footprints, and of snapshots.
pub(crate) struct Trial<'e, S> {
    pub state: S,
    engine: PhantomData<&'e Shared>,
    pub draws: Option<Draws>,
    /// Whether anything was read.
    pub was_touched: bool,
}

impl<'e, S: State<'e>> Trial<'e, S> {
    pub fn new(state: S, draws: Option<Draws>) -> Trial<'e, S> {
        Trial { state, engine: PhantomData, draws, was_touched: false }
    }
}

impl<'e, S: State<'e>> Access for Trial<'e, S> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.was_touched = true;
        row.clear();
        let position = self.state.position()?;
        let table = self.state.shared().tables.find_at(table, position)?;
        table.schema.check_key(key)?;
        table.schema.check_columns(columns)?;
        let Some(version) = version_at(table, key, position) else { return Ok(false) };
        self.state.make_ready(version)?;
        let found = version.row(version.content()).map(|bytes| row.project(RowRef::new(bytes), columns));
        Ok(found.is_some())
    }

    /// Shows rows where they are: versions are immutable.
    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        self.was_touched = true;
        let position = self.state.position()?;
        let table = self.state.shared().tables.find_at(table, position)?;
        table.schema.check_columns(columns)?;
        let (mut found, mut shown) = (Vec::with_capacity(SIDE_BY_SIDE.min(keys.len())), RowBuf::new());
        for (group, keys) in keys.chunks(SIDE_BY_SIDE).enumerate() {
            versions_at(table, keys, position, &mut found)?;
            for (at, version) in found.drain(..).enumerate() {
                let Some(version) = version else {
                    each(group * SIDE_BY_SIDE + at, None);
                    continue;
                };
                self.state.make_ready(version)?;
                let row = version.row(version.content()).map(RowRef::new);
                let row = row.map(|row| if columns == Columns::All { row } else { project(row, columns, &mut shown) });
                each(group * SIDE_BY_SIDE + at, row);
            }
        }
        Ok(())
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        if let Some(table) = self.state.shared().tables.get(table)
            && keys.iter().all(|key| table.schema.check_key(key).is_ok())
        {
            table.index.prefetch_newest(keys, &epoch::pin());
        }
    }

    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        Err(Invalid::ReadOnly.into())
    }

    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        Err(Invalid::ReadOnly.into())
    }

    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        Err(Invalid::ReadOnly.into())
    }

    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        Err(Invalid::ReadOnly.into())
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.was_touched = true;
        let position = self.state.position()?;
        let table = self.state.shared().tables.find_at(scan.table, position)?;
        table.schema.check_scan(scan)?;
        let state = &mut self.state;
        let mut row_of = |_: &[u8], version: VersionRef, row: &mut RowBuf| {
            state.make_ready(version)?;
            let found = version.row(version.content()).map(|bytes| row.set_bytes(bytes));
            Ok(found.is_some())
        };
        scan_at(table, position, scan, &mut row_of, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}
