//! Where an expression's values come from.

use super::{Expr, ExprKind, Plan, Scan};

/// The table's column that an expression over a plan's rows is, if it is one.
pub fn origin<'p>(plan: &'p Plan, expression: &Expr) -> Option<(&'p Scan, usize)> {
    let mut at = match &expression.kind {
        ExprKind::Column(column) => *column,
        ExprKind::Cast { input, .. } => return origin(plan, input),
        _ => return None,
    };
    let mut plan = plan;
    loop {
        plan = match plan {
            Plan::Scan(scan) => return (at < scan.table.columns.len()).then_some((scan, at)),
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Vectors { input, .. }
            | Plan::Lock { input, .. } => input,
            Plan::Project { input, columns } => match &columns.get(at)?.kind {
                ExprKind::Column(column) => {
                    at = *column;
                    input
                }
                _ => return None,
            },
            Plan::Join(join) if at < join.left_width => &join.left,
            Plan::Join(join) if join.kind.is_mark() => return None,
            Plan::Join(join) => {
                at -= join.left_width;
                &join.right
            }
            Plan::Aggregate(aggregation) => match &aggregation.keys.get(at)?.kind {
                ExprKind::Column(column) => {
                    at = *column;
                    &aggregation.input
                }
                _ => return None,
            },
            _ => return None,
        };
    }
}
