//! Savepoints: numbers of writes to go back to. What was read stays read.

use crate::Hyper;
use crate::begin::Transaction;
use model::{Invalid, Result, Savepoint};
use std::ops::Deref;

/// Where a transaction can go back to.
#[derive(Debug, Default)]
pub(crate) struct Savepoints {
    open: Vec<Place>,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    number: u64,
    /// Its writes then.
    writes: usize,
    /// See `Core`.
    bytes: u64,
    changed_rows: u64,
}

impl Savepoints {
    /// Writes before this number stay as they are until the last savepoint has gone.
    #[inline]
    pub fn floor(&self) -> usize {
        self.open.last().map_or(0, |place| place.writes)
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    pub(super) fn set_savepoint(&mut self) -> Result<Savepoint> {
        if let Some(error) = &self.core.poison {
            return Err(error.clone());
        }
        self.engine.start(&mut self.core)?;
        let (bytes, changed_rows) = (self.core.bytes, self.core.changed_rows);
        let writes = self.core.worker().writes.len();
        let savepoints = &mut self.core.savepoints;
        savepoints.next += 1;
        savepoints.open.push(Place { number: savepoints.next, writes, bytes, changed_rows });
        Ok(Savepoint { transaction: self.core.name.0, number: savepoints.next })
    }

    /// Undoes what was written since.
    pub(super) fn go_back_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        if let Some(error) = &self.core.poison {
            return Err(error.clone());
        }
        let at = self.position(savepoint).ok_or(Invalid::UnknownSavepoint)?;
        let place = self.core.savepoints.open[at];
        self.core.savepoints.open.truncate(at + 1);
        self.log_given_back(place.writes);
        (self.core.bytes, self.core.changed_rows) = (place.bytes, place.changed_rows);
        let Transaction { engine, core } = self;
        let has_written = core.worker().writes.len() > place.writes;
        engine.undo_down_to(core.worker(), place.writes, None);
        if has_written
            && let Some(writer) = &core.writer
            && writer.status.gives_back()
        {
            engine.sleepers.wake(writer.status.address());
        }
        Ok(())
    }

    pub(super) fn forget_savepoint(&mut self, savepoint: &Savepoint) {
        if let Some(at) = self.position(savepoint) {
            self.core.savepoints.open.truncate(at);
        }
    }

    fn position(&self, savepoint: &Savepoint) -> Option<usize> {
        let is_own = savepoint.transaction == self.core.name.0;
        self.core.savepoints.open.iter().position(|place| is_own && place.number == savepoint.number)
    }
}
