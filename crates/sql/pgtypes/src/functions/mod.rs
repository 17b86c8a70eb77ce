//! Functions, operators and aggregates, and their resolution by name.
//!
//! `signature.rs` defines the description of a function; `registry.rs` holds functions by name, including a host's;
//! `resolve.rs` finds the function of a call by PostgreSQL's rules (chapter "Type Conversion" of its manual), with
//! `candidate.rs` (selection among functions of one name) and `polymorphic.rs`; the other files hold the functions by subject,
//! as tables written with the constructors of `table.rs`.

mod absent;
mod aggregate;
mod arguments;
mod array;
mod candidate;
mod compare;
mod conversion;
mod datetime;
mod enumeration;
mod json;
mod math;
mod named;
mod polymorphic;
mod registry;
mod resolve;
mod series;
mod signature;
mod table;
mod template;
mod text;

pub use crate::identifier::quote_identifier;
pub use arguments::Arguments;
pub use compare::Comparison;
pub use named::{Parameters, parameters};
pub use polymorphic::common_type;
pub use registry::{Registry, RowColumns};
pub use resolve::{
    comparison_type, comparison_type_by, is_aggregate, is_ordered_set, json_agg_of_rows, resolve_aggregate,
    window_function,
};
pub use signature::{
    Accumulator, Aggregate, Body, Function, Resolved, ResolvedAggregate, Series, Volatility, WindowFunction, pseudo,
};
pub use text::quote::quote_literal;

use crate::Type;

/// Tables of functions and operators.
fn tables() -> Vec<&'static [Function]> {
    let mut tables = Vec::new();
    tables.extend(math::tables());
    tables.extend(text::tables());
    tables.push(array::FUNCTIONS);
    tables.extend(json::tables());
    tables.extend([datetime::OPERATORS, datetime::FUNCTIONS, datetime::CLOCKS, series::FUNCTIONS]);
    tables.extend(template::tables());
    tables.extend([conversion::CASTS, conversion::TYPES, enumeration::FUNCTIONS]);
    tables
}

/// Columns of the functions that return rows, by name.
const ROW_COLUMNS: &RowColumns = &[
    ("json_array_elements", &[("value", Type::JSON)]),
    ("json_array_elements_text", &[("value", Type::TEXT)]),
    ("json_each", &[("key", Type::TEXT), ("value", Type::JSON)]),
    ("json_each_text", &[("key", Type::TEXT), ("value", Type::TEXT)]),
    ("jsonb_array_elements", &[("value", Type::JSONB)]),
    ("jsonb_array_elements_text", &[("value", Type::TEXT)]),
    ("jsonb_each", &[("key", Type::TEXT), ("value", Type::JSONB)]),
    ("jsonb_each_text", &[("key", Type::TEXT), ("value", Type::TEXT)]),
];

#[cfg(test)]
mod tests;
