//! Column pruning: finds the columns that a plan does not use. Those of tables are not decoded, and what is computed for others is not
//! evaluated: it cannot fail, and reads nothing.
//!
//! Source: PostgreSQL 15, `pull_up_subqueries` and `remove_unused_subquery_outputs`. As there, what is volatile stays, and all columns
//! count below DISTINCT, below set operations except UNION ALL, and in queries of WITH that are not inlined.

use super::Facts;
use super::columns::{collect, is_volatile, nearest};
use crate::plan::{AggregateCall, Expr, ExprKind, Plan, SetColumn, SetOperation, SubqueryKind, WindowCall};
use crate::stack::ensure_stack;
use crate::types::{Datum, Modifier, Type};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sets the columns to decode in all scans of a plan, and puts NULLs in the place of columns that it computes and nobody reads.
/// `wanted` is the columns of the plan's result that are used; `None` means all.
pub fn prune(plan: &mut Plan, wanted: Option<BTreeSet<usize>>, facts: &Facts<'_>) {
    ensure_stack(|| step(plan, wanted, facts));
}

fn step(plan: &mut Plan, wanted: Option<BTreeSet<usize>>, facts: &Facts<'_>) {
    if let Some(wanted) = &wanted {
        forget_unread(plan, wanted, facts);
    }
    in_expressions(plan, facts);
    let mut own = BTreeSet::new();
    plan.each_expression(&mut |expression| collect(expression, &mut own));
    let with_own = |wanted: Option<BTreeSet<usize>>, own: BTreeSet<usize>| {
        wanted.map(|wanted| wanted.union(&own).copied().collect::<BTreeSet<usize>>())
    };
    match plan {
        Plan::Scan(scan) => {
            let width = scan.table.columns.len();
            scan.wanted = wanted.map(|wanted| wanted.into_iter().filter(|&column| column < width).collect());
        }
        Plan::Project { input, columns } => {
            if let Some(wanted) = &wanted {
                own = BTreeSet::new();
                let read = columns.iter().enumerate().filter(|(at, of)| wanted.contains(at) || !is_passed_on(of));
                read.for_each(|(_, of)| collect(of, &mut own));
            }
            prune(input, Some(own), facts);
        }
        Plan::ProjectSet { input, columns } => {
            if let Some(wanted) = &wanted {
                own = BTreeSet::new();
                columns.iter().enumerate().for_each(|(at, column)| match column {
                    SetColumn::Value(of) if !wanted.contains(&at) && is_passed_on(of) => {}
                    SetColumn::Value(of) => collect(of, &mut own),
                    SetColumn::Set(_, arguments) => arguments.iter().for_each(|of| collect(of, &mut own)),
                });
            }
            prune(input, Some(own), facts);
        }
        Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => {
            prune(input, with_own(wanted, own), facts);
        }
        Plan::Vectors { input, wanted: own } => {
            // An operator of rows above may have columns of its own behind these, such as those of a window.
            let width = facts.types(input).len();
            *own = wanted.as_ref().map(|wanted| wanted.iter().copied().filter(|column| *column < width).collect());
            prune(input, wanted, facts);
        }
        Plan::Distinct { input, on } => {
            let wanted = if on.is_some() { with_own(wanted, own) } else { None };
            prune(input, wanted, facts);
        }
        Plan::Lock { input, tables } => {
            own.extend(tables.iter().map(|lock| lock.key));
            prune(input, with_own(wanted, own), facts);
        }
        Plan::Aggregate(aggregation) => prune(&mut aggregation.input, Some(own), facts),
        Plan::Window(window) => prune(&mut window.input, with_own(wanted, own), facts),
        Plan::Join(join) => {
            let width = join.left_width;
            let mut both = BTreeSet::new();
            join.condition.iter().for_each(|condition| collect(condition, &mut both));
            let mut left = wanted.clone();
            let mut right = if join.kind.shows_right() { wanted } else { Some(BTreeSet::new()) };
            if let Some(left) = &mut left {
                left.extend(&both);
                left.retain(|column| *column < width);
                join.equalities.iter().for_each(|(side, _)| collect(side, left));
            }
            if let Some(columns) = &mut right {
                columns.extend(&both);
                *columns = columns.iter().filter_map(|column| column.checked_sub(width)).collect();
                join.equalities.iter().for_each(|(_, side)| collect(side, columns));
            }
            prune(&mut join.right, right, facts);
            if let (Some(left), true) = (&mut left, join.lateral) {
                nearest(&join.right, left);
            }
            prune(&mut join.left, left, facts);
        }
        Plan::Set { operation: SetOperation::Union, all: true, left, right } => {
            prune(left, wanted.clone(), facts);
            prune(right, wanted, facts);
        }
        Plan::With { queries, body } => {
            for (_, query) in queries {
                prune(Arc::make_mut(query), None, facts);
            }
            prune(body, wanted, facts);
        }
        other => other.each_input_mut(&mut |input, _| prune(input, None, facts)),
    }
}

/// The plans of subqueries in an operator's expressions.
fn in_expressions(plan: &mut Plan, facts: &Facts<'_>) {
    plan.each_expression_mut(&mut |expression| {
        expression.walk_mut(&mut |expression| {
            if let ExprKind::Subquery(subquery) = &mut expression.kind {
                let wanted = matches!(subquery.kind, SubqueryKind::Exists).then(BTreeSet::new);
                prune(Arc::make_mut(&mut subquery.plan), wanted, facts);
            }
        });
    });
}

/// Puts NULLs in the place of what an operator computes for columns that nobody reads.
fn forget_unread(plan: &mut Plan, wanted: &BTreeSet<usize>, facts: &Facts<'_>) {
    match plan {
        Plan::Project { columns, .. } => forget_columns(columns, wanted),
        // The row of a SELECT without FROM.
        Plan::Values { rows } if rows.len() == 1 => forget_columns(&mut rows[0], wanted),
        Plan::Aggregate(_) | Plan::Window(_) => forget_calls(plan, wanted, facts),
        _ => {}
    }
}

fn forget_columns(columns: &mut [Expr], wanted: &BTreeSet<usize>) {
    let unread = columns.iter_mut().enumerate().filter(|(at, of)| !wanted.contains(at) && !is_passed_on(of));
    for (_, column) in unread.filter(|(_, of)| !is_volatile(of)) {
        column.kind = ExprKind::Constant(Datum::Null);
    }
}

/// Returns whether a column is one of the input's.
fn is_passed_on(column: &Expr) -> bool {
    matches!(column.kind, ExprKind::Column(_))
}

/// Takes away the calls of groups or windows that nobody reads; a projection above has the columns as they were.
fn forget_calls(plan: &mut Plan, wanted: &BTreeSet<usize>, facts: &Facts<'_>) {
    let types = facts.types(plan);
    let volatile: Vec<bool> = match plan {
        Plan::Aggregate(aggregation) => aggregation.calls.iter().map(is_volatile_aggregate).collect(),
        Plan::Window(window) => window.calls.iter().map(is_volatile_window_call).collect(),
        _ => return,
    };
    let first = types.len() - volatile.len();
    let is_kept = |at: usize| at < first || wanted.contains(&at) || volatile[at - first];
    if (first..types.len()).all(is_kept) {
        return;
    }
    let kept: Vec<usize> = (0..types.len()).filter(|at| is_kept(*at)).collect();
    let column = |(at, data_type): (usize, &Type)| match kept.binary_search(&at) {
        Ok(place) => Expr::column(place, *data_type, Modifier::NONE),
        Err(_) => Expr::constant(Datum::Null, *data_type),
    };
    let columns = types.iter().enumerate().map(column).collect();
    let input = match std::mem::replace(plan, Plan::Values { rows: Vec::new() }) {
        Plan::Aggregate(mut aggregation) => {
            retain(&mut aggregation.calls, |at| is_kept(first + at));
            Plan::Aggregate(aggregation)
        }
        Plan::Window(mut window) => {
            retain(&mut window.calls, |at| is_kept(first + at));
            if window.calls.is_empty() { window.input } else { Plan::Window(window) }
        }
        other => other,
    };
    *plan = Plan::Project { input: Box::new(input), columns };
}

/// Keeps the elements at some places.
fn retain<T>(all: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut places = 0..;
    all.retain(|_| places.next().is_some_and(&is_kept));
}

fn is_volatile_aggregate(call: &AggregateCall) -> bool {
    let order = call.order.iter().map(|key| &key.expression);
    call.arguments.iter().chain(&call.filter).chain(order).any(is_volatile)
}

fn is_volatile_window_call(call: &WindowCall) -> bool {
    call.arguments.iter().chain(&call.filter).any(is_volatile)
}
