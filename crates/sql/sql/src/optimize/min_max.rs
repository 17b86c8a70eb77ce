//! Reads `min` or `max` of a column from the end of an index in its order. Without one, and of several, the engine is told that only ends
//! are wanted.

use super::Facts;
use super::access::refuses_null;
use super::columns::{join, split};
use super::order::satisfy;
use crate::definition::Table;
use crate::plan::{AggregateCall, Aggregation, Expr, ExprKind, Path, Plan, SortKey};
use crate::storage::is_ordered_as_stored;
use crate::types::{Datum, Type};
use model::Extreme;

/// The one row in which such an aggregate finds its value, if that is all that is asked, and an index leads there.
pub fn first_entry(aggregation: &Aggregation, input: &Plan, facts: &Facts<'_>) -> Option<Plan> {
    let [(argument, descending)] = only_ends(aggregation)?[..] else { return None };
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
    let sorted = satisfy(Plan::Scan(super::access::with_path(scan, facts)), &[key], is_whole, facts)?;
    let limit = Some(Expr::constant(Datum::Int8(1), Type::INT8));
    Some(Plan::Limit { input: Box::new(sorted), limit, ties: None, offset: None })
}

/// The input of an aggregate of which only least and greatest values of a table are looked at, marked so.
pub fn only_extremes(aggregation: &Aggregation, mut input: Plan) -> Plan {
    if let (Plan::Scan(scan), Some(ends)) = (&mut input, only_ends(aggregation))
        && matches!(scan.path, Path::All)
        && !scan.for_update
    {
        let mut all: Vec<Extreme> = Vec::new();
        for end in ends {
            let Some(end) = extreme(&scan.table, end) else { return input };
            if !all.contains(&end) {
                all.push(end);
            }
        }
        // Each is a search of the table. Beyond a few, one scan is the better way, and logs more.
        if all.len() <= MOST_SEARCHES {
            scan.extremes = all;
        }
    }
    input
}

/// Searches that take the place of one scan, at most.
const MOST_SEARCHES: usize = 4;

/// The end of a column's values, if the engine orders them as SQL does.
fn extreme(table: &Table, (argument, is_greatest): (&Expr, bool)) -> Option<Extreme> {
    let ExprKind::Column(column) = argument.kind else { return None };
    let is_ordered = table.columns.get(column).is_some_and(|column| is_ordered_as_stored(column.data_type));
    u16::try_from(column).ok().filter(|_| is_ordered).map(|column| Extreme { column, is_greatest })
}

/// The arguments of the `min` and `max` that are all that an aggregation computes, over all rows; each with whether it is `max`.
fn only_ends(aggregation: &Aggregation) -> Option<Vec<(&Expr, bool)>> {
    let is_one_group = aggregation.keys.is_empty() && aggregation.sets.len() == 1 && !aggregation.calls.is_empty();
    if is_one_group { aggregation.calls.iter().map(end).collect() } else { None }
}

fn end(call: &AggregateCall) -> Option<(&Expr, bool)> {
    let is_plain = call.filter.is_none() && call.grouping.is_none() && call.order.is_empty();
    let ([argument], true) = (call.arguments.as_slice(), is_plain) else { return None };
    match call.aggregate.aggregate.name {
        "min" => Some((argument, false)),
        "max" => Some((argument, true)),
        _ => None,
    }
}
