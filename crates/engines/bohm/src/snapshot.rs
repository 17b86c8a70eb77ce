//! Snapshots that own a handle of the engine: the state at the end of a complete batch, for as long as they are held.

use crate::Bohm;
use crate::position::Position;
use crate::read::{State, Trial};
use crate::version::{Content, VersionRef};
use crate::{Shared, ensure};
use model::{Access, Columns, Item, ReadView, Result, RowBuf, Scan, ScanEnd, SerialPoint, TableId};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The state at the end of the last batch that was complete when the snapshot was taken. It waits for nobody, delays nobody,
/// and keeps the versions that it may read. Several threads may read it at once ([`ReadView`]).
pub struct Snapshot {
    engine: Arc<Bohm>,
    /// Its slot among the readers, which is its own until it is dropped.
    slot: usize,
    batch: u64,
    place: Position,
}

/// The state of a snapshot, for one read.
struct Fixed<'s> {
    shared: &'s Shared,
    position: Position,
}

impl<'s> State<'s> for Fixed<'s> {
    fn position(&mut self) -> Result<Position> {
        Ok(self.position)
    }

    fn make_ready(&mut self, version: VersionRef) -> Result<()> {
        ensure(version.content() != Content::Empty, "B10: below the end of a complete batch every version has its row");
        Ok(())
    }

    fn shared(&self) -> &'s Shared {
        self.shared
    }
}

impl Bohm {
    /// Takes a snapshot of the state at the end of the last complete batch: serializable, not strict. After
    /// [`Bohm::settle`] it shows everything that was submitted before that.
    ///
    /// # Errors
    /// [`model::LimitKind::Transactions`] with too many readers.
    pub fn snapshot(self: &Arc<Self>) -> Result<Snapshot> {
        let readers = &self.shared.pipeline.readers;
        let (slot, batch) = readers.open_slot()?;
        Ok(Snapshot { slot, batch, place: readers.place_behind(batch), engine: self.clone() })
    }

    /// Returns about how many keys a table has, with those whose absence is still recorded; `None` for an unknown table.
    pub fn key_count(&self, table: TableId) -> Option<u64> {
        Some(self.shared.tables.get(table)?.index.len() as u64)
    }
}

impl Snapshot {
    /// Its place in the serial order: behind all procedures of its batch, and before those of the next one.
    pub fn serial_point(&self) -> SerialPoint {
        self.place.serial_point()
    }

    /// Its rows for a body, which may not write.
    pub fn reads(&self) -> impl Access {
        self.rows()
    }

    fn rows(&self) -> Trial<'_, Fixed<'_>> {
        Trial::new(Fixed { shared: &self.engine.shared, position: Position::end_of(self.batch) }, None)
    }
}

impl ReadView for Snapshot {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.rows().read(table, key, columns, row)
    }

    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.rows().scan(scan, visit)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.engine.shared.pipeline.readers.close_slot(self.slot);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("batch", &self.batch).finish_non_exhaustive()
    }
}
