//! The catalog as statements use it: [`tables::Catalog`] with SQL's types, read and written by the statement's transaction
//! (docs/decisions/0012-catalog-is-a-table.md).
//!
//! [`Names`] reads it, and [`Change`](crate::context::Change) writes it; `sequence.rs` draws from the sequences that it defines;
//! `built_in.rs` has the relations of the system; `storage.rs` drops the engine tables that definitions name no longer.

mod built_in;
pub(crate) mod sequence;
mod storage;

pub use crate::context::NameLookup;
pub(crate) use crate::context::name_taken;
pub use crate::definition::*;
pub use built_in::{BuiltIn, built_in, register};
pub use storage::{after_commit, drop_temporary, forget_created};

use crate::context::{Names, System};
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
    pub rows: Rows,
    /// Its rows of one name, if they can be had without the others.
    pub by_name: Option<ByName>,
}

/// How the rows of one name are found in a computed table. What is of other names is not read, so that a transaction which asks for
/// one does not depend on the definitions of all.
#[derive(Clone, Copy)]
pub struct ByName {
    /// The index of PostgreSQL that does this.
    pub index: &'static str,
    /// The column that is the name.
    pub column: &'static str,
    /// The rows of a name.
    pub rows: fn(&mut Names<'_>, &str) -> Result<Vec<Row>>,
}

impl VirtualTable {
    /// The place of the column by which rows are found.
    pub fn name_column(&self) -> Option<usize> {
        let by_name = self.by_name?;
        self.columns.iter().position(|(column, _)| *column == by_name.column)
    }
}

/// How the rows of a computed table are made, by what they are made of.
#[derive(Clone, Copy)]
pub enum Rows {
    /// Nothing that changes.
    Fixed(fn() -> Vec<Row>),
    /// Definitions.
    Names(fn(&mut Names<'_>) -> Result<Vec<Row>>),
    /// The session, other sessions, the server.
    System(fn(&mut System<'_>) -> Result<Vec<Row>>),
}

impl Rows {
    /// Computes them.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn compute(self, system: &mut System<'_>) -> Result<Vec<Row>> {
        match self {
            Rows::Fixed(rows) => Ok(rows()),
            Rows::Names(rows) => rows(&mut system.names()),
            Rows::System(rows) => rows(system),
        }
    }
}

impl std::fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}
