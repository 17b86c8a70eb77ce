//! Finds unused columns of tables: they are not decoded.

use super::Ctes;
use super::columns::{collect, nearest};
use crate::plan::{ExprKind, JoinKind, Plan, SetOperation};
use crate::stack::deeper;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Marks the wanted columns of all scans in a plan of which these columns are wanted (`None`: all).
pub fn mark(plan: &mut Plan, wanted: Option<BTreeSet<usize>>, ctes: &Ctes) {
    deeper(|| step(plan, wanted, ctes));
}

fn step(plan: &mut Plan, wanted: Option<BTreeSet<usize>>, ctes: &Ctes) {
    in_expressions(plan, ctes);
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
        Plan::Project { input, .. } | Plan::ProjectSet { input, .. } => mark(input, Some(own), ctes),
        Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => {
            mark(input, with_own(wanted, own), ctes);
        }
        Plan::Distinct { input, on } => {
            let wanted = if on.is_some() { with_own(wanted, own) } else { None };
            mark(input, wanted, ctes);
        }
        Plan::Lock { input, tables } => {
            own.extend(tables.iter().map(|lock| lock.key));
            mark(input, with_own(wanted, own), ctes);
        }
        Plan::Aggregate(aggregation) => mark(&mut aggregation.input, Some(own), ctes),
        Plan::Window(window) => mark(&mut window.input, with_own(wanted, own), ctes),
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
            mark(&mut join.left, left, ctes);
            mark(&mut join.right, right, ctes);
        }
        Plan::Set { operation: SetOperation::Union, all: true, left, right } => {
            mark(left, wanted.clone(), ctes);
            mark(right, wanted, ctes);
        }
        Plan::With { queries, body } => {
            for (_, query) in queries {
                mark(Arc::make_mut(query), None, ctes);
            }
            mark(body, wanted, ctes);
        }
        other => other.each_input_mut(&mut |input, _| mark(input, None, ctes)),
    }
}

/// The plans of subqueries in an operator's expressions.
fn in_expressions(plan: &mut Plan, ctes: &Ctes) {
    plan.each_expression_mut(&mut |expression| {
        expression.walk_mut(&mut |expression| {
            if let ExprKind::Subquery(subquery) = &mut expression.kind {
                mark(Arc::make_mut(&mut subquery.plan), None, ctes);
            }
        });
    });
}
