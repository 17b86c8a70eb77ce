//! INSERT ... ON CONFLICT.

use super::indexed_row::IndexedRow;
use super::write::{Intent, Preparation, Write};
use super::{returning, rows, rules};
use crate::catalog::{Index, Table};
use crate::context::Exec;
use crate::error::{Result, SqlError, state};
use crate::plan::{ConflictUpdate, Insert, OnConflict};
use crate::types::{Datum, Row};
use model::{Key, TableId};
use std::collections::HashSet;

/// Keys and rows that the new rows of one statement use so far.
#[derive(Default)]
struct ClaimedKeys {
    /// The keys of new rows in unique indexes.
    places: HashSet<(TableId, Key)>,
    /// Those that updated rows had: free, unless a new row has them, though the engine has them until the writes are applied.
    vacated: HashSet<(TableId, Key)>,
}

/// The row that has the values of a new row in one of the arbiters.
enum ConflictingRow {
    /// Nothing.
    Nothing,
    /// An existing row.
    Row(Key),
    /// A row of the same statement.
    Own,
}

/// Prepares the inserts of the rows without a conflict. The other rows are skipped, or update the rows with which they conflict.
pub(super) fn prepare<'s>(
    exec: &mut Exec<'_>,
    statement: &'s Insert,
    on_conflict: &OnConflict,
    new: Vec<Row>,
    preparation: &mut Preparation,
) -> Result<Intent<'s>> {
    let table = &statement.table;
    let (mut writes, mut returned) = (vec![], vec![]);
    let mut taken = ClaimedKeys::default();
    for row in new {
        rules::check(exec, table, &statement.checks, &row)?;
        let found = meets(exec, statement, &on_conflict.arbiters, &row, &taken)?;
        let write = match (found, &on_conflict.update) {
            (ConflictingRow::Nothing, _) => Some(Write::Insert(row)),
            (_, None) => None,
            (ConflictingRow::Own, Some(_)) => return Err(second_time()),
            (ConflictingRow::Row(key), Some(update)) => updated(exec, statement, update, key, row, preparation)?,
        };
        let Some(write) = write else { continue };
        if let Write::Replace { old, .. } = &write {
            add_places(exec, statement, old, &mut taken.vacated)?;
        }
        let (Write::Insert(now) | Write::Replace { new: now, .. } | Write::Remove { old: now, .. }) = &write;
        add_places(exec, statement, now, &mut taken.places)?;
        let found = !matches!(write, Write::Insert(_));
        returned.extend(returning::inserted(exec, preparation, statement.returning.as_ref(), now, found)?);
        writes.push(write);
    }
    Ok(Intent { table, rules: &statement.rules, checks: None, writes, returned })
}

/// Finds the row that has the new row's values in one of the arbiters. Reading the entries protects the gaps: no such row can
/// appear before this transaction inserts its own.
fn meets(
    exec: &mut Exec<'_>,
    statement: &Insert,
    arbiters: &[usize],
    row: &[Datum],
    taken: &ClaimedKeys,
) -> Result<ConflictingRow> {
    let target = (&*statement.table, &statement.rules);
    let indexed = IndexedRow::new(exec, target.1, row)?;
    for (at, index) in target.0.indexes.iter().enumerate() {
        if !index.unique || !(arbiters.is_empty() || arbiters.contains(&at)) {
            continue;
        }
        if index.deferrable {
            return Err(deferrable_arbiter(target.0, index));
        }
        let Some(place) = rows::unique_place_of(target, index, &indexed)? else { continue };
        if taken.places.contains(&place) {
            return Ok(ConflictingRow::Own);
        }
        if taken.vacated.contains(&place) {
            continue;
        }
        if let Some(key) = rows::find_at(exec, index, place)? {
            return Ok(ConflictingRow::Row(key));
        }
    }
    Ok(ConflictingRow::Nothing)
}

/// Records the keys of a row in the unique indexes.
fn add_places(
    exec: &mut Exec<'_>,
    statement: &Insert,
    row: &[Datum],
    places: &mut HashSet<(TableId, Key)>,
) -> Result<()> {
    let target = (&*statement.table, &statement.rules);
    let indexed = IndexedRow::new(exec, target.1, row)?;
    for index in target.0.indexes.iter().filter(|index| index.is_exclusive()) {
        if let Some(place) = rows::unique_place_of(target, index, &indexed)? {
            exec.memory.take(size_of::<(TableId, Key)>())?;
            places.insert(place);
        }
    }
    Ok(())
}

fn deferrable_arbiter(table: &Table, index: &Index) -> SqlError {
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .table(&table.schema, &table.name)
        .constraint(&index.name)
}

fn second_time() -> SqlError {
    SqlError::new(state::CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}

/// DO UPDATE of the row under `key`, unless WHERE excludes it.
fn updated(
    exec: &mut Exec<'_>,
    statement: &Insert,
    update: &ConflictUpdate,
    key: Key,
    excluded: Row,
    preparation: &mut Preparation,
) -> Result<Option<Write>> {
    let table = &statement.table;
    let Some(old) = rows::read_for_update(exec, table, &key)? else {
        let message = format!("an index of table \"{}\" has an entry without its row", table.name);
        return Err(SqlError::new(state::DATA_CORRUPTED, message));
    };
    let both: Row = old.iter().cloned().chain(excluded).collect();
    if let Some(condition) = &update.condition
        && !matches!(preparation.evaluator.evaluate(exec, condition, &both)?, Datum::Bool(true))
    {
        return Ok(None);
    }
    if !preparation.claim(exec, table, &key)? {
        return Err(second_time());
    }
    let mut new = old.clone();
    preparation.assign(exec, &update.assignments, &both, &mut new)?;
    rules::generate(exec, &statement.generated, &mut new)?;
    rules::check(exec, table, &statement.checks, &new)?;
    Ok(Some(Write::Replace { key, old, new }))
}
