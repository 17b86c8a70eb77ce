//! Estimates row counts of plans. There are no statistics: a table counts as a thousand rows, and only the shape of the plan
//! refines that.

use super::Ctes;
use super::access::best_path;
use crate::plan::{Expr, ExprKind, Join, JoinKind, Path, Plan, Scan};
use crate::stack::ensure_stack;
use crate::types::Datum;

/// Rows of a table of which nothing is known.
const TABLE: f64 = 1000.0;
/// Selectivity of a filter without an index.
const FILTERED: f64 = 0.3;
/// Rows that agree in an index that is not unique.
const AGREEING: f64 = 10.0;

/// Elements of an array that is not known yet.
const ELEMENTS: f64 = 10.0;

/// Estimated row count of a plan.
pub fn rows(plan: &Plan, ctes: &Ctes) -> f64 {
    ensure_stack(|| match plan {
        Plan::Values { rows } => rows.len() as f64,
        Plan::Scan(scan) => scan_rows(scan),
        Plan::Virtual { .. } | Plan::CteScan { .. } => TABLE / 10.0,
        Plan::Functions { .. } => TABLE / 10.0,
        Plan::Filter { input, .. } => rows(input, ctes) * FILTERED,
        Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Lock { input, .. }
        | Plan::Distinct { input, .. } => rows(input, ctes),
        Plan::ProjectSet { input, .. } => rows(input, ctes) * AGREEING,
        Plan::Join(join) => join_rows(join, ctes),
        Plan::Aggregate(aggregation) if aggregation.keys.is_empty() => 1.0,
        Plan::Aggregate(aggregation) => rows(&aggregation.input, ctes) * FILTERED,
        Plan::Window(window) => rows(&window.input, ctes),
        Plan::Limit { input, limit, .. } => rows(input, ctes).min(constant_limit(limit.as_ref())),
        Plan::Set { left, right, .. } => rows(left, ctes) + rows(right, ctes),
        Plan::With { body, .. } => rows(body, ctes),
        Plan::Recursive { start, .. } => rows(start, ctes) * AGREEING,
    })
}

/// A limit that is known already.
pub fn constant_limit(limit: Option<&Expr>) -> f64 {
    match limit.map(|limit| &limit.kind) {
        Some(ExprKind::Constant(Datum::Int8(rows))) => *rows as f64,
        _ => f64::INFINITY,
    }
}

fn scan_rows(scan: &Scan) -> f64 {
    match &scan.path {
        Path::All => match best_path(scan) {
            Some(choice) => path_rows(scan, &choice.path),
            None if scan.filter.is_some() => TABLE * FILTERED,
            None => TABLE,
        },
        path => path_rows(scan, path),
    }
}

fn path_rows(scan: &Scan, path: &Path) -> f64 {
    let of = |index: usize, equal: usize| match scan.table.indexes.get(index) {
        Some(index) if index.unique && equal == index.columns.len() => 1.0,
        Some(_) if equal > 0 => AGREEING,
        _ => TABLE * FILTERED,
    };
    match path {
        Path::All => TABLE,
        Path::Index { index, equal, .. } => of(*index, equal.len()),
        Path::AnyOf { index, equal, .. } => ELEMENTS * of(*index, equal.len() + 1),
        Path::Alternatives { index, equal } => equal.len() as f64 * of(*index, equal.first().map_or(0, Vec::len)),
    }
}

fn join_rows(join: &Join, ctes: &Ctes) -> f64 {
    let left = rows(&join.left, ctes);
    match join.kind {
        JoinKind::Semi | JoinKind::Anti => left * FILTERED,
        _ if join.lateral => left * rows(&join.right, ctes).max(1.0),
        _ if join.equalities.is_empty() => left * rows(&join.right, ctes).max(1.0),
        _ => left * rows(&join.right, ctes).min(partners(join)),
    }
}

/// Estimated number of right rows that match a left row: one, if the equalities fix a unique index.
fn partners(join: &Join) -> f64 {
    let Plan::Scan(scan) = &join.right else { return AGREEING };
    let fixed = |column: &usize| {
        join.equalities.iter().any(|(_, right)| matches!(right.kind, ExprKind::Column(fixed) if fixed == *column))
    };
    let unique = scan.table.indexes.iter().any(|index| index.is_key() && index.columns.iter().all(fixed));
    if unique { 1.0 } else { AGREEING }
}
