//! Rows of programs: written with their entries, each statement as a whole or not at all.
//!
//! A key or an exclusive entry that is taken is found by reading, before anything is written.

use crate::definition::Index;
use crate::entries::{self, Change, Rows, entry_of};
use crate::error::{Duplicate, Error, Result};
use crate::layout::Layout;
use crate::schema::{IndexId, Schema};
use model::{Access, Columns, Delta, Invalid, Key, RowBuf, RowRef};
use std::sync::Arc;

impl Layout {
    /// Writes a row where none is.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if its key, or an entry of a unique index, is taken; [`Invalid::Row`] if it does not fit.
    pub fn insert<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_writable()?;
        let mut buffer = RowBuf::new();
        let stored = self.stored_row(key, row, &mut buffer)?;
        let stored_key = self.stored_key(key)?;
        if self.has_unique() && access.read(self.rows(), &stored_key, Columns::None, &mut RowBuf::new())? {
            return Err(self.taken(key));
        }
        self.insert_stored(access, key, &stored_key, stored)
    }

    fn insert_stored<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &[u8],
        stored_key: &[u8],
        stored: RowRef<'_>,
    ) -> Result<()> {
        self.check_unique(access, stored_key, None, stored)?;
        let written = entries::insert(access, self, self.table(), stored_key, stored.bytes(), stored);
        written.map_err(|error| match error {
            Error::Duplicate(_) => self.taken(key),
            error => error,
        })
    }

    /// Writes a row, whether or not one is there.
    ///
    /// # Errors
    /// Errors of [`Layout::insert`], except that its key may be taken.
    pub fn put<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_writable()?;
        let mut buffer = RowBuf::new();
        let stored = self.stored_row(key, row, &mut buffer)?;
        let stored_key = self.stored_key(key)?;
        if !self.has_entries() {
            return Ok(access.put(self.rows(), &stored_key, stored)?);
        }
        let mut old = RowBuf::new();
        match access.read_for_update(self.rows(), &stored_key, Columns::All, &mut old)? {
            true => self.replace_stored(access, &stored_key, old.row(), stored),
            false => self.insert_stored(access, key, &stored_key, stored),
        }
    }

    /// Writes the stored row `new` in place of `old` under the same key.
    fn replace_stored<A: Access + ?Sized>(
        &self,
        access: &mut A,
        stored_key: &[u8],
        old: RowRef<'_>,
        new: RowRef<'_>,
    ) -> Result<()> {
        self.check_unique(access, stored_key, Some(old), new)?;
        let change = Change { key: stored_key, old: old.bytes(), new_key: stored_key, new: new.bytes() };
        entries::replace(access, self, self.table(), &change, new)
    }

    /// Changes columns of the row under `key`; `false` if there is none.
    ///
    /// # Errors
    /// Errors of [`Layout::put`]; [`Invalid::Row`] if a sum is out of range, or the key would change.
    pub fn update<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], delta: &Delta) -> Result<bool> {
        let (mut old, mut new, mut buffer) = (RowBuf::new(), RowBuf::new(), RowBuf::new());
        let stored_key = self.stored_key(key)?;
        if !access.read_for_update(self.rows(), &stored_key, Columns::All, &mut old)? {
            return Ok(false);
        }
        self.schema().change(self.program_row(old.row(), &mut buffer), delta, &mut new)?;
        self.check_writable()?;
        let new = self.stored_row(key, new.row(), &mut buffer)?;
        self.replace_stored(access, &stored_key, old.row(), new)?;
        Ok(true)
    }

    /// Deletes the row under `key`; `false` if there is none.
    ///
    /// # Errors
    /// [`Invalid::Row`] if only SQL may.
    pub fn delete<A: Access + ?Sized>(&self, access: &mut A, key: &[u8]) -> Result<bool> {
        self.check_writable()?;
        self.check_removable()?;
        let stored_key = self.stored_key(key)?;
        if !self.has_entries() {
            return Ok(access.delete(self.rows(), &stored_key)?);
        }
        let mut old = RowBuf::new();
        if !access.read_for_update(self.rows(), &stored_key, Columns::All, &mut old)? {
            return Ok(false);
        }
        entries::remove(access, self, self.table(), &stored_key, old.bytes())
    }

    /// Checks a stored row against its entries: each index must lead to it.
    ///
    /// # Errors
    /// [`model::Fault::Corruption`] names the first index that does not.
    pub fn check_entries<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], stored: RowRef<'_>) -> Result<()> {
        let mut found = RowBuf::new();
        for index in &self.table().indexes {
            let Some((table, entry)) = entry_of(self, index, key, stored.bytes())? else { continue };
            if !access.read(table, &entry.key, Columns::All, &mut found)? || found.bytes() != key {
                let detail = format!("table {}: index {} does not lead to a row", self.table().name, index.name);
                return Err(model::Error::from(model::Fault::Corruption { detail }).into());
            }
        }
        Ok(())
    }

    /// Checks that no other row has the exclusive entries that a row gets, before anything is written: the program may go on after the
    /// error. `entries.rs` has the route of SQL.
    fn check_unique<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &[u8],
        old: Option<RowRef<'_>>,
        new: RowRef<'_>,
    ) -> Result<()> {
        for index in self.table().indexes.iter().filter(|index| index.is_secondary_unique()) {
            if old.is_some_and(|old| self.agree(index, old.bytes(), new.bytes())) {
                continue;
            }
            if old.is_some() {
                self.check_removable()?;
            }
            let Some((table, entry)) = entry_of(self, index, key, new.bytes())? else { continue };
            if entry.exclusive && access.read(table, &entry.key, Columns::None, &mut RowBuf::new())? {
                return Err(self.entry_taken(index, key, new));
            }
        }
        Ok(())
    }

    /// A duplicate of the primary key.
    fn taken(&self, key: &[u8]) -> Error {
        Duplicate { table: self.schema().clone(), index: None, key: Key::from_bytes(key) }.into()
    }

    /// A duplicate in a unique index, which need not be one of the program's.
    fn entry_taken(&self, index: &Index, key: &[u8], stored: RowRef<'_>) -> Error {
        let known = self.number_of(index).map(|number| (self.schema().clone(), number));
        let Some((schema, number)) = known.or_else(|| self.with_index(index)) else {
            let what = format!("another row has its entry in the unique index {}", index.name);
            return Invalid::Row { table: self.schema().name().into(), what }.into();
        };
        let mut buffer = RowBuf::new();
        let row = self.program_row(stored, &mut buffer);
        let key = schema.index_entry(IndexId(number), &self.program_key(key).unwrap_or_default(), row);
        Duplicate { table: schema, index: Some(number), key }.into()
    }

    /// The program's schema with an index that it does not know.
    fn with_index(&self, index: &Index) -> Option<(Arc<Schema>, u16)> {
        let mut schema = Schema::table(self.schema().name());
        for column in self.schema().columns() {
            schema = match column.nullable {
                true => schema.nullable(&column.name, column.kind),
                false => schema.column(&column.name, column.kind),
            };
        }
        let model::KeyKind::Columns(key) = self.schema().key() else { return None };
        let key = key.iter().map(|&at| self.schema().columns()[usize::from(at)].name.as_str());
        let names = index.columns.iter().map(|&at| self.table().columns[at].name.as_str());
        Some((Arc::new(schema.key(key).unique(&index.name, names).build().ok()?), 0))
    }
}
