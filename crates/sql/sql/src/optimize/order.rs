//! Drops sorts whose order an index gives.

use super::Facts;
use super::access::refuses_null;
use super::columns::split;
use super::partial::has_all_rows;
use crate::plan::{Expr, ExprKind, JoinKind, Path, Plan, Scan, SortKey};
use std::ops::Bound;

/// The plan in the order of these keys without a sort, if it can be had. `few`: only its first rows will be asked for, so
/// that it pays to read rows through an index.
pub fn satisfy(mut plan: Plan, keys: &[SortKey], few: bool, facts: &Facts<'_>) -> Option<Plan> {
    let columns = keys.iter().map(Wanted::new).collect::<Option<Vec<_>>>()?;
    order(&mut plan, &columns, few, facts).then_some(plan)
}

/// What is to be sorted by: a column, or below a projection the expression that it computes.
#[derive(Clone)]
struct Wanted {
    key: Expr,
    descending: bool,
    nulls_first: bool,
}

impl Wanted {
    fn new(key: &SortKey) -> Option<Wanted> {
        column(&key.expression)?;
        Some(Wanted { key: key.expression.clone(), descending: key.descending, nulls_first: key.nulls_first })
    }

    /// Its column in a scan, or the number of the index's expression that it equals.
    fn number(&self, scan: &Scan) -> Option<usize> {
        column(&self.key).or_else(|| scan.rules.number_of(&scan.table, &self.key))
    }
}

fn column(expression: &Expr) -> Option<usize> {
    if let ExprKind::Column(column) = expression.kind { Some(column) } else { None }
}

/// Puts a plan into order, if it can be had.
fn order(plan: &mut Plan, wanted: &[Wanted], few: bool, facts: &Facts<'_>) -> bool {
    match plan {
        Plan::Scan(scan) => order_scan(scan, wanted, few),
        Plan::Filter { input, .. } | Plan::Lock { input, .. } => order(input, wanted, few, facts),
        Plan::Project { input, columns } => {
            let below = wanted.iter().map(|wanted| {
                let key = columns.get(column(&wanted.key)?)?.clone();
                Some(Wanted { key, ..*wanted })
            });
            below.collect::<Option<Vec<_>>>().is_some_and(|below| order(input, &below, few, facts))
        }
        // A join that keeps an order writes no rows away; a mark join with a condition holds all of them.
        Plan::Join(join)
            if !join.lateral && join.kind.is_mark() && join.condition.is_some() && !facts.can_hold(&join.right) =>
        {
            false
        }
        // Joins can keep the order of their left side.
        Plan::Join(join) if matches!(join.kind, JoinKind::Inner | JoinKind::Left) || !join.kind.shows_right() => {
            let ordered =
                wanted.iter().all(|wanted| column(&wanted.key).is_some_and(|column| column < join.left_width))
                    && order(&mut join.left, wanted, few, facts);
            join.keeps_order |= ordered;
            ordered
        }
        _ => false,
    }
}

fn order_scan(scan: &mut Scan, wanted: &[Wanted], few: bool) -> bool {
    match scan.path.clone() {
        Path::Index { index, equal, lower, upper, backward: false } => {
            let Some(backward) = direction(scan, index, equal.len(), wanted) else { return false };
            scan.path = Path::Index { index, equal, lower, upper, backward };
            true
        }
        Path::All => {
            let mut conjuncts = Vec::new();
            if let Some(filter) = scan.filter.clone() {
                split(filter, &mut conjuncts);
            }
            let indexes = scan.table.indexes.iter().enumerate();
            let usable = indexes
                .filter(|(_, index)| index.is_row_key() || few && index.storage.is_some())
                .filter(|(at, _)| has_all_rows(scan, *at, &conjuncts));
            let found = usable.filter_map(|(at, _)| Some((at, direction(scan, at, 0, wanted)?))).next();
            let Some((index, backward)) = found else { return false };
            let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
            scan.path = Path::Index { index, equal: Vec::new(), lower, upper, backward };
            true
        }
        Path::Index { .. } | Path::Alternatives { .. } | Path::AnyOf { .. } => false,
    }
}

/// Returns whether to read an index backwards for the wanted order; `None` if neither direction gives it. Its first `equal`
/// columns have one value each.
fn direction(scan: &Scan, index: usize, equal: usize, wanted: &[Wanted]) -> Option<bool> {
    let index = scan.table.indexes.get(index)?;
    let columns = scan.rules.ordered(&scan.table, index);
    let is_unique = index.is_exclusive() && columns.len() == index.columns.len();
    let fixed = columns.get(..equal)?;
    let mut rest = columns[equal..].iter();
    let mut backward = None;
    for key in wanted {
        let number = key.number(scan)?;
        if fixed.contains(&number) {
            continue;
        }
        match rest.next() {
            Some(column) if *column == number => {}
            // Beyond all columns of a unique index there is nothing left to sort.
            None if is_unique && columns.iter().all(|&column| refuses_null(&scan.table, column)) => break,
            _ => return None,
        }
        if *backward.get_or_insert(key.descending) != key.descending {
            return None;
        }
        // Indexes have NULLs behind all values.
        if key.nulls_first != key.descending && !refuses_null(&scan.table, number) {
            return None;
        }
    }
    Some(backward.unwrap_or(false))
}
