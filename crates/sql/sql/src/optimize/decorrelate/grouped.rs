//! Scalar subqueries over an aggregate, as joins with groups.
//!
//! `(SELECT f(max(b)) FROM u WHERE u.a = t.a)` is `f` of the group of `t.a`, if there is one, and else `f` of what the aggregate is without
//! rows: 0 for `count`, NULL for others. So the groups of all `u.a` are joined by LEFT JOIN, and `f` is computed above, where the subquery
//! stood. Groups that nobody asks for cost time; whether that pays is estimated.

use super::total::{is_total_call_over, is_total_over};
use super::{Use, beside, divided, equal, has_subquery, joined, outwards, refers, step};
use crate::optimize::columns::{columns_of, filtered, is_volatile, join, plan_is_volatile, substitute};
use crate::optimize::estimate::{cost, hashed, rows};
use crate::optimize::{Facts, access, filters, joins};
use crate::plan::{AggregateCall, Aggregation, Comparison, Expr, ExprKind, JoinKind, Plan, Subquery, SubqueryKind};
use crate::types::{Datum, Modifier};

/// Returns whether a subquery can be a join with groups.
pub fn can_be(subquery: &Subquery) -> bool {
    Grouped::of(subquery).is_some()
}

/// The plan joined with the groups of subqueries in expressions over its rows, which become columns behind the plan's.
pub fn replace(mut plan: Plan, expressions: &mut [Expr], of: Use, facts: &Facts<'_>) -> Plan {
    for expression in expressions {
        expression.walk_mut(&mut |part| {
            let Some(grouped) = part.subquery().and_then(Grouped::of) else { return };
            let pays = part.subquery().is_some_and(|subquery| grouped.pays(&plan, subquery, of.rows, facts));
            if !pays || grouped.value.data_type != part.data_type || plan_is_volatile(&plan) {
                return;
            }
            let width = plan.width(facts);
            part.kind = grouped.value_at(width).kind;
            let left = std::mem::replace(&mut plan, Plan::Values { rows: Vec::new() });
            plan = grouped.joined(left, width, of, facts);
        });
    }
    plan
}

/// A scalar subquery by groups.
struct Grouped {
    /// The groups: the values that are compared with the current row, then the aggregates.
    groups: Aggregation,
    /// What the first columns of a group must equal. The current row is the nearest enclosing one.
    wanted: Vec<Expr>,
    /// The subquery's value over the aggregates alone, numbered from 0.
    value: Expr,
}

impl Grouped {
    /// `None` if the subquery is of another form, or may fail for a group that no row asks for.
    fn of(subquery: &Subquery) -> Option<Grouped> {
        if !matches!(subquery.kind, SubqueryKind::Scalar) || !refers(&subquery.plan) || plan_is_volatile(&subquery.plan)
        {
            return None;
        }
        let (value, groups) = value(&subquery.plan)?;
        if has_subquery(&value) || !groups.keys.is_empty() || groups.sets.len() != 1 {
            return None;
        }
        let is_own = |of: &Expr| !reaches(of) && !has_subquery(of);
        let operands = |call: &AggregateCall| call.arguments.iter().chain(&call.filter).all(is_own);
        if !groups.calls.iter().all(|call| is_total_call_over(&groups.input, call) && operands(call)) {
            return None;
        }
        let (mut input, mut pairs) = (groups.input.clone(), Vec::new());
        let mut own = Vec::new();
        while let Plan::Filter { input: below, condition } = input {
            let (outward, rest) = divided(condition);
            own.extend(rest);
            for condition in outward {
                pairs.push(pair(condition, &below)?);
            }
            input = *below;
        }
        let (wanted, keys): (Vec<Expr>, Vec<Expr>) = pairs.into_iter().unzip();
        let sets = vec![(0..keys.len()).collect()];
        let groups = Aggregation { input: filtered(input, own), keys, sets, calls: groups.calls.clone() };
        (!groups.keys.is_empty() && !refers(&groups.input)).then_some(Grouped { groups, wanted, value })
    }

    /// Returns whether to make all groups once costs less than to run the subquery for each row.
    fn pays(&self, plan: &Plan, subquery: &Subquery, read: f64, facts: &Facts<'_>) -> bool {
        let asked = rows(&improved(plan.clone(), facts), facts).min(read);
        let each = facts.by_rows();
        let one = cost(&improved((*subquery.plan).clone(), &each), &each).1;
        let groups = improved(self.plan(), facts);
        // For one row the subquery reads no more than all groups do.
        asked > 1.0 && cost(&groups, facts).1 + hashed(asked, rows(&groups, facts), facts) < asked * one
    }

    /// The groups as a plan beside the current row.
    fn plan(&self) -> Plan {
        let mut plan = Plan::Aggregate(Box::new(self.groups.clone()));
        outwards(&mut plan);
        plan
    }

    /// The value over the current row of this width and the group's.
    fn value_at(&self, width: usize) -> Expr {
        let mut value = self.value.clone();
        value.walk_mut(&mut |part| match &mut part.kind {
            ExprKind::Column(at) => {
                let call = self.groups.calls[*at].aggregate.aggregate.name;
                *at += width + self.groups.keys.len();
                if call == "count" {
                    let none = Expr::constant(Datum::Int8(0), part.data_type);
                    part.kind = ExprKind::Coalesce(vec![part.clone(), none]);
                }
            }
            ExprKind::Outer { depth: 1, column } => part.kind = ExprKind::Column(*column),
            ExprKind::Outer { depth, .. } => *depth -= 1,
            _ => {}
        });
        value
    }

    fn joined(&self, left: Plan, width: usize, of: Use, facts: &Facts<'_>) -> Plan {
        let pairs = self.wanted.iter().zip(&self.groups.keys).enumerate().map(|(at, (wanted, key))| {
            equal(beside(wanted.clone(), 0), Expr::column(width + at, key.data_type, Modifier::NONE))
        });
        let right = step(self.plan(), Use { rows: f64::INFINITY, ..of }, facts);
        let right_width = self.groups.keys.len() + self.groups.calls.len();
        joined(JoinKind::Left, (left, width), (right, right_width), (Vec::new(), join(pairs.collect())))
    }
}

/// A plan as it will be, but for its subqueries.
pub fn improved(plan: Plan, facts: &Facts<'_>) -> Plan {
    access::choose(joins::arrange(filters::push(plan, Vec::new(), facts), facts), None, facts)
}

/// The one column of a plan over the aggregates below it.
fn value(plan: &Plan) -> Option<(Expr, &Aggregation)> {
    let Plan::Project { input, columns } = plan else { return None };
    let [value] = &columns[..] else { return None };
    let (mut value, mut plan) = (value.clone(), &**input);
    loop {
        plan = match plan {
            Plan::Aggregate(groups) => return Some((value, groups)),
            Plan::Project { input, columns } => {
                value = substitute(&value, columns)?;
                input
            }
            // HAVING: without the one row, the subquery is NULL.
            Plan::Filter { input, condition } if !is_volatile(condition) => {
                let data_type = value.data_type;
                let case = ExprKind::Case { branches: vec![(condition.clone(), value)], otherwise: None };
                value = Expr::new(case, data_type);
                input
            }
            _ => return None,
        };
    }
}

/// The sides of an equality of the current row and the subquery's, in this order. The subquery's is computed for all rows, also for
/// those that another equality keeps from it.
fn pair(condition: Expr, input: &Plan) -> Option<(Expr, Expr)> {
    let ExprKind::Compare(Comparison::Equal, left, right) = condition.kind else { return None };
    let is_usable = |side: &Expr| !is_volatile(side) && !has_subquery(side) && !side.data_type.is_row();
    if left.data_type != right.data_type
        || matches!(left.kind, ExprKind::Row(..))
        || !is_usable(&left)
        || !is_usable(&right)
    {
        return None;
    }
    let is_outer = |side: &Expr| columns_of(side).is_empty() && reaches(side);
    let is_inner = |side: &Expr| !columns_of(side).is_empty() && !reaches(side) && is_total_over(input, side);
    match (is_outer(&left), is_outer(&right)) {
        (true, false) if is_inner(&right) => Some((*left, *right)),
        (false, true) if is_inner(&left) => Some((*right, *left)),
        _ => None,
    }
}

/// Returns whether an expression refers to the nearest enclosing row.
fn reaches(of: &Expr) -> bool {
    let mut reaches = false;
    of.each_outer(0, &mut |depth, _| reaches |= depth == 1);
    reaches
}
