//! A table with indexes, by the rules of the table layer: each index is a table of its own, and a row changes together with its
//! entries. Engines know nothing of it; what a transaction sees of several tables at once must fit together all the same.

use model::{
    Access, Columns, Delta, Direction, Duplicate, Invalid, Key, Result, RowBuf, RowRef, Scan, ScanEnd, Schema, TableId,
    ValueRef,
};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// An index to be made.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [u16],
    /// Whether no two rows may agree in them (rows with a NULL never do).
    pub unique: bool,
}

/// A table, and a table of entries for each of its indexes.
#[derive(Clone, Debug)]
pub struct Indexed {
    /// The table of the rows.
    pub rows: TableId,
    schema: Arc<Schema>,
    entries: Vec<Entries>,
}

#[derive(Clone, Debug)]
struct Entries {
    table: TableId,
    schema: Arc<Schema>,
    index: Index,
}

/// A row that was found by its entry in an index.
#[derive(Clone, Debug)]
pub struct Found {
    /// The entry's key.
    pub entry: Key,
    /// The row's key.
    pub key: Key,
    /// The row.
    pub row: RowBuf,
}

impl Indexed {
    /// Makes the tables by `create`: that of the rows first.
    pub fn create(schema: Schema, indexes: &[Index], mut create: impl FnMut(Schema) -> TableId) -> Indexed {
        let rows = create(schema.clone());
        let entries = |index: &Index| {
            let name = format!("{}_{}", schema.name(), index.name);
            let entries = Schema::bytes(name).for_index().build().expect("a good schema");
            Entries { table: create(entries.clone()), schema: Arc::new(entries), index: *index }
        };
        Indexed { rows, entries: indexes.iter().map(entries).collect(), schema: Arc::new(schema) }
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The tables of the entries, with the name of each index.
    pub fn entries(&self) -> impl Iterator<Item = (TableId, Index)> {
        self.entries.iter().map(|entries| (entries.table, entries.index))
    }

    /// Rows of all tables, where that of the rows has this many.
    pub fn records(&self, rows: u64) -> u64 {
        rows * (1 + self.entries.len() as u64)
    }

    /// Writes a row where none is.
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if its key or an entry of a unique index is taken.
    pub fn insert<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check(key, row)?;
        if self.has_unique() && access.read(self.rows, key, Columns::All, &mut RowBuf::new())? {
            return Err(Duplicate { table: self.schema.clone(), key: key.into() }.into());
        }
        self.check_unique(access, key, None, row)?;
        access.insert(self.rows, key, row)?;
        self.change_entries(access, key, None, Some(row))
    }

    /// Writes a row, whether or not one is there.
    ///
    /// # Errors
    /// Same as [`Indexed::insert`], except that its key may be taken.
    pub fn put<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], row: RowRef<'_>) -> Result<()> {
        if self.entries.is_empty() {
            return access.put(self.rows, key, row);
        }
        self.check(key, row)?;
        let mut old = RowBuf::new();
        let found = access.read_for_update(self.rows, key, Columns::All, &mut old)?;
        self.replace(access, key, found.then(|| old.row()), row)
    }

    /// Changes columns of a row; `false` if there is none.
    ///
    /// # Errors
    /// Same as [`Indexed::put`].
    pub fn update<A: Access + ?Sized>(&self, access: &mut A, key: &[u8], delta: &Delta) -> Result<bool> {
        if self.entries.is_empty() {
            return access.update(self.rows, key, delta);
        }
        let mut old = RowBuf::new();
        if !access.read_for_update(self.rows, key, Columns::All, &mut old)? {
            return Ok(false);
        }
        let mut new = RowBuf::new();
        self.schema.change(old.row(), delta, &mut new)?;
        self.check(key, new.row())?;
        self.check_unique(access, key, Some(old.row()), new.row())?;
        access.update(self.rows, key, delta)?;
        self.change_entries(access, key, Some(old.row()), Some(new.row()))?;
        Ok(true)
    }

    /// Deletes a row; `false` if there is none.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn delete<A: Access + ?Sized>(&self, access: &mut A, key: &[u8]) -> Result<bool> {
        if self.entries.is_empty() {
            return access.delete(self.rows, key);
        }
        let mut old = RowBuf::new();
        if !access.read_for_update(self.rows, key, Columns::All, &mut old)? {
            return Ok(false);
        }
        access.delete(self.rows, key)?;
        self.change_entries(access, key, Some(old.row()), None)?;
        Ok(true)
    }

    /// Reads the rows of a range of an index, up to `limit` of them.
    ///
    /// # Errors
    /// Errors of the engine; [`Invalid::Row`] if an entry leads to no row, or to one that does not have it: the engine has shown half
    /// a transaction.
    pub fn scan_index<A: Access + ?Sized>(
        &self,
        access: &mut A,
        index: usize,
        (lower, upper): (Bound<Key>, Bound<Key>),
        (direction, limit): (Direction, usize),
    ) -> Result<(Vec<Found>, ScanEnd)> {
        let entries = &self.entries[index];
        let scan = Scan { direction, ..Scan::table(entries.table).between(lower, upper) };
        let mut found = Vec::new();
        let end = access.scan(&scan, &mut |item| {
            let key = Key::from_bytes(item.row.bytes());
            found.push(Found { entry: item.key.into(), key, row: RowBuf::new() });
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for Found { entry, key, row } in &mut found {
            let is_there = access.read(self.rows, key, Columns::All, row)?;
            let is_its = is_there && self.entry(entries, key, row.row()).0 == *entry;
            if !is_its {
                // An optimistic engine may show half of another's transaction to one that will abort. One that commits has
                // answered with this mistake, which the twin never does.
                let what = format!("entry {entry:?} does not belong to what row {key:?} is");
                return Err(Invalid::Row { table: entries.schema.name().to_owned(), what }.into());
            }
        }
        Ok((found, end))
    }

    fn check(&self, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.schema.check_key(key)?;
        Ok(self.schema.check_row(key, row)?)
    }

    fn has_unique(&self) -> bool {
        self.entries.iter().any(|entries| entries.index.unique)
    }

    fn replace<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &[u8],
        old: Option<RowRef<'_>>,
        new: RowRef<'_>,
    ) -> Result<()> {
        self.check_unique(access, key, old, new)?;
        access.put(self.rows, key, new)?;
        self.change_entries(access, key, old, Some(new))
    }

    fn check_unique<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &[u8],
        old: Option<RowRef<'_>>,
        new: RowRef<'_>,
    ) -> Result<()> {
        for entries in self.entries.iter().filter(|entries| entries.index.unique) {
            let (entry, is_exclusive) = self.entry(entries, key, new);
            let is_kept = old.is_some_and(|old| self.entry(entries, key, old).0 == entry);
            if is_exclusive && !is_kept && access.read(entries.table, &entry, Columns::All, &mut RowBuf::new())? {
                return Err(Duplicate { table: entries.schema.clone(), key: entry }.into());
            }
        }
        Ok(())
    }

    fn change_entries<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &[u8],
        old: Option<RowRef<'_>>,
        new: Option<RowRef<'_>>,
    ) -> Result<()> {
        for entries in &self.entries {
            let entry = |row| self.entry(entries, key, row).0;
            let (left, entered) = (old.map(entry), new.map(entry));
            if left == entered {
                continue;
            }
            if let Some(left) = left {
                access.delete(entries.table, &left)?;
            }
            if let Some(entered) = entered {
                access.put(entries.table, &entered, RowRef::new(key))?;
            }
        }
        Ok(())
    }

    /// The entry of a row, and whether no other row may have it.
    fn entry(&self, entries: &Entries, key: &[u8], row: RowRef<'_>) -> (Key, bool) {
        let mut entry = Key::new();
        for &column in entries.index.columns {
            let column = usize::from(column);
            entry.push_value(row.get(column), self.schema.columns()[column].nullable);
        }
        let is_null = |column: &u16| row.get(usize::from(*column)) == ValueRef::Null;
        let is_exclusive = entries.index.unique && !entries.index.columns.iter().any(is_null);
        if !is_exclusive {
            entry.push_raw(key);
        }
        (entry, is_exclusive)
    }
}
