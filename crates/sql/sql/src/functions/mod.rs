//! Functions, operators and aggregates: which there are, and what they do.
//!
//! `signature.rs` says what a function is; `resolve.rs` finds the one that a call means, by PostgreSQL's rules (chapter
//! "Type Conversion" of its manual), with `candidate.rs` (the choice among those of a name), `polymorphic.rs` and
//! `index.rs`; the other files hold the functions by subject, as tables of which `table.rs` is the vocabulary.

mod aggregate;
mod arguments;
mod array;
mod candidate;
mod compare;
mod datetime;
mod index;
mod json;
mod math;
mod named;
mod polymorphic;
mod resolve;
mod series;
mod signature;
mod system;
mod table;
mod template;
mod text;

pub use named::parameters;
pub use polymorphic::common_type;
pub use resolve::*;
pub use signature::*;
pub use text::quote::{quote_identifier, quote_literal};

use crate::types::Type;

/// The tables of functions and operators.
fn tables() -> Vec<&'static [Function]> {
    let mut tables = vec![crate::pg_catalog::FUNCTIONS];
    tables.extend(math::tables());
    tables.extend(text::tables());
    tables.push(array::FUNCTIONS);
    tables.extend(json::tables());
    tables.extend([datetime::OPERATORS, datetime::FUNCTIONS, datetime::CLOCKS, series::FUNCTIONS]);
    tables.extend(template::tables());
    tables.extend([system::FUNCTIONS, system::SEQUENCES, system::PRIVILEGES, system::CASTS]);
    tables
}

/// The columns of the functions that return rows, by name.
const ROW_COLUMNS: &[(&str, &[(&str, Type)])] = &[
    ("_pg_expandarray", &[("x", Type::INT2), ("n", Type::INT4)]),
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
