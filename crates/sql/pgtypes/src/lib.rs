//! PostgreSQL's values: their types in text, in binary and in memory, their casts, and the functions and operators that need
//! only their arguments, the session's styles and its clock.
//!
//! - Types: `name.rs` (names and object identifiers), `facts.rs` (`pg_type`), `written.rs` (names in SQL), [`defined`] (those that
//!   statements have defined).
//! - Values: `datum.rs`, their order in `compare.rs`, their external forms in `text` and `binary`, `cast` between types,
//!   arithmetic in `numeric` and `datetime`.
//! - [`encoding`]: the character encodings of clients and byte strings.
//! - [`functions`]: scalar functions, operators, aggregates, and their resolution. A host adds functions of its own
//!   ([`functions::Registry`]).
//!
//! The crate does not depend on transactions, catalog or session: settings and clock come through [`Env`], limits on memory
//! through [`memory`], requests to stop through [`interrupt`].

#![forbid(unsafe_code)]

pub mod binary;
pub mod cast;
mod compare;
pub mod datetime;
mod datum;
pub mod defined;
pub mod encoding;
mod env;
pub mod error;
mod facts;
pub mod functions;
mod identifier;
pub mod interrupt;
mod jsonb;
mod label;
pub mod memory;
mod name;
pub mod numeric;
pub mod stack;
mod styles;
pub mod text;
mod written;

pub use cast::CastContext;
pub use compare::{compare_typed, equal_typed, hash_typed, identical, without_blanks};
pub use datum::{Array, CompositeShape, Datum, Interval, Numeric, Record, Row, RowShape, row_bytes, value_bytes};
pub use encoding::Encoding;
pub use env::Env;
pub use error::{Error, Result, state};
pub use facts::IntervalRange;
pub use label::Label;
pub use name::{Modifier, Scalar, Type};
pub use styles::{DateOrder, DateStyle, IntervalStyle, Styles};
pub use written::type_not_found;
