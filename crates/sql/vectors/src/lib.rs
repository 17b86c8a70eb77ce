//! Relational operators over batches of typed columns, for plans that read many rows.
//!
//! The meaning is PostgreSQL's to the digit, because values, functions and accumulators are those of `pgtypes`: a [`mod@column`] holds the
//! values of one attribute in a form that loops are quick over, an [`expression`] is computed by a kernel where there is one and by the
//! row executor's own function, lane by lane, where there is none. [`aggregate`] groups by hashing, [`join`] hashes one side, [`sort`]
//! sorts; [`flow`] puts them together, moves batches through them, and runs what stands between two operators that hold rows
//! on several threads. [`keys`] has the form in which values are equal, [`spill`] the files to which operators write what
//! they cannot hold. A join says which keys it has before the other side is read, so that a source may leave out the rest
//! ([`flow::Host::sift`]).
//!
//! The crate does not depend on plans, catalog or transactions: rows come from a [`flow::Host`], memory is granted by it.
//!
//! - V1: a batch has as many values in each column as it has rows. An operator's batches have the columns that are read above it, and no
//!   others ([`mod@columns`]).
//! - V2: an expression is evaluated for exactly the rows for which SQL evaluates it, so it fails if and only if one of them fails.
//! - V3: threads change the order of rows only where no result depends on it ([`flow::Order`]).
//!
//! Which error a statement returns where several rows fail is not decided here: the caller runs the rows again, one by one.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod batch;
pub mod column;
pub mod columns;
pub mod digits;
pub mod expression;
pub mod flow;
pub mod join;
mod kernels;
pub mod keys;
pub mod sort;
pub mod spill;
pub mod texts;
pub mod threads;

pub use batch::{BATCH_ROWS, Batch};
pub use column::{Class, Column, Data};
pub use columns::Columns;
pub use expression::Expression;
