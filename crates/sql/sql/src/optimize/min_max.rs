//! Reads `min` and `max` of a column from the ends of an index in its order.

use super::Facts;
use super::access::refuses_null;
use super::columns::{join, split};
use super::order::satisfy;
use crate::plan::{Aggregation, Expr, ExprKind, Plan, SortKey};
use crate::types::{Datum, Type};

/// The one row in which such an aggregate finds its value, if that is all that is asked, and an index leads there.
pub fn first_entry(aggregation: &Aggregation, input: &Plan, facts: &Facts<'_>) -> Option<Plan> {
    let ([call], true) = (aggregation.calls.as_slice(), aggregation.keys.is_empty()) else { return None };
    let is_plain = call.filter.is_none() && call.grouping.is_none() && call.order.is_empty();
    let ([argument], true) = (call.arguments.as_slice(), is_plain && aggregation.sets.len() == 1) else { return None };
    let descending = match call.aggregate.aggregate.name {
        "min" => false,
        "max" => true,
        _ => return None,
    };
    let (Plan::Scan(scan), ExprKind::Column(column)) = (input, &argument.kind) else { return None };
    let mut scan = scan.clone();
    // With further conditions, rows are read until one satisfies them: that is slower through another index.
    let is_whole = scan.filter.is_none();
    if !refuses_null(&scan.table, *column) {
        let mut conjuncts = Vec::new();
        if let Some(filter) = scan.filter.take() {
            split(filter, &mut conjuncts);
        }
        let is_null = Expr::new(ExprKind::IsNull(Box::new(argument.clone())), Type::BOOL);
        conjuncts.push(Expr::new(ExprKind::Not(Box::new(is_null)), Type::BOOL));
        scan.filter = join(conjuncts);
    }
    let key = SortKey { expression: argument.clone(), descending, nulls_first: descending };
    let sorted = satisfy(Plan::Scan(super::access::with_path(scan, facts)), &[key], is_whole)?;
    let limit = Some(Expr::constant(Datum::Int8(1), Type::INT8));
    Some(Plan::Limit { input: Box::new(sorted), limit, ties: None, offset: None })
}
