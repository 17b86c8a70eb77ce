//! Moves conditions down to the source of their columns, and takes equalities out of join conditions.

use super::Facts;
use super::columns::{
    collect, columns_of, filtered, is_volatile, join, renumber, sink, split, strict_columns, substitute,
};
use super::conditions::wanted_name;
use super::factor;
use crate::plan::{Aggregation, Comparison, Expr, ExprKind, Join, JoinKind, Plan, Scan, SetOperation, Window};
use crate::stack::ensure_stack;
use std::collections::BTreeSet;

/// The plan with these conditions on its rows as far down as they may stand.
pub fn push(plan: Plan, conjuncts: Vec<Expr>, facts: &Facts<'_>) -> Plan {
    ensure_stack(|| step(plan, conjuncts, facts))
}

fn step(plan: Plan, mut conjuncts: Vec<Expr>, facts: &Facts<'_>) -> Plan {
    let descend = |plan: Box<Plan>, conjuncts| Box::new(push(*plan, conjuncts, facts));
    match plan {
        Plan::Filter { input, condition } => {
            let mut all = Vec::new();
            factor::conjuncts(condition, &mut all);
            all.append(&mut conjuncts);
            push(*input, all, facts)
        }
        Plan::Scan(scan) => into_scan(scan, conjuncts),
        Plan::Virtual { table, name } => {
            let name = conjuncts.iter().find_map(|conjunct| wanted_name(table, conjunct)).or(name);
            filtered(Plan::Virtual { table, name }, conjuncts)
        }
        Plan::Project { input, columns } => {
            let (below, above) = divide(conjuncts, |conjunct| substitute(conjunct, &columns));
            filtered(Plan::Project { input: descend(input, below), columns }, above)
        }
        Plan::Join(join) => into_join(*join, conjuncts, facts),
        Plan::Aggregate(aggregation) => into_groups(*aggregation, conjuncts, facts),
        Plan::Window(window) => into_partitions(*window, conjuncts, facts),
        Plan::Sort { input, keys } => {
            let (below, above) = divide(conjuncts, settled);
            filtered(Plan::Sort { input: descend(input, below), keys }, above)
        }
        Plan::Distinct { input, on: None } => {
            let (below, above) = divide(conjuncts, settled);
            filtered(Plan::Distinct { input: descend(input, below), on: None }, above)
        }
        Plan::Set { operation, all, left, right } => {
            let (below, above) = divide(conjuncts, settled);
            // What INTERSECT and EXCEPT take from the left decides.
            let on_right = if operation == SetOperation::Union { below.clone() } else { Vec::new() };
            let (left, right) = (descend(left, below), descend(right, on_right));
            filtered(Plan::Set { operation, all, left, right }, above)
        }
        Plan::With { queries, body } => {
            let queries = queries.into_iter().map(|(number, query)| (number, descend_shared(query, facts))).collect();
            Plan::With { queries, body: descend(body, conjuncts) }
        }
        Plan::Recursive { number, start, step, distinct } => {
            let (start, step) = (descend_shared(start, facts), descend_shared(step, facts));
            filtered(Plan::Recursive { number, start, step, distinct }, conjuncts)
        }
        mut other => {
            other.each_input_mut(&mut |input, _| {
                let plan = std::mem::replace(input, Plan::Values { rows: Vec::new() });
                *input = push(plan, Vec::new(), facts);
            });
            filtered(other, conjuncts)
        }
    }
}

fn descend_shared(plan: std::sync::Arc<Plan>, facts: &Facts<'_>) -> std::sync::Arc<Plan> {
    std::sync::Arc::new(push(std::sync::Arc::unwrap_or_clone(plan), Vec::new(), facts))
}

/// Returns the conjuncts that `change` accepts, changed, and the others.
fn divide(conjuncts: Vec<Expr>, change: impl Fn(&Expr) -> Option<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let (mut below, mut above) = (Vec::new(), Vec::new());
    for conjunct in conjuncts {
        match (!is_volatile(&conjunct)).then(|| change(&conjunct)).flatten() {
            Some(moved) => below.push(moved),
            None => above.push(conjunct),
        }
    }
    (below, above)
}

/// A condition that may move below an operator which changes no column.
fn settled(conjunct: &Expr) -> Option<Expr> {
    Some(conjunct.clone())
}

fn into_scan(mut scan: Scan, conjuncts: Vec<Expr>) -> Plan {
    let mut all = Vec::new();
    if let Some(filter) = scan.filter.take() {
        split(filter, &mut all);
    }
    let width = scan.table.columns.len();
    let (own, above): (Vec<_>, Vec<_>) =
        conjuncts.into_iter().partition(|conjunct| columns_of(conjunct).iter().all(|&column| column < width));
    all.extend(own);
    scan.filter = join(all);
    filtered(Plan::Scan(scan), above)
}

fn into_groups(mut aggregation: Aggregation, conjuncts: Vec<Expr>, facts: &Facts<'_>) -> Plan {
    // A key that some grouping set leaves out is NULL there; and one group stands even without rows.
    let everywhere = |key: &usize| aggregation.sets.iter().all(|set| set.contains(key));
    let (below, above) = divide(conjuncts, |conjunct| {
        let columns = columns_of(conjunct);
        let on_keys =
            !columns.is_empty() && columns.iter().all(|column| *column < aggregation.keys.len() && everywhere(column));
        on_keys.then(|| substitute(conjunct, &aggregation.keys)).flatten()
    });
    aggregation.input = push(aggregation.input, below, facts);
    filtered(Plan::Aggregate(Box::new(aggregation)), above)
}

fn into_partitions(mut window: Window, conjuncts: Vec<Expr>, facts: &Facts<'_>) -> Plan {
    let keys: BTreeSet<usize> = window
        .partition
        .iter()
        .filter_map(|key| if let ExprKind::Column(column) = key.kind { Some(column) } else { None })
        .collect();
    let (below, above) = divide(conjuncts, |conjunct| {
        let columns = columns_of(conjunct);
        (!columns.is_empty() && columns.is_subset(&keys)).then(|| conjunct.clone())
    });
    window.input = push(window.input, below, facts);
    filtered(Plan::Window(Box::new(window)), above)
}

/// Conditions of a join, by the side to which they can move.
struct Sides {
    left: Vec<Expr>,
    right: Vec<Expr>,
    /// The join's own condition.
    both: Vec<Expr>,
    above: Vec<Expr>,
}

fn into_join(mut operator: Join, conjuncts: Vec<Expr>, facts: &Facts<'_>) -> Plan {
    operator.kind = reduced(&operator, &conjuncts);
    let width = operator.left_width;
    let mut sides = Sides { left: Vec::new(), right: Vec::new(), both: Vec::new(), above: Vec::new() };
    let mut own = Vec::new();
    // Of a mark join's condition it counts where it is unknown, too.
    let whole = operator.condition.take_if(|_| operator.kind.is_mark());
    if let Some(condition) = operator.condition.take() {
        factor::conjuncts(condition, &mut own);
    }
    for conjunct in own {
        restrict(&operator, &conjunct, true, &mut sides);
        place(&operator, conjunct, true, width, &mut sides);
    }
    for conjunct in conjuncts {
        restrict(&operator, &conjunct, false, &mut sides);
        place(&operator, conjunct, false, width, &mut sides);
    }
    operator.left = push(operator.left, sides.left, facts);
    operator.right = push(operator.right, sides.right, facts);
    if operator.lateral {
        operator.condition = whole.or_else(|| join(sides.both));
        return filtered(Plan::Join(Box::new(operator)), sides.above);
    }
    let mut rest = Vec::new();
    for conjunct in sides.both {
        match equality(&conjunct, width) {
            Some(equality) => operator.equalities.push(equality),
            None => rest.push(conjunct),
        }
    }
    operator.condition = whole.or_else(|| join(rest));
    filtered(Plan::Join(Box::new(operator)), sides.above)
}

/// The join's kind, once conditions above it drop the rows that an outer join adds: a condition that is never true when the
/// added columns are NULL.
fn reduced(operator: &Join, conjuncts: &[Expr]) -> JoinKind {
    let mut strict = BTreeSet::new();
    for conjunct in conjuncts {
        strict_columns(conjunct, &mut strict);
    }
    let width = operator.left_width;
    let drops_left = strict.iter().any(|&column| column < width);
    let drops_right = strict.iter().any(|&column| column >= width);
    match operator.kind {
        JoinKind::Left if drops_right => JoinKind::Inner,
        JoinKind::Right if drops_left => JoinKind::Inner,
        JoinKind::Full => match (drops_left, drops_right) {
            (true, true) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Full,
        },
        kind => kind,
    }
}

/// Adds what an OR over both sides demands of each of them; the OR itself stays.
fn restrict(operator: &Join, conjunct: &Expr, own: bool, sides: &mut Sides) {
    let width = operator.left_width;
    let is_left: &dyn Fn(usize) -> bool = &|column| column < width;
    let is_right: &dyn Fn(usize) -> bool = &|column| column >= width;
    let columns = columns_of(conjunct);
    if columns.iter().all(|&column| is_left(column)) || columns.iter().all(|&column| is_right(column)) {
        return;
    }
    let demands = [is_left, is_right].map(|is_known| factor::about(conjunct, is_known));
    for demand in demands.into_iter().flatten() {
        let on_left = columns_of(&demand).iter().all(|&column| column < width);
        if may_go(operator.kind, own, if on_left { Side::Left } else { Side::Right }) {
            place(operator, demand, own, width, sides);
        }
    }
}

/// A side of a join.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Returns whether a condition on one side of a join may be decided before it: the join's own (`own`), or one on its rows.
fn may_go(kind: JoinKind, own: bool, side: Side) -> bool {
    use JoinKind::{Anti, Inner, Left, Mark, MarkIn, NotIn, Right, Semi};
    match (side, own) {
        (Side::Left, true) => matches!(kind, Inner | Right | Semi),
        (Side::Left, false) => matches!(kind, Inner | Left | Semi | Anti | NotIn | Mark | MarkIn),
        (Side::Right, true) => matches!(kind, Inner | Left | Semi | Anti),
        (Side::Right, false) => matches!(kind, Inner | Right),
    }
}

/// Finds the place of a condition: the join's own (`own`), or one on its rows.
fn place(operator: &Join, conjunct: Expr, own: bool, width: usize, sides: &mut Sides) {
    let mut columns = BTreeSet::new();
    collect(&conjunct, &mut columns);
    let on_left = columns.iter().all(|&column| column < width);
    let on_right = columns.iter().all(|&column| column >= width);
    if is_volatile(&conjunct) {
        let place = if own { &mut sides.both } else { &mut sides.above };
        return place.push(conjunct);
    }
    if on_left && may_go(operator.kind, own, Side::Left) {
        sides.left.push(conjunct);
    } else if on_right && may_go(operator.kind, own, Side::Right) {
        sides.right.push(to_right(conjunct, width, operator.lateral));
    } else if own || operator.kind == JoinKind::Inner {
        sides.both.push(conjunct);
    } else {
        sides.above.push(conjunct);
    }
    debug_assert!(operator.kind != JoinKind::Full || (sides.left.is_empty() && sides.right.is_empty()));
}

/// The condition over the right row.
fn to_right(mut conjunct: Expr, width: usize, lateral: bool) -> Expr {
    if lateral {
        sink(&mut conjunct);
    }
    renumber(&mut conjunct, &|column| column - width);
    conjunct
}

/// An equality between something of the left row and something of the right one.
pub fn equality(conjunct: &Expr, width: usize) -> Option<(Expr, Expr)> {
    let ExprKind::Compare(Comparison::Equal, left, right) = &conjunct.kind else { return None };
    if matches!(left.kind, ExprKind::Row(..)) || left.data_type != right.data_type {
        return None;
    }
    let (lefts, rights) = (columns_of(left), columns_of(right));
    let is_left = |columns: &BTreeSet<usize>| !columns.is_empty() && columns.iter().all(|&column| column < width);
    let is_right = |columns: &BTreeSet<usize>| !columns.is_empty() && columns.iter().all(|&column| column >= width);
    if is_left(&lefts) && is_right(&rights) {
        Some(((**left).clone(), to_right((**right).clone(), width, false)))
    } else if is_right(&lefts) && is_left(&rights) {
        Some(((**right).clone(), to_right((**left).clone(), width, false)))
    } else {
        None
    }
}
