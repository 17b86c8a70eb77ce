//! What the tests of several crates share: temporary directories, commands that ran, programs that may be missing, and PostgreSQL
//! to compare with.
//!
//! For `[dev-dependencies]` only. It depends on no other crate of the workspace.
#![forbid(unsafe_code)]

mod directory;
mod programs;
mod ran;
pub mod reference;

pub use directory::Directory;
pub use programs::{has, psql, say, skip, text, version};
pub use ran::Ran;
