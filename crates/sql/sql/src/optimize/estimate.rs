//! Estimates how many rows a plan returns, and what it costs.
//!
//! Sizes of tables and of ranges come from [`Sizes`](super::Sizes); selectivities of what no index knows come from samples
//! ([`sampled`]), or are PostgreSQL's defaults.
//! Costs are in PostgreSQL's unit, a page read in sequence, as far as their ratios go: a row looked up costs as much as several
//! that are read in sequence. Of operators that may run over batches ([`Facts`]), the costs are those of batches where these are
//! less: a row costs a tenth there and less, but to set the operators up costs as much as some thousand rows.

use super::access::best_path;
use super::columns::split;
use super::conditions::{ColumnCondition, column_condition};
use super::sizes::{Bounds, UNKNOWN};
use super::{Facts, sampled};
use crate::catalog::Index;
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Path, Plan, Scan, SetOperation, origin};
use crate::stack::ensure_stack;
use crate::types::{Datum, Scalar};
use std::ops::Bound;

/// Part of the rows that equal a value of a column without an index: one of 200 values.
const EQUAL: f64 = 0.005;
/// Part of the rows on one side of a value.
const HALF_OPEN: f64 = 1.0 / 3.0;
/// Part of the rows that a prefix selects.
const PREFIXED: f64 = 0.02;
/// Part of the rows of any other condition.
const CONDITION: f64 = 1.0 / 3.0;
/// Distinct values of a column without an index.
const DISTINCT: f64 = 200.0;
/// Elements of an array that is not known yet, rows of a set that a function makes, rounds of a recursion.
const ELEMENTS: f64 = 10.0;
/// Rows of a relation that is computed.
const COMPUTED: f64 = UNKNOWN / 10.0;

/// Cost of a row that is read in a row with others, or passed on by an operator that holds it.
pub const ROW: f64 = 0.01;
/// Cost of a search in an index, or of a row that is looked up by its key.
pub const SEARCH: f64 = 0.03;
/// Cost of a condition or a value per row.
const OPERATOR: f64 = 0.0025;
/// Cost of putting a row into a hash table.
pub const BUILD: f64 = 0.015;
/// Cost of looking a row up in one.
pub const PROBE: f64 = 0.005;

/// Costs of operators over batches.
struct BatchCosts {
    /// To set one up.
    set_up: f64,
    /// Same as [`ROW`].
    row: f64,
    /// Same as [`OPERATOR`].
    operator: f64,
    /// Same as [`BUILD`].
    build: f64,
    /// Same as [`PROBE`].
    probe: f64,
}

/// Of an engine that stores columns.
const OF_COLUMNS: BatchCosts =
    BatchCosts { set_up: ROW * 1000.0, row: 0.0003, operator: 0.0001, build: 0.0015, probe: 0.0003 };
/// Of one that stores rows.
const OF_ROWS: BatchCosts =
    BatchCosts { set_up: ROW * super::vectors::LEAST, row: 0.001, operator: 0.0003, build: 0.003, probe: 0.001 };

fn batch<'c>(facts: &Facts<'_>) -> &'c BatchCosts {
    if facts.sizes.has_columns() { &OF_COLUMNS } else { &OF_ROWS }
}

/// The cost of an operator: row by row, or over batches where that may be and costs less.
fn cheaper(by_row: f64, in_batches: f64, facts: &Facts<'_>) -> f64 {
    if facts.batches { by_row.min(batch(facts).set_up + in_batches) } else { by_row }
}

/// Cost of passing rows on.
pub fn passed(rows: f64, facts: &Facts<'_>) -> f64 {
    cheaper(rows * ROW, rows * batch(facts).row, facts)
}

/// What a join over batches costs more whose left side is built: of two orders that do the same, that one is planned in which the built
/// side stands where EXPLAIN says that it is hashed.
const BUILT_LEFT: f64 = 1e-6;

/// Cost of a hash join of sides of so many rows, without that of reading them and of the rows that it makes. Over batches the smaller
/// side of a join without an order is built.
pub fn hashed(left: f64, right: f64, facts: &Facts<'_>) -> f64 {
    let in_batches = match left < right {
        true => left * batch(facts).build + right * batch(facts).probe + BUILT_LEFT,
        false => right * batch(facts).build + left * batch(facts).probe,
    };
    cheaper(right * BUILD + left * PROBE, in_batches, facts)
}

/// Estimated row count of a plan.
pub fn rows(plan: &Plan, facts: &Facts<'_>) -> f64 {
    ensure_stack(|| match plan {
        Plan::Values { rows } => rows.len() as f64,
        Plan::Scan(scan) => scan_rows(scan, facts),
        Plan::CteScan { number } => facts.get(*number).map_or(COMPUTED, |query| rows(query, facts)),
        Plan::Virtual { name: Some(_), .. } => 1.0,
        Plan::Virtual { name: None, .. } => COMPUTED,
        Plan::Functions { calls, .. } => calls.iter().map(function_rows).fold(0.0, f64::max),
        Plan::Filter { input, condition } => {
            let of = (&**input, rows(input, facts));
            of.1 * selectivity(condition, &|part| between_columns(of, part, facts))
        }
        Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Lock { input, .. }
        | Plan::Vectors { input, .. } => rows(input, facts),
        Plan::Distinct { input, .. } => grouped(rows(input, facts), 1),
        Plan::ProjectSet { input, .. } => rows(input, facts) * ELEMENTS,
        Plan::Join(join) => join_rows(join, rows(&join.left, facts), rows(&join.right, facts), facts),
        Plan::Aggregate(aggregation) if aggregation.keys.is_empty() => 1.0,
        Plan::Aggregate(aggregation) => {
            let input = (&aggregation.input, rows(&aggregation.input, facts));
            let values = aggregation.keys.iter().map(|key| distinct(input, key, facts)).product::<f64>();
            values.min(grouped(input.1, aggregation.sets.len())).max(1.0)
        }
        Plan::Window(window) => rows(&window.input, facts),
        Plan::Limit { input, limit, .. } => {
            // Most limits that are parameters are small; EXPLAIN takes a tenth, as PostgreSQL does.
            let all = rows(input, facts);
            match limit {
                Some(limit) if known_limit(limit).is_none() => (all / 10.0).max(1.0),
                limit => all.min(constant_limit(limit.as_ref())),
            }
        }
        Plan::Set { operation, left, right, all } => {
            let (left, right) = (rows(left, facts), rows(right, facts));
            match operation {
                SetOperation::Union if *all => left + right,
                SetOperation::Union => grouped(left + right, 1),
                SetOperation::Intersect => left.min(right),
                SetOperation::Except => left,
            }
        }
        Plan::With { body, .. } => rows(body, facts),
        Plan::Recursive { start, .. } => rows(start, facts) * ELEMENTS,
    })
}

/// Number of groups of this many rows.
fn grouped(rows: f64, sets: usize) -> f64 {
    (rows * 0.3 * sets as f64).max(1.0).min(rows.max(1.0))
}

fn function_rows((function, arguments): &(crate::functions::Resolved, Vec<Expr>)) -> f64 {
    let whole = |argument: &Expr| match &argument.kind {
        ExprKind::Constant(value) => value.as_i64(),
        _ => None,
    };
    match (function.function.name, arguments.as_slice()) {
        ("generate_series", [from, to]) => match (whole(from), whole(to)) {
            (Some(from), Some(to)) => (to as f64 - from as f64 + 1.0).max(1.0),
            _ => UNKNOWN,
        },
        _ if function.columns.is_some() => COMPUTED,
        _ => ELEMENTS,
    }
}

/// A limit that is known already.
pub fn constant_limit(limit: Option<&Expr>) -> f64 {
    limit.and_then(known_limit).unwrap_or(f64::INFINITY)
}

fn known_limit(limit: &Expr) -> Option<f64> {
    match &limit.kind {
        ExprKind::Constant(Datum::Int8(rows)) => Some(*rows as f64),
        ExprKind::Constant(Datum::Null) => Some(f64::INFINITY),
        _ => None,
    }
}

fn scan_rows(scan: &Scan, facts: &Facts<'_>) -> f64 {
    let filter = |scan: &Scan| scan.filter.as_ref().map_or(1.0, |filter| of_table(scan, filter, facts));
    let found = match &scan.path {
        Path::All => match best_path(scan, facts) {
            Some(choice) => {
                let mut conjuncts = Vec::new();
                scan.filter.clone().into_iter().for_each(|filter| split(filter, &mut conjuncts));
                let found = path_rows(scan, &choice.path, facts);
                let rest = conjuncts.iter().enumerate().filter(|(at, _)| !choice.used.contains(at));
                // What finds one row finds no fewer: a search by a key asks for no sample.
                let rest = rest.filter(|_| found > 1.0).map(|(_, conjunct)| of_table(scan, conjunct, facts));
                found * rest.product::<f64>()
            }
            None => facts.rows(&scan.table) * filter(scan),
        },
        path => match path_rows(scan, path, facts) {
            found if found > 1.0 => found * filter(scan),
            one => one,
        },
    };
    found.max(1.0)
}

/// Rows that a path of a table finds.
pub fn path_rows(scan: &Scan, path: &Path, facts: &Facts<'_>) -> f64 {
    let table = &*scan.table;
    let all = facts.rows(table);
    let of = |number: usize, equal: &[Expr], bounds: Option<(&Bound<Expr>, &Bound<Expr>)>| {
        let Some(index) = table.indexes.get(number) else { return all };
        let constants: Option<Vec<&Datum>> = equal.iter().map(constant).collect();
        let values = |bounds: Option<(&'_ Bound<Expr>, &'_ Bound<Expr>)>| match bounds {
            None => true,
            Some((lower, upper)) => constant_bound(lower).is_some() && constant_bound(upper).is_some(),
        };
        if index.unique && equal.len() >= index.columns.len() {
            return 1.0;
        }
        if let Some(equal) = constants.as_ref().filter(|_| values(bounds)) {
            let bounds: Bounds<'_> = match bounds {
                None => (Bound::Unbounded, Bound::Unbounded),
                Some((lower, upper)) => (
                    constant_bound(lower).unwrap_or(Bound::Unbounded),
                    constant_bound(upper).unwrap_or(Bound::Unbounded),
                ),
            };
            if let Some(part) = facts.sizes.part(scan, index, equal, bounds) {
                return all * part;
            }
        }
        let ends = bounds.map_or(0, |(lower, upper)| {
            usize::from(!matches!(lower, Bound::Unbounded)) + usize::from(!matches!(upper, Bound::Unbounded))
        });
        let part = [1.0, HALF_OPEN, EQUAL][ends.min(2)];
        facts.sizes.agreeing(scan, index, equal.len()) * part
    };
    let found = match path {
        Path::All => all,
        Path::Index { index, equal, lower, upper, .. } => of(*index, equal, Some((lower, upper))),
        Path::AnyOf { index, equal, .. } => {
            let one = table.indexes.get(*index).map_or(1.0, |index| facts.sizes.agreeing(scan, index, equal.len() + 1));
            ELEMENTS * one
        }
        Path::Alternatives { index, equal } => equal.iter().map(|equal| of(*index, equal, None)).sum(),
    };
    found.max(1.0).min(all)
}

fn constant(expression: &Expr) -> Option<&Datum> {
    match &expression.kind {
        ExprKind::Constant(value) if !matches!(value, Datum::Null) => Some(value),
        _ => None,
    }
}

fn constant_bound(bound: &Bound<Expr>) -> Option<Bound<&Datum>> {
    match bound {
        Bound::Unbounded => Some(Bound::Unbounded),
        Bound::Included(value) => constant(value).map(Bound::Included),
        Bound::Excluded(value) => constant(value).map(Bound::Excluded),
    }
}

/// Part of a table's rows for which a condition holds.
pub fn of_table(scan: &Scan, condition: &Expr, facts: &Facts<'_>) -> f64 {
    selectivity(condition, &|part| {
        let least = 1.0 / facts.rows(&scan.table);
        let of_column = column_condition(scan, part);
        if let Some(known) = of_column.as_ref().and_then(|condition| by_index(scan, condition, facts)) {
            return Some(known.max(least));
        }
        let guess = || of_column.as_ref().map(|condition| by_form(scan, condition, facts));
        let of_part = |part: &Expr| ensure_stack(|| of_table(scan, part, facts));
        let without = || match &part.kind {
            ExprKind::And(all) => all.iter().map(of_part).product(),
            ExprKind::Or(any) => 1.0 - any.iter().map(|part| 1.0 - of_part(part)).product::<f64>(),
            ExprKind::Not(inner) => 1.0 - of_part(inner),
            _ => guess().unwrap_or_else(|| selectivity(part, &|_| None)),
        };
        sampled::part(scan, part, &without, facts).or_else(guess).map(|part| part.max(least))
    })
}

/// Part of a table's rows for which a condition on a column holds, if an index knows.
fn by_index(scan: &Scan, condition: &ColumnCondition, facts: &Facts<'_>) -> Option<f64> {
    match condition {
        ColumnCondition::Equal(column, value) => equal_part(scan, *column, value, facts),
        ColumnCondition::OneOf(column, list) => list
            .iter()
            .map(|value| equal_part(scan, *column, value, facts))
            .sum::<Option<f64>>()
            .map(|sum| sum.min(1.0)),
        ColumnCondition::AnyOf(..) => None,
        ColumnCondition::Lower(column, bound) => range_part(scan, *column, (bound, &Bound::Unbounded), facts),
        ColumnCondition::Upper(column, bound) => range_part(scan, *column, (&Bound::Unbounded, bound), facts),
        ColumnCondition::Between(column, lower, upper) => range_part(scan, *column, (lower, upper), facts),
    }
}

/// The same by the form of the condition, and by the distinct values of its column.
fn by_form(scan: &Scan, condition: &ColumnCondition, facts: &Facts<'_>) -> f64 {
    let one = |column: &usize| 1.0 / column_distinct(scan, *column, facts);
    match condition {
        ColumnCondition::Equal(column, _) => one(column),
        ColumnCondition::OneOf(column, list) => (list.len() as f64 * one(column)).min(1.0),
        ColumnCondition::AnyOf(column, _) => (ELEMENTS * one(column)).min(1.0),
        ColumnCondition::Lower(..) | ColumnCondition::Upper(..) => HALF_OPEN,
        ColumnCondition::Between(..) => PREFIXED,
    }
}

fn equal_part(scan: &Scan, column: usize, value: &Expr, facts: &Facts<'_>) -> Option<f64> {
    let (index, value) = (leading(scan, column).next()?, constant(value)?);
    facts.sizes.part(scan, index, &[value], (Bound::Unbounded, Bound::Unbounded))
}

fn range_part(scan: &Scan, column: usize, bounds: (&Bound<Expr>, &Bound<Expr>), facts: &Facts<'_>) -> Option<f64> {
    let index = leading(scan, column).next()?;
    facts.sizes.part(scan, index, &[], (constant_bound(bounds.0)?, constant_bound(bounds.1)?))
}

/// The indexes of all rows that begin with a column, or with an expression of this number.
fn leading(scan: &Scan, column: usize) -> impl Iterator<Item = &Index> {
    let begins = move |index: &&Index| scan.rules.ordered(&scan.table, index).first() == Some(&column);
    scan.table.indexes.iter().filter(|index| index.predicate.is_none()).filter(begins)
}

/// About how many distinct values a column has.
fn column_distinct(scan: &Scan, column: usize, facts: &Facts<'_>) -> f64 {
    let all = facts.rows(&scan.table);
    let known = leading(scan, column).map(|index| all / facts.sizes.agreeing(scan, index, 1).max(1.0)).reduce(f64::max);
    let is_bool = scan.table.columns.get(column).is_some_and(|column| column.data_type.scalar == Scalar::Bool);
    let guess = || if is_bool { 2.0 } else { DISTINCT.min(all) };
    let sampled = || facts.sample(&scan.table).and_then(|sample| sample.distinct(column));
    known.or_else(sampled).unwrap_or_else(guess).max(1.0)
}

/// Part of the rows for which a condition holds, by its form; `known` is asked first about each part.
fn selectivity(condition: &Expr, known: &dyn Fn(&Expr) -> Option<f64>) -> f64 {
    if let Some(part) = known(condition) {
        return part;
    }
    ensure_stack(|| match &condition.kind {
        ExprKind::And(all) => all.iter().map(|part| selectivity(part, known)).product(),
        ExprKind::Or(any) => 1.0 - any.iter().map(|part| 1.0 - selectivity(part, known)).product::<f64>(),
        ExprKind::Not(inner) => 1.0 - selectivity(inner, known),
        ExprKind::IsNull(_) => EQUAL,
        ExprKind::Compare(Comparison::Equal, ..) | ExprKind::IsSame(..) => EQUAL,
        ExprKind::Compare(Comparison::NotEqual, ..) => 1.0 - EQUAL,
        ExprKind::InList(_, list) => (EQUAL * list.len() as f64).min(1.0),
        ExprKind::Constant(Datum::Bool(true)) => 1.0,
        ExprKind::Constant(_) => 0.0,
        _ => CONDITION,
    })
}

/// Selectivity of an equality between columns of one plan's rows.
fn between_columns(input: Sized<'_>, condition: &Expr, facts: &Facts<'_>) -> Option<f64> {
    let ExprKind::Compare(Comparison::Equal, left, right) = &condition.kind else { return None };
    let column = |side: &Expr| matches!(side.kind, ExprKind::Column(_)).then(|| distinct(input, side, facts));
    match (column(left), column(right)) {
        (Some(left), Some(right)) => Some(1.0 / left.max(right)),
        (Some(values), None) | (None, Some(values)) => Some(1.0 / values),
        (None, None) => None,
    }
}

/// A plan with its estimated row count.
pub type Sized<'p> = (&'p Plan, f64);

/// About how many distinct values an expression has over a plan's rows.
pub fn distinct((plan, rows): Sized<'_>, expression: &Expr, facts: &Facts<'_>) -> f64 {
    let all = rows.max(1.0);
    if all <= 1.0 {
        return 1.0;
    }
    let Some((scan, column)) = origin(plan, expression) else { return DISTINCT.min(all) };
    column_distinct(scan, column, facts).min(all)
}

/// Rows of a table, if columns of it hold a whole unique key: what equals them does so for one row.
pub fn key_rows(scan: &Scan, columns: &[usize], facts: &Facts<'_>) -> Option<f64> {
    let is_whole = |index: &Index| scan.rules.numbers(&scan.table, index).iter().all(|of| columns.contains(of));
    let mut keys = scan.table.indexes.iter().filter(|index| index.unique && index.predicate.is_none());
    keys.any(is_whole).then(|| facts.rows(&scan.table))
}

/// Rows of the smallest table of which these expressions hold a whole unique key.
fn keyed<'e>(plan: &Plan, of: impl Iterator<Item = &'e Expr>, facts: &Facts<'_>) -> Option<f64> {
    let columns: Vec<(&Scan, usize)> = of.filter_map(|side| origin(plan, side)).collect();
    let rows = columns.iter().filter_map(|(scan, _)| {
        let own = columns.iter().filter(|(other, _)| std::ptr::eq(*other, *scan)).map(|(_, column)| *column);
        key_rows(scan, &own.collect::<Vec<_>>(), facts)
    });
    rows.reduce(f64::min)
}

/// Part of all pairs of rows that equalities select.
pub fn pairs(left: Sized<'_>, right: Sized<'_>, equalities: &[(Expr, Expr)], facts: &Facts<'_>) -> f64 {
    let mut part = 1.0;
    let mut largest: f64 = 1.0;
    for (of_left, of_right) in equalities {
        part /= distinct(left, of_left, facts).max(distinct(right, of_right, facts));
        for ((plan, _), side) in [(left, of_left), (right, of_right)] {
            if let Some((scan, _)) = origin(plan, side) {
                largest = largest.max(facts.rows(&scan.table));
            }
        }
    }
    if equalities.len() <= 1 {
        return part;
    }
    // Columns of one key agree together: several equalities select no less than a key does.
    let keys = [
        keyed(left.0, equalities.iter().map(|(of_left, _)| of_left), facts),
        keyed(right.0, equalities.iter().map(|(_, of_right)| of_right), facts),
    ];
    part.max(1.0 / keys.into_iter().flatten().reduce(f64::min).unwrap_or(largest))
}

/// Part of pairs for which alternatives hold. What each demands of one table has restricted that table already.
fn of_pairs(condition: &Expr) -> Option<f64> {
    matches!(condition.kind, ExprKind::Or(_)).then_some(CONDITION)
}

/// Part of the rows that searches by a unique key find, for which the rest of the scan's condition holds: an estimate of one search
/// says one.
fn of_searches(searched: &Plan, facts: &Facts<'_>) -> f64 {
    match searched {
        Plan::Project { input, .. } => of_searches(input, facts),
        Plan::Scan(scan) if facts.counts_small && path_rows(scan, &scan.path, facts) <= 1.0 => {
            scan.filter.as_ref().map_or(1.0, |filter| of_table(scan, filter, facts))
        }
        _ => 1.0,
    }
}

/// Rows of a join of sides of these sizes.
fn join_rows(join: &Join, left: f64, right: f64, facts: &Facts<'_>) -> f64 {
    // A lateral right side is estimated for one left row.
    let part = match join.lateral {
        true => of_searches(&join.right, facts),
        false => pairs((&join.left, left), (&join.right, right), &join.equalities, facts),
    };
    let condition = join.condition.as_ref().map_or(1.0, |condition| selectivity(condition, &of_pairs));
    let inner = left * right * part * condition;
    match join.kind {
        JoinKind::Inner => inner.max(1.0),
        JoinKind::Left => inner.max(left),
        JoinKind::Right => inner.max(right),
        JoinKind::Full => inner.max(left).max(right),
        JoinKind::Semi => inner.min(left).max(1.0),
        JoinKind::Mark | JoinKind::MarkIn => left,
        JoinKind::Anti | JoinKind::NotIn => (left - inner).max(left * 0.1).max(1.0),
    }
}

/// Cost until the first row, and until the last.
pub fn cost(plan: &Plan, facts: &Facts<'_>) -> (f64, f64) {
    ensure_stack(|| match plan {
        Plan::Values { rows } => (0.0, ROW * rows.len() as f64),
        Plan::Scan(scan) => scan_cost(scan, facts),
        Plan::Virtual { .. } | Plan::CteScan { .. } | Plan::Functions { .. } => (0.0, ROW * rows(plan, facts)),
        Plan::Vectors { input, .. } => cost(input, &facts.in_batches()),
        Plan::Filter { input, .. } => {
            let (startup, total) = cost(input, facts);
            (startup, total + computed(1, rows(input, facts), facts))
        }
        Plan::Project { input, columns } => {
            let (startup, total) = cost(input, facts);
            let values = columns.iter().filter(|column| !matches!(column.kind, ExprKind::Column(_))).count();
            (startup, total + computed(values, rows(input, facts), facts))
        }
        Plan::ProjectSet { input, .. } | Plan::Lock { input, .. } => {
            let (startup, total) = cost(input, facts);
            (startup, total + ROW * rows(plan, facts))
        }
        Plan::Sort { input, keys } => {
            let ((_, total), rows) = (cost(input, facts), rows(input, facts).max(2.0));
            let sorted = total + OPERATOR * 2.0 * rows * rows.log2() * keys.len().max(1) as f64;
            (sorted, sorted + OPERATOR * rows)
        }
        Plan::Limit { input, .. } => {
            let ((startup, total), all) = (cost(input, facts), rows(input, facts).max(1.0));
            (startup, startup + (total - startup) * (rows(plan, facts) / all).min(1.0))
        }
        Plan::Aggregate(aggregation) => {
            let ((_, total), input) = (cost(&aggregation.input, facts), rows(&aggregation.input, facts));
            let made = total + computed(aggregation.calls.len() + aggregation.keys.len(), input, facts);
            (made, made + passed(rows(plan, facts), facts))
        }
        Plan::Distinct { input, .. } => {
            let (startup, total) = cost(input, facts);
            (startup, total + computed(1, rows(input, facts), facts))
        }
        Plan::Window(window) => {
            let (_, total) = cost(&window.input, facts);
            let made = total + OPERATOR * (1 + window.calls.len()) as f64 * rows(plan, facts);
            (made, made + ROW * rows(plan, facts))
        }
        Plan::Set { left, right, .. } => {
            let (left, right) = (cost(left, facts), cost(right, facts));
            (left.0, left.1 + right.1)
        }
        Plan::With { queries, body } => {
            let before: f64 = queries.iter().map(|(_, query)| cost(query, facts).1).sum();
            let (startup, total) = cost(body, facts);
            (before + startup, before + total)
        }
        Plan::Recursive { start, step, .. } => {
            let (first, again) = (cost(start, facts), cost(step, facts));
            (first.0, first.1 + ELEMENTS * again.1)
        }
        Plan::Join(join) => join_cost(join, facts),
    })
}

/// Cost of computing so many values for each of so many rows.
fn computed(values: usize, rows: f64, facts: &Facts<'_>) -> f64 {
    cheaper(OPERATOR * values as f64 * rows, batch(facts).operator * values as f64 * rows, facts)
}

fn scan_cost(scan: &Scan, facts: &Facts<'_>) -> (f64, f64) {
    let read = match scan.path {
        // A small table may be about to grow: a plan that reads less of it conflicts less.
        Path::All => facts.sizes.rows(&scan.table),
        _ => path_rows(scan, &scan.path, facts),
    };
    let conditions = scan.filter.as_ref().map_or(0, |filter| match &filter.kind {
        ExprKind::And(all) => all.len(),
        _ => 1,
    });
    if matches!(scan.path, Path::All) {
        let each = |row: f64, operator: f64| read * (row + operator * conditions as f64);
        return (0.0, cheaper(each(ROW, OPERATOR), each(batch(facts).row, batch(facts).operator), facts));
    }
    let row = match &scan.path {
        Path::All => ROW,
        Path::Index { index, .. } | Path::Alternatives { index, .. } | Path::AnyOf { index, .. } => {
            let is_table = scan.table.indexes.get(*index).is_some_and(|index| index.is_row_key());
            if is_table { ROW } else { ROW + SEARCH }
        }
    };
    let searches = match &scan.path {
        Path::All => 0.0,
        Path::Index { .. } => 1.0,
        Path::Alternatives { equal, .. } => equal.len() as f64,
        Path::AnyOf { .. } => ELEMENTS,
    };
    (0.0, searches * SEARCH + read * (row + OPERATOR * conditions as f64))
}

fn join_cost(join: &Join, facts: &Facts<'_>) -> (f64, f64) {
    let (left, right) = (cost(&join.left, facts), cost(&join.right, facts));
    let (left_rows, right_rows) = (rows(&join.left, facts), rows(&join.right, facts));
    let found = passed(join_rows(join, left_rows, right_rows, facts), facts);
    if join.lateral {
        let right = if facts.batches { cost(&join.right, &facts.by_rows()) } else { right };
        return (left.0 + right.0, left.1 + left_rows * right.1 + found);
    }
    if join.equalities.is_empty() {
        return (left.0 + right.1, left.1 + right.1 + left_rows * right_rows * OPERATOR + found);
    }
    let joined = hashed(left_rows, right_rows, facts);
    let built = right.1 + (joined - left_rows * PROBE).max(0.0);
    (left.0 + built, left.1 + right.1 + joined + found)
}
