//! The one table layer, over [`model::Interactive`]: on every engine that holds transactions open.
//!
//! An engine keeps ordered tables of keys and rows. This crate builds a database on them, for SQL and for programs alike, so that
//! each sees the other's tables:
//!
//! - [`Catalog`]: which relations there are ([`Table`], [`Index`], [`Sequence`], [`View`]), and which types statements have defined
//!   ([`DefinedType`]), as rows of one engine table that transactions read and write like any other;
//! - [`SharedCatalog`]: which databases there are, each with a catalog of its own;
//! - [`entries`]: a row and its index entries, written and removed together. An index is an engine table of its own;
//! - [`Sequences`]: numbers given outside transactions;
//! - [`storage`]: the engine tables that definitions name, and the removal of those that none names any more;
//! - [`Layout`] and [`Tables`]: tables as programs have them, by a schema of plain values; SQL has values of its own.
//!
//! ```text
//! a row of table 16384 (id, city, name) with an index over (city):
//!
//!   sql 16384.1   8000000000000007  ->  (7, 'Graz', 'Alfki')       the row, by its key
//!   sql 16384.2   01 'Graz' 0001 8000000000000007  ->  8000000000000007   its entry: columns, row's key -> row's key
//! ```
//!
//! # Invariants
//! - T1: a row has exactly one entry in each index of its table, written and removed by the transaction that writes and removes
//!   the row ([`entries`]).
//! - T2: a transaction that uses a table has read its definition, so a change of the definition conflicts with all users of the
//!   table. A decoded definition is used again if its version row has not changed ([`Layout::is_current`]).
//!   A single read reads that row behind the row itself ([`Layout::get_now`]).
//! - T3: an engine table of this layer that no committed definition names is dropped, at once or when the database is opened
//!   next, before it is used.
//! - T4: the bytes of a stored key depend on the types of its columns alone, not on the writer, SQL or program (`keys.rs`).
//!
//! # Deliberately absent
//! Engines, SQL, threads. Values that only SQL has (`numeric`, arrays) pass through as bytes: rows that have them in an index
//! are written by SQL alone.
#![forbid(unsafe_code)]

mod batches;
mod catalog;
mod convert;
mod counter;
mod definition;
mod dependency;
pub mod entries;
mod error;
mod extension_catalog;
mod keys;
mod layout;
mod numbers;
mod ownership;
pub mod rank;
mod rows;
mod schema;
mod sequences;
mod shared;
pub mod storage;
mod tables;
mod transact;
mod type_catalog;
mod types;
mod widen;

pub use batches::{Batch, BatchSize, Batches};
pub use catalog::{CATALOG, Catalog, name_of};
pub use definition::*;
pub use error::{Duplicate, Error, Result};
pub use layout::{Layout, schema_of};
pub use schema::{IndexId, IndexSchema, Schema, SchemaBuilder};
pub use sequences::{Exhausted, Sequences};
pub use shared::{
    DatabaseDefinition, POSTGRES, RoleDefinition, RoleMembership, RoleSetting, SUPERUSER, SharedCatalog, TEMPLATE0,
    TEMPLATE1,
};
pub use tables::{Defaults, Tables, describe, prepare, prepare_in_batches, renumber};
pub use transact::transact;
pub use types::{Modifier, Scalar, Type};
