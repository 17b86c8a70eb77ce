//! Order of inner joins: tables are joined to those with which an equality connects them, not by a cross product, and the table
//! of which the fewest rows are read comes first.

use super::Ctes;
use super::columns::{columns_of, join, renumber};
use super::estimate::rows;
use super::filters::equality;
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Plan};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Type};
use std::collections::BTreeSet;

/// More tables than this keep the order in which they are written.
const MOST_TABLES: usize = 64;

/// The plan with its inner joins in order.
pub fn arrange(mut plan: Plan, ctes: &Ctes) -> Plan {
    if is_inner(&plan) {
        let mut group = Group::default();
        group.add(plan, ctes);
        return group.plan(ctes);
    }
    plan.each_input_mut(&mut |input, _| {
        let inner = std::mem::replace(input, Plan::Values { rows: Vec::new() });
        *input = ensure_stack(|| arrange(inner, ctes));
    });
    plan
}

fn is_inner(plan: &Plan) -> bool {
    matches!(plan, Plan::Join(join) if join.kind == JoinKind::Inner && !join.lateral)
}

/// Plans that are joined by inner joins.
#[derive(Default)]
struct Group {
    members: Vec<Member>,
    /// Conditions over the members' columns side by side.
    conditions: Vec<Expr>,
    width: usize,
}

struct Member {
    plan: Plan,
    /// Number of its first column.
    start: usize,
    width: usize,
}

impl Group {
    /// Adds the members of a tree of inner joins.
    fn add(&mut self, plan: Plan, ctes: &Ctes) {
        let start = self.width;
        match plan {
            Plan::Join(operator) if operator.kind == JoinKind::Inner && !operator.lateral => {
                let Join { left, right, condition, left_width, equalities, .. } = *operator;
                ensure_stack(|| self.add(left, ctes));
                ensure_stack(|| self.add(right, ctes));
                let equal = equalities.into_iter().map(|(left, mut right)| {
                    renumber(&mut right, &|column| column + left_width);
                    let kind = ExprKind::Compare(Comparison::Equal, Box::new(left), Box::new(right));
                    Expr::new(kind, Type::BOOL)
                });
                let mut conditions: Vec<Expr> = equal.collect();
                if let Some(condition) = condition {
                    super::columns::split(condition, &mut conditions);
                }
                for mut condition in conditions {
                    renumber(&mut condition, &|column| column + start);
                    self.conditions.push(condition);
                }
            }
            plan => {
                let plan = ensure_stack(|| arrange(plan, ctes));
                let width = plan.width(ctes);
                self.members.push(Member { plan, start, width });
                self.width += width;
            }
        }
    }

    /// One plan of all members, its columns in the members' order.
    fn plan(self, ctes: &Ctes) -> Plan {
        let types: Vec<Type> = self
            .members
            .iter()
            .flat_map(|member| member.plan.output_types(&|number| ctes.get(&number).cloned()))
            .collect();
        let order = self.order(ctes);
        let in_place = order.iter().copied().eq(0..order.len());
        // Position in the joined row of each column of the members, in their order.
        let mut places = vec![0; self.width];
        let mut at = 0;
        for &member in &order {
            let Member { start, width, .. } = self.members[member];
            for column in 0..width {
                places[start + column] = at + column;
            }
            at += width;
        }
        let mut conditions = self.conditions;
        for condition in &mut conditions {
            renumber(condition, &|column| places[column]);
        }
        let mut members: Vec<Option<Member>> = self.members.into_iter().map(Some).collect();
        let mut ordered = order.iter().filter_map(|&member| members[member].take());
        let Some(first) = ordered.next() else { return Plan::Values { rows: vec![Vec::new()] } };
        let (mut plan, mut width) = (first.plan, first.width);
        for member in ordered {
            plan = joined(plan, width, member.plan, member.width, &mut conditions);
            width += member.width;
        }
        let plan = super::columns::filtered(plan, conditions);
        if in_place {
            return plan;
        }
        let columns =
            places.iter().zip(types).map(|(&place, data_type)| Expr::column(place, data_type, Modifier::NONE));
        Plan::Project { input: Box::new(plan), columns: columns.collect() }
    }

    /// The order of the members: the smallest first if that is much smaller, then always the next that an equality
    /// connects with those before it, if there is one.
    fn order(&self, ctes: &Ctes) -> Vec<usize> {
        let count = self.members.len();
        if count > MOST_TABLES {
            return (0..count).collect();
        }
        let sizes: Vec<f64> = self.members.iter().map(|member| rows(&member.plan, ctes)).collect();
        let smallest = (0..count).min_by(|&left, &right| sizes[left].total_cmp(&sizes[right])).unwrap_or(0);
        let first = if count > 1 && sizes[smallest] * 4.0 < sizes[0] { smallest } else { 0 };
        let edges: Vec<BTreeSet<usize>> = self.conditions.iter().filter_map(|condition| self.edge(condition)).collect();
        let mut order = vec![first];
        while order.len() < count {
            let free = |member: &usize| !order.contains(member);
            let connected = |member: &usize| {
                let reached = |edge: &BTreeSet<usize>| {
                    edge.contains(member) && edge.iter().all(|other| other == member || order.contains(other))
                };
                edges.iter().any(reached)
            };
            let candidates = (0..count).filter(free).filter(connected);
            let next = candidates.min_by(|&left, &right| sizes[left].total_cmp(&sizes[right]).then(left.cmp(&right)));
            let Some(next) = next.or_else(|| (0..count).find(free)) else { break };
            order.push(next);
        }
        order
    }

    /// The members that an equality connects.
    fn edge(&self, condition: &Expr) -> Option<BTreeSet<usize>> {
        let ExprKind::Compare(Comparison::Equal, left, right) = &condition.kind else { return None };
        let members = |side: &Expr| -> BTreeSet<usize> {
            let of = |column: usize| self.members.iter().rposition(|member| member.start <= column);
            columns_of(side).into_iter().filter_map(of).collect()
        };
        let (lefts, rights) = (members(left), members(right));
        (!lefts.is_empty() && !rights.is_empty() && lefts.is_disjoint(&rights))
            .then(|| lefts.union(&rights).copied().collect())
    }
}

/// The join of two plans by all conditions that it can decide.
fn joined(left: Plan, left_width: usize, right: Plan, right_width: usize, conditions: &mut Vec<Expr>) -> Plan {
    let width = left_width + right_width;
    let (mut equalities, mut rest, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for condition in conditions.drain(..) {
        if !columns_of(&condition).iter().all(|&column| column < width) {
            later.push(condition);
        } else if let Some(pair) = equality(&condition, left_width) {
            equalities.push(pair);
        } else {
            rest.push(condition);
        }
    }
    *conditions = later;
    Plan::Join(Box::new(Join {
        kind: JoinKind::Inner,
        left,
        right,
        condition: join(rest),
        lateral: false,
        left_width,
        right_width,
        equalities,
        keeps_order: false,
    }))
}
