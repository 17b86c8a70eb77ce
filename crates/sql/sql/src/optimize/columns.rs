//! Renumbers columns of a moved expression, and finds the columns on which an expression depends.

use crate::plan::{Expr, ExprKind, Plan};
use std::collections::BTreeSet;

/// Collects the columns of the current row that an expression reads, also from within its subqueries.
pub fn columns_of(expression: &Expr) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    collect(expression, &mut columns);
    columns
}

/// Like [`columns_of`], into a set.
pub fn collect(expression: &Expr, columns: &mut BTreeSet<usize>) {
    expression.walk(&mut |expression| match &expression.kind {
        ExprKind::Column(column) => {
            columns.insert(*column);
        }
        ExprKind::Subquery(subquery) => nearest(&subquery.plan, columns),
        _ => {}
    });
}

/// Collects the columns of its nearest enclosing row that a plan reads.
pub fn nearest(plan: &Plan, columns: &mut BTreeSet<usize>) {
    plan.each_outer(0, &mut |depth, reference| {
        if let (1, ExprKind::Outer { column, .. }) = (depth, &reference.kind) {
            columns.insert(*column);
        }
    });
}

/// The expression over a row in which columns have other places.
pub fn renumber(expression: &mut Expr, place: &dyn Fn(usize) -> usize) {
    expression.walk_mut(&mut |expression| match &mut expression.kind {
        ExprKind::Column(column) => *column = place(*column),
        ExprKind::Subquery(subquery) => renumber_nearest(std::sync::Arc::make_mut(&mut subquery.plan), place),
        _ => {}
    });
}

/// The plan inside a row in which columns have other places.
pub fn renumber_nearest(plan: &mut Plan, place: &dyn Fn(usize) -> usize) {
    plan.each_outer_mut(0, &mut |depth, reference| {
        if let (1, ExprKind::Outer { column, .. }) = (depth, &mut reference.kind) {
            *column = place(*column);
        }
    });
}

/// The expression over the input of a projection, if it can be had: subqueries inside it may refer to columns that are
/// passed on as they are, and nothing volatile is computed twice.
pub fn substitute(expression: &Expr, projected: &[Expr]) -> Option<Expr> {
    let mut movable = true;
    let mut plain = BTreeSet::new();
    expression.walk(&mut |expression| {
        if let Some(subquery) = expression.subquery() {
            nearest(&subquery.plan, &mut plain);
        }
    });
    for column in columns_of(expression) {
        movable &= match projected.get(column) {
            Some(source) if plain.contains(&column) => matches!(source.kind, ExprKind::Column(_)),
            Some(source) => !is_volatile(source) && !source.any(|part| part.subquery().is_some()),
            None => false,
        };
    }
    if !movable {
        return None;
    }
    let mut moved = expression.clone();
    replace(&mut moved, projected);
    Some(moved)
}

fn replace(expression: &mut Expr, projected: &[Expr]) {
    if let ExprKind::Column(column) = expression.kind {
        *expression = projected[column].clone();
        return;
    }
    if let ExprKind::Subquery(subquery) = &mut expression.kind {
        renumber_nearest(std::sync::Arc::make_mut(&mut subquery.plan), &|column| match projected[column].kind {
            ExprKind::Column(source) => source,
            _ => column,
        });
    }
    expression.each_child_mut(&mut |child| replace(child, projected));
}

/// Returns the expression as seen from inside a query over the current row: its columns become those of the nearest enclosing
/// row. `None` with subqueries.
pub fn inward(expression: &Expr) -> Option<Expr> {
    if expression.any(|part| part.subquery().is_some()) {
        return None;
    }
    let mut moved = expression.clone();
    moved.walk_mut(&mut |part| match &mut part.kind {
        ExprKind::Column(column) => part.kind = ExprKind::Outer { depth: 1, column: *column },
        ExprKind::Outer { depth, .. } => *depth += 1,
        _ => {}
    });
    Some(moved)
}

/// Makes an expression's references reach one enclosing row further.
pub fn sink(expression: &mut Expr) {
    expression.each_outer_mut(0, &mut |_, reference| {
        if let ExprKind::Outer { depth, .. } = &mut reference.kind {
            *depth += 1;
        }
    });
}

/// Returns whether the expression may give another value each time, or has side effects.
pub fn is_volatile(expression: &Expr) -> bool {
    let is_subquery = |part: &Expr| part.subquery().is_some_and(|subquery| plan_is_volatile(&subquery.plan));
    expression.calls_volatile() || expression.any(is_subquery)
}

/// Returns whether a plan calls a volatile function, or owns rows.
pub fn plan_is_volatile(plan: &Plan) -> bool {
    plan.calls_volatile() || plan.owns_rows()
}

/// Appends the parts of a condition that must all be true.
pub fn split(condition: Expr, conjuncts: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::And(all) => all.into_iter().for_each(|part| split(part, conjuncts)),
        _ if is_true(&condition) => {}
        _ => conjuncts.push(condition),
    }
}

fn is_true(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Constant(crate::types::Datum::Bool(true)))
}

/// One condition of several that must all be true.
pub fn join(mut conjuncts: Vec<Expr>) -> Option<Expr> {
    match conjuncts.len() {
        0 | 1 => conjuncts.pop(),
        _ => Some(Expr::new(ExprKind::And(conjuncts), crate::types::Type::BOOL)),
    }
}

/// The plan with a filter above it, if there is something to filter by.
pub fn filtered(plan: Plan, conjuncts: Vec<Expr>) -> Plan {
    match join(conjuncts) {
        Some(condition) => Plan::Filter { input: Box::new(plan), condition },
        None => plan,
    }
}

/// Collects the columns whose NULL makes the expression NULL.
pub fn strict_columns(expression: &Expr, columns: &mut BTreeSet<usize>) {
    match &expression.kind {
        ExprKind::Column(column) => {
            columns.insert(*column);
        }
        ExprKind::Compare(_, left, right) if !matches!(left.kind, ExprKind::Row(..)) => {
            strict_columns(left, columns);
            strict_columns(right, columns);
        }
        ExprKind::Cast { input, .. } | ExprKind::Not(input) => strict_columns(input, columns),
        ExprKind::InList(value, _) => strict_columns(value, columns),
        ExprKind::Call(function, arguments) if function.function.strict => {
            arguments.iter().for_each(|argument| strict_columns(argument, columns));
        }
        _ => {}
    }
}
