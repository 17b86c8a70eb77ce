//! The catalog: which relations there are. It is a table of the engine, read and written by the transactions themselves,
//! so that definitions are as serializable, durable and atomic as rows (docs/decisions/0012-catalog-is-a-table.md).
//!
//! What is kept, and how, says `crate::definition`. `lookup.rs` reads it; `change.rs` writes it; `dependency.rs` which
//! definition names which; `sequence.rs` draws from the sequences that it defines; `built_in.rs` the relations of the system;
//! `storage.rs` makes the engine tables that definitions name and drops those that none names any more;
//! `explain.rs` puts an engine's errors into the user's words.

mod built_in;
mod change;
mod dependency;
mod explain;
mod lookup;
pub(crate) mod sequence;
mod storage;

pub use crate::definition::*;
pub use built_in::{BuiltIn, built_in, register};
pub use explain::{explain, explain_to_leave};
pub use storage::{after_commit, discard_temporary, drop_temporary, forget_created};

pub(crate) use change::{
    insert_namespace, insert_relation, name_taken, remove_namespace, remove_relation, rename_relation, replace_relation,
};
pub(crate) use dependency::{depend, dependents, forget_dependencies};
pub(crate) use storage::{TEMPORARY, clean, create_index_storage, create_row_storage, leave_storage, relation_of};

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
