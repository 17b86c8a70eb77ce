//! Other embedded stores behind the lab's interface of an engine.
//!
//! - [`store`] is what a store has to have: get, put, delete and scan within a transaction. [`access`] makes an engine of it.
//! - [`rocks`], [`lmdb`], [`redb`], [`fjall`], [`sqlite`] are the stores.
//! - [`subject`] gives them names, [`command`] is the command line and the table.

pub mod access;
pub mod command;
pub mod fjall;
pub mod lmdb;
pub mod redb;
pub mod rocks;
pub mod sqlite;
pub mod store;
pub mod subject;
