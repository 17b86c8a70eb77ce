//! Definitions of relations and schemas (`relation.rs`), and the form in which the catalog keeps them (`cache.rs`).

pub(crate) mod cache;
mod relation;

pub use cache::Cache;
pub use relation::*;
