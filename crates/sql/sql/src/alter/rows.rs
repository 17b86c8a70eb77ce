//! Goes through the rows of a table, and writes them anew.

use crate::catalog::{Index, Table};
use crate::context::{Change, Exec};
use crate::dml::rows::{add_entry, write_new};
use crate::error::{Result, SqlError, state};
use crate::storage::decode_row;
use crate::types::Row;
use model::{Key, Scan, ScanEnd};
use std::ops::ControlFlow;

/// Rows that are read at once.
const BATCH: usize = 256;

/// Hands every row of a table, with its key, to `body`, which may read and write meanwhile (other tables).
pub(crate) fn each_row(
    exec: &mut Exec<'_>,
    table: &Table,
    mut body: impl FnMut(&mut Exec<'_>, &[u8], Row) -> Result<()>,
) -> Result<()> {
    let mut scan = Scan::table(table.storage.id());
    loop {
        exec.check_cancel()?;
        let mut batch = Vec::with_capacity(BATCH);
        let end = exec.transaction.scan(&scan, &mut |item| {
            let mut row = Row::new();
            let decoded = decode_row(item.row, &table.columns, None, &mut row);
            let go_on = decoded.is_ok() && batch.len() + 1 < BATCH;
            batch.push(decoded.map(|()| (Key::from_bytes(item.key), row)));
            if go_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for found in batch {
            let (key, row) = found?;
            body(exec, &key, row)?;
        }
        match end {
            ScanEnd::Finished => return Ok(()),
            ScanEnd::Stopped(position) => scan = scan.resume(position),
        }
    }
}

/// Fills the storage of a new index from the rows that are there.
///
/// # Errors
/// 23505
pub(crate) fn fill_index(exec: &mut Exec<'_>, table: &Table, index: &Index) -> Result<()> {
    each_row(exec, table, |exec, key, row| add_entry(exec, table, index, key, &row).map_err(of_new_index))
}

/// Moves the rows of a table into new storage: `transform` makes rows of `new` from rows of `old`.
///
/// # Errors
/// 23505, those of `transform`.
pub(crate) fn rewrite(
    change: &mut Change<'_>,
    old: &Table,
    new: &mut Table,
    mut transform: impl FnMut(&mut Exec<'_>, Row) -> Result<Row>,
) -> Result<()> {
    leave_all(change, old);
    super::table::make_storage(change, new)?;
    each_row(&mut change.exec, old, |exec, _, row| {
        let row = transform(exec, row)?;
        write_new(exec, new, &row).map_err(of_new_index)?;
        Ok(())
    })
}

/// Notes that a table's rows and entries are somewhere else from now on.
pub(crate) fn leave_all(change: &mut Change<'_>, table: &Table) {
    change.leave_storage(table.oid, table.storage);
    for storage in table.indexes.iter().filter_map(|index| index.storage) {
        change.leave_storage(table.oid, storage);
    }
}

/// Two rows agree where an index that is being made allows only one.
fn of_new_index(mut error: SqlError) -> SqlError {
    if error.code() == state::UNIQUE_VIOLATION {
        let fields = error.fields_mut();
        let name = fields.constraint.clone().unwrap_or_default();
        fields.message = format!("could not create unique index \"{name}\"");
        fields.detail = fields.detail.as_ref().map(|detail| detail.replace(" already exists.", " is duplicated."));
    }
    error
}
