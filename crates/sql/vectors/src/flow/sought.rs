//! Keys that are sought: of a row whose key has no partner in a table above nothing comes, so a source need not return it.
//!
//! They pass down through operators to which a row less makes no difference but rows less, and of which no expression fails (V2).

use super::Host;
use crate::aggregate::{Call, Grouping};
use crate::expression::Expression;
use crate::join::{JoinKind, JoinRule, Table};
use crate::sort::{Edge, SortKey};
use pgtypes::Type;
use std::sync::Arc;

/// Integers of a column without which a row is not needed.
#[derive(Clone)]
pub(super) struct Sought {
    /// The column of the operator that is asked.
    column: usize,
    what: What,
}

#[derive(Clone)]
enum What {
    /// The keys of a table.
    Keys(Arc<Table>),
    /// What may come before the last row that a sort returns.
    Before(Arc<Edge>),
}

impl Sought {
    /// What a join asks of its probing side by its own table.
    pub fn of_join(rule: &JoinRule, table: &Arc<Table>) -> Option<Sought> {
        let drops = match rule.kind {
            JoinKind::Inner => true,
            JoinKind::Semi => true,
            JoinKind::Anti => rule.marks(),
            JoinKind::Outer | JoinKind::NotIn | JoinKind::Mark | JoinKind::MarkIn => false,
        };
        let [key] = &rule.probe[..] else { return None };
        let is_integer = [Type::INT2, Type::INT4, Type::INT8].contains(&key.data_type());
        let column = key.as_column().filter(|_| drops && is_integer && table.integers().is_some())?;
        Some(Sought { column, what: What::Keys(table.clone()) })
    }

    /// What a sort of the first few rows asks, as long as it goes on.
    pub fn of_sort(keys: &[SortKey], edge: &Arc<Edge>) -> Option<Sought> {
        let column = keys.first()?.expression.as_column()?;
        // A row that is left out would not fail.
        let is_safe = keys.iter().all(|key| key.expression.is_safe());
        is_safe.then(|| Sought { column, what: What::Before(edge.clone()) })
    }

    fn at(&self, column: usize) -> Sought {
        Sought { column, ..self.clone() }
    }
}

/// Through a filter.
pub(super) fn below_filter(sought: Vec<Sought>, condition: &Expression) -> Vec<Sought> {
    if condition.is_safe() { sought } else { Vec::new() }
}

/// Through a projection: columns that it passes on.
pub(super) fn below_project(sought: &[Sought], made: &[Expression]) -> Vec<Sought> {
    if !made.iter().all(Expression::is_safe) {
        return Vec::new();
    }
    sought.iter().filter_map(|sought| Some(sought.at(made.get(sought.column)?.as_column()?))).collect()
}

/// Through a grouping: keys that are columns. A group of which nothing comes need not be made.
pub(super) fn below_aggregate(sought: &[Sought], grouping: &Grouping) -> Vec<Sought> {
    if !grouping.keys.iter().all(Expression::is_safe) || !grouping.calls.iter().all(is_total) {
        return Vec::new();
    }
    // What a sort knows, it knows when all groups have been made.
    let sought = sought.iter().filter(|sought| matches!(sought.what, What::Keys(_)));
    sought.filter_map(|sought| Some(sought.at(grouping.keys.get(sought.column)?.as_column()?))).collect()
}

/// Returns whether an aggregate has a result for all rows. Of floats a sum may leave their range.
fn is_total(call: &Call) -> bool {
    let is_exact = |of: &Expression| [Type::INT2, Type::INT4, Type::INT8, Type::NUMERIC].contains(&of.data_type());
    let is_known = match call.aggregate.name {
        "count" | "min" | "max" => true,
        "sum" | "avg" => call.arguments.iter().all(is_exact),
        _ => false,
    };
    is_known && call.arguments.iter().chain(&call.filter).all(Expression::is_safe)
}

/// Through a join, of the probing and of the built side. `probing_width`: columns of the probing side.
pub(super) fn below_join(sought: &[Sought], rule: &JoinRule, probing_width: usize) -> (Vec<Sought>, Vec<Sought>) {
    let (mut probing, mut built) = (Vec::new(), Vec::new());
    let mut parts = rule.probe.iter().chain(&rule.build).chain(&rule.condition);
    if !parts.all(Expression::is_safe) {
        return (probing, built);
    }
    let shows_both = matches!(rule.kind, JoinKind::Inner | JoinKind::Outer);
    let left = match (shows_both, rule.is_swapped) {
        (true, true) => rule.built.len(),
        (true, false) => probing_width,
        (false, _) if rule.kind.is_mark() => probing_width,
        (false, _) => usize::MAX,
    };
    for sought in sought {
        let is_left = sought.column < left;
        let side = if is_left { sought.clone() } else { sought.at(sought.column - left) };
        match is_left != rule.is_swapped {
            true => probing.push(side),
            // A row without a partner has NULL there, which is not sought, either: but it is another row.
            false if rule.kind == JoinKind::Outer || rule.kind.is_mark() => {}
            false => built.push(side),
        }
    }
    (probing, built)
}

/// Tells a source.
pub(super) fn tell<H: Host>(sought: &[Sought], source: usize, host: &mut H) {
    for sought in sought {
        match &sought.what {
            What::Keys(table) => {
                if let Some(keys) = table.integers() {
                    host.sift(source, sought.column, &mut { keys });
                }
            }
            What::Before(edge) => host.narrow(source, sought.column, edge),
        }
    }
}
