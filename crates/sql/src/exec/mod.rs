//! Runs plans: rows are pulled one at a time through the operators.

use crate::context::Context;
use crate::error::Result;
use crate::plan::{Expr, Plan};
use crate::types::{Datum, Row};
use std::sync::Arc;

/// A running query. It holds no borrow of the transaction between calls, so that a portal can keep it.
pub struct Cursor {}

#[allow(unused_variables)]
impl Cursor {
    /// Starts a plan.
    pub fn new(plan: Arc<Plan>) -> Cursor {
        todo!()
    }

    /// The next row. Memory that the operators hold is counted in `context.memory`.
    ///
    /// # Errors
    /// Of the expressions, the engine's, 53200, 57014.
    pub fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Row>> {
        todo!()
    }
}

/// The value of an expression over a row.
///
/// # Errors
/// Of its functions.
#[allow(unused_variables)]
pub fn evaluate(context: &mut Context<'_>, expression: &Expr, row: &[Datum]) -> Result<Datum> {
    todo!()
}
