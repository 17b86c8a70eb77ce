//! Functions, operators and aggregates: which there are, and what they do.
//!
//! `signature.rs` says what a function is; `resolve.rs` finds the one that a call means, by PostgreSQL's rules (chapter
//! "Type Conversion" of its manual); the other files hold the functions by subject.

mod signature;

pub use signature::*;
