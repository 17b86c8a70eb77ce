//! How far the first few rows of a sort reach at most.

use super::SortKey;
use crate::column::{Column, Data};
use pgtypes::{Scalar, Type};
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// The first key of the last row that will be read, as far as any of the sorts of an input knows: a row beyond it is none of the first.
/// Rows whose first key is equal may be.
#[derive(Debug)]
pub struct Edge {
    /// Relaxed: it only narrows, and one that is old rules out less.
    value: AtomicI64,
    descending: bool,
    nulls_first: bool,
}

impl Edge {
    /// The edge of sorts by these keys; `None` if the first one is of a type whose values are no integers.
    pub fn of(keys: &[SortKey]) -> Option<Edge> {
        let first = keys.first()?;
        let of: Type = first.expression.data_type();
        let is_integer = !of.is_array
            && matches!(
                of.scalar,
                Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Date | Scalar::Timestamp | Scalar::Timestamptz
            );
        is_integer.then(|| Edge {
            value: AtomicI64::new(if first.descending { i64::MIN } else { i64::MAX }),
            descending: first.descending,
            nulls_first: first.nulls_first,
        })
    }

    /// As many rows as will be read come no later than a row of a column of first keys.
    pub(super) fn narrow(&self, keys: &Column, row: usize) {
        let Data::Int(values) = &keys.data else { return };
        if keys.is_null(row) {
            return;
        }
        match self.descending {
            true => self.value.fetch_max(values[row], Relaxed),
            false => self.value.fetch_min(values[row], Relaxed),
        };
    }

    /// The first keys of rows that may be among the first.
    pub fn range(&self) -> RangeInclusive<i64> {
        let value = self.value.load(Relaxed);
        if self.descending { value..=i64::MAX } else { i64::MIN..=value }
    }

    /// Returns whether a row with NULL for its first key may be, once not all are.
    pub fn keeps_null(&self) -> bool {
        self.nulls_first
    }
}
