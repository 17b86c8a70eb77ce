//! Chooses access paths of tables: the index of a scan, and the joins that search an index once for each left row.

use super::Facts;
use super::columns::{inward, is_volatile, join, sink, split, substitute};
use super::conditions::{ColumnCondition, column_condition, column_of};
use super::estimate::{self, SEARCH, constant_limit, rows};
use super::min_max;
use super::order::satisfy;
use super::partial;
use crate::catalog::Table;
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Path, Plan, Scan};
use crate::stack::ensure_stack;
use crate::types::Type;
use std::ops::Bound;
use vectors::keys::is_key_type;

/// Up to so many combinations of values of several lists are searched one by one.
const MOST_COMBINATIONS: usize = 1000;
/// Rank of a path that finds one row.
const WHOLE_KEY: usize = 1000;
/// Rank of a path that finds one row for each of a list of values.
const WHOLE_LIST: usize = 900;

/// An access path, and the conditions that it makes redundant.
pub struct Choice {
    /// The path.
    pub path: Path,
    /// Which conjuncts of the filter it takes care of.
    pub exact: Vec<usize>,
    /// Which conjuncts it uses.
    pub used: Vec<usize>,
    /// Rank of the path by its form; higher is better.
    score: usize,
}

/// Returns the plan with access paths. `goal` is the number of rows that will be fetched, if known.
pub fn choose(plan: Plan, goal: Option<f64>, facts: &Facts<'_>) -> Plan {
    ensure_stack(|| step(plan, goal, facts))
}

fn step(plan: Plan, goal: Option<f64>, facts: &Facts<'_>) -> Plan {
    let descend = |plan: Box<Plan>, goal| Box::new(choose(*plan, goal, facts));
    match plan {
        Plan::Scan(scan) => Plan::Scan(with_path(scan, facts)),
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
            match satisfy(choose((*input).clone(), goal, facts), &keys, goal.is_some(), facts) {
                Some(sorted) => sorted,
                None => Plan::Sort { input: descend(input, None), keys },
            }
        }
        Plan::Join(join) => Plan::Join(Box::new(with_searches(*join, goal, facts))),
        Plan::Aggregate(mut aggregation) => {
            let input = std::mem::replace(&mut aggregation.input, Plan::Values { rows: Vec::new() });
            aggregation.input = match min_max::first_entry(&aggregation, &input, facts) {
                Some(first) => first,
                None => min_max::only_extremes(&aggregation, choose(input, None, facts)),
            };
            Plan::Aggregate(aggregation)
        }
        mut other => {
            other.each_input_mut(&mut |input, _| {
                let plan = std::mem::replace(input, Plan::Values { rows: Vec::new() });
                *input = choose(plan, None, facts);
            });
            other
        }
    }
}

/// The scan by its best path.
pub fn with_path(mut scan: Scan, facts: &Facts<'_>) -> Scan {
    if let Some(choice) = best_path(&scan, facts) {
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
pub fn best_path(scan: &Scan, facts: &Facts<'_>) -> Option<Choice> {
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
    choices.reduce(|best, next| if is_better(scan, &next, &best, facts) { next } else { best })
}

/// Returns whether one path finds fewer rows than another. Sizes decide only where neither is the search for one row.
fn is_better(scan: &Scan, next: &Choice, best: &Choice, facts: &Facts<'_>) -> bool {
    if next.score.max(best.score) >= WHOLE_LIST {
        return next.score > best.score;
    }
    let found = |choice: &Choice| estimate::path_rows(scan, &choice.path, facts);
    let (next_rows, best_rows) = (found(next), found(best));
    // Estimates that are close say nothing.
    if next_rows < best_rows / 2.0 || best_rows < next_rows / 2.0 {
        return next_rows < best_rows;
    }
    next.score > best.score
}

/// The scan that a plan is, or whose columns it passes on: views do so, one upon the other.
struct Searchable<'p> {
    scan: &'p Scan,
    /// The columns that are passed on, from above.
    projections: Vec<&'p [Expr]>,
}

impl<'p> Searchable<'p> {
    fn new(mut plan: &'p Plan) -> Option<Searchable<'p>> {
        let mut projections = Vec::new();
        loop {
            match plan {
                Plan::Scan(scan) => return Some(Searchable { scan, projections }),
                Plan::Project { input, columns } => {
                    let is_plain = columns.iter().all(|column| matches!(column.kind, ExprKind::Column(_)));
                    if !is_plain {
                        return None;
                    }
                    projections.push(columns.as_slice());
                    plan = input;
                }
                _ => return None,
            }
        }
    }

    /// An expression over the plan's row, over the scan's row.
    fn below(&self, expression: &Expr) -> Option<Expr> {
        self.projections.iter().try_fold(expression.clone(), |expression, columns| substitute(&expression, columns))
    }

    /// A column of the plan's row, by its place in the scan's row.
    fn column_below(&self, column: usize) -> Option<usize> {
        self.projections.iter().try_fold(column, |column, columns| match columns.get(column)?.kind {
            ExprKind::Column(column) => Some(column),
            _ => None,
        })
    }
}

/// Puts a scan in the place of a searchable plan's.
fn replace_scan(plan: &mut Plan, scan: Scan) {
    match plan {
        Plan::Project { input, .. } => replace_scan(input, scan),
        other => *other = Plan::Scan(scan),
    }
}

/// Like [`search_rows`], for a plan that is a scan, or passes on columns of one.
pub fn plan_search_rows(plan: &Plan, columns: &[usize], facts: &Facts<'_>) -> Option<f64> {
    let searchable = Searchable::new(plan)?;
    let below = |&column: &usize| searchable.column_below(column);
    search_rows(searchable.scan, &columns.iter().filter_map(below).collect::<Vec<_>>(), facts)
}

/// Rows of the table that a plan reads, if these columns hold a whole unique key of it.
pub fn plan_key_rows(plan: &Plan, columns: &[usize], facts: &Facts<'_>) -> Option<f64> {
    let searchable = Searchable::new(plan)?;
    let below = |&column: &usize| searchable.column_below(column);
    estimate::key_rows(searchable.scan, &columns.iter().filter_map(below).collect::<Vec<_>>(), facts)
}

/// Rows that a search by these columns, and by what else the scan's filter fixes, finds on average in the best index for it;
/// `None` if no index begins with such columns.
fn search_rows(scan: &Scan, columns: &[usize], facts: &Facts<'_>) -> Option<f64> {
    if !matches!(scan.path, Path::All) || columns.is_empty() {
        return None;
    }
    let mut conjuncts = Vec::new();
    scan.filter.clone().into_iter().for_each(|filter| split(filter, &mut conjuncts));
    let fixed: Vec<usize> = conjuncts
        .iter()
        .filter_map(|conjunct| match column_condition(scan, conjunct)? {
            ColumnCondition::Equal(column, _) => Some(column),
            _ => None,
        })
        .collect();
    let usable = (0..scan.table.indexes.len()).filter(|&index| partial::has_all_rows(scan, index, &conjuncts));
    let found = usable.filter_map(|index| {
        let index = &scan.table.indexes[index];
        let of_index = scan.rules.ordered(&scan.table, index);
        let known = of_index.iter().take_while(|column| columns.contains(column) || fixed.contains(column)).count();
        let searched = of_index[..known].iter().any(|column| columns.contains(column));
        searched.then(|| facts.sizes.agreeing(scan, index, known))
    });
    found.reduce(f64::min)
}

/// The path by one index: values or lists of values of its first columns, then one range or one list that is not known yet.
fn path(scan: &Scan, number: usize, conditions: &[Option<ColumnCondition>], conjuncts: &[Expr]) -> Option<Choice> {
    let index = &scan.table.indexes[number];
    let columns = scan.rules.ordered(&scan.table, index);
    let Prefix { alternatives, mut exact, length, is_list } = Prefix::new(&columns, conditions);
    let whole = length == index.columns.len() && index.unique;
    // Of two indexes that serve alike, the one with fewer rows.
    let fewer = usize::from(index.predicate.is_some() && length > 0);
    let known = partial::known(scan, number, conjuncts);
    if is_list {
        let score = length * 10 - 1 + fewer + if whole { WHOLE_LIST } else { 0 };
        let path = Path::Alternatives { index: number, equal: alternatives };
        let used = exact.clone();
        exact.extend(known);
        return Some(Choice { path, used, exact, score });
    }
    let equal = alternatives.into_iter().next().unwrap_or_default();
    let next = columns.get(length).copied();
    if let Some((at, array)) = next.and_then(|next| unknown_list(next, conditions)) {
        let is_whole = index.unique && length + 1 == index.columns.len();
        let score = (length + 1) * 10 - 1 + fewer + if is_whole { WHOLE_LIST } else { 0 };
        let path = Path::AnyOf { index: number, equal, array: Box::new(array.clone()) };
        exact.push(at);
        let used = exact.clone();
        exact.extend(known);
        return Some(Choice { path, used, exact, score });
    }
    let mut range = Range::default();
    if let Some(next) = next {
        range.narrow(next, conditions, &mut exact);
    }
    let score = length * 10 + fewer + if whole { WHOLE_KEY } else { 0 } + range.score();
    let mut used = exact.clone();
    used.extend(range.inexact);
    let (lower, upper) = (range.lower, range.upper);
    exact.extend(known);
    (score > 0).then_some(Choice {
        path: Path::Index { index: number, equal, lower, upper, backward: false },
        exact,
        used,
        score,
    })
}

/// Values of the first columns of an index.
struct Prefix {
    /// Every combination of the columns' values.
    alternatives: Vec<Vec<Expr>>,
    /// The conditions that give them.
    exact: Vec<usize>,
    /// Number of columns.
    length: usize,
    /// Whether a column has several values.
    is_list: bool,
}

impl Prefix {
    fn new(columns: &[usize], conditions: &[Option<ColumnCondition>]) -> Prefix {
        let mut prefix = Prefix { alternatives: vec![Vec::new()], exact: Vec::new(), length: 0, is_list: false };
        for &column in columns {
            let known = |wants_list: bool| {
                conditions.iter().enumerate().find_map(|(at, condition)| match condition {
                    Some(ColumnCondition::Equal(of, value)) if *of == column && !wants_list => {
                        Some((at, std::slice::from_ref(value)))
                    }
                    Some(ColumnCondition::OneOf(of, list)) if *of == column && wants_list => {
                        Some((at, list.as_slice()))
                    }
                    _ => None,
                })
            };
            let Some((at, values)) = known(false).or_else(|| known(true)) else { break };
            let is_list = matches!(conditions[at], Some(ColumnCondition::OneOf(..)));
            // The first list may have any length; several make their product.
            if prefix.is_list && is_list && prefix.alternatives.len() * values.len() > MOST_COMBINATIONS {
                break;
            }
            let extended = |start: &Vec<Expr>| {
                let start = start.clone();
                values.iter().map(move |value| start.iter().chain([value]).cloned().collect::<Vec<_>>())
            };
            prefix.alternatives = prefix.alternatives.iter().flat_map(extended).collect();
            prefix.exact.push(at);
            prefix.length += 1;
            prefix.is_list |= is_list;
        }
        prefix
    }
}

/// A list of a column's values that is known only when the scan starts.
fn unknown_list(column: usize, conditions: &[Option<ColumnCondition>]) -> Option<(usize, &Expr)> {
    conditions.iter().enumerate().find_map(|(at, condition)| match condition {
        Some(ColumnCondition::AnyOf(of, array)) if *of == column => Some((at, array)),
        _ => None,
    })
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

/// The join with paths on both sides; with an index of the right side searched for each left row, if that costs less than to
/// read the right side once.
fn with_searches(mut operator: Join, goal: Option<f64>, facts: &Facts<'_>) -> Join {
    // Sorts below a join are asked for everything; the rows of its left side are asked for as its own are.
    operator.left = choose(operator.left, goal, facts);
    use JoinKind::{Anti, Inner, Left, Mark, Semi};
    let kind = matches!(operator.kind, Inner | Left | Semi | Anti | Mark);
    if kind && !operator.lateral && !operator.equalities.is_empty() && is_search_cheaper(&operator, goal, facts) {
        match searched(operator, facts) {
            Ok(operator) => return operator,
            Err(other) => operator = *other,
        }
    }
    operator.right = match operator.lateral {
        true => choose(operator.right, None, &facts.by_rows()),
        false => choose(operator.right, None, facts),
    };
    operator
}

fn is_search_cheaper(operator: &Join, goal: Option<f64>, facts: &Facts<'_>) -> bool {
    let Some(searchable) = Searchable::new(&operator.right) else { return false };
    let is_key = |(left, right): &(Expr, Expr)| left.data_type == right.data_type && is_key_type(left.data_type);
    let by_rows = (!operator.equalities.iter().all(is_key)).then(|| facts.by_rows());
    let facts = by_rows.as_ref().unwrap_or(facts);
    let scan = searchable.scan;
    let below = |(_, right): &(Expr, Expr)| column_of(scan, &searchable.below(right)?);
    let columns = operator.equalities.iter().filter_map(below);
    let Some(found) = search_rows(scan, &columns.collect::<Vec<_>>(), facts) else { return false };
    let left = rows(&operator.left, facts).min(goal.unwrap_or(f64::INFINITY));
    let right = Plan::Scan(with_path(scan.clone(), facts));
    let whole = estimate::cost(&right, facts).1 + estimate::hashed(left, rows(&right, facts), facts);
    left * SEARCH * (1.0 + found) <= whole
}

/// Returns the join as an index nested loop, or unchanged.
fn searched(mut operator: Join, facts: &Facts<'_>) -> Result<Join, Box<Join>> {
    let Some(searchable) = Searchable::new(&operator.right) else { return Err(Box::new(operator)) };
    let mut inner = searchable.scan.clone();
    let mut conjuncts = Vec::new();
    if let Some(filter) = inner.filter.take() {
        split(filter, &mut conjuncts);
        conjuncts.iter_mut().for_each(sink);
    }
    let own = conjuncts.len();
    for (left, right) in &operator.equalities {
        let movable = !is_volatile(left) && !right.any(|part| part.subquery().is_some());
        let sides = movable.then(|| inward(left)).flatten().zip(searchable.below(right));
        let Some((left, mut right)) = sides else { return Err(Box::new(operator)) };
        sink(&mut right);
        let equal = ExprKind::Compare(Comparison::Equal, Box::new(right), Box::new(left));
        conjuncts.push(Expr::new(equal, Type::BOOL));
    }
    inner.filter = join(conjuncts);
    match best_path(&inner, facts) {
        Some(choice) if choice.used.iter().any(|&at| at >= own) => apply(&mut inner, choice),
        _ => return Err(Box::new(operator)),
    }
    replace_scan(&mut operator.right, inner);
    operator.equalities = Vec::new();
    operator.lateral = true;
    Ok(operator)
}

/// Returns whether a column is never NULL. An expression of an index may be.
pub fn refuses_null(table: &Table, column: usize) -> bool {
    table.columns.get(column).is_some_and(|column| column.not_null)
        || table.primary_key().is_some_and(|key| key.columns.contains(&column))
}
