//! Writes rows: constraints, indexes, foreign keys.
//!
//! A statement sees the state at its start: it reads everything that it will change before it changes anything, or it is of a
//! form that cannot read what it has written (`stream.rs`).
//!
//! `insert.rs`, `conflict.rs`, `update.rs`, `delete.rs` and `merge.rs` are the statements, `with.rs` several in one;
//! `write.rs` writes what they have computed; `rows.rs` writes a row together with its index entries, `indexed_row.rs`
//! computes what these need; `rules.rs` checks the constraints of a single row, `key_checks` those between rows;
//! `violation.rs` has the errors.

mod conflict;
mod delete;
mod indexed_row;
mod insert;
mod key_checks;
mod merge;
mod returning;
pub(crate) mod rows;
pub(crate) mod rules;
mod source;
mod stream;
mod update;
mod violation;
mod with;
mod write;

pub use delete::delete;
pub use insert::insert;
pub(crate) use key_checks::{KeyChecks, check_deferrable};
pub use key_checks::{check_deferred, set_constraints};
pub use merge::merge;
pub use update::update;
pub use with::modifying;

use crate::types::Row;

/// Result of a statement: the number of changed rows, and the rows of RETURNING.
#[derive(Debug, Default)]
pub struct Changed {
    /// Rows inserted, updated or deleted.
    pub rows: u64,
    /// RETURNING.
    pub returned: Vec<Row>,
}
