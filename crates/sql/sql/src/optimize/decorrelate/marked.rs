//! EXISTS and IN whose answer is part of a larger expression: below OR, in a select list. A mark join makes it a column behind the row's
//! own, `true`, `false` or, of IN, NULL.
//!
//! The values that are compared are then computed for all rows, also where SQL would not ask: they must not fail (`total.rs`). Nothing of
//! the subquery may, where another part of AND or OR can make its answer needless. What stands behind a condition of CASE or in COALESCE
//! stays a subquery. Whether it pays to read all of the other side is estimated.
//!
//! Source: Neumann, Leis, Kemper, "The Complete Story of Joins (in HyPer)", section 3 (BTW 2017).

use super::grouped::improved;
use super::null::is_never_null;
use super::total::{is_total, is_total_over, is_total_plan};
use super::{Use, beside, equality, has_subquery, is_sorted, joined, listed, outwards, pull, refers, step};
use crate::optimize::Facts;
use crate::optimize::columns::{is_volatile, join, plan_is_volatile, renumber};
use crate::optimize::estimate::{cost, rows};
use crate::plan::{Expr, ExprKind, JoinKind, Plan, Subquery, SubqueryKind};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Type};
use std::cell::OnceCell;

/// Marks of one operator, at most: each is a join, and operators over batches nest no deeper than some hundred.
const MOST: usize = 64;

/// Returns whether a subquery is of a form whose answer may be a mark.
pub fn can_be(subquery: &Subquery) -> bool {
    match subquery.kind {
        // One that refers to no row runs once.
        SubqueryKind::Exists => refers(&subquery.plan),
        SubqueryKind::Quantified { equality, all, .. } => equality && !all,
        _ => false,
    }
}

/// The plan with marks for subqueries in expressions over its rows, behind the plan's columns. The expressions come with whether they are
/// conditions, for which unknown is as good as false.
pub fn replace(plan: Plan, (expressions, are_conditions): (&mut [Expr], bool), of: Use, facts: &Facts<'_>) -> Plan {
    let width = plan.width(facts);
    let (mut marks, input) = (Vec::new(), OnceCell::new());
    for (at, expression) in expressions.iter_mut().enumerate() {
        // Where one condition is false, those behind it are not evaluated.
        let context = Asked { is_condition: are_conditions, is_certain: at == 0 || !are_conditions };
        each_asked(expression, context, &mut |part, asked| {
            let Some(subquery) = part.subquery().filter(|_| marks.len() < MOST) else { return };
            let Some(marked) = Marked::of(subquery, &plan, asked, of, facts) else { return };
            let input = input.get_or_init(|| Input::of(&plan, of.rows, facts));
            if marked.pays(input, &plan, subquery, facts) {
                *part = Expr::column(width + marks.len(), Type::BOOL, Modifier::NONE);
                marks.push(marked);
            }
        });
    }
    let places = width..;
    marks.into_iter().zip(places).fold(plan, |plan, (marked, width)| marked.joined(plan, width, facts))
}

/// What a plan is estimated to do before it gets marks.
struct Input {
    /// Rows that are read of it.
    read: f64,
    cost: f64,
}

impl Input {
    fn of(plan: &Plan, most: f64, facts: &Facts<'_>) -> Input {
        let plan = improved(plan.clone(), facts);
        Input { read: rows(&plan, facts).min(most), cost: cost(&plan, facts).1 }
    }
}

/// How an expression asks for the answer of a subquery in it.
#[derive(Clone, Copy)]
struct Asked {
    /// As a condition, for which unknown is as good as false.
    is_condition: bool,
    /// Whenever it is evaluated: no other part of AND or OR can make the answer needless.
    is_certain: bool,
}

/// Calls `visit` with the subqueries that are asked whenever an expression is evaluated, or in a part of AND or OR.
fn each_asked(of: &mut Expr, asked: Asked, visit: &mut dyn FnMut(&mut Expr, Asked)) {
    match &mut of.kind {
        ExprKind::Subquery(subquery) => {
            if can_be(subquery) {
                visit(of, asked);
            }
        }
        ExprKind::And(all) | ExprKind::Or(all) => {
            for (at, part) in all.iter_mut().enumerate() {
                let asked = Asked { is_certain: asked.is_certain && at == 0, ..asked };
                ensure_stack(|| each_asked(part, asked, visit));
            }
        }
        ExprKind::IsTruth(inner, Some(true)) => {
            ensure_stack(|| each_asked(inner, Asked { is_condition: true, ..asked }, visit));
        }
        ExprKind::Case { branches, .. } => {
            if let Some((first, _)) = branches.first_mut() {
                ensure_stack(|| each_asked(first, Asked { is_condition: true, ..asked }, visit));
            }
        }
        ExprKind::Coalesce(_) => {}
        _ => {
            let asked = Asked { is_condition: false, ..asked };
            of.each_child_mut(&mut |child| ensure_stack(|| each_asked(child, asked, visit)));
        }
    }
}

/// A subquery as the right side of a mark join.
#[derive(Clone)]
struct Marked {
    kind: JoinKind,
    plan: Plan,
    /// Columns of the current row.
    width: usize,
    /// Over the current row and the subquery's, side by side.
    equalities: Vec<(Expr, Expr)>,
    condition: Option<Expr>,
}

impl Marked {
    /// `None` if the subquery has no equality to look for, or something that may fail.
    fn of(subquery: &Subquery, input: &Plan, asked: Asked, of: Use, facts: &Facts<'_>) -> Option<Marked> {
        let is_condition = asked.is_condition;
        if plan_is_volatile(&subquery.plan) || plan_is_volatile(input) {
            return None;
        }
        // The other side of a join is read before anything is asked.
        if !asked.is_certain && !is_total_plan(&subquery.plan, facts) {
            return None;
        }
        if let SubqueryKind::Quantified { left, .. } = &subquery.kind
            && left.iter().any(|value| is_volatile(value) || has_subquery(value))
        {
            return None;
        }
        let mut marked = match refers(&subquery.plan) {
            true => Marked::correlated(subquery, input, is_condition, facts)?,
            false if of.once => Marked::listed(subquery, input, is_condition, facts)?,
            false => return None,
        };
        marked.plan = ensure_stack(|| step(marked.plan, Use { rows: f64::INFINITY, ..of }, facts));
        Some(marked)
    }

    /// IN over a subquery that does not refer to the current row. Of several values that may be NULL, no hash finds what is unknown.
    fn listed(subquery: &Subquery, input: &Plan, is_condition: bool, facts: &Facts<'_>) -> Option<Marked> {
        let (equal, known) = listed(subquery, input, facts)?;
        let kind = match &known[..] {
            known if is_condition || known.iter().all(|known| *known) => JoinKind::Mark,
            [_] => JoinKind::MarkIn,
            _ => return None,
        };
        let width = input.width(facts);
        if !equal.iter().all(is_total) {
            return None;
        }
        let pair = |condition: Expr| equality(&beside(condition, width), width);
        let equalities = equal.into_iter().map(pair).collect::<Option<_>>()?;
        Some(Marked { kind, plan: (*subquery.plan).clone(), width, equalities, condition: None })
    }

    /// A subquery that refers to the current row by equalities, and more.
    fn correlated(subquery: &Subquery, input: &Plan, is_condition: bool, facts: &Facts<'_>) -> Option<Marked> {
        let left = match &subquery.kind {
            SubqueryKind::Quantified { left, .. } => &left[..],
            _ => &[],
        };
        let wanted = (!left.is_empty()).then_some(left);
        let (mut plan, mut conditions) = pull((*subquery.plan).clone(), wanted, false)?;
        if refers(&plan) || conditions.iter().any(|of| has_subquery(of) || !is_total_over(&plan, of)) {
            return None;
        }
        outwards(&mut plan);
        let equal = conditions.split_off(conditions.len().checked_sub(left.len())?);
        let (known, unknown): (Vec<_>, Vec<_>) = left
            .iter()
            .zip(equal)
            .partition(|(value, equal)| is_condition || is_never_null(input, value) && is_right_known(&plan, equal));
        conditions.extend(known.into_iter().map(|(_, equal)| equal));
        let width = input.width(facts);
        let (mut equalities, mut rest) = (Vec::new(), Vec::new());
        for condition in conditions {
            let condition = beside(condition, width);
            match equality(&condition, width) {
                Some(pair) => equalities.push(pair),
                None => rest.push(is_true(condition)),
            }
        }
        rest.extend(unknown.into_iter().map(|(_, equal)| beside(equal, width)));
        let kind = JoinKind::Mark;
        (!equalities.is_empty()).then(|| Marked { kind, plan, width, equalities, condition: join(rest) })
    }

    /// The plan with the mark behind its columns: the current row's, and marks, are so many.
    fn joined(mut self, left: Plan, left_width: usize, facts: &Facts<'_>) -> Plan {
        let (right_width, marks) = (self.plan.width(facts), left_width - self.width);
        let place = |column| if column < self.width { column } else { column + marks };
        self.condition.iter_mut().for_each(|condition| renumber(condition, &place));
        joined(self.kind, (left, left_width), (self.plan, right_width), (self.equalities, self.condition))
    }

    /// Returns whether to read the subquery's rows once costs less than to run it for each row. One that does not refer to the row runs
    /// once anyhow.
    fn pays(&self, input: &Input, plan: &Plan, subquery: &Subquery, facts: &Facts<'_>) -> bool {
        if input.read <= 1.0 || !refers(&subquery.plan) {
            return input.read > 1.0;
        }
        // Rows that a condition is tested for are held, unless they may be written away.
        if self.condition.is_some() && (!facts.batches || is_sorted(plan)) && !facts.can_hold(&self.plan) {
            return false;
        }
        let each = facts.by_rows();
        let one = cost(&improved((*subquery.plan).clone(), &each), &each).1;
        let with_mark = self.clone().joined(plan.clone(), self.width, facts);
        cost(&improved(with_mark, facts), facts).1 - input.cost < input.read * one
    }
}

/// Returns whether the subquery's side of an equality is never NULL.
fn is_right_known(plan: &Plan, equal: &Expr) -> bool {
    matches!(&equal.kind, ExprKind::Compare(_, _, right) if is_never_null(plan, right))
}

/// A condition that is false where another is unknown: a row for which it is not true is none of the subquery's.
fn is_true(condition: Expr) -> Expr {
    Expr::new(ExprKind::IsTruth(Box::new(condition), Some(true)), Type::BOOL)
}
