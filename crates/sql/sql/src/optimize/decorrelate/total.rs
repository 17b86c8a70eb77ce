//! Expressions and aggregates that have a value for every row: none makes them fail.

use crate::plan::{AggregateCall, Expr, ExprKind};
use crate::types::{Modifier, Scalar, Type};

/// Returns whether an aggregate fails for no rows, and is NULL without rows, or 0 (`count`).
pub fn is_total_call(call: &AggregateCall) -> bool {
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
