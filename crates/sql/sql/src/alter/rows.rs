//! Reads and rewrites the rows of a table.

use crate::bind;
use crate::catalog::{Index, Table};
use crate::context::{Change, Exec};
use crate::dml::check_deferrable;
use crate::dml::rows::{add_entries, write_new};
use crate::error::{Result, SqlError, state};
use crate::storage::decode_row;
use crate::types::Row;
use model::RowRef;
use tables::Batches;

/// Calls `body` with every row of a table and its key. `body` may read and write other tables.
pub(crate) fn each_row(
    exec: &mut Exec<'_>,
    table: &Table,
    mut body: impl FnMut(&mut Exec<'_>, &[u8], Row) -> Result<()>,
) -> Result<()> {
    let mut batches = Batches::of(table.storage.id());
    loop {
        exec.check_cancel()?;
        let Some(batch) = batches.next(exec.transaction)? else { return Ok(()) };
        for (key, stored) in batch {
            let mut row = Row::new();
            decode_row(RowRef::new(&stored), &table.columns, None, &mut row)?;
            body(exec, &key, row)?;
        }
    }
}

/// Fills the storage of a new index from the existing rows.
///
/// # Errors
/// 23505, errors of the index's expressions.
pub(crate) fn fill_index(exec: &mut Exec<'_>, table: &Table, index: &Index) -> Result<()> {
    let alone = Table { indexes: vec![index.clone()], ..table.clone() };
    let rules = bind::index_rules(&mut exec.names(), &alone)?;
    each_row(exec, table, |exec, key, row| {
        add_entries(exec, (&alone, &rules), key, &row).map_err(of_new_index)?;
        check_deferrable(exec, &alone, &row).map_err(of_new_index)
    })
}

/// Moves the rows of a table into new storage: `transform` makes rows of `new` from rows of `old`.
///
/// # Errors
/// 23505, errors of `transform`.
pub(crate) fn rewrite(
    change: &mut Change<'_>,
    old: &Table,
    new: &mut Table,
    mut transform: impl FnMut(&mut Exec<'_>, Row) -> Result<Row>,
) -> Result<()> {
    leave_all(change, old);
    super::table::make_storage(change, new)?;
    let rules = bind::index_rules(&mut change.names(), new)?;
    each_row(&mut change.exec, old, |exec, _, row| {
        let row = transform(exec, row)?;
        write_new(exec, (new, &rules), &row).map_err(of_new_index)?;
        check_deferrable(exec, new, &row).map_err(of_new_index)
    })
}

/// Records the new storage of a table's rows and entries.
pub(crate) fn leave_all(change: &mut Change<'_>, table: &Table) {
    change.leave_storage(table.oid, table.storage);
    for storage in table.indexes.iter().filter_map(|index| index.storage) {
        change.leave_storage(table.oid, storage);
    }
}

/// The error when two rows have equal values for a unique index that is being created.
fn of_new_index(mut error: SqlError) -> SqlError {
    if error.code() == state::UNIQUE_VIOLATION {
        let fields = error.fields_mut();
        let name = fields.constraint.clone().unwrap_or_default();
        fields.message = format!("could not create unique index \"{name}\"");
        fields.detail = fields.detail.as_ref().map(|detail| detail.replace(" already exists.", " is duplicated."));
    }
    error
}
