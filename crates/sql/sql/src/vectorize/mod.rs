//! Translation of plans into operators over batches ([`vectors`]).
//!
//! `expression.rs` translates expressions, `operator.rs` operators. What has no translation stays with the row executor: an operator
//! whose input has none takes that input's rows ([`Source::Rows`]).

mod expression;
mod operator;

pub use expression::translate as expression;
pub use operator::{Source, Translation, is_root, nodes, translate};

use crate::plan::{Expr, ExprKind, Plan, Scan, Subquery, SubqueryKind};
use crate::types::{Datum, Styles, Type};
use std::sync::Arc;

/// What a translation asks of who wants it.
pub trait Context {
    /// The value of an expression without columns; `None` if it has none now.
    fn constant(&mut self, expression: &Expr) -> Option<Datum>;

    /// The conjuncts of a scan's filter that the engine does not evaluate, by their positions.
    fn rest(&mut self, scan: &Scan) -> Vec<usize>;

    /// Types of a plan's columns.
    fn types(&self, plan: &Plan) -> Vec<Type>;

    /// The session's styles of values.
    fn styles(&self) -> Arc<Styles>;
}

/// Operands of a conjunction.
pub fn conjuncts(filter: &Expr) -> &[Expr] {
    if let ExprKind::And(all) = &filter.kind { all } else { std::slice::from_ref(filter) }
}

/// Returns whether a subquery has one answer for its statement, by its plan alone.
pub fn runs_once(subquery: &Subquery) -> bool {
    plan_runs_once(&subquery.plan)
}

/// Returns whether a plan refers to no enclosing row.
pub fn plan_runs_once(plan: &Plan) -> bool {
    let mut refers = false;
    plan.each_outer(0, &mut |_, _| refers = true);
    !refers
}

/// Returns whether an expression has one value for all rows of the plan that it is in.
fn is_constant(expression: &Expr) -> bool {
    !expression.any(|part| match &part.kind {
        ExprKind::Column(_) => true,
        ExprKind::Subquery(subquery) => {
            !runs_once(subquery) || matches!(subquery.kind, SubqueryKind::Quantified { .. })
        }
        _ => false,
    })
}

/// Returns whether a plan may run as vectors, and a second time row by row if a row fails: it owns no rows, and none of its
/// functions is volatile.
pub fn is_repeatable(plan: &Plan) -> bool {
    !plan.calls_volatile() && !plan.owns_rows() && !plan.is_recursive()
}
