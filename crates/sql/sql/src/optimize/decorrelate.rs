//! Correlated subqueries become joins, so that their query runs once.
//!
//! EXISTS is a semi-join, NOT EXISTS an anti-join. So is IN, correlated or not: as a condition of its own, an unknown result drops the
//! row as a false one does. NOT IN keeps a row only if every comparison is false; an unknown one drops it: a null-aware anti-join, unless
//! nothing may be NULL. Below OR and in a select list they are mark joins, which make the answer a column (`marked.rs`). `grouped.rs` turns
//! a scalar subquery over an aggregate into a join with groups. `null.rs` finds columns that are never NULL.
//!
//! A subquery's conditions may then be evaluated for rows that no outer row asks for, as SQL leaves their order open. What SQL
//! evaluates behind the conditions only, the arguments of aggregates and the select list of IN, must not fail for any row (`total.rs`).

mod grouped;
mod marked;
mod null;
mod total;

use super::Facts;
use super::columns::{columns_of, filtered, inward, is_volatile, join, plan_is_volatile, split};
use super::estimate::constant_limit;
use super::filters::equality;
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Plan, Subquery, SubqueryKind};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Type};
use null::is_never_null;
use total::is_total_over;

/// Rows that are read of an input for each that passes a condition.
const READ_FOR_ONE: f64 = 3.0;
/// Rows that are read under a limit that is not known yet.
const UNKNOWN_LIMIT: f64 = 10.0;

/// The plan with joins instead of subqueries that can be joins.
pub fn tree(plan: Plan, facts: &Facts<'_>) -> Plan {
    let mut once = true;
    plan.each_outer(0, &mut |_, _| once = false);
    step(plan, Use { once, rows: f64::INFINITY }, facts)
}

/// How a plan is used.
#[derive(Clone, Copy)]
struct Use {
    /// Whether it runs once in its statement: the answer of an uncorrelated subquery is then needed once.
    once: bool,
    /// Rows that are read of it, at most.
    rows: f64,
}

fn step(mut plan: Plan, of: Use, facts: &Facts<'_>) -> Plan {
    let rows = match &plan {
        Plan::Limit { limit, offset, .. } => of.rows.min(limited(limit.as_ref(), offset.as_ref())),
        Plan::Project { .. } | Plan::Lock { .. } => of.rows,
        Plan::Filter { .. } => of.rows * READ_FOR_ONE,
        _ => f64::INFINITY,
    };
    let repeats = matches!(plan, Plan::Recursive { .. });
    plan.each_input_mut(&mut |input, deeper| {
        let inner = std::mem::replace(input, Plan::Values { rows: Vec::new() });
        let of = Use { once: of.once && deeper == 0 && !repeats, rows };
        *input = ensure_stack(|| step(inner, of, facts));
    });
    match plan {
        Plan::Filter { input, condition } => filter(*input, condition, Use { rows, ..of }, facts),
        Plan::Project { input, mut columns } => {
            let input = grouped::replace(*input, &mut columns, Use { rows, ..of }, facts);
            let input = marked::replace(input, (&mut columns, false), Use { rows, ..of }, facts);
            Plan::Project { input: Box::new(input), columns }
        }
        plan => plan,
    }
}

fn limited(limit: Option<&Expr>, offset: Option<&Expr>) -> f64 {
    let rows = |of: Option<&Expr>| match constant_limit(of) {
        rows if rows.is_finite() => rows,
        _ => UNKNOWN_LIMIT,
    };
    if limit.is_none() { f64::INFINITY } else { rows(limit) + offset.map_or(0.0, |offset| rows(Some(offset))) }
}

/// A filter, with joins for those of its conditions that can be joins.
fn filter(mut input: Plan, condition: Expr, of: Use, facts: &Facts<'_>) -> Plan {
    let width = input.width(facts);
    let (mut conjuncts, mut rest, mut joins) = (Vec::new(), Vec::new(), Vec::new());
    split(condition, &mut conjuncts);
    for conjunct in conjuncts {
        let pulled = asked(&conjunct).and_then(|(subquery, kind)| Pulled::new(subquery, kind, &input, of, facts));
        match pulled {
            Some(pulled) if pulled.is_correlated => joins.push(pulled),
            Some(pulled) => input = pulled.placed(input, facts),
            None => rest.push(conjunct),
        }
    }
    let can_be = |subquery: &Subquery| grouped::can_be(subquery) || marked::can_be(subquery);
    let has_value = |conjunct: &Expr| conjunct.any(|part| part.subquery().is_some_and(can_be));
    let (mut with_values, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(has_value);
    let mut plan = filtered(input, rest);
    for pulled in joins {
        plan = pulled.joined(plan, facts);
    }
    if with_values.is_empty() {
        return plan;
    }
    let types = facts.types(&plan);
    let plan = grouped::replace(plan, &mut with_values, of, facts);
    let plan = filtered(marked::replace(plan, (&mut with_values, true), of, facts), with_values);
    if plan.width(facts) == width {
        return plan;
    }
    let column = |(at, data_type): (usize, &Type)| Expr::column(at, *data_type, Modifier::NONE);
    Plan::Project { input: Box::new(plan), columns: types.iter().enumerate().map(column).collect() }
}

/// Returns the subquery whose rows a condition tests, and the kind of join that it may be.
fn asked(conjunct: &Expr) -> Option<(&Subquery, JoinKind)> {
    let (tested, kind) = match &conjunct.kind {
        ExprKind::Not(inner) => (&**inner, JoinKind::Anti),
        _ => (conjunct, JoinKind::Semi),
    };
    let subquery = tested.subquery()?;
    let can =
        matches!(subquery.kind, SubqueryKind::Exists | SubqueryKind::Quantified { equality: true, all: false, .. });
    can.then_some((subquery, kind))
}

/// A subquery's plan without the conditions that refer to the current row.
struct Pulled {
    kind: JoinKind,
    plan: Plan,
    /// The conditions, over the subquery's row; the current row is the nearest enclosing one.
    conditions: Vec<Expr>,
    /// Whether the subquery itself refers to the current row.
    is_correlated: bool,
}

impl Pulled {
    /// `None` if the subquery cannot be a join with the input.
    fn new(subquery: &Subquery, kind: JoinKind, input: &Plan, of: Use, facts: &Facts<'_>) -> Option<Pulled> {
        if plan_is_volatile(&subquery.plan) {
            return None;
        }
        if let SubqueryKind::Quantified { left, .. } = &subquery.kind
            && left.iter().any(|value| is_volatile(value) || has_subquery(value))
        {
            return None;
        }
        let mut pulled = match refers(&subquery.plan) {
            true => Pulled::correlated(subquery, kind, input.width(facts))?,
            // The answer of a subquery that runs once is kept for a plan that does not.
            false if of.once && !plan_is_volatile(input) => Pulled::listed(subquery, kind, input, facts)?,
            false => return None,
        };
        pulled.plan = ensure_stack(|| step(pulled.plan, Use { rows: f64::INFINITY, ..of }, facts));
        Some(pulled)
    }

    /// A subquery that refers to the current row.
    fn correlated(subquery: &Subquery, kind: JoinKind, width: usize) -> Option<Pulled> {
        let plan = (*subquery.plan).clone();
        let (plan, mut conditions) = match &subquery.kind {
            SubqueryKind::Exists => pull(plan, None, false)?,
            SubqueryKind::Quantified { left, .. } => {
                let (plan, mut conditions) = pull(plan, Some(left), false)?;
                if kind == JoinKind::Anti {
                    let equal = conditions.split_off(conditions.len().checked_sub(left.len())?);
                    // Without an equality beside the list's own, all pairs of rows would be compared.
                    let is_equality = |condition: &Expr| equality(&beside(condition.clone(), width), width).is_some();
                    conditions.iter().any(is_equality).then_some(())?;
                    conditions.push(is_not_false(join(equal)?));
                }
                (plan, conditions)
            }
            _ => return None,
        };
        let mut pulled = Pulled { kind, plan, conditions: std::mem::take(&mut conditions), is_correlated: true };
        if refers(&pulled.plan) || pulled.conditions.iter().any(has_subquery) {
            return None;
        }
        outwards(&mut pulled.plan);
        Some(pulled)
    }

    /// IN over a subquery that does not refer to the current row.
    fn listed(subquery: &Subquery, kind: JoinKind, input: &Plan, facts: &Facts<'_>) -> Option<Pulled> {
        let (equal, known) = listed(subquery, input, facts)?;
        let (kind, conditions) = match kind {
            JoinKind::Anti => not_in(equal, &known)?,
            kind => (kind, equal),
        };
        Some(Pulled { kind, plan: (*subquery.plan).clone(), conditions, is_correlated: false })
    }

    /// The join where the columns come from: below inner joins, as a condition on these columns would be.
    fn placed(mut self, plan: Plan, facts: &Facts<'_>) -> Plan {
        let Plan::Join(mut below) = plan else { return self.joined(plan, facts) };
        let (is_left, is_right) = self.sides(below.left_width);
        match below.kind {
            JoinKind::Inner | JoinKind::Left if !below.lateral && is_left => {
                self.place(&mut below.left, facts);
            }
            JoinKind::Inner if !below.lateral && is_right => {
                let width = below.left_width;
                for condition in &mut self.conditions {
                    condition.walk_mut(&mut |part| {
                        if let ExprKind::Outer { depth: 1, column } = &mut part.kind {
                            *column -= width;
                        }
                    });
                }
                self.place(&mut below.right, facts);
            }
            _ => return self.joined(Plan::Join(below), facts),
        }
        Plan::Join(below)
    }

    fn place(self, side: &mut Plan, facts: &Facts<'_>) {
        let plan = std::mem::replace(side, Plan::Values { rows: Vec::new() });
        *side = ensure_stack(|| self.placed(plan, facts));
    }

    /// Returns whether all columns of the current row are below a width, and whether none is.
    fn sides(&self, width: usize) -> (bool, bool) {
        let (mut is_left, mut is_right) = (true, true);
        for condition in &self.conditions {
            condition.walk(&mut |part| {
                if let ExprKind::Outer { depth: 1, column } = part.kind {
                    (is_left, is_right) = (is_left && column < width, is_right && column >= width);
                }
            });
        }
        (is_left, is_right)
    }

    fn joined(self, left: Plan, facts: &Facts<'_>) -> Plan {
        let (left_width, right_width) = (left.width(facts), self.plan.width(facts));
        let mut conditions: Vec<Expr> =
            self.conditions.into_iter().map(|condition| beside(condition, left_width)).collect();
        let mut equalities = Vec::new();
        if self.kind == JoinKind::NotIn
            && let Some(pair) = conditions.first().and_then(|condition| equality(condition, left_width))
        {
            (equalities, conditions) = (vec![pair], Vec::new());
        }
        joined(self.kind, (left, left_width), (self.plan, right_width), (equalities, join(conditions)))
    }
}

/// A join of two plans of these widths.
fn joined(
    kind: JoinKind,
    (left, left_width): (Plan, usize),
    (right, right_width): (Plan, usize),
    (equalities, condition): (Vec<(Expr, Expr)>, Option<Expr>),
) -> Plan {
    Plan::Join(Box::new(Join {
        kind,
        // What else decides which rows stay is a join in PostgreSQL, too, which promises no order.
        keeps_order: !matches!(kind, JoinKind::Semi | JoinKind::Anti) && is_sorted(&left),
        left,
        right,
        condition,
        lateral: false,
        left_width,
        right_width,
        equalities,
        builds_left: false,
    }))
}

/// Returns whether a plan's rows have the order of a sort in it: what is volatile in a select list stands above the sort of its query.
fn is_sorted(mut plan: &Plan) -> bool {
    loop {
        plan = match plan {
            Plan::Sort { .. } | Plan::Distinct { on: Some(_), .. } => return true,
            Plan::Filter { input, .. }
            | Plan::Project { input, .. }
            | Plan::ProjectSet { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Lock { input, .. } => input,
            Plan::With { body, .. } => body,
            Plan::Join(join) if !matches!(join.kind, JoinKind::Right | JoinKind::Full) => &join.left,
            _ => return false,
        };
    }
}

/// The equalities of IN over a subquery that does not refer to the current row, and which of them are known to compare no NULL.
fn listed(subquery: &Subquery, input: &Plan, facts: &Facts<'_>) -> Option<(Vec<Expr>, Vec<bool>)> {
    let SubqueryKind::Quantified { left, .. } = &subquery.kind else { return None };
    let types = facts.types(&subquery.plan);
    let comparable = |(value, of): (&Expr, &Type)| {
        value.data_type == *of && !of.is_row() && *of != Type::RECORD && !columns_of(value).is_empty()
    };
    if left.len() != types.len() || !left.iter().zip(&types).all(comparable) {
        return None;
    }
    let column = |at: usize| Expr::column(at, types[at], Modifier::NONE);
    let equal = |(at, value): (usize, &Expr)| Some(equal(inward(value)?, column(at)));
    let is_known =
        |(at, value): (usize, &Expr)| is_never_null(input, value) && is_never_null(&subquery.plan, &column(at));
    let known = left.iter().enumerate().map(is_known).collect();
    Some((left.iter().enumerate().map(equal).collect::<Option<_>>()?, known))
}

/// The join of NOT IN whose values are compared by these equalities, of which some are known to compare no NULL. `None`: several may be
/// unknown, and no other leads to the rows for which they are.
fn not_in(equal: Vec<Expr>, known: &[bool]) -> Option<(JoinKind, Vec<Expr>)> {
    if known.iter().all(|known| *known) {
        return Some((JoinKind::Anti, equal));
    }
    if let [_] = known {
        return Some((JoinKind::NotIn, equal));
    }
    let mut places = known.iter();
    let (mut known, unknown): (Vec<_>, Vec<_>) = equal.into_iter().partition(|_| places.next().is_some_and(|of| *of));
    (!known.is_empty()).then_some(())?;
    known.push(is_not_false(join(unknown)?));
    Some((JoinKind::Anti, known))
}

/// Returns whether a subquery's plan refers to the current row.
fn refers(plan: &Plan) -> bool {
    let mut refers = false;
    plan.each_outer(0, &mut |depth, _| refers |= depth == 1);
    refers
}

/// Moves a subquery's plan beside the current row, to which it does not refer.
fn outwards(plan: &mut Plan) {
    plan.each_outer_mut(0, &mut |_, reference| {
        if let ExprKind::Outer { depth, .. } = &mut reference.kind {
            *depth -= 1;
        }
    });
}

fn has_subquery(expression: &Expr) -> bool {
    expression.any(|part| part.subquery().is_some())
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Compare(Comparison::Equal, Box::new(left), Box::new(right)), Type::BOOL)
}

/// A condition that is true where another is true or unknown.
fn is_not_false(condition: Expr) -> Expr {
    let is_false = Expr::new(ExprKind::IsTruth(Box::new(condition), Some(false)), Type::BOOL);
    Expr::new(ExprKind::Not(Box::new(is_false)), Type::BOOL)
}

/// Takes the conditions that refer to the enclosing row off the top of a plan. `wanted` holds values of the enclosing row that
/// the plan's columns must equal, which become the last conditions; none of these columns may fail. `seen` is whether conditions taken
/// off above refer to the plan's columns.
fn pull(plan: Plan, wanted: Option<&[Expr]>, seen: bool) -> Option<(Plan, Vec<Expr>)> {
    match plan {
        Plan::Project { input, columns } if !seen => {
            let (plan, mut conditions) = pull(*input, None, wanted.is_some())?;
            if wanted.is_some() && !columns.iter().all(|column| is_total_over(&plan, column)) {
                return None;
            }
            for (value, column) in wanted.unwrap_or_default().iter().zip(columns) {
                conditions.push(equal(inward(value)?, column));
            }
            Some((plan, conditions))
        }
        Plan::Sort { input, .. } | Plan::Distinct { input, on: None } if wanted.is_none() => pull(*input, None, seen),
        Plan::Filter { input, condition } if wanted.is_none() => {
            let (plan, mut conditions) = pull(*input, None, true)?;
            let (outward, own) = divided(condition);
            conditions.extend(outward);
            Some((filtered(plan, own), conditions))
        }
        plan if wanted.is_none() => Some((plan, Vec::new())),
        _ => None,
    }
}

/// The conditions that refer to the enclosing row, and the others.
fn divided(condition: Expr) -> (Vec<Expr>, Vec<Expr>) {
    let mut conjuncts = Vec::new();
    split(condition, &mut conjuncts);
    conjuncts.into_iter().partition(|conjunct| {
        let mut refers = false;
        conjunct.each_outer(0, &mut |depth, _| refers |= depth == 1);
        refers
    })
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
