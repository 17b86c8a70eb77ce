//! Goes through the rows of a table, and writes rows of a new one.

use crate::catalog::{Index, Storage, Table};
use crate::context::Context;
use crate::error::{Result, SqlError, state};
use crate::sequence;
use crate::types::storage::{decode_row, encode_row};
use crate::types::{Datum, Row, Styles, text};
use model::{Key, RowBuf, RowRef, Scan, ScanEnd};
use std::ops::ControlFlow;

/// Rows that are read at once.
const BATCH: usize = 256;

/// Hands every row of a table, with its key, to `body`, which may read and write meanwhile (other tables).
pub(super) fn each_row(
    context: &mut Context<'_>,
    table: &Table,
    mut body: impl FnMut(&mut Context<'_>, &[u8], Row) -> Result<()>,
) -> Result<()> {
    let mut scan = Scan::table(table.storage.id());
    loop {
        context.check_cancel()?;
        let mut batch = Vec::with_capacity(BATCH);
        let end = context.transaction.scan(&scan, &mut |item| {
            let mut row = Row::new();
            let decoded = decode_row(item.row, &table.columns, None, &mut row);
            let go_on = decoded.is_ok() && batch.len() + 1 < BATCH;
            batch.push(decoded.map(|()| (Key::from_bytes(item.key), row)));
            if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for found in batch {
            let (key, row) = found?;
            body(context, &key, row)?;
        }
        match end {
            ScanEnd::Finished => return Ok(()),
            ScanEnd::Stopped(position) => scan = scan.resume(position),
        }
    }
}

/// Whether a table has no row.
pub(super) fn is_empty(context: &mut Context<'_>, table: &Table) -> Result<bool> {
    let end = context.transaction.scan(&Scan::table(table.storage.id()), &mut |_| ControlFlow::Break(()))?;
    Ok(end == ScanEnd::Finished)
}

/// Writes a new row with its entries. `key`: that of a row which has one already, if it keeps it.
pub(super) fn write_row(
    context: &mut Context<'_>,
    table: &Table,
    key: Option<&[u8]>,
    row: &[Datum],
    buffer: &mut RowBuf,
) -> Result<()> {
    let key = match (table.row_key(row)?, key) {
        (Some(key), _) => key,
        (None, Some(key)) => Key::from_bytes(key),
        (None, None) => Key::from_u64(sequence::next_row_number(context, table)?),
    };
    encode_row(row, &table.columns, buffer)?;
    match context.transaction.insert(table.storage.id(), &key, buffer.row()) {
        Err(model::Error::Duplicate(_)) => {
            return Err(table.primary_key().map_or_else(lost, |primary| duplicated(table, primary, row)));
        }
        done => done?,
    }
    for index in &table.indexes {
        if let Some(storage) = index.storage {
            write_entry(context, table, index, storage, &key, row)?;
        }
    }
    Ok(())
}

fn lost() -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, "two rows have the same number")
}

/// Writes the entry of a row.
pub(super) fn write_entry(
    context: &mut Context<'_>,
    table: &Table,
    index: &Index,
    storage: Storage,
    key: &[u8],
    row: &[Datum],
) -> Result<()> {
    let (entry, _) = index.entry(table, row, key)?;
    match context.transaction.insert(storage.id(), &entry, RowRef::new(key)) {
        Err(model::Error::Duplicate(_)) => Err(duplicated(table, index, row)),
        done => Ok(done?),
    }
}

/// Fills the storage of a new index from the rows that are there.
pub(super) fn fill_index(context: &mut Context<'_>, table: &Table, index: &Index) -> Result<()> {
    let Some(storage) = index.storage else { return Ok(()) };
    each_row(context, table, |context, key, row| write_entry(context, table, index, storage, key, &row))
}

/// 23505 of an index that is being made.
fn duplicated(table: &Table, index: &Index, row: &[Datum]) -> SqlError {
    let columns = || index.columns.iter().filter_map(|at| table.columns.get(*at).zip(row.get(*at)));
    let names: Vec<&str> = columns().map(|(column, _)| column.name.as_str()).collect();
    let values: Vec<String> = columns().map(|(column, value)| shown(value, column.data_type)).collect();
    SqlError::new(state::UNIQUE_VIOLATION, format!("could not create unique index \"{}\"", index.name))
        .detail(format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", ")))
        .table(&table.schema, &table.name)
        .constraint(&index.name)
}

/// A value in a message.
pub(super) fn shown(value: &Datum, data_type: crate::types::Type) -> String {
    if value.is_null() { "null".to_owned() } else { text::to_string(value, data_type, &Styles::default()) }
}
