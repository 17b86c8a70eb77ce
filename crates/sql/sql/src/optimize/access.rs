//! Chooses access paths of tables: the index of a scan, and the joins that search an index once for each left row.

use super::Ctes;
use super::columns::{inward, is_volatile, join, sink, split};
use super::conditions::{ColumnCondition, column_condition};
use super::estimate::{constant_limit, rows};
use super::min_max;
use super::order::satisfy;
use super::partial;
use crate::catalog::{Index, Table};
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Path, Plan, Scan};
use crate::stack::ensure_stack;
use crate::types::Type;
use std::ops::Bound;

/// Up to so many left rows an index of the right side is searched for each; more are joined by hash.
const MOST_SEARCHES: f64 = 64.0;

/// An access path, and the conditions that it makes redundant.
pub struct Choice {
    /// The path.
    pub path: Path,
    /// Which conjuncts of the filter it takes care of.
    pub exact: Vec<usize>,
    /// Which conjuncts it uses.
    pub used: Vec<usize>,
    /// Rank of the path; higher is better.
    score: usize,
}

/// Returns the plan with access paths. `goal` is the number of rows that will be fetched, if known.
pub fn choose(plan: Plan, goal: Option<f64>, ctes: &Ctes) -> Plan {
    ensure_stack(|| step(plan, goal, ctes))
}

fn step(plan: Plan, goal: Option<f64>, ctes: &Ctes) -> Plan {
    let descend = |plan: Box<Plan>, goal| Box::new(choose(*plan, goal, ctes));
    match plan {
        Plan::Scan(scan) => Plan::Scan(with_path(scan)),
        Plan::Filter { input, condition } => Plan::Filter { input: descend(input, goal), condition },
        Plan::Project { input, columns } => Plan::Project { input: descend(input, goal), columns },
        Plan::Lock { input, tables } => Plan::Lock { input: descend(input, goal), tables },
        Plan::Limit { input, limit, ties, offset } => {
            let offset_rows = if offset.is_some() { constant_limit(offset.as_ref()) } else { 0.0 };
            // A limit that is a parameter is small, as limits are.
            let rows = if limit.is_some() { constant_limit(limit.as_ref()).min(1e9) } else { f64::INFINITY };
            let rows = if rows == 1e9 { 10.0 } else { rows };
            let goal = (rows + offset_rows).min(goal.unwrap_or(f64::INFINITY));
            let goal = goal.is_finite().then_some(goal);
            Plan::Limit { input: descend(input, goal), limit, ties, offset }
        }
        Plan::Sort { input, keys } => {
            // Without a sort in between, what is asked of the sorted rows is asked of those below.
            match satisfy(choose((*input).clone(), goal, ctes), &keys, goal.is_some()) {
                Some(sorted) => sorted,
                None => Plan::Sort { input: descend(input, None), keys },
            }
        }
        Plan::Join(join) => Plan::Join(Box::new(with_searches(*join, goal, ctes))),
        Plan::Aggregate(mut aggregation) => {
            let input = std::mem::replace(&mut aggregation.input, Plan::Values { rows: Vec::new() });
            aggregation.input = match min_max::first_entry(&aggregation, &input) {
                Some(first) => first,
                None => choose(input, None, ctes),
            };
            Plan::Aggregate(aggregation)
        }
        mut other => {
            other.each_input_mut(&mut |input, _| {
                let plan = std::mem::replace(input, Plan::Values { rows: Vec::new() });
                *input = choose(plan, None, ctes);
            });
            other
        }
    }
}

/// The scan by its best path.
pub fn with_path(mut scan: Scan) -> Scan {
    if let Some(choice) = best_path(&scan) {
        apply(&mut scan, choice);
    }
    scan
}

fn apply(scan: &mut Scan, choice: Choice) {
    let mut conjuncts = Vec::new();
    if let Some(filter) = scan.filter.take() {
        split(filter, &mut conjuncts);
    }
    let rest = conjuncts.into_iter().enumerate().filter(|(at, _)| !choice.exact.contains(at));
    scan.filter = join(rest.map(|(_, conjunct)| conjunct).collect());
    scan.path = choice.path;
}

/// The best path for a scan's filter, if any is better than to read everything.
pub fn best_path(scan: &Scan) -> Option<Choice> {
    if !matches!(scan.path, Path::All) {
        return None;
    }
    let mut conjuncts = Vec::new();
    split(scan.filter.clone()?, &mut conjuncts);
    let conditions: Vec<Option<ColumnCondition>> =
        conjuncts.iter().map(|conjunct| column_condition(scan, conjunct)).collect();
    let usable = (0..scan.table.indexes.len()).filter(|&index| partial::has_all_rows(scan, index, &conjuncts));
    let choices = usable.filter_map(|index| path(scan, index, &conditions, &conjuncts));
    // The first of equally good ones: the primary key comes first.
    choices.reduce(|best, next| if next.score > best.score { next } else { best })
}

/// The path by one index: equalities on its first columns, then one range or one list.
fn path(scan: &Scan, number: usize, conditions: &[Option<ColumnCondition>], conjuncts: &[Expr]) -> Option<Choice> {
    let index = &scan.table.indexes[number];
    let columns = scan.rules.numbers(&scan.table, index);
    let (mut equal, mut exact) = (Vec::new(), Vec::new());
    for &column in &columns {
        let found = conditions.iter().enumerate().find_map(|(at, fact)| match fact {
            Some(ColumnCondition::Equal(of, value)) if *of == column => Some((at, value)),
            _ => None,
        });
        let Some((at, value)) = found else { break };
        equal.push(value.clone());
        exact.push(at);
    }
    let whole = equal.len() == index.columns.len();
    // Of two indexes that serve alike, the one with fewer rows.
    let fewer = usize::from(index.predicate.is_some() && !equal.is_empty());
    let score = equal.len() * 10 + fewer + if whole && index.unique { 1000 } else { 0 };
    let next = columns.get(equal.len()).copied();
    if let Some(choice) = next.and_then(|next| listed(number, index, next, &equal, &exact, conditions)) {
        return Some(choice);
    }
    let mut range = Range::default();
    if let Some(next) = next {
        range.narrow(next, conditions, &mut exact);
    }
    let score = score + range.score();
    let mut used = exact.clone();
    used.extend(range.inexact);
    let (lower, upper) = (range.lower, range.upper);
    exact.extend(partial::known(scan, number, conjuncts));
    (score > 0).then_some(Choice {
        path: Path::Index { index: number, equal, lower, upper, backward: false },
        exact,
        used,
        score,
    })
}

/// Alternatives for the next column.
fn listed(
    number: usize,
    index: &Index,
    next: usize,
    equal: &[Expr],
    exact: &[usize],
    conditions: &[Option<ColumnCondition>],
) -> Option<Choice> {
    let extended = |value: &Expr| equal.iter().cloned().chain([value.clone()]).collect::<Vec<_>>();
    let (at, path) = conditions.iter().enumerate().find_map(|(at, fact)| match fact {
        Some(ColumnCondition::OneOf(of, list)) if *of == next => {
            Some((at, Path::Alternatives { index: number, equal: list.iter().map(extended).collect() }))
        }
        Some(ColumnCondition::AnyOf(of, array)) if *of == next => {
            Some((at, Path::AnyOf { index: number, equal: equal.to_vec(), array: Box::new(array.clone()) }))
        }
        _ => None,
    })?;
    let exact: Vec<usize> = exact.iter().copied().chain([at]).collect();
    let whole = equal.len() + 1 == index.columns.len();
    let score = (equal.len() + 1) * 10 - 1 + if whole && index.unique { 900 } else { 0 };
    let used = exact.clone();
    Some(Choice { path, exact, used, score })
}

/// A range of one column.
struct Range {
    lower: Bound<Expr>,
    upper: Bound<Expr>,
    /// A condition that is stricter than the range.
    inexact: Option<usize>,
}

impl Default for Range {
    fn default() -> Range {
        Range { lower: Bound::Unbounded, upper: Bound::Unbounded, inexact: None }
    }
}

impl Range {
    fn narrow(&mut self, column: usize, conditions: &[Option<ColumnCondition>], exact: &mut Vec<usize>) {
        for (at, fact) in conditions.iter().enumerate() {
            match fact {
                Some(ColumnCondition::Lower(of, bound)) if *of == column && matches!(self.lower, Bound::Unbounded) => {
                    self.lower = bound.clone();
                    exact.push(at);
                }
                Some(ColumnCondition::Upper(of, bound)) if *of == column && matches!(self.upper, Bound::Unbounded) => {
                    self.upper = bound.clone();
                    exact.push(at);
                }
                _ => {}
            }
        }
        if self.score() > 0 {
            return;
        }
        for (at, fact) in conditions.iter().enumerate() {
            if let Some(ColumnCondition::Between(of, lower, upper)) = fact
                && *of == column
            {
                (self.lower, self.upper) = (lower.clone(), upper.clone());
                self.inexact = Some(at);
                return;
            }
        }
    }

    fn score(&self) -> usize {
        let bounded = |bound: &Bound<Expr>| usize::from(!matches!(bound, Bound::Unbounded));
        4 * bounded(&self.lower) + 4 * bounded(&self.upper)
    }
}

/// The join with paths on both sides; with an index of the right side searched for each left row, if these are few.
fn with_searches(mut operator: Join, goal: Option<f64>, ctes: &Ctes) -> Join {
    // Sorts below a join are asked for everything; the rows of its left side are asked for as its own are.
    operator.left = choose(operator.left, goal, ctes);
    let few = rows(&operator.left, ctes).min(goal.unwrap_or(f64::INFINITY)) <= MOST_SEARCHES;
    let kind = matches!(operator.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
    if few && kind && !operator.lateral && !operator.equalities.is_empty() {
        match searched(operator) {
            Ok(operator) => return operator,
            Err(other) => operator = *other,
        }
    }
    operator.right = choose(operator.right, None, ctes);
    operator
}

/// Returns the join as an index nested loop, or unchanged.
fn searched(mut operator: Join) -> Result<Join, Box<Join>> {
    let Plan::Scan(scan) = &operator.right else { return Err(Box::new(operator)) };
    let mut inner = scan.clone();
    let mut conjuncts = Vec::new();
    if let Some(filter) = inner.filter.take() {
        split(filter, &mut conjuncts);
        conjuncts.iter_mut().for_each(sink);
    }
    let own = conjuncts.len();
    for (left, right) in &operator.equalities {
        let movable = !is_volatile(left) && !right.any(|part| part.subquery().is_some());
        let Some(left) = movable.then(|| inward(left)).flatten() else { return Err(Box::new(operator)) };
        let mut right = right.clone();
        sink(&mut right);
        let equal = ExprKind::Compare(Comparison::Equal, Box::new(right), Box::new(left));
        conjuncts.push(Expr::new(equal, Type::BOOL));
    }
    inner.filter = join(conjuncts);
    match best_path(&inner) {
        Some(choice) if choice.used.iter().any(|&at| at >= own) => apply(&mut inner, choice),
        _ => return Err(Box::new(operator)),
    }
    operator.right = Plan::Scan(inner);
    operator.equalities = Vec::new();
    operator.lateral = true;
    Ok(operator)
}

/// Returns whether a column is never NULL. An expression of an index may be.
pub fn refuses_null(table: &Table, column: usize) -> bool {
    table.columns.get(column).is_some_and(|column| column.not_null)
        || table.primary_key().is_some_and(|key| key.columns.contains(&column))
}
