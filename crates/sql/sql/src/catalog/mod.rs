//! The catalog as statements use it: [`tables::Catalog`] with SQL's types, read and written by the statement's transaction
//! (docs/decisions/0012-catalog-is-a-table.md).
//!
//! `lookup.rs` reads it; `change.rs` writes it; `sequence.rs` draws from the sequences that it defines; `built_in.rs` has the
//! relations of the system; `storage.rs` makes the engine tables that definitions name and notes those that a statement makes
//! or leaves; `explain.rs` puts an engine's errors into the user's words.

mod built_in;
mod change;
mod explain;
mod lookup;
pub(crate) mod sequence;
mod storage;

pub use crate::definition::*;
pub use built_in::{BuiltIn, built_in, register};
pub use explain::{explain, explain_to_leave};
pub use lookup::NameLookup;
pub use storage::{after_commit, discard_temporary, drop_temporary, forget_created};

pub(crate) use change::{
    depend, dependents, forget_dependencies, insert_namespace, insert_relation, name_taken, remove_namespace,
    remove_relation, rename_relation, replace_relation,
};
pub(crate) use storage::{create_index_storage, create_row_storage, leave_storage};
pub(crate) use tables::storage::{TEMPORARY, relation_of};

use crate::context::Context;
use crate::error::Result;
use crate::types::{Row, Type};

/// A table of `pg_catalog` or `information_schema`: its rows are computed when it is read.
pub struct VirtualTable {
    /// Its identifier, PostgreSQL's own where there is one.
    pub oid: Oid,
    /// `pg_catalog` or `information_schema`.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [(&'static str, Type)],
    /// Its rows now.
    pub rows: fn(&mut Context<'_>) -> Result<Vec<Row>>,
}

impl std::fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}
