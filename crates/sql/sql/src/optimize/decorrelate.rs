//! Correlated EXISTS and NOT EXISTS become joins, so that their query runs once.
//!
//! So does correlated IN where it is equivalent to EXISTS: as a condition of its own, an unknown result drops the row as a
//! false one does. NOT IN stays unchanged: its unknown and true results differ.

use super::Facts;
use super::columns::{filtered, is_volatile, join, plan_is_volatile, split};
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Plan, Subquery, SubqueryKind};
use crate::stack::ensure_stack;
use crate::types::Type;

/// The plan with joins instead of subqueries that can be joins.
pub fn tree(mut plan: Plan, facts: &Facts<'_>) -> Plan {
    plan.each_input_mut(&mut |input, _| {
        let inner = std::mem::replace(input, Plan::Values { rows: Vec::new() });
        *input = ensure_stack(|| tree(inner, facts));
    });
    let Plan::Filter { input, condition } = plan else { return plan };
    let mut conjuncts = Vec::new();
    split(condition, &mut conjuncts);
    let mut rest = Vec::new();
    let mut joins = Vec::new();
    for conjunct in conjuncts {
        match asked(&conjunct) {
            Some((subquery, kind)) => match Pulled::new(subquery) {
                Some(pulled) => joins.push((pulled, kind)),
                None => rest.push(conjunct),
            },
            None => rest.push(conjunct),
        }
    }
    let mut plan = filtered(*input, rest);
    for (pulled, kind) in joins {
        plan = pulled.joined(plan, kind, facts);
    }
    plan
}

/// Returns the subquery whose rows a condition tests, and the kind of join that is equivalent.
fn asked(conjunct: &Expr) -> Option<(&Subquery, JoinKind)> {
    match &conjunct.kind {
        ExprKind::Subquery(subquery) => match &subquery.kind {
            SubqueryKind::Exists | SubqueryKind::Quantified { equality: true, all: false, .. } => {
                Some((subquery, JoinKind::Semi))
            }
            _ => None,
        },
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Exists) => {
                Some((subquery, JoinKind::Anti))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A subquery's plan without the conditions that refer to the current row.
struct Pulled {
    plan: Plan,
    /// The conditions, over the subquery's row; the current row is the nearest enclosing one.
    conditions: Vec<Expr>,
}

impl Pulled {
    /// `None` if the subquery cannot be a join.
    fn new(subquery: &Subquery) -> Option<Pulled> {
        let mut refers = false;
        subquery.plan.each_outer(0, &mut |depth, _| refers |= depth == 1);
        if !refers || plan_is_volatile(&subquery.plan) {
            return None;
        }
        let mut pulled = match &subquery.kind {
            SubqueryKind::Exists => pull((*subquery.plan).clone(), None, false)?,
            SubqueryKind::Quantified { left, .. } => {
                if left.iter().any(|value| is_volatile(value) || has_subquery(value)) {
                    return None;
                }
                pull((*subquery.plan).clone(), Some(left), false)?
            }
            _ => return None,
        };
        let mut stays = false;
        pulled.plan.each_outer(0, &mut |depth, _| stays |= depth == 1);
        if stays || pulled.conditions.iter().any(has_subquery) {
            return None;
        }
        // Expressions inside the subquery are now beside the current row.
        pulled.plan.each_outer_mut(0, &mut |_, reference| {
            if let ExprKind::Outer { depth, .. } = &mut reference.kind {
                *depth -= 1;
            }
        });
        Some(pulled)
    }

    fn joined(self, left: Plan, kind: JoinKind, facts: &Facts<'_>) -> Plan {
        let (left_width, right_width) = (left.width(facts), self.plan.width(facts));
        let conditions = self.conditions.into_iter().map(|condition| beside(condition, left_width)).collect();
        Plan::Join(Box::new(Join {
            kind,
            left,
            right: self.plan,
            condition: join(conditions),
            lateral: false,
            left_width,
            right_width,
            equalities: Vec::new(),
            keeps_order: false,
        }))
    }
}

fn has_subquery(expression: &Expr) -> bool {
    expression.any(|part| part.subquery().is_some())
}

/// Takes the conditions that refer to the enclosing row off the top of a plan. `wanted` holds values of the enclosing row that
/// the plan's columns must equal; `seen` is whether conditions taken off above refer to the plan's columns.
fn pull(plan: Plan, wanted: Option<&[Expr]>, seen: bool) -> Option<Pulled> {
    match plan {
        Plan::Project { input, columns } if !seen => {
            let mut pulled = pull(*input, None, wanted.is_some())?;
            for (value, column) in wanted.unwrap_or_default().iter().zip(columns) {
                let value = super::columns::inward(value)?;
                let equal = ExprKind::Compare(Comparison::Equal, Box::new(value), Box::new(column));
                pulled.conditions.push(Expr::new(equal, Type::BOOL));
            }
            Some(pulled)
        }
        Plan::Sort { input, .. } | Plan::Distinct { input, on: None } if wanted.is_none() => pull(*input, None, seen),
        Plan::Filter { input, condition } if wanted.is_none() => {
            let mut pulled = pull(*input, None, true)?;
            let mut conjuncts = Vec::new();
            split(condition, &mut conjuncts);
            let (outward, own): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|conjunct| {
                let mut refers = false;
                conjunct.each_outer(0, &mut |depth, _| refers |= depth == 1);
                refers
            });
            pulled.plan = filtered(pulled.plan, own);
            pulled.conditions.extend(outward);
            Some(pulled)
        }
        plan if wanted.is_none() => Some(Pulled { plan, conditions: Vec::new() }),
        _ => None,
    }
}

/// Returns a pulled condition over the current row followed by the subquery's row.
fn beside(mut condition: Expr, width: usize) -> Expr {
    condition.walk_mut(&mut |part| match &mut part.kind {
        ExprKind::Column(column) => *column += width,
        ExprKind::Outer { depth: 1, column } => part.kind = ExprKind::Column(*column),
        ExprKind::Outer { depth, .. } => *depth -= 1,
        _ => {}
    });
    condition
}
