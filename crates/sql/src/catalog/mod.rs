//! The catalog: which relations there are. It is a table of the engine, read and written by the transactions themselves,
//! so that definitions are as serializable, durable and atomic as rows.
//!
//! `definition.rs` says what is kept; `lookup.rs` reads it; `change.rs` writes it.

mod definition;

pub use definition::*;

use crate::context::Context;
use crate::error::{Result, SqlError};
use crate::store::Store;
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

/// Definitions that were read before, by name and version: shared by the sessions of a database.
pub struct Cache {}

#[allow(unused_variables)]
impl Cache {
    /// Finds the catalog's engine tables, or makes them; drops engine tables that belong to nothing.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(store: &std::sync::Arc<dyn Store>) -> Result<Cache> {
        todo!()
    }
}

#[allow(unused_variables)]
impl Context<'_> {
    /// The relation of this name; without a schema, the first along the search path. Protects the answer: nobody can
    /// create, change or drop it unnoticed while the transaction runs.
    ///
    /// # Errors
    /// The engine's.
    pub fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        todo!()
    }

    /// The relation with this identifier.
    ///
    /// # Errors
    /// The engine's.
    pub fn relation_by_oid(&mut self, oid: Oid) -> Result<Option<Relation>> {
        todo!()
    }

    /// All relations.
    ///
    /// # Errors
    /// The engine's.
    pub fn relations(&mut self) -> Result<Vec<Relation>> {
        todo!()
    }

    /// All schemas, the built-in ones among them.
    ///
    /// # Errors
    /// The engine's.
    pub fn namespaces(&mut self) -> Result<Vec<Namespace>> {
        todo!()
    }
}

/// Translates an engine's error into the user's words: the table's and the constraint's names, the key's columns and
/// values, the other transaction.
pub fn explain(context: &mut Context<'_>, error: SqlError) -> SqlError {
    error
}
