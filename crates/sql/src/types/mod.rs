//! Types and their values: what PostgreSQL's types mean, in text, in binary, in memory, in keys and in rows.
//!
//! `name.rs` names of types and their object identifiers; `datum.rs` values; `text.rs` and `binary.rs` their outer forms;
//! `cast.rs` from one type to another; `numeric.rs`, `datetime.rs` arithmetic; `storage.rs` values in engine rows and keys.

mod datum;
mod name;

pub use datum::{Array, Datum, Interval, Numeric, Row};
pub use name::{Modifier, Scalar, Type};
