//! A row and its index entries, written and removed together by [`tables::entries`].
//!
//! These functions do not check CHECK, NOT NULL and foreign keys ([`super::rules`], [`super::ForeignKeys`]). They enforce unique
//! indexes, which are unique by the engine's keys.

use super::violation;
use crate::catalog::{Index, KeyForm, Oid, Storage, Table};
use crate::context::Exec;
use crate::error::{Result, SqlError, state};
use crate::storage;
use crate::types::{Datum, Row, equal_typed};
use model::{Columns, Key, RowBuf, TableId};
use tables::entries;

/// Returns the key for a new row: its encoded primary key, or a number that was never used before.
///
/// # Errors
/// 23502 for NULL in a primary key, errors of the engine.
pub(crate) fn row_key(exec: &mut Exec<'_>, table: &Table, row: &[Datum]) -> Result<Key> {
    match table.storage.key {
        KeyForm::RowNumber => Ok(Key::from_u64(exec.row_number(table)?)),
        KeyForm::Eight | KeyForm::Columns => primary_key(exec, table, row),
    }
}

/// Writes a new row and all its index entries, and returns its key.
///
/// # Errors
/// 23505, 23502 for NULL in a primary key, errors of the engine.
pub(crate) fn write_new(exec: &mut Exec<'_>, table: &Table, row: &[Datum]) -> Result<Key> {
    let key = row_key(exec, table, row)?;
    let mut buffer = RowBuf::new();
    storage::encode_row(row, &table.columns, &mut buffer)?;
    let written = entries::insert(exec.transaction, &Rows(table), table, &key, row, buffer.row());
    written.map_err(|failure| explain_failure(exec, table, row, failure))?;
    exec.counts(table.oid).inserted += 1;
    Ok(key)
}

/// Replaces the row `old` under `key` by `new`, and returns its key. Index entries are touched only where
/// their columns, or the row's key, change: another update writes one engine row.
///
/// # Errors
/// Errors of [`write_new`].
pub(crate) fn replace(exec: &mut Exec<'_>, table: &Table, key: &[u8], old: &[Datum], new: &[Datum]) -> Result<Key> {
    let new_key = match table.storage.key {
        KeyForm::RowNumber => Key::from_bytes(key),
        KeyForm::Eight | KeyForm::Columns => primary_key(exec, table, new)?,
    };
    let mut buffer = RowBuf::new();
    storage::encode_row(new, &table.columns, &mut buffer)?;
    let change = entries::Change { key, old, new_key: &new_key, new };
    let written = entries::replace(exec.transaction, &Rows(table), table, &change, buffer.row());
    written.map_err(|failure| explain_failure(exec, table, new, failure))?;
    exec.counts(table.oid).updated += 1;
    Ok(new_key)
}

/// Removes the row `old` under `key` and its index entries. Returns `false` if it did not exist any more.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn remove(exec: &mut Exec<'_>, table: &Table, key: &[u8], old: &[Datum]) -> Result<bool> {
    let removed = entries::remove(exec.transaction, &Rows(table), table, key, old);
    let removed = removed.map_err(|failure| explain_failure(exec, table, old, failure))?;
    exec.counts(table.oid).deleted += u64::from(removed);
    Ok(removed)
}

/// Writes a row's entry in one index: all that filling a new index takes. Nothing for an index without entries of its own.
///
/// # Errors
/// 23505, errors of the engine.
pub(crate) fn add_entry(exec: &mut Exec<'_>, table: &Table, index: &Index, key: &[u8], row: &[Datum]) -> Result<()> {
    let written = entries::add_entry(exec.transaction, &Rows(table), index, key, row);
    written.map_err(|failure| match failure {
        // A new index is not among the table's yet.
        Failure::Engine(_, error) => explain_of(exec, table, Some(index), row, error),
        Failure::Values(error) => error,
    })
}

/// Reads the row under `key`, announcing that it will be written; `None` if there is none.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn read_for_update(exec: &mut Exec<'_>, table: &Table, key: &[u8]) -> Result<Option<Row>> {
    let mut buffer = RowBuf::new();
    let found = exec.transaction.read_for_update(table.storage.id(), key, &mut buffer);
    if !found.map_err(|error| exec.explain(error.into()))? {
        return Ok(None);
    }
    let mut row = Row::new();
    storage::decode_row(buffer.row(), &table.columns, None, &mut row)?;
    Ok(Some(row))
}

/// The key of the row that has these values in a unique index (one for each of its columns, of their types). Protects the
/// answer: nobody can add or remove such a row unnoticed.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn find_unique(exec: &mut Exec<'_>, table: &Table, index: &Index, values: &[&Datum]) -> Result<Option<Key>> {
    let Some((place, entry)) = unique_place(table, index, values)? else { return Ok(None) };
    let own_entries = index.storage.is_some();
    let columns = if own_entries { Columns::All } else { Columns::None };
    let mut buffer = RowBuf::new();
    let found = exec.transaction.read(place, &entry, columns, &mut buffer);
    match found.map_err(|error| exec.explain(error.into()))? {
        true if own_entries => Ok(Some(Key::from_bytes(buffer.bytes()))),
        true => Ok(Some(entry)),
        false => Ok(None),
    }
}

/// Returns whether a row has these values in a unique index. Reads, and so protects, the existence of the entry only:
/// changes of the row's other columns do not conflict with it where the index has entries of its own.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn exists(exec: &mut Exec<'_>, table: &Table, index: &Index, values: &[&Datum]) -> Result<bool> {
    let Some((place, entry)) = unique_place(table, index, values)? else { return Ok(false) };
    let found = exec.transaction.read(place, &entry, Columns::None, &mut RowBuf::new());
    found.map_err(|error| exec.explain(error.into()))
}

/// Returns whether two rows of a table agree in these columns.
pub(crate) fn same(table: &Table, columns: &[usize], left: &[Datum], right: &[Datum]) -> bool {
    columns.iter().all(|&column| equal_typed(table.columns[column].data_type, &left[column], &right[column]))
}

/// The engine table and key where a unique index has these values; `None` if one is NULL: then nowhere.
pub(crate) fn unique_place(table: &Table, index: &Index, values: &[&Datum]) -> Result<Option<(TableId, Key)>> {
    if values.iter().any(|value| matches!(value, Datum::Null)) {
        return Ok(None);
    }
    let Storage { key, .. } = index.storage.unwrap_or(table.storage);
    let id = index.storage.unwrap_or(table.storage).id();
    Ok(Some((id, encode_key(table, &index.columns, key, values)?)))
}

/// The primary key of a row, encoded as the table's key.
fn primary_key(exec: &Exec<'_>, table: &Table, row: &[Datum]) -> Result<Key> {
    let Some(index) = table.primary_key() else {
        return Err(corrupted(table, "has keys of columns, but no primary key"));
    };
    if let Some(&column) = index.columns.iter().find(|&&column| matches!(row[column], Datum::Null)) {
        return Err(violation::not_null(exec.env(), table, column, row));
    }
    let values: Vec<&Datum> = index.columns.iter().map(|&column| &row[column]).collect();
    encode_key(table, &index.columns, table.storage.key, &values)
}

fn encode_key(table: &Table, columns: &[usize], form: KeyForm, values: &[&Datum]) -> Result<Key> {
    if form == KeyForm::Eight {
        let eight = values.first().and_then(|value| storage::eight_byte_key(value));
        return eight.map(|bytes| Key::from_bytes(&bytes)).ok_or_else(|| corrupted(table, "has a key of another type"));
    }
    let mut key = Key::new();
    for (&column, value) in columns.iter().zip(values) {
        storage::push_key(&mut key, value, table.columns[column].data_type)?;
    }
    Ok(key)
}

/// A table's rows in SQL's types.
struct Rows<'t>(&'t Table);

/// Reason why a row or an entry was not written.
enum Failure {
    /// The engine refused the row (`None`) or its entry in this index.
    Engine(Option<Oid>, model::Error),
    /// The row cannot be encoded.
    Values(SqlError),
}

impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Failure {
        Failure::Engine(None, error)
    }
}

impl entries::Rows for Rows<'_> {
    type Row = [Datum];
    type Error = Failure;

    fn columns(&self, index: &Index, row: &[Datum]) -> Result<(Key, bool), Failure> {
        let values: Vec<&Datum> = index.columns.iter().map(|&column| &row[column]).collect();
        let key = encode_key(self.0, &index.columns, KeyForm::Columns, &values).map_err(Failure::Values)?;
        Ok((key, values.iter().any(|value| value.is_null())))
    }

    fn agree(&self, index: &Index, left: &[Datum], right: &[Datum]) -> bool {
        same(self.0, &index.columns, left, right)
    }

    fn explain(&self, index: Option<&Index>, _: &[Datum], error: model::Error) -> Failure {
        Failure::Engine(index.map(|index| index.oid), error)
    }
}

/// Translates an engine's error about a row or its entry into the user's names.
fn explain_failure(exec: &mut Exec<'_>, table: &Table, row: &[Datum], failure: Failure) -> SqlError {
    let (index, error) = match failure {
        Failure::Engine(index, error) => (index, error),
        Failure::Values(error) => return error,
    };
    let index = match index {
        Some(oid) => table.indexes.iter().find(|index| index.oid == oid),
        None => table.primary_key(),
    };
    explain_of(exec, table, index, row, error)
}

fn explain_of(
    exec: &mut Exec<'_>,
    table: &Table,
    index: Option<&Index>,
    row: &[Datum],
    error: model::Error,
) -> SqlError {
    match (index, &error) {
        (Some(index), model::Error::Duplicate(_)) => violation::duplicate(exec.env(), table, index, row),
        _ => exec.explain(error.into()),
    }
}

fn corrupted(table: &Table, what: &str) -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, format!("table \"{}\" {what}", table.name))
}
