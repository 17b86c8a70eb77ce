//! Keys of joins that are no expressions over batches: those with a subquery for each row. They are computed below the join, row by row,
//! so that the join itself runs over batches.

use super::{LEAST, read};
use crate::env::Vectors;
use crate::optimize::Facts;
use crate::optimize::columns::renumber;
use crate::plan::{Expr, Join, Plan};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Type};
use crate::vectorize;

/// The plan with such keys as columns of the joins' inputs.
pub fn computed(mut plan: Plan, vectors: Vectors, facts: &Facts<'_>) -> Plan {
    // What is locked is read as it is looked for.
    if vectors == Vectors::Off || matches!(plan, Plan::Recursive { .. } | Plan::Lock { .. }) {
        return plan;
    }
    plan.each_input_mut(&mut |input, deeper| {
        if deeper == 0 {
            let inner = std::mem::replace(input, Plan::Values { rows: Vec::new() });
            *input = ensure_stack(|| computed(inner, vectors, facts));
        }
    });
    match plan {
        Plan::Join(join)
            if join.equalities.iter().any(|(left, _)| runs_for_each_row(left))
                && (vectors == Vectors::Force || read(&join.left, facts) + read(&join.right, facts) >= LEAST) =>
        {
            of_left(*join, facts)
        }
        plan => plan,
    }
}

/// Returns whether an expression has a subquery that runs for each row.
pub fn runs_for_each_row(of: &Expr) -> bool {
    of.any(|part| part.subquery().is_some_and(|subquery| !vectorize::runs_once(subquery)))
}

/// The join whose left side has the keys behind its columns.
fn of_left(mut join: Join, facts: &Facts<'_>) -> Plan {
    let types = facts.types(&join.left);
    let mut columns: Vec<Expr> = all(&types, 0).collect();
    let before = columns.len();
    for (left, _) in join.equalities.iter_mut().filter(|(left, _)| runs_for_each_row(left)) {
        let column = Expr::column(columns.len(), left.data_type, Modifier::NONE);
        columns.push(std::mem::replace(left, column));
    }
    let more = columns.len() - before;
    if let Some(condition) = &mut join.condition {
        renumber(condition, &|column| if column < before { column } else { column + more });
    }
    let input = std::mem::replace(&mut join.left, Plan::Values { rows: Vec::new() });
    join.left = Plan::Project { input: Box::new(input), columns };
    join.left_width += more;
    let shown = match join.kind {
        kind if kind.asks_only() => all(&types, 0).collect(),
        kind if kind.is_mark() => all(&types, 0).chain(all(&[Type::BOOL], before + more)).collect(),
        _ => all(&types, 0).chain(all(&facts.types(&join.right), before + more)).collect(),
    };
    Plan::Project { input: Box::new(Plan::Join(Box::new(join))), columns: shown }
}

/// Columns of these types, from a number on.
fn all(types: &[Type], from: usize) -> impl Iterator<Item = Expr> {
    types.iter().enumerate().map(move |(at, data_type)| Expr::column(from + at, *data_type, Modifier::NONE))
}
