//! Reads of one row in a transaction of its own, which the engine may have a shorter way for.

use crate::database::{Database, Shared};
use crate::resolve::{Place, ResolvedTable, TableRef};
use crate::{Error, Result};
use model::{Columns, Got, Interactive, Key, RowBuf, RowRef};
use std::cell::Cell;

thread_local! {
    /// Memory of the row and of its definition's version, from read to read.
    static ROWS: Cell<(RowBuf, RowBuf)> = Cell::default();
}

impl TableRef {
    /// Reads the row under a key as it is now, and lets `make` look at it once it is durable. `None` if only a transaction can tell:
    /// the table's definition has changed or is not known yet, or something is wrong.
    ///
    /// # Errors
    /// Errors of `make`, of the log.
    pub fn read_now<T>(
        self,
        db: &Database,
        key: &Key,
        make: impl FnOnce(ResolvedTable<'_>, RowRef<'_>) -> Result<T>,
    ) -> Result<Option<Option<T>>> {
        if db.shared.id != self.database {
            return Err(Error::OtherDatabase);
        }
        let mut rows = ROWS.take();
        let read = db.shared.read_now(self.place, key, &mut rows, make);
        ROWS.set(rows);
        read
    }
}

impl Shared {
    fn read_now<T>(
        &self,
        place: Place,
        key: &Key,
        (row, version): &mut (RowBuf, RowBuf),
        make: impl FnOnce(ResolvedTable<'_>, RowRef<'_>) -> Result<T>,
    ) -> Result<Option<Option<T>>> {
        let store = self.store();
        let layout;
        let (resolved, got) = match place {
            Place::Plain(table) => {
                (ResolvedTable::Plain(table), Interactive::get(store, table, key, Columns::All, row).ok())
            }
            Place::Defined(handle) => {
                let known = self.kept.handles.all()[handle as usize].layout.clone();
                let Some((known, tables)) = known.zip(self.known_tables()) else { return Ok(None) };
                layout = known;
                let stored = layout.stored_key(key).ok();
                let got = stored.and_then(|key| layout.get_now(store, tables.catalog(), &key, (row, version)));
                (ResolvedTable::Defined(&layout), got)
            }
        };
        let Some(Got { found, log_position }) = got else { return Ok(None) };
        Interactive::wait_durable(store, log_position)?;
        Ok(Some(if found { Some(make(resolved, row.row())?) } else { None }))
    }
}
