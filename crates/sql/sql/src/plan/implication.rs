//! Whether a condition implies another: a partial index has all rows that a query asks for only if the query's condition implies the
//! index's predicate.
//!
//! Source: PostgreSQL 15, `predtest.c`. Everything here errs towards "no".

use super::{Comparison, Expr, ExprKind, equal};
use crate::stack::ensure_stack;
use crate::types::{Datum, compare_typed};
use std::cmp::Ordering;

/// Returns whether each row for which the condition is true is one for which the predicate is. No condition is true for all rows.
pub fn implies(condition: Option<&Expr>, predicate: &Expr) -> bool {
    condition.is_some_and(|condition| follows(&[condition], predicate))
}

/// Same as [`implies`], of a condition that is given as its conjuncts.
pub fn all_imply<'e>(conjuncts: impl IntoIterator<Item = &'e Expr>, predicate: &Expr) -> bool {
    let conjuncts: Vec<&Expr> = conjuncts.into_iter().collect();
    follows(&conjuncts, predicate)
}

fn follows(conjuncts: &[&Expr], predicate: &Expr) -> bool {
    ensure_stack(|| match &predicate.kind {
        ExprKind::And(all) => all.iter().all(|part| follows(conjuncts, part)),
        ExprKind::Or(any) if any.iter().any(|part| follows(conjuncts, part)) => true,
        ExprKind::Constant(Datum::Bool(true)) => true,
        _ => conjuncts.iter().any(|conjunct| one_implies(conjunct, predicate)),
    })
}

fn one_implies(conjunct: &Expr, predicate: &Expr) -> bool {
    let is_null = |inner: &Expr| is_true_only_with(conjunct, inner);
    ensure_stack(|| match (&conjunct.kind, &predicate.kind) {
        _ if equal(conjunct, predicate) => true,
        (ExprKind::And(all), _) => follows(&all.iter().collect::<Vec<_>>(), predicate),
        (ExprKind::Or(any), _) => any.iter().all(|part| follows(&[part], predicate)),
        (ExprKind::InList(value, list), _) => {
            !list.is_empty() && list.iter().all(|element| pair_implies((value, Comparison::Equal, element), predicate))
        }
        (_, ExprKind::Not(inner)) if matches!(&inner.kind, ExprKind::IsNull(_)) => match &inner.kind {
            ExprKind::IsNull(inner) => is_null(inner),
            _ => false,
        },
        (ExprKind::Compare(comparison, left, right), _) => pair_implies((left, *comparison, right), predicate),
        _ => {
            truth_of(conjunct).is_some_and(|known| truth_of(predicate).is_some_and(|wanted| same_truth(known, wanted)))
        }
    })
}

/// Returns whether a comparison that is true makes a predicate true.
fn pair_implies((left, comparison, right): (&Expr, Comparison, &Expr), predicate: &Expr) -> bool {
    match &predicate.kind {
        ExprKind::And(all) => all.iter().all(|part| pair_implies((left, comparison, right), part)),
        ExprKind::Or(any) => any.iter().any(|part| pair_implies((left, comparison, right), part)),
        ExprKind::InList(value, list) => {
            list.iter().any(|element| compared_imply((left, comparison, right), (value, Comparison::Equal, element)))
        }
        ExprKind::Compare(wanted, value, bound) => {
            compared_imply((left, comparison, right), (value, *wanted, bound))
                || compared_imply((left, comparison, right), (bound, wanted.mirrored(), value))
                || boolean((left, comparison, right))
                    .is_some_and(|known| truth_of(predicate).is_some_and(|wanted| same_truth(known, wanted)))
        }
        ExprKind::Not(inner) if matches!(inner.kind, ExprKind::IsNull(_)) => match &inner.kind {
            ExprKind::IsNull(inner) => needs_value(left, inner) || needs_value(right, inner),
            _ => false,
        },
        _ => boolean((left, comparison, right))
            .is_some_and(|known| truth_of(predicate).is_some_and(|wanted| same_truth(known, wanted))),
    }
}

/// Returns whether `value comparison constant` makes `other wanted bound` true.
fn compared_imply(known: (&Expr, Comparison, &Expr), wanted: (&Expr, Comparison, &Expr)) -> bool {
    let mirrored = (known.2, known.1.mirrored(), known.0);
    [known, mirrored].into_iter().any(|(value, comparison, constant)| {
        equal(value, wanted.0) && constants_imply(comparison, constant, wanted.1, wanted.2)
    })
}

/// Returns whether `x known left` makes `x wanted right` true for each x, by the order of the constants.
fn constants_imply(known: Comparison, left: &Expr, wanted: Comparison, right: &Expr) -> bool {
    let (ExprKind::Constant(from), ExprKind::Constant(to)) = (&left.kind, &right.kind) else {
        return known == wanted && equal(left, right);
    };
    if from.is_null() || to.is_null() || left.data_type != right.data_type {
        return false;
    }
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let order = compare_typed(left.data_type, from, to);
    match (known, wanted) {
        (Equal, Equal) => order == Ordering::Equal,
        (Equal, NotEqual) => order != Ordering::Equal,
        (NotEqual, NotEqual) => order == Ordering::Equal,
        (Equal | Less | LessOrEqual, Less | NotEqual) => {
            order == Ordering::Less || known == Less && order == Ordering::Equal
        }
        (Equal | Less | LessOrEqual, LessOrEqual) => order != Ordering::Greater,
        (Equal | Greater | GreaterOrEqual, Greater) => {
            order == Ordering::Greater || known == Greater && order == Ordering::Equal
        }
        (Greater | GreaterOrEqual, NotEqual) => {
            order == Ordering::Greater || known == Greater && order == Ordering::Equal
        }
        (Equal | Greater | GreaterOrEqual, GreaterOrEqual) => order != Ordering::Less,
        _ => false,
    }
}

/// A condition as a boolean value that must be true, or false.
fn truth_of(condition: &Expr) -> Option<(&Expr, bool)> {
    match &condition.kind {
        // `x IS NOT TRUE` is true of NULL too.
        ExprKind::Not(inner) if matches!(inner.kind, ExprKind::IsTruth(..)) => None,
        ExprKind::Not(inner) => truth_of(inner).map(|(value, truth)| (value, !truth)),
        ExprKind::IsTruth(inner, Some(truth)) => Some((inner, *truth)),
        ExprKind::Compare(comparison, left, right) => boolean((left, *comparison, right)),
        ExprKind::Column(_) | ExprKind::Call(..) => Some((condition, true)),
        _ => None,
    }
}

/// `value = true` and the like, as the value and what it must be.
fn boolean<'e>((left, comparison, right): (&'e Expr, Comparison, &'e Expr)) -> Option<(&'e Expr, bool)> {
    let wanted = match comparison {
        Comparison::Equal => true,
        Comparison::NotEqual => false,
        _ => return None,
    };
    match (&left.kind, &right.kind) {
        (_, ExprKind::Constant(Datum::Bool(truth))) => Some((left, *truth == wanted)),
        (ExprKind::Constant(Datum::Bool(truth)), _) => Some((right, *truth == wanted)),
        _ => None,
    }
}

fn same_truth((known, is): (&Expr, bool), (wanted, must): (&Expr, bool)) -> bool {
    is == must && equal(known, wanted)
}

/// Returns whether a condition is never true where `inner` is NULL.
fn is_true_only_with(condition: &Expr, inner: &Expr) -> bool {
    ensure_stack(|| match &condition.kind {
        ExprKind::Not(negated) => match &negated.kind {
            ExprKind::IsNull(value) => needs_value(value, inner),
            _ => needs_value(condition, inner),
        },
        ExprKind::And(all) => all.iter().any(|part| is_true_only_with(part, inner)),
        ExprKind::Or(any) => any.iter().all(|part| is_true_only_with(part, inner)),
        ExprKind::IsTruth(value, Some(_)) => needs_value(value, inner),
        _ => needs_value(condition, inner),
    })
}

/// Returns whether an expression is NULL where `inner` is.
fn needs_value(expression: &Expr, inner: &Expr) -> bool {
    if equal(expression, inner) {
        return true;
    }
    ensure_stack(|| match &expression.kind {
        ExprKind::Compare(_, left, right) => needs_value(left, inner) || needs_value(right, inner),
        ExprKind::Call(function, arguments) => {
            function.function.strict && arguments.iter().any(|argument| needs_value(argument, inner))
        }
        ExprKind::Cast { input, .. } | ExprKind::Not(input) => needs_value(input, inner),
        ExprKind::InList(value, _) => needs_value(value, inner),
        ExprKind::Quantified { operator, left, all: false, .. } => operator.function.strict && needs_value(left, inner),
        _ => false,
    })
}
