//! Conditions out of an OR: what all of its alternatives demand stands once, before it, where it can join tables and choose
//! indexes; and what each alternative demands of one side of a join restricts that side before the join.

use super::columns::{columns_of, is_volatile, join, split};
use crate::plan::{Expr, ExprKind, equal as same_expression};
use crate::types::Type;

/// Appends the parts of a condition that must all be true, with what is common to the alternatives of an OR as parts of their own.
pub fn conjuncts(condition: Expr, conjuncts: &mut Vec<Expr>) {
    let mut parts = Vec::new();
    split(condition, &mut parts);
    for part in parts {
        match part.kind {
            ExprKind::Or(alternatives) => factored(alternatives, conjuncts),
            _ => conjuncts.push(part),
        }
    }
}

/// `(k AND x) OR (k AND y)` is `k AND (x OR y)`.
fn factored(alternatives: Vec<Expr>, conjuncts: &mut Vec<Expr>) {
    let common = common(&alternatives);
    if common.is_empty() {
        conjuncts.push(any(alternatives));
        return;
    }
    let is_common = |part: &Expr| common.iter().any(|common| same_expression(common, part));
    let rest = alternatives.into_iter().map(|alternative| {
        let mut parts = Vec::new();
        split(alternative, &mut parts);
        parts.retain(|part| !is_common(part));
        join(parts)
    });
    // An alternative that demands nothing more is decided by what is common.
    let rest = rest.collect::<Option<Vec<Expr>>>();
    conjuncts.extend(common);
    if let Some(rest) = rest {
        self::conjuncts(any(rest), conjuncts);
    }
}

/// The parts of the first alternative that all others have too.
fn common(alternatives: &[Expr]) -> Vec<Expr> {
    let Some((first, others)) = alternatives.split_first() else { return Vec::new() };
    let mut common: Vec<&Expr> = parts(first).iter().collect();
    for other in others {
        if common.is_empty() {
            break;
        }
        common.retain(|part| parts(other).iter().any(|other| same_expression(part, other)));
    }
    common.retain(|part| !is_volatile(part));
    common.into_iter().cloned().collect()
}

fn parts(alternative: &Expr) -> &[Expr] {
    match &alternative.kind {
        ExprKind::And(all) => all,
        _ => std::slice::from_ref(alternative),
    }
}

fn any(mut alternatives: Vec<Expr>) -> Expr {
    if alternatives.len() == 1
        && let Some(only) = alternatives.pop()
    {
        return only;
    }
    Expr::new(ExprKind::Or(alternatives), Type::BOOL)
}

/// What a condition with alternatives demands of rows of which only some columns are known: that one of the alternatives' parts
/// about these columns holds. `None` if it demands nothing.
pub fn about(condition: &Expr, is_known: &dyn Fn(usize) -> bool) -> Option<Expr> {
    let ExprKind::Or(alternatives) = &condition.kind else { return None };
    let about_known = |part: &&Expr| {
        let columns = columns_of(part);
        !columns.is_empty()
            && columns.into_iter().all(is_known)
            && !is_volatile(part)
            && !part.any(|part| part.subquery().is_some())
    };
    let demands =
        alternatives.iter().map(|alternative| join(parts(alternative).iter().filter(about_known).cloned().collect()));
    demands.collect::<Option<Vec<Expr>>>().map(any)
}
