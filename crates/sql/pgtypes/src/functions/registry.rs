//! Functions by name: this crate's, and those that a host adds.

use super::{Aggregate, Body, Comparison, Function, ROW_COLUMNS, Resolved, aggregate, compare, tables};
use crate::Type;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Names and types of the columns of functions that return rows, by the function's name.
pub type RowColumns = [(&'static str, &'static [(&'static str, Type)])];

/// Functions of this crate and of a host, by name. `B` is the host's type of bodies; this crate's become such.
///
/// Made once in the life of a process: what is resolved refers to it.
pub struct Registry<B: 'static> {
    functions: HashMap<&'static str, Vec<&'static Function<B>>>,
    columns: Vec<&'static RowColumns>,
    comparisons: [&'static Function<B>; 6],
}

static AGGREGATES: LazyLock<HashMap<&'static str, Vec<&'static Aggregate>>> = LazyLock::new(|| {
    let mut index: HashMap<_, Vec<_>> = HashMap::new();
    for aggregate in aggregate::tables().into_iter().flatten() {
        index.entry(aggregate.name).or_default().push(aggregate);
    }
    index
});

impl<B: 'static> Registry<B> {
    /// Creates a registry of this crate's functions, with bodies made by `host_body`, and of the host's tables. `columns`
    /// describes the rows of the host's functions that return rows.
    pub fn new(
        host_body: fn(Body) -> B,
        host: &[&'static [Function<B>]],
        columns: &[&'static RowColumns],
    ) -> Registry<B> {
        let own = |function: &Function| -> &'static Function<B> { Box::leak(Box::new(function.with_body(host_body))) };
        let mut functions: HashMap<_, Vec<_>> = HashMap::new();
        for function in host.iter().copied().flatten() {
            functions.entry(function.name).or_default().push(function);
        }
        for function in tables().into_iter().flatten() {
            functions.entry(function.name).or_default().push(own(function));
        }
        Registry {
            functions,
            columns: [ROW_COLUMNS].into_iter().chain(columns.iter().copied()).collect(),
            comparisons: compare::FUNCTIONS.each_ref().map(own),
        }
    }

    /// Functions of a name, or operators of a symbol.
    pub(super) fn named(&'static self, name: &str) -> &'static [&'static Function<B>] {
        self.functions.get(name).map_or(&[], |functions| functions)
    }

    /// Columns of a function that returns rows.
    pub(super) fn columns(&self, function: &str) -> Option<Vec<(&'static str, Type)>> {
        let mut rows = self.columns.iter().copied().flatten();
        rows.find(|(name, _)| *name == function).map(|(_, columns)| columns.to_vec())
    }

    /// The boolean function that compares two values of a type.
    pub fn comparison(&self, comparison: Comparison, data_type: Type) -> Resolved<B> {
        Resolved {
            function: self.comparisons[comparison as usize],
            arguments: vec![data_type, data_type],
            result: Type::BOOL,
            columns: None,
        }
    }
}

impl Function {
    fn with_body<B>(&self, host_body: fn(Body) -> B) -> Function<B> {
        Function {
            name: self.name,
            arguments: self.arguments,
            variadic: self.variadic,
            result: self.result,
            strict: self.strict,
            volatility: self.volatility,
            returns_set: self.returns_set,
            body: host_body(self.body),
        }
    }
}

/// Aggregates of a name.
pub(super) fn aggregates(name: &str) -> &'static [&'static Aggregate] {
    AGGREGATES.get(name).map_or(&[], |aggregates| aggregates)
}
