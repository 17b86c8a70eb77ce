//! What EXPLAIN says of an operator before it runs.

use super::Facts;
use super::estimate::{cost, rows};
use crate::plan::{Estimate, Plan};
use crate::types::{Scalar, Type};

/// Estimated rows, costs and bytes of a row of a plan, for EXPLAIN.
pub fn estimate(plan: &Plan, facts: &Facts<'_>) -> Estimate {
    let (startup, total) = cost(plan, facts);
    Estimate { startup, total, rows: rows(plan, facts).max(1.0).round(), width: width(plan, facts) }
}

/// Bytes of a plan's row.
pub fn width(plan: &Plan, facts: &Facts<'_>) -> usize {
    match plan {
        Plan::Scan(scan) => {
            let columns = scan.table.columns.iter().enumerate();
            let wanted = |at: &usize| scan.wanted.as_ref().is_none_or(|wanted| wanted.contains(at));
            columns.filter(|(at, _)| wanted(at)).map(|(_, column)| bytes(column.data_type)).sum()
        }
        // Columns that nobody looks at are not there.
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Vectors { input, .. }
        | Plan::Lock { input, .. } => width(input, facts),
        Plan::Join(join) if !join.kind.shows_right() => width(&join.left, facts) + usize::from(join.kind.is_mark()),
        Plan::Join(join) => width(&join.left, facts) + width(&join.right, facts),
        other => facts.types(other).into_iter().map(bytes).sum(),
    }
}

/// PostgreSQL's width of a type; 32 for those of any length.
fn bytes(data_type: Type) -> usize {
    if data_type.is_array {
        return 32;
    }
    match data_type.scalar {
        Scalar::Bool | Scalar::Char => 1,
        Scalar::Int2 => 2,
        Scalar::Int4 | Scalar::Float4 | Scalar::Date | Scalar::Oid => 4,
        Scalar::Int8 | Scalar::Float8 | Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz => 8,
        Scalar::Interval | Scalar::Uuid => 16,
        Scalar::Name => 64,
        _ => 32,
    }
}
