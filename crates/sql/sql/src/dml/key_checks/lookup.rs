//! Finds referenced and referencing rows.

use super::Constraint;
use crate::cancel::Cancel;
use crate::catalog::{ForeignKey, Index, KeyForm, Table};
use crate::context::Exec;
use crate::error::{Result, SqlError};
use crate::storage;
use crate::types::{Datum, Env, Modifier, Row, Type, cast, equal_typed};
use model::{Columns, Key, RowBuf, Scan, TableId};
use std::ops::ControlFlow;

use super::super::rows;

/// Returns whether the referenced table has these values, given as the referencing table's.
pub(super) fn is_referenced_there(
    exec: &mut Exec<'_>,
    constraint: &Constraint,
    parent: &Table,
    values: &[Datum],
) -> Result<bool> {
    let key = constraint.key();
    match convert_all(exec.env(), values, &constraint.child, &key.columns, parent, &key.referenced_columns) {
        Some(values) => is_there(exec, key, parent, &values),
        None => Ok(false),
    }
}

/// Returns whether the referenced table has these values of the referenced columns.
pub(super) fn is_there(exec: &mut Exec<'_>, key: &ForeignKey, parent: &Table, values: &[Datum]) -> Result<bool> {
    let Some(index) = parent.indexes.iter().find(|index| index.oid == key.referenced_index) else {
        return Err(super::corrupted(key, "has no index to be checked by"));
    };
    let value = |column: &usize| key.referenced_columns.iter().position(|referenced| referenced == column);
    let Some(ordered) =
        index.columns.iter().map(|column| value(column).map(|at| &values[at])).collect::<Option<Vec<_>>>()
    else {
        return Err(super::corrupted(key, "does not refer to its index's columns"));
    };
    rows::exists(exec, parent, index, &ordered)
}

/// Returns whether any row refers to these values of the referenced columns.
pub(super) fn any_referring(
    exec: &mut Exec<'_>,
    constraint: &Constraint,
    parent: &Table,
    old: &[Datum],
) -> Result<bool> {
    let key = constraint.key();
    match convert_all(exec.env(), old, parent, &key.referenced_columns, &constraint.child, &key.columns) {
        Some(values) => any_with(exec, constraint, &values),
        None => Ok(false),
    }
}

/// Returns whether the referencing table has a row with these values of the referencing columns.
pub(super) fn any_with(exec: &mut Exec<'_>, constraint: &Constraint, values: &[Datum]) -> Result<bool> {
    Ok(!keys_with(exec, constraint, values, 1)?.is_empty())
}

/// The rows that refer to these values of the referenced columns, and their keys.
pub(super) fn referring(
    exec: &mut Exec<'_>,
    constraint: &Constraint,
    parent: &Table,
    old: &[Datum],
) -> Result<Vec<(Key, Row)>> {
    let key = constraint.key();
    let values = convert_all(exec.env(), old, parent, &key.referenced_columns, &constraint.child, &key.columns);
    let Some(values) = values else { return Ok(vec![]) };
    let mut found = vec![];
    for key in keys_with(exec, constraint, &values, usize::MAX)? {
        if let Some(row) = rows::read_for_update(exec, &constraint.child, &key)? {
            exec.memory.take(crate::context::row_bytes(&row))?;
            found.push((key, row));
        }
    }
    Ok(found)
}

/// The keys of the first rows of the referencing table with these values: through an index that starts with the columns,
/// if there is one. What was looked at is protected: no such row can appear unnoticed.
fn keys_with(exec: &mut Exec<'_>, constraint: &Constraint, values: &[Datum], limit: usize) -> Result<Vec<Key>> {
    let (child, columns) = (&*constraint.child, &constraint.key().columns[..]);
    let Some(index) = child.indexes.iter().find(|index| starts_with(index, columns)) else {
        return scan_rows(exec, child, columns, values, limit);
    };
    let ordered = index.columns[..columns.len()].iter().filter_map(|column| {
        let at = columns.iter().position(|referencing| referencing == column)?;
        Some((&values[at], child.columns[*column].data_type))
    });
    let place = index.storage.unwrap_or(child.storage);
    if place.key == KeyForm::Eight {
        let Some((value, _)) = { ordered }.next() else { return Ok(vec![]) };
        return point(exec, place.id(), value);
    }
    let mut prefix = Key::new();
    for (value, data_type) in ordered {
        storage::push_key(&mut prefix, value, data_type)?;
    }
    scan_prefix(exec, place.id(), prefix, index.storage.is_some(), limit)
}

/// Returns whether an index has all rows, and its first columns are these, in any order.
fn starts_with(index: &Index, columns: &[usize]) -> bool {
    index.predicate.is_none()
        && index.columns.get(..columns.len()).is_some_and(|first| columns.iter().all(|column| first.contains(column)))
}

fn point(exec: &mut Exec<'_>, table: TableId, value: &Datum) -> Result<Vec<Key>> {
    let Some(key) = storage::eight_byte_key(value) else { return Ok(vec![]) };
    let found = exec.transaction.read(table, &key, Columns::None, &mut RowBuf::new());
    match found.map_err(|error| exec.explain(error.into()))? {
        true => Ok(vec![Key::from_bytes(&key)]),
        false => Ok(vec![]),
    }
}

/// The keys of the rows under a prefix, the first `limit`: the entries' own keys, or the rows that they name.
pub(super) fn scan_prefix(
    exec: &mut Exec<'_>,
    table: TableId,
    prefix: Key,
    entries: bool,
    limit: usize,
) -> Result<Vec<Key>> {
    let columns = if entries { Columns::All } else { Columns::None };
    let mut keys = vec![];
    let mut rest = Pause::new(exec.cancel);
    let ended = exec.transaction.scan(&Scan::table(table).prefix(prefix).columns(columns), &mut |item| {
        keys.push(Key::from_bytes(if entries { item.row.bytes() } else { item.key }));
        if keys.len() >= limit { ControlFlow::Break(()) } else { rest.look() }
    });
    ended.map_err(|error| exec.explain(error.into()))?;
    rest.result?;
    Ok(keys)
}

fn scan_rows(
    exec: &mut Exec<'_>,
    table: &Table,
    columns: &[usize],
    values: &[Datum],
    limit: usize,
) -> Result<Vec<Key>> {
    let equal = |row: &Row| {
        columns.iter().zip(values).all(|(&column, value)| {
            !matches!(row[column], Datum::Null) && equal_typed(table.columns[column].data_type, &row[column], value)
        })
    };
    let (mut keys, mut row) = (vec![], Row::new());
    let mut rest = Pause::new(exec.cancel);
    let ended = exec.transaction.scan(&Scan::table(table.storage.id()), &mut |item| {
        if let Err(error) = storage::decode_row(item.row, &table.columns, Some(columns), &mut row) {
            rest.result = Err(error);
            return ControlFlow::Break(());
        }
        if equal(&row) {
            keys.push(Key::from_bytes(item.key));
        }
        if keys.len() >= limit { ControlFlow::Break(()) } else { rest.look() }
    });
    ended.map_err(|error| exec.explain(error.into()))?;
    rest.result?;
    Ok(keys)
}

/// Checks from time to time, within a scan, whether the statement is cancelled.
struct Pause<'c> {
    cancel: &'c Cancel,
    rows: u32,
    result: Result<(), SqlError>,
}

impl<'c> Pause<'c> {
    fn new(cancel: &'c Cancel) -> Pause<'c> {
        Pause { cancel, rows: 0, result: Ok(()) }
    }

    fn look(&mut self) -> ControlFlow<()> {
        self.rows = self.rows.wrapping_add(1);
        if self.rows.is_multiple_of(256) {
            self.result = self.cancel.check();
        }
        if self.result.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Values of columns of one table as values of columns of another; `None` if one of them has no equal there.
fn convert_all(
    env: &dyn Env,
    values: &[Datum],
    from: &Table,
    from_columns: &[usize],
    to: &Table,
    to_columns: &[usize],
) -> Option<Row> {
    let data_type = |table: &Table, column: usize| table.columns[column].data_type;
    let pairs = from_columns.iter().zip(to_columns).zip(values);
    pairs
        .map(|((&from_at, &to_at), value)| convert(env, value, data_type(from, from_at), data_type(to, to_at)))
        .collect()
}

fn convert(env: &dyn Env, value: &Datum, from: Type, to: Type) -> Option<Datum> {
    if from == to {
        return Some(value.clone());
    }
    let styles = env.styles();
    let there = cast::cast(value, from, to, Modifier::NONE, false, &styles).ok()?;
    let back = cast::cast(&there, to, from, Modifier::NONE, false, &styles).ok()?;
    equal_typed(from, value, &back).then_some(there)
}
