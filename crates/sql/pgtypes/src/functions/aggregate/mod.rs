//! Aggregates.
//!
//! `plain.rs` has counts, extremes, bits and booleans; `sum.rs` sums and averages; `statistics.rs` variances and regressions;
//! `collect.rs` texts, arrays and JSON; `ordered.rs` ordered-set aggregates.

mod collect;
mod ordered;
mod plain;
mod statistics;
mod sum;

pub(super) use collect::JSON_AGG_OF_ROWS;

use super::table::*;
use super::{Accumulator, Aggregate};

/// The aggregates that take their rows in the order of WITHIN GROUP.
pub(super) const ORDERED_SETS: &[&str] = &["mode", "percentile_cont", "percentile_disc"];

/// The tables of aggregates.
pub(super) fn tables() -> Vec<&'static [Aggregate]> {
    let mut tables = vec![
        plain::AGGREGATES,
        sum::AGGREGATES,
        statistics::AGGREGATES,
        collect::AGGREGATES,
        &collect::ARRAYS[..],
        ordered::AGGREGATES,
    ];
    tables.extend(collect::json_tables());
    tables
}

/// An aggregate that passes over rows with NULL.
const fn aggregate(
    name: &'static str,
    arguments: &'static [Type],
    result: Type,
    start: fn() -> Box<dyn Accumulator>,
) -> Aggregate {
    Aggregate { name, arguments, result, strict: true, start }
}

impl Aggregate {
    /// Takes rows with NULL too.
    const fn called_on_null(mut self) -> Aggregate {
        self.strict = false;
        self
    }
}

/// The bytes that a value holds.
fn bytes_of(value: &Datum) -> usize {
    crate::row_bytes(std::slice::from_ref(value))
}
