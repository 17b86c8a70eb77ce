//! Execution of plans: rows are pulled one at a time through the operators.
//!
//! `evaluate` computes expressions, `operators` rows; `scope.rs` has their shared state. `key_table.rs` finds rows by equal
//! values, `order.rs` sorts, `counters.rs` counts for EXPLAIN ANALYZE.

mod counters;
mod distinct_set;
mod evaluate;
mod key_table;
mod operators;
mod order;
mod scope;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

pub use counters::{Counter, Counters};
pub use operators::Logged;

use crate::context::Exec;
use crate::error::Result;
use crate::plan::{Expr, Plan, Scan};
use crate::types::{Datum, Row};
use operators::Node;
use scope::{PlanRows, Run, Scope};
use std::sync::Arc;

/// A running query. It holds no borrow of the transaction between calls, so that a portal can keep it.
pub struct Cursor {
    plan: Arc<Plan>,
    node: Node,
    scope: Scope,
}

/// What a scan of a whole table asks its engine for, if it started now; `None` if that depends on an enclosing row.
pub fn logged(exec: &mut Exec<'_>, scan: &Scan) -> Option<Logged> {
    let mut scope = Scope::new(start);
    Logged::of(scan, &mut Run { exec, scope: &mut scope })
}

impl Cursor {
    /// Starts a plan.
    pub fn new(plan: Arc<Plan>) -> Cursor {
        Cursor { node: Node::new(&plan), plan, scope: Scope::new(start) }
    }

    /// Starts a plan whose operators count rows and time.
    pub fn counting(plan: Arc<Plan>) -> Cursor {
        let mut cursor = Cursor::new(plan);
        let mut counters = Counters::default();
        counters.started(&cursor.plan);
        cursor.scope.counters = Some(counters);
        cursor
    }

    /// Counters of the operators so far, if they count.
    pub fn counters(&self) -> Option<&Counters> {
        self.scope.counters.as_ref()
    }

    /// Returns the next row. Memory that the operators hold is counted in `exec.memory`.
    ///
    /// # Errors
    /// Errors of the expressions and of the engine; 53200, 57014.
    pub fn next(&mut self, exec: &mut Exec<'_>) -> Result<Option<Row>> {
        self.node.next(&self.plan, &mut Run { exec, scope: &mut self.scope })
    }
}

/// Starts a plan, for subqueries and queries of WITH.
fn start(plan: &Plan) -> Box<dyn PlanRows> {
    Box::new(Node::new(plan))
}

/// Evaluates the expressions of one statement. Answers of uncorrelated subqueries are kept.
pub struct Evaluator {
    scope: Scope,
}

impl Default for Evaluator {
    fn default() -> Evaluator {
        Evaluator { scope: Scope::new(start) }
    }
}

impl Evaluator {
    /// Evaluates an expression over a row.
    ///
    /// # Errors
    /// Errors of its functions and of its subqueries' plans.
    pub fn evaluate(&mut self, exec: &mut Exec<'_>, expression: &Expr, row: &[Datum]) -> Result<Datum> {
        Run { exec, scope: &mut self.scope }.evaluate(expression, row)
    }
}

/// Evaluates an expression over a row.
///
/// # Errors
/// Errors of its functions.
pub fn evaluate(exec: &mut Exec<'_>, expression: &Expr, row: &[Datum]) -> Result<Datum> {
    let before = exec.memory.used();
    let value = Evaluator::default().evaluate(exec, expression, row);
    exec.memory.back_to(before);
    value
}

/// Portals move between threads.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Cursor>();
};
