//! Environment of a function: the calling session's state that it may read.

use crate::Styles;

/// Styles and clock of the session that calls a function. Times are microseconds since 1970.
pub trait Env {
    /// Styles in which values are read and printed, the time zone among them.
    fn styles(&self) -> Styles;

    /// Start of the transaction (`now()`).
    fn transaction_time(&self) -> i64;

    /// Start of the statement.
    fn statement_time(&self) -> i64;

    /// Time of the call (`clock_timestamp()`).
    fn clock_time(&self) -> i64;
}
