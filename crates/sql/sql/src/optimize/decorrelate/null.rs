//! Columns that are never NULL.

use crate::optimize::access::refuses_null;
use crate::plan::{Expr, ExprKind, JoinKind, Plan};
use crate::types::Type;

/// Returns whether an expression over a plan's rows is known to be no NULL.
pub fn is_never_null(plan: &Plan, expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Column(column) => is_column(plan, *column),
        ExprKind::Constant(value) => !value.is_null(),
        ExprKind::Cast { input, .. } => {
            let is_integer = |of: &Expr| [Type::INT2, Type::INT4, Type::INT8].contains(&of.data_type);
            is_integer(input) && is_integer(expression) && is_never_null(plan, input)
        }
        _ => false,
    }
}

fn is_column(mut plan: &Plan, mut column: usize) -> bool {
    loop {
        plan = match plan {
            Plan::Scan(scan) => return refuses_null(&scan.table, column),
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Lock { input, .. } => input,
            Plan::Project { input, columns } => match columns.get(column).map(|of| &of.kind) {
                Some(ExprKind::Column(below)) => {
                    column = *below;
                    input
                }
                _ => return false,
            },
            Plan::Join(join) if column < join.left_width => match join.kind {
                JoinKind::Right | JoinKind::Full => return false,
                _ => &join.left,
            },
            Plan::Join(join) => match join.kind {
                JoinKind::Inner | JoinKind::Right => {
                    column -= join.left_width;
                    &join.right
                }
                _ => return false,
            },
            _ => return false,
        };
    }
}
