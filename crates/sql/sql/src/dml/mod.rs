//! Writes rows: constraints, indexes, foreign keys.
//!
//! A statement sees the state at its start: it reads everything that it will change before it changes anything, or it is of a
//! shape that cannot meet what it has written (`stream.rs`).
//!
//! `insert.rs`, `conflict.rs`, `update.rs` and `delete.rs` are the statements, `with.rs` several in one; `write.rs` writes what
//! they have computed; `rows.rs` keeps a row and its index entries
//! together; `rules.rs` holds what one row must fulfil by itself; `foreign_key` what it must fulfil with others;
//! `violation.rs` words the errors.

mod conflict;
mod delete;
mod foreign_key;
mod insert;
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
pub(crate) use foreign_key::ForeignKeys;
pub use foreign_key::{check_deferred, set_constraints};
pub use insert::insert;
pub use update::update;
pub use with::modifying;

use crate::types::Row;

/// What a statement did: how many rows it changed, and RETURNING's rows.
#[derive(Debug, Default)]
pub struct Changed {
    /// Rows inserted, updated or deleted.
    pub rows: u64,
    /// RETURNING.
    pub returned: Vec<Row>,
}
