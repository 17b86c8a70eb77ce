//! Functions, operators and aggregates: which there are, and what they do.
//!
//! `signature.rs` says what a function is; `resolve.rs` finds the one that a call means, by PostgreSQL's rules (chapter
//! "Type Conversion" of its manual), with `candidate.rs` (the choice among those of a name), `polymorphic.rs` and
//! `index.rs`; the other files hold the functions by subject, as tables of which `table.rs` is the vocabulary.

mod aggregate;
mod candidate;
mod compare;
mod index;
mod polymorphic;
mod resolve;
mod signature;
mod table;

pub use polymorphic::common_type;
pub use resolve::*;
pub use signature::*;

use crate::types::Type;

/// The tables of functions and operators.
fn tables() -> Vec<&'static [Function]> {
    vec![crate::pg_catalog::FUNCTIONS]
}

/// The columns of the functions that return rows, by name.
const ROW_COLUMNS: &[(&str, &[(&str, Type)])] = &[];
