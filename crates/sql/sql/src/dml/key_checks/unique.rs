//! Deferrable keys. Rows may agree for a while, so their entries stand beside each other, as in an index that is not unique.
//!
//! A row that is written looks for others with its values at once, and only if there are any the key is checked later. Whoever comes
//! second looks, so no check is missed. The look is a read of the range of the values: a concurrent transaction that writes the same
//! values conflicts with it, as with any other read.

use super::{KeyCheck, KeyChecks, lookup};
use crate::catalog::{Index, Oid, Table};
use crate::context::Exec;
use crate::dml::violation;
use crate::env::Timing;
use crate::error::{Result, SqlError, state};
use crate::plan::IndexRules;
use crate::storage;
use crate::types::{Datum, Row};
use model::Key;
use std::sync::Arc;

/// A deferrable primary key or unique constraint with its table.
#[derive(Clone, Debug)]
pub(super) struct UniqueKey {
    table: Arc<Table>,
    at: usize,
}

impl UniqueKey {
    /// The key with this identifier.
    pub fn find(table: Arc<Table>, oid: Oid) -> Option<UniqueKey> {
        let at = table.indexes.iter().position(|index| index.oid == oid && index.deferrable)?;
        Some(UniqueKey { table, at })
    }

    /// Its table, and itself.
    pub fn ids(&self) -> (Oid, Oid) {
        (self.table.oid, self.index().oid)
    }

    pub fn timing(&self) -> Timing {
        let &Index { oid, deferrable, initially_deferred, .. } = self.index();
        Timing { constraint: oid, deferrable, initially_deferred }
    }

    fn index(&self) -> &Index {
        &self.table.indexes[self.at]
    }
}

impl KeyChecks {
    /// Queues the checks of the deferrable keys that `concerns` names, where a written row is not the only one with its values.
    ///
    /// # Errors
    /// 53200 if the queue exceeds its limit, errors of the engine.
    pub(super) fn note_repeated(
        &mut self,
        exec: &mut Exec<'_>,
        table: &Arc<Table>,
        row: &[Datum],
        concerns: impl Fn(&Index) -> bool,
    ) -> Result<()> {
        for (at, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.deferrable && concerns(index)) {
            let values = values_of(index, row);
            if is_repeated(exec, table, index, &values)? {
                self.note(exec, KeyCheck::Unique { key: UniqueKey { table: table.clone(), at }, values })?;
            }
        }
        Ok(())
    }
}

/// Checks the deferrable keys of a row at once, as making an index does.
///
/// # Errors
/// 23505, errors of the engine.
pub(crate) fn check_deferrable(exec: &mut Exec<'_>, table: &Table, row: &[Datum]) -> Result<()> {
    table.indexes.iter().filter(|index| index.deferrable).try_for_each(|index| {
        let values = values_of(index, row);
        check_values(exec, table, index, &values)
    })
}

/// Checks that at most one row has these values of a key.
///
/// # Errors
/// 23505, errors of the engine.
pub(super) fn check(exec: &mut Exec<'_>, key: &UniqueKey, values: &[Datum]) -> Result<()> {
    check_values(exec, &key.table, key.index(), values)
}

fn check_values(exec: &mut Exec<'_>, table: &Table, index: &Index, values: &[Datum]) -> Result<()> {
    if !is_repeated(exec, table, index, values)? {
        return Ok(());
    }
    let values: Vec<&Datum> = values.iter().collect();
    Err(violation::duplicate(exec.env(), (table, &IndexRules::default()), index, &values))
}

fn values_of(index: &Index, row: &[Datum]) -> Row {
    index.columns.iter().map(|&column| row[column].clone()).collect()
}

/// Returns whether several rows have these values.
fn is_repeated(exec: &mut Exec<'_>, table: &Table, index: &Index, values: &[Datum]) -> Result<bool> {
    if !index.nulls_not_distinct && values.iter().any(Datum::is_null) {
        return Ok(false);
    }
    let Some(place) = index.storage else {
        let message = format!("deferrable key \"{}\" has no entries", index.name);
        return Err(SqlError::new(state::DATA_CORRUPTED, message));
    };
    let mut prefix = Key::new();
    for (value, &column) in values.iter().zip(&index.columns) {
        storage::push_key(&mut prefix, value, table.columns[column].data_type)?;
    }
    Ok(lookup::scan_prefix(exec, place.id(), prefix, true, 2)?.len() > 1)
}
