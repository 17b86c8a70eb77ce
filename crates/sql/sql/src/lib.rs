//! SQL over door 1: parse, bind, plan, execute. Names no engine.
//!
//! The way of a statement: `session` (protocol states, transactions, retries) -> `parse` (text to syntax) -> `bind` (names
//! and types) -> `improve` (indexes, joins) -> `exec` and `dml` (rows) -> `store` (the engine).

#![forbid(unsafe_code)]

pub mod bind;
pub mod cancel;
pub mod catalog;
mod clock;
pub mod context;
pub mod copy;
pub mod database;
pub mod ddl;
pub mod definition;
pub mod dml;
pub mod env;
pub mod error;
pub mod exec;
pub mod explain;
pub mod functions;
pub mod improve;
pub mod memory;
mod open;
pub mod parse;
pub mod pg_catalog;
pub mod plan;
pub mod sequence;
pub mod session;
pub(crate) mod storage;
pub mod store;

pub use error::{Result, SqlError};
pub use pgtypes as types;

use pgtypes::stack;
