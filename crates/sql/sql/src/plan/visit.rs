//! Walks over plans and expressions.
//!
//! "Level" is the number of enclosing rows visible at a place beyond the root's: a subquery and the right side of a lateral
//! join add one.

use super::{Expr, ExprKind, FrameBound, Path, Plan, SetColumn, SortKey, Subquery, SubqueryKind};
use crate::stack::ensure_stack;
use std::ops::Bound;
use std::sync::Arc;

/// Writes a walk twice: over shared and over mutable references.
macro_rules! walks {
    ($each_child:ident, $each_expression:ident, $each_input:ident, $path_expressions:ident, $frame:ident, $shared:ident
     $(, $mutable:tt)?) => {
        impl Expr {
            /// Calls `visit` with each operand. The left operand of a subquery's comparison is one; the subquery's plan is not.
            pub fn $each_child<'e>(&'e $($mutable)? self, visit: &mut dyn FnMut(&'e $($mutable)? Expr)) {
                match &$($mutable)? self.kind {
                    ExprKind::Constant(_)
                    | ExprKind::Column(_)
                    | ExprKind::Outer { .. }
                    | ExprKind::Parameter(_) => {}
                    ExprKind::Call(_, all)
                    | ExprKind::And(all)
                    | ExprKind::Or(all)
                    | ExprKind::Coalesce(all)
                    | ExprKind::Extreme { of: all, .. }
                    | ExprKind::Array(all)
                    | ExprKind::Row(all, _) => {
                        for operand in all {
                            visit(operand);
                        }
                    }
                    ExprKind::Cast { input, .. }
                    | ExprKind::Not(input)
                    | ExprKind::IsNull(input)
                    | ExprKind::IsTruth(input, _)
                    | ExprKind::Domain(input, _)
                    | ExprKind::Field(input, _) => visit(input),
                    ExprKind::IsSame(left, right)
                    | ExprKind::Compare(_, left, right)
                    | ExprKind::NullIf(left, right)
                    | ExprKind::Quantified { left, array: right, .. }
                    | ExprKind::Subscript(left, right) => {
                        visit(left);
                        visit(right);
                    }
                    ExprKind::Case { branches, otherwise } => {
                        for (condition, result) in branches {
                            visit(condition);
                            visit(result);
                        }
                        if let Some(otherwise) = otherwise {
                            visit(otherwise);
                        }
                    }
                    ExprKind::InList(value, list) => {
                        visit(value);
                        for element in list {
                            visit(element);
                        }
                    }
                    ExprKind::Slice(array, from, to) => {
                        visit(array);
                        for bound in [from, to] {
                            if let Some(bound) = bound {
                                visit(bound);
                            }
                        }
                    }
                    ExprKind::Subquery(subquery) => {
                        if let SubqueryKind::Quantified { left, .. } = &$($mutable)? subquery.kind {
                            for operand in left {
                                visit(operand);
                            }
                        }
                    }
                }
            }
        }

        impl Plan {
            /// Calls `visit` with each expression of this operator, not of its inputs. All see the same enclosing rows.
            pub fn $each_expression<'e>(&'e $($mutable)? self, visit: &mut dyn FnMut(&'e $($mutable)? Expr)) {
                match self {
                    Plan::Values { rows } => {
                        for expression in rows.into_iter().flatten() {
                            visit(expression);
                        }
                    }
                    Plan::Scan(scan) => {
                        $path_expressions(&$($mutable)? scan.path, visit);
                        if let Some(filter) = &$($mutable)? scan.filter {
                            visit(filter);
                        }
                    }
                    Plan::Functions { calls, .. } => {
                        for (_, arguments) in calls {
                            for argument in arguments {
                                visit(argument);
                            }
                        }
                    }
                    Plan::Filter { condition, .. } => visit(condition),
                    Plan::Project { columns, .. } => {
                        for column in columns {
                            visit(column);
                        }
                    }
                    Plan::ProjectSet { columns, .. } => {
                        for column in columns {
                            match column {
                                SetColumn::Value(value) => visit(value),
                                SetColumn::Set(_, arguments) => {
                                    for argument in arguments {
                                        visit(argument);
                                    }
                                }
                            }
                        }
                    }
                    Plan::Join(join) => {
                        if let Some(condition) = &$($mutable)? join.condition {
                            visit(condition);
                        }
                        for (left, right) in &$($mutable)? join.equalities {
                            visit(left);
                            visit(right);
                        }
                    }
                    Plan::Aggregate(aggregation) => {
                        for key in &$($mutable)? aggregation.keys {
                            visit(key);
                        }
                        for call in &$($mutable)? aggregation.calls {
                            for argument in &$($mutable)? call.arguments {
                                visit(argument);
                            }
                            if let Some(filter) = &$($mutable)? call.filter {
                                visit(filter);
                            }
                            for SortKey { expression, .. } in &$($mutable)? call.order {
                                visit(expression);
                            }
                        }
                    }
                    Plan::Window(window) => {
                        for expression in &$($mutable)? window.partition {
                            visit(expression);
                        }
                        for SortKey { expression, .. } in &$($mutable)? window.order {
                            visit(expression);
                        }
                        for call in &$($mutable)? window.calls {
                            for argument in &$($mutable)? call.arguments {
                                visit(argument);
                            }
                            if let Some(filter) = &$($mutable)? call.filter {
                                visit(filter);
                            }
                            $frame(&$($mutable)? call.frame.start, visit);
                            $frame(&$($mutable)? call.frame.end, visit);
                        }
                    }
                    Plan::Sort { keys, .. } => {
                        for SortKey { expression, .. } in keys {
                            visit(expression);
                        }
                    }
                    Plan::Limit { limit, ties, offset, .. } => {
                        for expression in [limit, offset] {
                            if let Some(expression) = expression {
                                visit(expression);
                            }
                        }
                        if let Some(keys) = ties {
                            for SortKey { expression, .. } in keys {
                                visit(expression);
                            }
                        }
                    }
                    Plan::Distinct { on, .. } => {
                        if let Some(columns) = on {
                            for column in columns {
                                visit(column);
                            }
                        }
                    }
                    Plan::Virtual { name, .. } => {
                        if let Some(name) = name {
                            visit(name);
                        }
                    }
                    Plan::Set { .. }
                    | Plan::With { .. }
                    | Plan::CteScan { .. }
                    | Plan::Recursive { .. }
                    | Plan::Vectors { .. }
                    | Plan::Lock { .. } => {}
                }
            }

            /// Calls `visit` with each direct input and the levels that it lies deeper (1 for a lateral right side).
            pub fn $each_input<'e>(&'e $($mutable)? self, visit: &mut dyn FnMut(&'e $($mutable)? Plan, usize)) {
                match self {
                    Plan::Values { .. }
                    | Plan::Scan(_)
                    | Plan::Virtual { .. }
                    | Plan::Functions { .. }
                    | Plan::CteScan { .. } => {}
                    Plan::Filter { input, .. }
                    | Plan::Project { input, .. }
                    | Plan::ProjectSet { input, .. }
                    | Plan::Sort { input, .. }
                    | Plan::Limit { input, .. }
                    | Plan::Distinct { input, .. }
                    | Plan::Vectors { input, .. }
                    | Plan::Lock { input, .. } => visit(input, 0),
                    Plan::Join(join) => {
                        let deeper = usize::from(join.lateral);
                        visit(&$($mutable)? join.left, 0);
                        visit(&$($mutable)? join.right, deeper);
                    }
                    Plan::Aggregate(aggregation) => visit(&$($mutable)? aggregation.input, 0),
                    Plan::Window(window) => visit(&$($mutable)? window.input, 0),
                    Plan::Set { left, right, .. } => {
                        visit(left, 0);
                        visit(right, 0);
                    }
                    Plan::With { queries, body } => {
                        for (_, query) in queries {
                            visit($shared(query), 0);
                        }
                        visit(body, 0);
                    }
                    Plan::Recursive { start, step, .. } => {
                        visit($shared(start), 0);
                        visit($shared(step), 0);
                    }
                }
            }
        }

        fn $path_expressions<'e>(
            path: &'e $($mutable)? Path,
            visit: &mut dyn FnMut(&'e $($mutable)? Expr),
        ) {
            match path {
                Path::All => {}
                Path::Index { equal, lower, upper, .. } => {
                    for value in equal {
                        visit(value);
                    }
                    for bound in [lower, upper] {
                        if let Bound::Included(value) | Bound::Excluded(value) = bound {
                            visit(value);
                        }
                    }
                }
                Path::AnyOf { equal, array, .. } => {
                    for value in equal {
                        visit(value);
                    }
                    visit(array);
                }
                Path::Alternatives { equal, .. } => {
                    for value in equal.into_iter().flatten() {
                        visit(value);
                    }
                }
            }
        }

        fn $frame<'e>(bound: &'e $($mutable)? FrameBound, visit: &mut dyn FnMut(&'e $($mutable)? Expr)) {
            if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                visit(offset);
            }
        }
    };
}

walks!(each_child, each_expression, each_input, path_expressions, frame_offset, shared);
walks!(each_child_mut, each_expression_mut, each_input_mut, path_expressions_mut, frame_offset_mut, unshared, mut);

fn shared(plan: &Arc<Plan>) -> &Plan {
    plan
}

fn unshared(plan: &mut Arc<Plan>) -> &mut Plan {
    Arc::make_mut(plan)
}

impl Expr {
    /// Calls `visit` with this expression and everything below it, the plans of subqueries excepted.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.each_child(&mut |child| ensure_stack(|| child.walk(visit)));
    }

    /// Like [`Expr::walk`], with mutable expressions, operands first.
    pub fn walk_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.each_child_mut(&mut |child| ensure_stack(|| child.walk_mut(visit)));
        visit(self);
    }

    /// Returns whether the test holds for the expression or anything below it (the plans of subqueries excepted).
    pub fn any(&self, mut test: impl FnMut(&Expr) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |expression| found = found || test(expression));
        found
    }

    /// The subquery, if it is one.
    pub fn subquery(&self) -> Option<&Subquery> {
        match &self.kind {
            ExprKind::Subquery(subquery) => Some(subquery),
            _ => None,
        }
    }

    /// Calls `visit` with each reference to an enclosing row that leaves this expression, when the expression itself lies
    /// `level` deep: with how many levels it leaves beyond, from 1, and with the reference.
    pub fn each_outer<'e>(&'e self, level: usize, visit: &mut dyn FnMut(usize, &'e Expr)) {
        if let ExprKind::Outer { depth, .. } = self.kind
            && depth > level
        {
            visit(depth - level, self);
        }
        self.each_child(&mut |child| ensure_stack(|| child.each_outer(level, visit)));
        if let Some(subquery) = self.subquery() {
            subquery.plan.each_outer(level + 1, visit);
        }
    }

    /// Like [`Expr::each_outer`], with mutable expressions.
    pub fn each_outer_mut(&mut self, level: usize, visit: &mut dyn FnMut(usize, &mut Expr)) {
        if let ExprKind::Outer { depth, .. } = self.kind
            && depth > level
        {
            visit(depth - level, self);
            return;
        }
        self.each_child_mut(&mut |child| ensure_stack(|| child.each_outer_mut(level, visit)));
        if let ExprKind::Subquery(subquery) = &mut self.kind {
            unshared(&mut subquery.plan).each_outer_mut(level + 1, visit);
        }
    }
}

impl Plan {
    /// Like [`Expr::each_outer`], for a plan.
    pub fn each_outer<'e>(&'e self, level: usize, visit: &mut dyn FnMut(usize, &'e Expr)) {
        self.each_expression(&mut |expression| expression.each_outer(level, visit));
        self.each_input(&mut |input, more| ensure_stack(|| input.each_outer(level + more, visit)));
    }

    /// Like [`Expr::each_outer_mut`], for a plan.
    pub fn each_outer_mut(&mut self, level: usize, visit: &mut dyn FnMut(usize, &mut Expr)) {
        self.each_expression_mut(&mut |expression| expression.each_outer_mut(level, visit));
        self.each_input_mut(&mut |input, more| ensure_stack(|| input.each_outer_mut(level + more, visit)));
    }

    /// Calls `visit` with this operator and everything below it, the plans of subqueries in expressions included.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Plan)) {
        visit(self);
        self.each_expression(&mut |expression| {
            expression.walk(&mut |expression| {
                if let Some(subquery) = expression.subquery() {
                    subquery.plan.walk(visit);
                }
            });
        });
        self.each_input(&mut |input, _| ensure_stack(|| input.walk(visit)));
    }
}
