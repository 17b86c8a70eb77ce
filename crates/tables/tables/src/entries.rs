//! Rows and their index entries, written and removed together.
//!
//! An index is an engine table of its own: an entry's key is the index's columns encoded in order, then the row's key unless
//! the index is unique and none of the columns is NULL (or NULL counts as a value there); its value is the row's key. A deferrable key
//! has entries as an index that is not unique: rows agree there until it is checked. A row that a
//! partial index leaves out has no entry in it. How a row's columns are encoded is the
//! caller's business ([`Rows`]), since only the caller knows the values' types.
//!
//! Duplicates are found on two routes. Here an exclusive entry is inserted, and the engine refuses it if its key is taken. By then
//! the row is written; in SQL the error ends the transaction, or a savepoint takes the row back. A program may go on after the error, so
//! [`Layout`](crate::Layout) first reads the entries (`rows.rs`, `check_unique`), and fails before it writes anything. Concurrent
//! duplicates are the engine's conflict on both routes: the entry that was read as absent is inserted afterwards.

use crate::definition::{Index, Storage, Table};
use model::{Access, Key, Result, RowRef, TableId};

/// An entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Whether no other row may have it.
    pub exclusive: bool,
}

impl Entry {
    /// The entry of the row under `row_key` whose indexed columns are encoded in `columns`.
    pub fn new(index: &Index, mut columns: Key, has_null: bool, row_key: &[u8]) -> Entry {
        let exclusive = index.is_exclusive() && (!has_null || index.nulls_not_distinct);
        if !exclusive {
            columns.push_raw(row_key);
        }
        Entry { key: columns, exclusive }
    }
}

/// Rows of one table, and what their index entries are made of.
pub trait Rows {
    /// A row as the caller has it.
    type Row: ?Sized;
    /// The caller's error.
    type Error: From<model::Error>;

    /// The index's columns of a row, encoded in order, and whether one of them is NULL; `None` if the index leaves the row out.
    ///
    /// # Errors
    /// The caller's.
    fn columns(&self, index: &Index, row: &Self::Row) -> std::result::Result<Option<(Key, bool)>, Self::Error>;

    /// Returns whether two rows agree in the columns of an index, or it leaves both out.
    fn agree(&self, index: &Index, left: &Self::Row, right: &Self::Row) -> bool;

    /// An error of the engine about a row (`index` is `None`) or its entry in an index, in the caller's words.
    fn explain(&self, index: Option<&Index>, row: &Self::Row, error: model::Error) -> Self::Error;
}

/// Writes a new row and all its entries.
///
/// # Errors
/// [`model::Error::Duplicate`], as the caller explains it, if its key or an exclusive entry is taken.
pub fn insert<A, R, T, M>(
    access: &mut A,
    rows: &R,
    table: &Table<T, M>,
    key: &[u8],
    row: &R::Row,
    stored: RowRef<'_>,
) -> std::result::Result<(), R::Error>
where
    A: Access + ?Sized,
    R: Rows,
{
    access.insert(table.storage.id(), key, stored).map_err(|error| rows.explain(None, row, error))?;
    table.indexes.iter().try_for_each(|index| add_entry(access, rows, index, key, row))
}

/// A row that changes: its key and its values, before and after.
#[derive(Debug)]
pub struct Change<'a, R: ?Sized> {
    /// Its key so far.
    pub key: &'a [u8],
    /// As it was.
    pub old: &'a R,
    /// Its key from now on.
    pub new_key: &'a [u8],
    /// As it will be.
    pub new: &'a R,
}

/// Replaces a row. Entries are touched only where their columns, or the row's key, change: another update writes one engine row.
///
/// # Errors
/// Errors of [`insert`].
pub fn replace<A, R, T, M>(
    access: &mut A,
    rows: &R,
    table: &Table<T, M>,
    change: &Change<'_, R::Row>,
    stored: RowRef<'_>,
) -> std::result::Result<(), R::Error>
where
    A: Access + ?Sized,
    R: Rows,
{
    let (id, moved) = (table.storage.id(), change.key != change.new_key);
    if moved {
        access.delete(id, change.key).map_err(|error| rows.explain(None, change.old, error))?;
        access.insert(id, change.new_key, stored).map_err(|error| rows.explain(None, change.new, error))?;
    } else {
        access.put(id, change.key, stored).map_err(|error| rows.explain(None, change.new, error))?;
    }
    for index in &table.indexes {
        if moved || !rows.agree(index, change.old, change.new) {
            remove_entry(access, rows, index, change.key, change.old)?;
            add_entry(access, rows, index, change.new_key, change.new)?;
        }
    }
    Ok(())
}

/// Removes a row and its entries; `false` if it was gone already.
///
/// # Errors
/// Errors of the engine, as the caller explains it.
pub fn remove<A, R, T, M>(
    access: &mut A,
    rows: &R,
    table: &Table<T, M>,
    key: &[u8],
    old: &R::Row,
) -> std::result::Result<bool, R::Error>
where
    A: Access + ?Sized,
    R: Rows,
{
    if !access.delete(table.storage.id(), key).map_err(|error| rows.explain(None, old, error))? {
        return Ok(false);
    }
    table.indexes.iter().try_for_each(|index| remove_entry(access, rows, index, key, old))?;
    Ok(true)
}

/// Writes a row's entry in one index: all that filling a new index takes. Nothing for an index without entries of its own, or one that
/// leaves the row out.
///
/// # Errors
/// Errors of [`insert`].
pub fn add_entry<A, R>(
    access: &mut A,
    rows: &R,
    index: &Index,
    key: &[u8],
    row: &R::Row,
) -> std::result::Result<(), R::Error>
where
    A: Access + ?Sized,
    R: Rows,
{
    let Some((table, entry)) = entry_of(rows, index, key, row)? else { return Ok(()) };
    write_entry(access, table, &entry, key).map_err(|error| rows.explain(Some(index), row, error))
}

/// Where a row's entry in an index stands; `None` for an index without entries of its own, or one that leaves the row out.
///
/// # Errors
/// The caller's.
pub fn entry_of<R: Rows>(
    rows: &R,
    index: &Index,
    key: &[u8],
    row: &R::Row,
) -> std::result::Result<Option<(TableId, Entry)>, R::Error> {
    let Some(Storage { table, .. }) = index.storage else { return Ok(None) };
    let Some((columns, has_null)) = rows.columns(index, row)? else { return Ok(None) };
    Ok(Some((TableId(table), Entry::new(index, columns, has_null, key))))
}

fn write_entry<A: Access + ?Sized>(access: &mut A, table: TableId, entry: &Entry, row_key: &[u8]) -> Result<()> {
    match entry.exclusive {
        true => access.insert(table, &entry.key, RowRef::new(row_key)),
        false => access.put(table, &entry.key, RowRef::new(row_key)),
    }
}

fn remove_entry<A, R>(
    access: &mut A,
    rows: &R,
    index: &Index,
    key: &[u8],
    row: &R::Row,
) -> std::result::Result<(), R::Error>
where
    A: Access + ?Sized,
    R: Rows,
{
    let Some((table, entry)) = entry_of(rows, index, key, row)? else { return Ok(()) };
    access.delete(table, &entry.key).map_err(|error| rows.explain(Some(index), row, error))?;
    Ok(())
}
