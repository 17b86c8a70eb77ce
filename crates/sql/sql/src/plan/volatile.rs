//! What may give something else each time, or has side effects: calls of volatile functions, rows that a statement
//! takes for itself. And what may have no end.

use super::{Expr, ExprKind, Plan, SetColumn};
use crate::functions::{Resolved, Volatility};

/// Returns whether a function is volatile.
pub(crate) fn is_volatile(function: &Resolved) -> bool {
    function.function.volatility == Volatility::Volatile
}

impl Expr {
    /// Returns whether an expression calls a volatile function, the plans of subqueries excepted.
    pub fn calls_volatile(&self) -> bool {
        self.any(|part| match &part.kind {
            ExprKind::Call(function, _) | ExprKind::Quantified { operator: function, .. } => is_volatile(function),
            _ => false,
        })
    }
}

impl Plan {
    /// Returns whether a plan calls a volatile function, the plans of subqueries included. Functions of FROM, and those of a target list
    /// that return sets, are operators and no expressions.
    pub fn calls_volatile(&self) -> bool {
        let mut calls = false;
        self.walk(&mut |plan| {
            calls |= match plan {
                Plan::Functions { calls, .. } => calls.iter().any(|(function, _)| is_volatile(function)),
                Plan::ProjectSet { columns, .. } => {
                    columns.iter().any(|column| matches!(column, SetColumn::Set(function, _) if is_volatile(function)))
                }
                _ => false,
            };
            plan.each_expression(&mut |expression| calls |= expression.calls_volatile());
        });
        calls
    }

    /// Returns whether a plan owns rows that it reads.
    pub fn owns_rows(&self) -> bool {
        let mut owns = false;
        self.walk(&mut |plan| {
            owns |= match plan {
                Plan::Lock { .. } => true,
                Plan::Scan(scan) => scan.for_update,
                _ => false,
            };
        });
        owns
    }

    /// Returns whether a query of WITH RECURSIVE is in a plan.
    pub fn is_recursive(&self) -> bool {
        let mut is = false;
        self.walk(&mut |plan| is |= matches!(plan, Plan::Recursive { .. }));
        is
    }
}
