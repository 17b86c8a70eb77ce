//! Inlines queries of WITH that are read once, so that filters can move into them.

use super::columns::plan_is_volatile;
use crate::plan::{ExprKind, Plan};
use crate::stack::ensure_stack;
use std::sync::Arc;

/// The plan without the queries of WITH that need no sharing.
pub fn inline(mut plan: Plan) -> Plan {
    plan.each_input_mut(&mut |input, _| ensure_stack(|| replace(input, inline)));
    plan.each_expression_mut(&mut |expression| {
        expression.walk_mut(&mut |expression| {
            if let ExprKind::Subquery(subquery) = &mut expression.kind {
                replace(Arc::make_mut(&mut subquery.plan), inline);
            }
        });
    });
    let Plan::With { mut queries, mut body } = plan else { return plan };
    let mut at = 0;
    while at < queries.len() {
        let (number, query) = &queries[at];
        let later = queries[at + 1..].iter().map(|(_, plan)| reads(plan, *number)).sum::<usize>();
        let once = later + reads(&body, *number) == 1;
        if !once || plan_is_volatile(query) || matches!(**query, Plan::Recursive { .. }) || has_limit(query) {
            at += 1;
            continue;
        }
        let (number, query) = queries.remove(at);
        let query = Arc::unwrap_or_clone(query);
        for (_, later) in &mut queries[at..] {
            put(Arc::make_mut(later), number, &query, 0);
        }
        put(&mut body, number, &query, 0);
    }
    if queries.is_empty() { *body } else { Plan::With { queries, body } }
}

/// A query with a limit stays correct under a filter, but without an order it may give other rows each time.
fn has_limit(plan: &Plan) -> bool {
    matches!(plan, Plan::Limit { .. })
}

fn replace(place: &mut Plan, change: fn(Plan) -> Plan) {
    let plan = std::mem::replace(place, Plan::Values { rows: Vec::new() });
    *place = change(plan);
}

/// Number of times a plan reads a query of WITH; more than once if it does so in a place that may run again.
fn reads(plan: &Plan, number: usize) -> usize {
    let mut count = 0;
    plan.walk(&mut |plan| count += usize::from(matches!(plan, Plan::CteScan { number: read } if *read == number)));
    count + usize::from(count > 0 && repeats(plan, number))
}

/// Returns whether the place that reads the query may run more than once: in a subquery, a recursion, a lateral side.
fn repeats(plan: &Plan, number: usize) -> bool {
    let is_reader = |plan: &Plan| {
        let mut found = false;
        plan.walk(&mut |plan| found |= matches!(plan, Plan::CteScan { number: read } if *read == number));
        found
    };
    let mut repeated = false;
    plan.walk(&mut |plan| match plan {
        Plan::Recursive { step, .. } => repeated |= is_reader(step),
        Plan::Join(join) if join.lateral => repeated |= is_reader(&join.right),
        _ => {}
    });
    plan.walk(&mut |plan| {
        plan.each_expression(&mut |expression| {
            expression.walk(&mut |expression| {
                if let Some(subquery) = expression.subquery() {
                    repeated |= is_reader(&subquery.plan);
                }
            });
        });
    });
    repeated
}

/// Puts the query where it is read, `level` enclosing rows deeper.
fn put(plan: &mut Plan, number: usize, query: &Plan, level: usize) {
    if matches!(plan, Plan::CteScan { number: read } if *read == number) {
        *plan = query.clone();
        plan.each_outer_mut(0, &mut |_, reference| {
            if let ExprKind::Outer { depth, .. } = &mut reference.kind {
                *depth += level;
            }
        });
        return;
    }
    plan.each_input_mut(&mut |input, more| ensure_stack(|| put(input, number, query, level + more)));
}
