//! Rewriting of bound expressions and plans by what they refer to.
//!
//! The depth is the number of rows between an expression and the walk's root: at depth 0 [`ExprKind::Column`] speaks of
//! the root's row, at depth `n` [`ExprKind::Outer`] with depth `n` does.

use crate::plan::{Expr, ExprKind, FrameBound, Plan};
use crate::stack::deeper;
use std::sync::Arc;

/// What happens at the nodes of a walk.
pub(super) trait Visitor {
    /// At an expression, before its operands; `false` passes over them.
    fn expression(&mut self, _expression: &mut Expr, _depth: usize) -> bool {
        true
    }

    /// At a plan, before its inputs and expressions; `false` passes over them.
    fn plan(&mut self, _plan: &mut Plan, _depth: usize) -> bool {
        true
    }
}

/// Walks an expression and the plans of its subqueries.
pub(super) fn expression(visitor: &mut dyn Visitor, root: &mut Expr, depth: usize) {
    deeper(|| {
        if visitor.expression(root, depth) {
            root.each_child_mut(&mut |operand| expression(visitor, operand, depth));
            if let ExprKind::Subquery(subquery) = &mut root.kind {
                plan(visitor, Arc::make_mut(&mut subquery.plan), depth + 1);
            }
        }
    });
}

/// Walks a plan with its expressions and inputs.
pub(super) fn plan(visitor: &mut dyn Visitor, root: &mut Plan, depth: usize) {
    deeper(|| {
        if visitor.plan(root, depth) {
            root.each_expression_mut(&mut |each| expression(visitor, each, depth));
            root.each_input_mut(&mut |input, levels| plan(visitor, input, depth + levels));
        }
    });
}

/// A visitor of the references to rows: the place that a reference names relative to the walk's root (0: the root's own
/// row, 1: the row around it, ...), the column, and the reference.
struct References<F>(F);

impl<F: FnMut(usize, usize, &mut ExprKind)> Visitor for References<F> {
    fn expression(&mut self, expression: &mut Expr, depth: usize) -> bool {
        match expression.kind {
            ExprKind::Column(column) if depth == 0 => (self.0)(0, column, &mut expression.kind),
            ExprKind::Outer { depth: out, column } if out >= depth => {
                (self.0)(out - depth, column, &mut expression.kind)
            }
            _ => {}
        }
        true
    }
}

/// Renumbers the columns of the row at hand, wherever an expression and its subqueries speak of them.
pub(super) fn renumber(root: &mut Expr, map: &dyn Fn(usize) -> usize) {
    let mut visitor = References(|place, column, kind: &mut ExprKind| {
        if let (0, ExprKind::Outer { column: to, .. } | ExprKind::Column(to)) = (place, kind) {
            *to = map(column);
        }
    });
    expression(&mut visitor, root, 0);
}

/// The value of a name as it is said `distance` rows further in.
pub(super) fn outwards(value: &Expr, distance: usize) -> Expr {
    let mut value = value.clone();
    if distance > 0 {
        let mut visitor = References(|place, column, kind: &mut ExprKind| {
            *kind = ExprKind::Outer { depth: place + distance, column };
        });
        expression(&mut visitor, &mut value, 0);
    }
    value
}

/// Whether an expression, or a subquery in it, refers to the row at hand; and whether to any row around that.
pub(super) fn refers_inwards_outwards(root: &mut Expr) -> (bool, bool) {
    let (mut inwards, mut outwards) = (false, false);
    let mut visitor = References(|place, _, _: &mut ExprKind| {
        inwards |= place == 0;
        outwards |= place > 0;
    });
    expression(&mut visitor, root, 0);
    (inwards, outwards)
}

/// Whether a plan refers to the nearest row around it.
pub(super) fn refers_to_nearest(root: &Plan) -> bool {
    let mut found = false;
    root.each_outer(0, &mut |distance, _| found |= distance == 1);
    found
}

/// Whether a plan refers to any row around it.
pub(super) fn is_correlated(root: &Plan) -> bool {
    let mut found = false;
    root.each_outer(0, &mut |_, _| found = true);
    found
}

/// Moves a plan one row further out: the nearest row around it, to which it does not refer, is no longer there.
pub(super) fn move_out(root: &mut Plan) {
    root.each_outer_mut(0, &mut |_, reference| {
        if let ExprKind::Outer { depth, .. } = &mut reference.kind {
            *depth -= 1;
        }
    });
}

/// Moves a plan `by` rows further in.
pub(super) fn move_in(root: &mut Plan, by: usize) {
    root.each_outer_mut(0, &mut |_, reference| {
        if let ExprKind::Outer { depth, .. } = &mut reference.kind {
            *depth += by;
        }
    });
}

/// The offset of an end of a window's frame.
pub(super) fn bound_offset(bound: &mut FrameBound) -> Option<&mut Expr> {
    match bound {
        FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
        FrameBound::Start | FrameBound::Current | FrameBound::End => None,
    }
}
