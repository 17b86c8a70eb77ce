//! SKIP LOCKED: a statement takes rows that nobody has, and passes over the others without having read them.

use crate::Hyper;
use crate::begin::{Core, Transaction};
use crate::wait::Refusal;
use model::{Error, Result, SkipsLocked, TableId, Timestamp};
use std::ops::Deref;
use std::sync::Arc;

/// A statement that passes over rows: what it looks at in these tables is not logged.
#[derive(Clone, Debug)]
pub(crate) struct Skips {
    /// Rows that were changed later are passed over, too.
    since: u64,
    tables: Arc<[TableId]>,
}

impl Skips {
    /// The start of the statement, if it passes over rows of a table.
    pub fn of(&self, table: TableId) -> Option<u64> {
        self.tables.contains(&table).then_some(self.since)
    }
}

impl Core {
    /// The start of the statement, if it passes over rows of a table.
    #[inline]
    pub fn skips(&self, table: TableId) -> Option<u64> {
        self.skips.as_ref().and_then(|skips| skips.of(table))
    }
}

impl<H: Deref<Target = Hyper> + Send> SkipsLocked for Transaction<H> {
    fn begin_skipping(&mut self) -> Result<Timestamp> {
        self.statement(|open| {
            if let Some(error) = &open.core.poison {
                return Err(error.clone());
            }
            let has_started = open.core.start.is_some();
            open.engine.start(&mut open.core)?;
            if has_started {
                // What it has read may have changed since. Then it looks where it is: it finds less.
                open.advance()?;
            }
            Ok(Timestamp(open.core.start()))
        })
    }

    fn skip(&mut self, since: Timestamp, tables: Arc<[TableId]>) {
        self.core.skips = Some(Skips { since: since.0, tables });
    }

    fn stop_skipping(&mut self) {
        self.core.skips = None;
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Returns the error of a row that the statement passes over. None if it does not, or not before somebody has ended.
    pub(super) fn passes_over(&self, refusal: &Refusal, table: TableId, key: &[u8]) -> Option<Error> {
        self.core.skips(table)?;
        let other = match refusal {
            Refusal::Ending(_) | Refusal::Stopped(_) => return None,
            Refusal::Owned(owner, _) if self.engine.take_if_old(owner) => return None,
            Refusal::Owned(other, _) | Refusal::Newer(other) => other,
        };
        let conflict = Self::conflict(crate::Reason::WaitLimit, table, key, other);
        Some(Error::Unavailable(Box::new(self.abort_of(conflict))))
    }
}
