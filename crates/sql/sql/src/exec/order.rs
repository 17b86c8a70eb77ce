//! The order of rows by sort keys.

use super::evaluate::is_null;
use super::scope::Run;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::SortKey;
use crate::types::{Datum, Row, Type, compare_typed};
use std::cmp::Ordering;

/// A row with the values that it is sorted by.
pub(super) struct Keyed {
    /// The values of the sort keys.
    pub keys: Row,
    /// The row.
    pub row: Row,
}

impl Keyed {
    /// The bytes that it holds.
    pub fn bytes(&self) -> usize {
        row_bytes(&self.keys) + row_bytes(&self.row)
    }
}

/// Evaluates a row's sort keys.
pub(super) fn keyed(row: Row, keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Keyed> {
    let keys = sort_values(&row, keys, run)?;
    Ok(Keyed { keys, row })
}

/// The values of sort keys over a row.
pub(super) fn sort_values(row: &[Datum], keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Row> {
    keys.iter().map(|key| run.evaluate(&key.expression, row)).collect()
}

/// How two rows stand by their sort keys.
pub(super) fn compare_keyed(keys: &[SortKey], left: &Keyed, right: &Keyed) -> Ordering {
    compare_values(keys, &left.keys, &right.keys)
}

/// How two rows stand by the values of their sort keys.
pub(super) fn compare_values(keys: &[SortKey], left: &[Datum], right: &[Datum]) -> Ordering {
    let columns = keys.iter().zip(left.iter().zip(right));
    columns
        .map(|(key, (left, right))| compare_by(key, left, right))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// How two values of one sort key stand.
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

/// How two values stand without further words: ascending, NULL last.
pub(super) fn compare_plainly(data_type: Type, left: &Datum, right: &Datum) -> Ordering {
    match (is_null(left), is_null(right)) {
        (false, false) => compare_typed(data_type, left, right),
        (left, right) => left.cmp(&right),
    }
}
