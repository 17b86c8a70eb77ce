//! The operand of simple CASE: used several times, evaluated once.

use super::subquery::subquery_expression;
use crate::bind::walk::outwards;
use crate::plan::{Expr, ExprKind, Plan, SubqueryKind};

/// An operand that a test mentions several times. A volatile operand is evaluated first, into a row of its own around the test.
pub(super) struct SingleEvaluation {
    /// The operand, if it has a row of its own.
    row: Option<Expr>,
}

impl SingleEvaluation {
    /// Returns the operand, and the expression that stands for it in the test.
    pub fn new(operand: Expr) -> (SingleEvaluation, Expr) {
        if !operand.calls_volatile() {
            return (SingleEvaluation { row: None }, operand);
        }
        let column = Expr::column(0, operand.data_type, operand.modifier);
        (SingleEvaluation { row: Some(outwards(&operand, 1)) }, column)
    }

    /// Adjusts another part of the test to its place inside the operand's row.
    pub fn beside(&self, part: Expr) -> Expr {
        if self.row.is_some() { outwards(&part, 1) } else { part }
    }

    /// Returns the whole test.
    pub fn around(self, test: Expr) -> Expr {
        let Some(operand) = self.row else { return test };
        let (data_type, modifier) = (test.data_type, test.modifier);
        let row = Plan::Values { rows: vec![vec![operand]] };
        let plan = Plan::Project { input: Box::new(row), columns: vec![test] };
        let mut value = Expr { data_type, modifier, ..subquery_expression(SubqueryKind::Scalar, plan) };
        if let ExprKind::Subquery(subquery) = &mut value.kind {
            // It runs for each row, whether it refers to the row or not.
            subquery.correlated = true;
        }
        value
    }
}
