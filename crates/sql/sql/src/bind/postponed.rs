//! What a sorted select list leaves until after the sort.

use super::walk::{self, Visitor};
use crate::plan::{Expr, ExprKind};
use crate::types::{Datum, Modifier, Type};

/// Takes what is volatile and no key of the sort out of a select list, so that it is computed in the order of the sorted rows, and
/// for those only that are read. Returns the whole list over the rows of the rest, which has the columns that it needs behind; `None` if
/// nothing is taken.
///
/// Source: PostgreSQL 15, `make_sort_input_target`.
pub(super) fn postponed(targets: &mut Vec<Expr>, is_key: impl Fn(usize) -> bool) -> Option<Vec<Expr>> {
    let is_late = |at: &usize| !is_key(*at) && targets[*at].calls_volatile();
    let late: Vec<usize> = (0..targets.len()).filter(is_late).collect();
    if late.is_empty() {
        return None;
    }
    let passed = |(at, target): (usize, &Expr)| Expr::column(at, target.data_type, target.modifier);
    let mut above: Vec<Expr> = targets.iter().enumerate().map(passed).collect();
    let mut carried = Carried { first: targets.len(), columns: vec![] };
    for at in late {
        let Expr { data_type, modifier, .. } = targets[at];
        let nothing = Expr { kind: ExprKind::Constant(Datum::Null), data_type, modifier };
        above[at] = std::mem::replace(&mut targets[at], nothing);
        walk::expression(&mut carried, &mut above[at], 0);
    }
    targets.extend(carried.columns);
    Some(above)
}

/// The columns of a row that are passed on, and the place of the first of them.
struct Carried {
    first: usize,
    columns: Vec<Expr>,
}

impl Carried {
    fn place(&mut self, column: usize, data_type: Type, modifier: Modifier) -> usize {
        let is_same = |carried: &Expr| matches!(carried.kind, ExprKind::Column(known) if known == column);
        let at = self.columns.iter().position(is_same).unwrap_or(self.columns.len());
        if at == self.columns.len() {
            self.columns.push(Expr::column(column, data_type, modifier));
        }
        self.first + at
    }
}

impl Visitor for Carried {
    fn expression(&mut self, expression: &mut Expr, depth: usize) -> bool {
        let Expr { data_type, modifier, .. } = *expression;
        match &mut expression.kind {
            ExprKind::Column(column) if depth == 0 => *column = self.place(*column, data_type, modifier),
            ExprKind::Outer { depth: out, column } if *out == depth => {
                *column = self.place(*column, data_type, modifier);
            }
            _ => {}
        }
        true
    }
}
