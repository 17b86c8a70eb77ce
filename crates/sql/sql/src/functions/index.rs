//! The functions by name.

use super::{Aggregate, Function, aggregate, tables};
use crate::types::Type;
use std::collections::HashMap;
use std::sync::LazyLock;

static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<&'static Function>>> = LazyLock::new(|| {
    let mut index: HashMap<_, Vec<_>> = HashMap::new();
    for function in tables().into_iter().flatten() {
        index.entry(function.name).or_default().push(function);
    }
    index
});

static AGGREGATES: LazyLock<HashMap<&'static str, Vec<&'static Aggregate>>> = LazyLock::new(|| {
    let mut index: HashMap<_, Vec<_>> = HashMap::new();
    for aggregate in aggregate::tables().into_iter().flatten() {
        index.entry(aggregate.name).or_default().push(aggregate);
    }
    index
});

/// The functions of a name, or the operators of a symbol.
pub(super) fn functions(name: &str) -> &'static [&'static Function] {
    FUNCTIONS.get(name).map_or(&[], |functions| functions)
}

/// The aggregates of a name.
pub(super) fn aggregates(name: &str) -> &'static [&'static Aggregate] {
    AGGREGATES.get(name).map_or(&[], |aggregates| aggregates)
}

/// The columns of a function that returns rows.
pub(super) fn columns(function: &Function) -> Option<Vec<(&'static str, Type)>> {
    let tables = [super::ROW_COLUMNS, crate::pg_catalog::FUNCTION_COLUMNS];
    let mut rows = tables.into_iter().flatten();
    rows.find(|(name, _)| *name == function.name).map(|(_, columns)| columns.to_vec())
}
