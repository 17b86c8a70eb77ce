//! Snapshots: reads of the committed state as of a place, beside everything else.
//!
//! A transaction is applied under the latch of the open snapshots. So one that begins has a place behind which nothing is applied yet,
//! and what it may read is kept (D9).

use crate::Core;
use crate::attempt::show;
use crate::object::Object;
use crate::read::Visitor;
use crate::store::{KeyRange, Table};
use crate::turn::{Place, READERS_OF_A_PLACE, READING_NODES};
use model::{
    Access, Columns, Delta, Draws, Invalid, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, SerialPoint, TableId,
};
use parts::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// Objects that are taken under one latch of a table.
const TAKEN_AT_ONCE: usize = 64;

/// The open snapshots.
#[derive(Debug, Default)]
pub(crate) struct Snapshots(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// What is applied. Changed by the thread that delivers, which has no other latch then.
    applied: Place,
    /// Open snapshots by their places.
    open: BTreeMap<Place, usize>,
    /// Objects with replaced versions.
    kept: Vec<Arc<Object>>,
    /// Serial points that were given at the last place.
    points: (Place, u64),
}

/// A commit that is being applied.
pub(crate) struct Committing<'s> {
    state: MutexGuard<'s, State>,
    place: Place,
}

/// An open snapshot.
pub(crate) struct Snapshot<'e> {
    core: &'e Core,
    place: Place,
    draws: Option<Draws>,
}

impl Snapshots {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to apply a transaction: no snapshot begins until it is applied.
    pub fn begin_commit(&self, place: Place) -> Committing<'_> {
        Committing { state: self.lock(), place }
    }

    /// Everything up to a place is applied.
    pub fn set_applied(&self, place: Place) {
        let mut state = self.lock();
        assert!(state.applied <= place, "D5: places are applied in their order");
        state.applied = place;
    }
}

impl Committing<'_> {
    /// The place of the oldest snapshot; of this commit, if there is none.
    pub fn oldest(&self) -> Place {
        self.state.open.keys().next().copied().unwrap_or(self.place)
    }

    /// Remembers an object that has replaced versions.
    pub fn keep(&mut self, object: Arc<Object>) {
        self.state.kept.push(object);
    }
}

impl Drop for Committing<'_> {
    /// Applied, as far as snapshots are concerned: they begin at this place from now on.
    fn drop(&mut self) {
        self.state.applied = self.place;
    }
}

impl<'e> Snapshot<'e> {
    /// Begins a snapshot of what is applied.
    pub fn begin(core: &'e Core, draws: Option<Draws>) -> Snapshot<'e> {
        let mut state = core.snapshots.lock();
        let place = state.applied;
        *state.open.entry(place).or_default() += 1;
        Snapshot { core, place, draws: draws.map(Draws::restarted) }
    }

    /// A point between those of its place and the next one that no other snapshot has. `None`: they are used up.
    pub fn serial_point(&self) -> Option<SerialPoint> {
        let node = self.core.origins.own().node;
        let mut state = self.core.snapshots.lock();
        if state.points.0 < self.place {
            state.points = (self.place, 0);
        }
        if node >= READING_NODES || state.points.1 + 1 >= READERS_OF_A_PLACE || state.points.0 != self.place {
            return None;
        }
        state.points.1 += 1;
        Some(self.place.reader_point(state.points.1, node))
    }

    fn table(&self, id: TableId) -> Result<&'e Table> {
        Ok(self.core.tables.find(id)?)
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let mut state = self.core.snapshots.lock();
        let count = state.open.get_mut(&self.place).expect("D9: it is open");
        *count -= 1;
        if *count > 0 {
            return;
        }
        let was_oldest = state.open.first_key_value().is_some_and(|(place, _)| *place == self.place);
        state.open.remove(&self.place);
        if !was_oldest {
            return;
        }
        let oldest = state.open.keys().next().copied().unwrap_or(state.applied);
        let kept = std::mem::take(&mut state.kept);
        let mut vacant = Vec::new();
        for object in kept {
            match object.collect(oldest) {
                true => state.kept.push(object),
                false => vacant.push(object),
            }
        }
        drop(state);
        vacant.into_iter().for_each(|object| self.core.sweep(object.table, object));
    }
}

impl Access for Snapshot<'_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let table = self.table(table)?;
        table.schema.check_key(key)?;
        table.schema.check_columns(columns)?;
        let found = table.get(key).and_then(|object| object.row_at(self.place));
        Ok(show(found.as_deref(), columns, row))
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
        let table = self.table(scan.table)?;
        table.schema.check_scan(scan)?;
        let mut left = KeyRange { lower: scan.lower.clone(), upper: scan.upper.clone() };
        let mut visitor = Visitor { scan, visit, shown: RowBuf::new(), examined: 0 };
        loop {
            let objects = table.range(&left, scan.direction, TAKEN_AT_ONCE);
            for object in &objects {
                let Some(row) = object.row_at(self.place) else { continue };
                if visitor.visit(&object.key, &row).is_break() {
                    return Ok(ScanEnd::Stopped(Key::from_bytes(&object.key)));
                }
            }
            match objects.last() {
                Some(last) if objects.len() == TAKEN_AT_ONCE => left.behind(&last.key, scan.direction),
                _ => return Ok(ScanEnd::Finished),
            }
        }
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}
