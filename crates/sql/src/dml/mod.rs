//! Writes rows: constraints, indexes, foreign keys.
//!
//! A statement reads everything that it will change before it changes anything, so that it sees the state at its start.

use crate::context::Context;
use crate::error::Result;
use crate::plan::{Delete, Insert, Update};
use crate::types::Row;

/// What a statement did: how many rows it changed, and RETURNING's rows.
#[derive(Debug, Default)]
pub struct Changed {
    /// Rows inserted, updated or deleted.
    pub rows: u64,
    /// RETURNING.
    pub returned: Vec<Row>,
}

/// Runs INSERT.
///
/// # Errors
/// 23502, 23503, 23505, 23514, those of expressions, the engine's.
#[allow(unused_variables)]
pub fn insert(context: &mut Context<'_>, statement: &Insert) -> Result<Changed> {
    todo!()
}

/// Runs UPDATE.
///
/// # Errors
/// As [`insert`].
#[allow(unused_variables)]
pub fn update(context: &mut Context<'_>, statement: &Update) -> Result<Changed> {
    todo!()
}

/// Runs DELETE.
///
/// # Errors
/// 23503, those of expressions, the engine's.
#[allow(unused_variables)]
pub fn delete(context: &mut Context<'_>, statement: &Delete) -> Result<Changed> {
    todo!()
}

/// Checks what was deferred to the end of the transaction.
///
/// # Errors
/// 23503.
#[allow(unused_variables)]
pub fn check_deferred(context: &mut Context<'_>) -> Result<()> {
    todo!()
}

/// Checks that wait for the end of the transaction. A savepoint keeps a copy.
#[derive(Clone, Debug, Default)]
pub struct Deferred {}
