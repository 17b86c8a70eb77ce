//! SQL over [`model::Interactive`]: parse, bind, plan, execute. Names no engine.
//!
//! A statement passes through `session` (protocol states, transactions, retries) -> the crate `syntax` (text to tree) -> `bind`
//! (names and types) -> `optimize` (indexes, joins) -> `exec` and `dml` (rows; over large tables batches, which `vectorize` sets up) ->
//! `store` (the engine). CREATE, ALTER and DROP go from `session` to `ddl` (reads the tree) -> `alter` (changes catalog, storage and
//! rows); `definition` has the types of what they define.
//! `context` has the handles: what each of these modules may touch.

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
pub mod notify;
mod open;
mod optimize;
mod pg_catalog;
mod plan;
pub mod session;
mod storage;
pub mod store;
pub mod temporary;
mod vectorize;

pub use error::{Result, SqlError};
pub use pgtypes as types;
pub use plan::Field;
pub use syntax::statements;

use pgtypes::stack;
