//! Expressions and aggregates that have a value for every row: none makes them fail. Plans that make only such.

use crate::optimize::Facts;
use crate::plan::{AggregateCall, Expr, ExprKind, Plan, Subquery, SubqueryKind};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Scalar, Type};

/// Returns whether a plan has its rows without failing for any.
pub fn is_total_plan(plan: &Plan, facts: &Facts<'_>) -> bool {
    let is_own = match plan {
        Plan::Values { .. }
        | Plan::Scan(_)
        | Plan::Virtual { .. }
        | Plan::Filter { .. }
        | Plan::Project { .. }
        | Plan::Join(_)
        | Plan::Sort { .. }
        | Plan::Distinct { .. }
        | Plan::Set { .. }
        | Plan::With { .. } => true,
        Plan::Aggregate(groups) => groups.calls.iter().all(is_total_call),
        Plan::CteScan { number } => {
            facts.get(*number).is_some_and(|query| ensure_stack(|| is_total_plan(query, facts)))
        }
        // A limit must not be negative, and what functions of sets and windows refuse is not known here.
        _ => false,
    };
    let mut are_parts = is_own;
    plan.each_expression(&mut |part| are_parts = are_parts && is_total_with_subqueries(part, facts));
    plan.each_input(&mut |input, _| are_parts = are_parts && ensure_stack(|| is_total_plan(input, facts)));
    are_parts
}

/// Returns whether an expression has a value for every row, which may be the answer of EXISTS or IN.
fn is_total_with_subqueries(of: &Expr, facts: &Facts<'_>) -> bool {
    match &of.kind {
        ExprKind::Subquery(subquery) => is_total_answer(subquery, facts),
        ExprKind::And(all) | ExprKind::Or(all) => {
            all.iter().all(|part| ensure_stack(|| is_total_with_subqueries(part, facts)))
        }
        ExprKind::Not(inner) => ensure_stack(|| is_total_with_subqueries(inner, facts)),
        _ => is_total(of),
    }
}

fn is_total_answer(subquery: &Subquery, facts: &Facts<'_>) -> bool {
    let is_comparable = |of: &Expr| is_total(of) && !of.data_type.is_row() && of.data_type != Type::RECORD;
    let is_form = match &subquery.kind {
        SubqueryKind::Exists => true,
        SubqueryKind::Quantified { left, equality, .. } => *equality && left.iter().all(is_comparable),
        _ => false,
    };
    is_form && ensure_stack(|| is_total_plan(&subquery.plan, facts))
}

/// Returns whether an expression over a plan has a value for every row of what the plan reads: a condition above the plan, which would be
/// tested first, may come to be tested last.
pub fn is_total_over(plan: &Plan, of: &Expr) -> bool {
    let mut are_columns = true;
    of.walk(&mut |part| {
        if let ExprKind::Column(column) = part.kind {
            are_columns = are_columns && ensure_stack(|| is_total_column(plan, column));
        }
    });
    are_columns && is_total(of)
}

fn is_total_column(plan: &Plan, column: usize) -> bool {
    match plan {
        Plan::Scan(_) | Plan::Virtual { .. } | Plan::CteScan { .. } | Plan::Functions { .. } => true,
        Plan::Values { rows } => rows.iter().all(|row| row.get(column).is_some_and(is_total)),
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Distinct { input, .. } => is_total_column(input, column),
        Plan::Project { input, columns } => columns.get(column).is_some_and(|of| is_total_over(input, of)),
        Plan::Aggregate(groups) => match column.checked_sub(groups.keys.len()) {
            None => is_total_over(&groups.input, &groups.keys[column]),
            Some(call) => groups.calls.get(call).is_some_and(|call| is_total_call_over(&groups.input, call)),
        },
        Plan::Join(join) if column < join.left_width => is_total_column(&join.left, column),
        Plan::Join(join) => join.kind.is_mark() || is_total_column(&join.right, column - join.left_width),
        Plan::Set { left, right, .. } => is_total_column(left, column) && is_total_column(right, column),
        _ => false,
    }
}

/// Returns whether an aggregate over a plan fails for no rows of what the plan reads.
pub fn is_total_call_over(input: &Plan, call: &AggregateCall) -> bool {
    is_total_call(call) && call.arguments.iter().chain(&call.filter).all(|of| is_total_over(input, of))
}

/// Returns whether an aggregate fails for no rows, and is NULL without rows, or 0 (`count`).
fn is_total_call(call: &AggregateCall) -> bool {
    let is_exact = |of: &Expr| !of.data_type.is_array && (is_integer(of.data_type) || of.data_type == Type::NUMERIC);
    let is_plain = |of: &Expr| !of.data_type.is_array && !of.data_type.is_row() && of.data_type != Type::RECORD;
    let is_known = match (call.aggregate.aggregate.name, &call.arguments[..]) {
        ("count", _) => true,
        ("min" | "max", [of]) => is_plain(of),
        // A sum of floats may leave their range.
        ("sum" | "avg", [of]) => is_exact(of),
        ("bool_and" | "bool_or" | "every", [_]) => true,
        _ => false,
    };
    let operands = call.arguments.iter().chain(&call.filter);
    is_known && call.order.is_empty() && call.grouping.is_none() && operands.into_iter().all(is_total)
}

fn is_integer(data_type: Type) -> bool {
    [Type::INT2, Type::INT4, Type::INT8].contains(&data_type)
}

/// Returns whether an expression has a value for every row.
pub fn is_total(of: &Expr) -> bool {
    let is_own = match &of.kind {
        ExprKind::Constant(_)
        | ExprKind::Column(_)
        | ExprKind::Parameter(_)
        | ExprKind::Outer { .. }
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull(_)
        | ExprKind::IsTruth(..)
        | ExprKind::Case { .. }
        | ExprKind::Coalesce(_)
        | ExprKind::NullIf(..)
        | ExprKind::InList(..) => true,
        ExprKind::Compare(_, left, _) | ExprKind::IsSame(left, _) => {
            !left.data_type.is_row() && left.data_type != Type::RECORD
        }
        ExprKind::Cast { input, .. } => of.modifier == Modifier::NONE && keeps_all(input.data_type, of.data_type),
        ExprKind::Call(function, _) if matches!(function.function.name, "+" | "-" | "*") => is_bounded(of),
        _ => false,
    };
    let mut are_operands = true;
    of.each_child(&mut |child| are_operands &= is_total(child));
    is_own && are_operands
}

/// Returns whether every value of a type has one of another.
fn keeps_all(from: Type, to: Type) -> bool {
    let width = |data_type| [Type::INT2, Type::INT4, Type::INT8, Type::NUMERIC].iter().position(|of| *of == data_type);
    match (width(from), width(to)) {
        (Some(from), Some(to)) => from <= to,
        _ => from == to || matches!((from.scalar, to), (Scalar::Varchar | Scalar::Bpchar, Type::TEXT)),
    }
}

/// Returns whether a numeric has so few digits that arithmetic with it stays in range: a column has, by its modifier.
fn is_bounded(of: &Expr) -> bool {
    match &of.kind {
        _ if of.data_type != Type::NUMERIC => false,
        ExprKind::Constant(_) => true,
        ExprKind::Column(_) => of.modifier != Modifier::NONE,
        ExprKind::Cast { input, .. } => is_integer(input.data_type) || is_bounded(input),
        ExprKind::Call(function, operands) if matches!(function.function.name, "+" | "-" | "*") => {
            operands.iter().all(is_bounded)
        }
        _ => false,
    }
}
