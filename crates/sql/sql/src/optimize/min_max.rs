//! Reads `min` and `max` of a column from the ends of an index in its order. Without one, the engine is told that only an end is wanted.

use super::Facts;
use super::access::refuses_null;
use super::columns::{join, split};
use super::order::satisfy;
use crate::plan::{Aggregation, Expr, ExprKind, Path, Plan, SortKey};
use crate::storage::is_ordered_as_stored;
use crate::types::{Datum, Type};
use model::Extreme;

/// The one row in which such an aggregate finds its value, if that is all that is asked, and an index leads there.
pub fn first_entry(aggregation: &Aggregation, input: &Plan, facts: &Facts<'_>) -> Option<Plan> {
    let (argument, descending) = only_end(aggregation)?;
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

/// The input of an aggregate of which only the least or the greatest value of a table is looked at, marked so.
pub fn only_extreme(aggregation: &Aggregation, mut input: Plan) -> Plan {
    if let (Plan::Scan(scan), Some((argument, is_greatest))) = (&mut input, only_end(aggregation))
        && let ExprKind::Column(column) = argument.kind
        && matches!(scan.path, Path::All)
        && !scan.for_update
        && scan.table.columns.get(column).is_some_and(|column| is_ordered_as_stored(column.data_type))
    {
        scan.extreme = u16::try_from(column).ok().map(|column| Extreme { column, is_greatest });
    }
    input
}

/// The argument of the `min` or `max` that is all that an aggregation computes, over all rows; and whether it is `max`.
fn only_end(aggregation: &Aggregation) -> Option<(&Expr, bool)> {
    let ([call], true) = (aggregation.calls.as_slice(), aggregation.keys.is_empty()) else { return None };
    let is_plain = call.filter.is_none() && call.grouping.is_none() && call.order.is_empty();
    let ([argument], true) = (call.arguments.as_slice(), is_plain && aggregation.sets.len() == 1) else { return None };
    match call.aggregate.aggregate.name {
        "min" => Some((argument, false)),
        "max" => Some((argument, true)),
        _ => None,
    }
}
