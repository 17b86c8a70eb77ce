//! The order of rows by sort keys.

use super::evaluate::is_null;
use super::scope::Run;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::{ExprKind, SortKey};
use crate::types::{Datum, Row, Type, compare_typed};
use pgtypes::interrupt;
use pgtypes::memory::check_large;
use std::cmp::Ordering;

/// A row with its sort values.
pub(super) struct Keyed {
    /// Values of the sort keys; empty if all keys are columns, whose values the row contains.
    keys: Row,
    /// The row.
    pub row: Row,
}

impl Keyed {
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        row_bytes(&self.keys) + row_bytes(&self.row)
    }
}

/// Evaluates a row's sort keys.
pub(super) fn keyed(row: Row, keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Keyed> {
    let are_columns = keys.iter().all(|key| matches!(key.expression.kind, ExprKind::Column(at) if at < row.len()));
    let keys = if are_columns { Row::new() } else { sort_values(&row, keys, run)? };
    Ok(Keyed { keys, row })
}

/// Evaluates sort keys over a row.
pub(super) fn sort_values(row: &[Datum], keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Row> {
    keys.iter().map(|key| run.evaluate(&key.expression, row)).collect()
}

/// Number of rows sorted between checks of the cancel flag: about a hundredth of a second.
const RUN: usize = 8192;

/// Sorts rows stably: first runs, then longer and longer runs that consist of two each, which the library's sort merges. The
/// cancel flag is checked in between; no step is longer than one merge of all rows.
pub(super) fn sort<T>(rows: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    let mut length = RUN;
    // The library's sort keeps half of the rows aside.
    check_large(size_of_val(rows) / 2)?;
    loop {
        for part in rows.chunks_mut(length) {
            interrupt::look()?;
            part.sort_by(&compare);
        }
        if length >= rows.len() {
            return Ok(());
        }
        length *= 2;
    }
}

/// Compares two rows by their sort keys.
pub(super) fn compare_keyed(keys: &[SortKey], left: &Keyed, right: &Keyed) -> Ordering {
    if !left.keys.is_empty() {
        return compare_values(keys, &left.keys, &right.keys);
    }
    let by_column = |key: &SortKey| match key.expression.kind {
        ExprKind::Column(at) => compare_by(key, &left.row[at], &right.row[at]),
        _ => Ordering::Equal, // Such a key has values beside the row.
    };
    keys.iter().map(by_column).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Compares two rows by the values of their sort keys.
pub(super) fn compare_values(keys: &[SortKey], left: &[Datum], right: &[Datum]) -> Ordering {
    let columns = keys.iter().zip(left.iter().zip(right));
    columns
        .map(|(key, (left, right))| compare_by(key, left, right))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Compares two values of one sort key.
pub(super) fn compare_by(key: &SortKey, left: &Datum, right: &Datum) -> Ordering {
    let nulls_first = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (is_null(left), is_null(right)) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls_first,
        (false, true) => nulls_first.reverse(),
        (false, false) => {
            let ordering = compare_typed(key.expression.data_type, left, right);
            if key.descending { ordering.reverse() } else { ordering }
        }
    }
}

/// Compares two values in the default order: ascending, NULL last.
pub(super) fn compare_plainly(data_type: Type, left: &Datum, right: &Datum) -> Ordering {
    match (is_null(left), is_null(right)) {
        (false, false) => compare_typed(data_type, left, right),
        (left, right) => left.cmp(&right),
    }
}
