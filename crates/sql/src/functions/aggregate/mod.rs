//! Aggregates.

use super::Aggregate;

/// The aggregates that take their rows in the order of WITHIN GROUP.
pub(super) const ORDERED_SETS: &[&str] = &["mode", "percentile_cont", "percentile_disc"];

/// The tables of aggregates.
pub(super) fn tables() -> Vec<&'static [Aggregate]> {
    vec![]
}
