//! Types and their values: what PostgreSQL's types mean, in text, in binary, in memory, in keys and in rows.
//!
//! `name.rs` names of types and their object identifiers (`facts.rs` is the table, `syntax.rs` how they are written);
//! `datum.rs` values, `compare.rs` their order; `text` and `binary` their outer forms; `cast` from one type to another;
//! `numeric`, `datetime` arithmetic; `storage` values in engine rows and keys.

pub mod binary;
pub mod cast;
mod compare;
pub mod datetime;
mod datum;
mod facts;
mod jsonb;
mod name;
pub mod numeric;
pub mod storage;
mod syntax;
pub mod text;

pub use cast::CastContext;
pub use compare::{compare_typed, equal_typed, hash_typed};
pub use datum::{Array, Datum, Interval, Numeric, Row};
pub use name::{Modifier, Scalar, Type};
pub use text::{IntervalStyle, Styles};
