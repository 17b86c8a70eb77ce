//! A row and its index entries, written and removed together by [`tables::entries`].
//!
//! These functions do not check CHECK, NOT NULL, foreign keys and deferrable keys ([`super::rules`], [`super::KeyChecks`]). They
//! enforce the other unique indexes, which are unique by the engine's keys.

use super::indexed_row::{IndexedRow, Target};
use super::violation;
use crate::catalog::{Index, KeyForm, Oid, Storage, Table};
use crate::context::Exec;
use crate::error::{Result, SqlError, state};
use crate::plan::IndexRules;
use crate::storage;
use crate::types::{Datum, Row, Type, equal_typed, identical};
use model::{Columns, Key, RowBuf, TableId};
use std::marker::PhantomData;
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
/// 23505, 23502 for NULL in a primary key, errors of the indexes' expressions, errors of the engine.
pub(crate) fn write_new(exec: &mut Exec<'_>, target: Target<'_>, row: &[Datum]) -> Result<Key> {
    let (table, rules) = target;
    let key = row_key(exec, table, row)?;
    let indexed = IndexedRow::new(exec, rules, row)?;
    let mut buffer = RowBuf::new();
    storage::encode_row(row, &table.columns, &mut buffer)?;
    let written = entries::insert(exec.transaction, &Rows::of(target), table, &key, &indexed, buffer.row());
    written.map_err(|failure| explain_failure(exec, target, &indexed, failure))?;
    exec.counts(table.oid).inserted += 1;
    Ok(key)
}

/// Replaces the row `old` under `key` by `new`, and returns its key. Index entries are touched only where
/// their columns, or the row's key, change: another update writes one engine row.
///
/// # Errors
/// Errors of [`write_new`].
pub(crate) fn replace(
    exec: &mut Exec<'_>,
    target: Target<'_>,
    key: &[u8],
    old: &[Datum],
    new: &[Datum],
) -> Result<Key> {
    let (table, rules) = target;
    let new_key = match table.storage.key {
        KeyForm::RowNumber => Key::from_bytes(key),
        KeyForm::Eight | KeyForm::Columns => primary_key(exec, table, new)?,
    };
    let mut buffer = RowBuf::new();
    storage::encode_row(new, &table.columns, &mut buffer)?;
    let (before, after) = match key == &*new_key {
        true => IndexedRow::before_and_after(exec, rules, old, new)?,
        false => (IndexedRow::new(exec, rules, old)?, IndexedRow::new(exec, rules, new)?),
    };
    let change = entries::Change { key, old: &before, new_key: &new_key, new: &after };
    let written = entries::replace(exec.transaction, &Rows::of(target), table, &change, buffer.row());
    written.map_err(|failure| explain_failure(exec, target, &after, failure))?;
    exec.counts(table.oid).updated += 1;
    Ok(new_key)
}

/// Removes the row `old` under `key` and its index entries. Returns `false` if it did not exist any more.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn remove(exec: &mut Exec<'_>, target: Target<'_>, key: &[u8], old: &[Datum]) -> Result<bool> {
    let (table, rules) = target;
    let indexed = IndexedRow::new(exec, rules, old)?;
    let removed = entries::remove(exec.transaction, &Rows::of(target), table, key, &indexed);
    let removed = removed.map_err(|failure| explain_failure(exec, target, &indexed, failure))?;
    exec.counts(table.oid).deleted += u64::from(removed);
    Ok(removed)
}

/// Writes a row's entries: all that filling new indexes takes. Nothing for an index without entries of its own, or one that leaves
/// the row out.
///
/// # Errors
/// 23505, errors of the indexes' expressions, errors of the engine.
pub(crate) fn add_entries(exec: &mut Exec<'_>, target: Target<'_>, key: &[u8], row: &[Datum]) -> Result<()> {
    let (table, rules) = target;
    let indexed = IndexedRow::new(exec, rules, row)?;
    for index in &table.indexes {
        let written = entries::add_entry(exec.transaction, &Rows::of(target), index, key, &indexed);
        written.map_err(|failure| explain_failure(exec, target, &indexed, failure))?;
    }
    Ok(())
}

/// Reads the row under `key`, announcing that it will be written; `None` if there is none.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn read_for_update(exec: &mut Exec<'_>, table: &Table, key: &[u8]) -> Result<Option<Row>> {
    let mut buffer = RowBuf::new();
    let found = exec.transaction.read_for_update(table.storage.id(), key, Columns::All, &mut buffer);
    if !found.map_err(|error| exec.explain(error.into()))? {
        return Ok(None);
    }
    let mut row = Row::new();
    storage::decode_row(buffer.row(), &table.columns, None, &mut row)?;
    Ok(Some(row))
}

/// The key of the row that has an entry at this place of a unique index. Protects the answer: nobody can add or remove such a row
/// unnoticed.
///
/// # Errors
/// Errors of the engine.
pub(super) fn find_at(exec: &mut Exec<'_>, index: &Index, (place, entry): (TableId, Key)) -> Result<Option<Key>> {
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

/// Returns whether a row has these values in a unique index over columns. Reads, and so protects, the existence of the entry only:
/// changes of the row's other columns do not conflict with it where the index has entries of its own.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn exists(exec: &mut Exec<'_>, table: &Table, index: &Index, values: &[&Datum]) -> Result<bool> {
    let Some((place, entry)) = unique_place((table, &IndexRules::default()), index, values)? else { return Ok(false) };
    let found = exec.transaction.read(place, &entry, Columns::None, &mut RowBuf::new());
    found.map_err(|error| exec.explain(error.into()))
}

/// Returns whether two rows of a table have equal values in these columns.
pub(super) fn equal_in(table: &Table, columns: &[usize], left: &[Datum], right: &[Datum]) -> bool {
    columns.iter().all(|&column| equal_typed(table.columns[column].data_type, &left[column], &right[column]))
}

/// Returns whether two rows have the same values in these columns, not only equal ones: what is computed of them is the same too.
pub(super) fn same(columns: &[usize], left: &[Datum], right: &[Datum]) -> bool {
    columns.iter().all(|&column| identical(&left[column], &right[column]))
}

/// The engine table and key where a unique index has the entry of a row; `None`: nowhere, since a column is NULL, or the index leaves
/// the row out.
pub(super) fn unique_place_of(
    target: Target<'_>,
    index: &Index,
    row: &IndexedRow<'_>,
) -> Result<Option<(TableId, Key)>> {
    match row.values(target.1, index) {
        Some(values) => unique_place(target, index, &values),
        None => Ok(None),
    }
}

/// The engine table and key where a unique index has these values; `None`: nowhere, since one is NULL.
fn unique_place((table, rules): Target<'_>, index: &Index, values: &[&Datum]) -> Result<Option<(TableId, Key)>> {
    if !index.nulls_not_distinct && values.iter().any(|value| matches!(value, Datum::Null)) {
        return Ok(None);
    }
    let Storage { key, .. } = index.storage.unwrap_or(table.storage);
    let id = index.storage.unwrap_or(table.storage).id();
    Ok(Some((id, encode_key(table, rules.types(table, index), key, values)?)))
}

/// The primary key of a row, encoded as the table's key.
fn primary_key(exec: &Exec<'_>, table: &Table, row: &[Datum]) -> Result<Key> {
    let Some(index) = table.row_key() else {
        return Err(corrupted(table, "has keys of columns, but no primary key"));
    };
    if let Some(&column) = index.columns.iter().find(|&&column| matches!(row[column], Datum::Null)) {
        return Err(violation::not_null(exec.env(), table, column, row));
    }
    let values: Vec<&Datum> = index.columns.iter().map(|&column| &row[column]).collect();
    let rules = IndexRules::default();
    encode_key(table, rules.types(table, index), table.storage.key, &values)
}

fn encode_key(table: &Table, types: impl Iterator<Item = Type>, form: KeyForm, values: &[&Datum]) -> Result<Key> {
    if form == KeyForm::Eight {
        let eight = values.first().and_then(|value| storage::eight_byte_key(value));
        return eight.map(|bytes| Key::from_bytes(&bytes)).ok_or_else(|| corrupted(table, "has a key of another type"));
    }
    let mut key = Key::new();
    for (data_type, value) in types.zip(values) {
        storage::push_key(&mut key, value, data_type)?;
    }
    Ok(key)
}

/// A table's rows in SQL's types. `'r` is the rows'.
struct Rows<'t, 'r> {
    target: Target<'t>,
    of: PhantomData<&'r [Datum]>,
}

impl<'t> Rows<'t, '_> {
    fn of(target: Target<'t>) -> Self {
        Rows { target, of: PhantomData }
    }
}

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

impl<'r> entries::Rows for Rows<'_, 'r> {
    type Row = IndexedRow<'r>;
    type Error = Failure;

    fn columns(&self, index: &Index, row: &IndexedRow<'r>) -> Result<Option<(Key, bool)>, Failure> {
        let (table, rules) = self.target;
        let Some(values) = row.values(rules, index) else { return Ok(None) };
        if values.len() != index.columns.len() {
            return Err(Failure::Values(corrupted(table, "has an index whose expressions were not computed")));
        }
        let key = encode_key(table, rules.types(table, index), KeyForm::Columns, &values).map_err(Failure::Values)?;
        Ok(Some((key, values.iter().any(|value| value.is_null()))))
    }

    fn agree(&self, index: &Index, left: &IndexedRow<'r>, right: &IndexedRow<'r>) -> bool {
        let (_, rules) = self.target;
        if left.is_untouched(index) {
            return true;
        }
        match (left.values(rules, index), right.values(rules, index)) {
            (None, None) => true,
            (Some(left), Some(right)) => left.into_iter().zip(right).all(|(left, right)| identical(left, right)),
            _ => false,
        }
    }

    fn explain(&self, index: Option<&Index>, _: &IndexedRow<'r>, error: model::Error) -> Failure {
        Failure::Engine(index.map(|index| index.oid), error)
    }
}

/// Translates an engine's error about a row or its entry into the user's names.
fn explain_failure(
    exec: &mut Exec<'_>,
    (table, rules): Target<'_>,
    row: &IndexedRow<'_>,
    failure: Failure,
) -> SqlError {
    let (index, error) = match failure {
        Failure::Engine(index, error) => (index, error),
        Failure::Values(error) => return error,
    };
    let index = match index {
        Some(oid) => table.indexes.iter().find(|index| index.oid == oid),
        None => table.row_key(),
    };
    match (index, &error) {
        (Some(index), model::Error::Duplicate(_)) => {
            let values = row.values(rules, index).unwrap_or_default();
            violation::duplicate(exec.env(), (table, rules), index, &values)
        }
        _ => exec.explain(error.into()),
    }
}

fn corrupted(table: &Table, what: &str) -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, format!("table \"{}\" {what}", table.name))
}
