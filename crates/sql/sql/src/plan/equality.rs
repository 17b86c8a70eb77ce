//! Structural equality of expressions: a query grouped by an expression may use an equal one.

use super::{Expr, ExprKind, is_volatile};
use crate::functions::Resolved;
use crate::stack::ensure_stack;
use crate::types::{Modifier, identical};
use std::sync::Arc;

/// Returns whether two expressions over one row are equal. Subqueries are equal only if they are the same object.
pub(crate) fn equal(left: &Expr, right: &Expr) -> bool {
    left.data_type == right.data_type && left.modifier == right.modifier && ensure_stack(|| equal_kinds(left, right))
}

/// Returns whether two lists of expressions are equal, element by element.
pub(crate) fn equal_lists(left: &[Expr], right: &[Expr]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
}

fn equal_functions(left: &Resolved, right: &Resolved) -> bool {
    std::ptr::eq(left.function, right.function)
        && left.arguments == right.arguments
        && left.result == right.result
        && !is_volatile(left)
}

fn equal_options(left: Option<&Expr>, right: Option<&Expr>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => equal(left, right),
        _ => false,
    }
}

fn equal_kinds(left: &Expr, right: &Expr) -> bool {
    use ExprKind::*;
    match (&left.kind, &right.kind) {
        // Equal values do not do: what is computed with them may differ.
        (Constant(l), Constant(r)) => identical(l, r),
        (Column(l), Column(r)) | (Parameter(l), Parameter(r)) => l == r,
        (Outer { depth: d, column: c }, Outer { depth, column }) => (d, c) == (depth, column),
        (Call(f, l), Call(g, r)) => equal_functions(f, g) && equal_lists(l, r),
        // How a cast is written counts only where it decides between cutting a value and refusing it.
        (Cast { input: l, explicit: e }, Cast { input: r, explicit }) => {
            (e == explicit || left.modifier == Modifier::NONE) && equal(l, r)
        }
        (And(l), And(r)) | (Or(l), Or(r)) | (Coalesce(l), Coalesce(r)) | (Array(l), Array(r)) => equal_lists(l, r),
        (Row(l, m), Row(r, n)) => m == n && equal_lists(l, r),
        (Not(l), Not(r)) | (IsNull(l), IsNull(r)) => equal(l, r),
        (IsTruth(l, t), IsTruth(r, truth)) => t == truth && equal(l, r),
        (Field(l, at), Field(r, field)) => at == field && equal(l, r),
        (IsSame(l, m), IsSame(r, n)) | (NullIf(l, m), NullIf(r, n)) | (Subscript(l, m), Subscript(r, n)) => {
            equal(l, r) && equal(m, n)
        }
        (Compare(c, l, m), Compare(d, r, n)) => c == d && equal(l, r) && equal(m, n),
        (Case { branches: l, otherwise: m }, Case { branches: r, otherwise: n }) => {
            let mut pairs = l.iter().zip(r);
            l.len() == r.len()
                && pairs.all(|(l, r)| equal(&l.0, &r.0) && equal(&l.1, &r.1))
                && equal_options(m.as_deref(), n.as_deref())
        }
        (Extreme { greatest: g, of: l }, Extreme { greatest, of: r }) => g == greatest && equal_lists(l, r),
        (InList(l, m), InList(r, n)) => equal(l, r) && equal_lists(m, n),
        (Quantified { operator: o, left: l, array: m, all: a }, Quantified { operator, left: r, array: n, all }) => {
            equal_functions(o, operator) && a == all && equal(l, r) && equal(m, n)
        }
        (Slice(l, m, o), Slice(r, n, p)) => {
            equal(l, r) && equal_options(m.as_deref(), n.as_deref()) && equal_options(o.as_deref(), p.as_deref())
        }
        (Subquery(l), Subquery(r)) => Arc::ptr_eq(&l.plan, &r.plan),
        _ => false,
    }
}
