//! Column pruning: finds the columns of tables that a plan does not use; they are not decoded.

use super::Facts;
use super::columns::{collect, nearest};
use crate::plan::{Expr, ExprKind, JoinKind, Plan, SetOperation};
use crate::stack::ensure_stack;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sets the columns to decode in all scans of a plan. `wanted` is the columns of the plan's result that are used; `None`
/// means all.
pub fn prune(plan: &mut Plan, wanted: Option<BTreeSet<usize>>, facts: &Facts<'_>) {
    ensure_stack(|| step(plan, wanted, facts));
}

fn step(plan: &mut Plan, wanted: Option<BTreeSet<usize>>, facts: &Facts<'_>) {
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
                // A value that is computed may fail, and needs its columns for that. What is passed on cannot.
                let is_read = |at: usize, of: &Expr| wanted.contains(&at) || !matches!(of.kind, ExprKind::Column(_));
                let read = columns.iter().enumerate().filter(|(at, of)| is_read(*at, of));
                read.for_each(|(_, of)| collect(of, &mut own));
            }
            prune(input, Some(own), facts);
        }
        Plan::ProjectSet { input, .. } => prune(input, Some(own), facts),
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
            let whole = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
            let mut left = wanted.clone();
            let mut right = if whole { Some(BTreeSet::new()) } else { wanted };
            if let Some(left) = &mut left {
                left.extend(&both);
                left.retain(|column| *column < width);
                join.equalities.iter().for_each(|(side, _)| collect(side, left));
                if join.lateral {
                    nearest(&join.right, left);
                }
            }
            if let Some(columns) = &mut right {
                columns.extend(&both);
                *columns = columns.iter().filter_map(|column| column.checked_sub(width)).collect();
                join.equalities.iter().for_each(|(_, side)| collect(side, columns));
            }
            prune(&mut join.left, left, facts);
            prune(&mut join.right, right, facts);
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
                prune(Arc::make_mut(&mut subquery.plan), None, facts);
            }
        });
    });
}
