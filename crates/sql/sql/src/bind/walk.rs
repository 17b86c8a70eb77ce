//! Rewriting of bound expressions and plans by the rows that they refer to.
//!
//! The depth is the number of rows between an expression and the walk's root: [`ExprKind::Column`] at depth 0, and
//! [`ExprKind::Outer`] with depth `n` at depth `n`, refer to the root's row.

use crate::plan::{Expr, ExprKind, FrameBound, Plan};
use crate::stack::ensure_stack;
use std::sync::Arc;

/// Callbacks for the nodes of a walk.
pub(super) trait Visitor {
    /// Visits an expression before its operands; `false` skips the operands.
    fn expression(&mut self, _expression: &mut Expr, _depth: usize) -> bool {
        true
    }

    /// Visits a plan before its inputs and expressions; `false` skips them.
    fn plan(&mut self, _plan: &mut Plan, _depth: usize) -> bool {
        true
    }
}

/// Walks an expression and the plans of its subqueries.
pub(super) fn expression(visitor: &mut dyn Visitor, root: &mut Expr, depth: usize) {
    ensure_stack(|| {
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
    ensure_stack(|| {
        if visitor.plan(root, depth) {
            root.each_expression_mut(&mut |each| expression(visitor, each, depth));
            root.each_input_mut(&mut |input, levels| plan(visitor, input, depth + levels));
        }
    });
}

/// Visits references to rows. Receives the row of a reference relative to the walk's root (0: the root's own row, 1: the row
/// around it, ...), the column, and the reference.
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

/// Renumbers the columns of the current row in an expression and its subqueries.
pub(super) fn renumber(root: &mut Expr, map: &dyn Fn(usize) -> usize) {
    let mut visitor = References(|place, column, kind: &mut ExprKind| {
        if let (0, ExprKind::Outer { column: to, .. } | ExprKind::Column(to)) = (place, kind) {
            *to = map(column);
        }
    });
    expression(&mut visitor, root, 0);
}

/// Returns the value of a name as seen `distance` rows further inside.
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

/// Returns whether an expression, subqueries included, refers to the current row, and whether to any enclosing row.
pub(super) fn refers_inwards_outwards(root: &mut Expr) -> (bool, bool) {
    let (mut inwards, mut outwards) = (false, false);
    let mut visitor = References(|place, _, _: &mut ExprKind| {
        inwards |= place == 0;
        outwards |= place > 0;
    });
    expression(&mut visitor, root, 0);
    (inwards, outwards)
}

/// Returns whether a plan refers to the nearest enclosing row.
pub(super) fn refers_to_nearest(root: &Plan) -> bool {
    let mut found = false;
    root.each_outer(0, &mut |distance, _| found |= distance == 1);
    found
}

/// Returns whether a plan refers to any enclosing row.
pub(super) fn is_correlated(root: &Plan) -> bool {
    let mut found = false;
    root.each_outer(0, &mut |_, _| found = true);
    found
}

/// Removes the nearest enclosing row, to which the plan does not refer, from its references.
pub(super) fn move_out(root: &mut Plan) {
    root.each_outer_mut(0, &mut |_, reference| {
        if let ExprKind::Outer { depth, .. } = &mut reference.kind {
            *depth -= 1;
        }
    });
}

/// Adds `by` enclosing rows to a plan's references.
pub(super) fn move_in(root: &mut Plan, by: usize) {
    root.each_outer_mut(0, &mut |_, reference| {
        if let ExprKind::Outer { depth, .. } = &mut reference.kind {
            *depth += by;
        }
    });
}

/// Offset of a bound of a window's frame.
pub(super) fn bound_offset(bound: &mut FrameBound) -> Option<&mut Expr> {
    match bound {
        FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
        FrameBound::Start | FrameBound::Current | FrameBound::End => None,
    }
}
