//! SQL over door 1: parse, bind, plan, execute. Names no engine.
//!
//! A statement passes through `session` (protocol states, transactions, retries) -> `parse` (text to syntax) -> `bind` (names
//! and types) -> `optimize` (indexes, joins) -> `exec` and `dml` (rows) -> `store` (the engine). A definition goes from `session`
//! to `ddl` (what its syntax says) -> `alter` (catalog, storage and rows). `context` has what each of them may touch.

#![forbid(unsafe_code)]

mod alter;
mod bind;
pub mod cancel;
mod catalog;
mod clock;
mod context;
mod copy;
pub mod database;
mod ddl;
pub mod definition;
mod dml;
mod env;
pub mod error;
mod exec;
mod explain;
mod functions;
pub mod memory;
mod open;
mod optimize;
mod pg_catalog;
mod plan;
pub mod session;
mod storage;
pub mod store;

pub use error::{Result, SqlError};
pub use parse::statements;
pub use pgtypes as types;
pub use plan::Field;

use pgtypes::stack;
use syntax as parse;
