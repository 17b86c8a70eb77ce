//! The names that an expression binds and uses.

use std::collections::BTreeSet;

use crate::extraction::{self as coq, Expression};

/// The variables that an expression binds.
pub fn bound_names(expression: &Expression) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit(expression, &mut |bound, _| names.extend(bound.iter().cloned()));
    names
}

/// The variables that an expression uses.
pub fn mentioned_names(expression: &Expression) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit(expression, &mut |_, used| names.extend(used.cloned()));
    names
}

/// Calls `see` with the names that each part binds, or the one that it uses.
fn visit(expression: &Expression, see: &mut dyn FnMut(&[String], Option<&String>)) {
    match expression {
        Expression::Variable { name } => see(&[], Some(name)),
        Expression::Let { name, nameval, body } => {
            see(std::slice::from_ref(name), None);
            visit(nameval, see);
            visit(body, see);
        }
        Expression::Lambda { argnames, body } => {
            see(argnames, None);
            visit(body, see);
        }
        Expression::Apply { func, args } => {
            visit(func, see);
            args.iter().for_each(|argument| visit(argument, see));
        }
        Expression::Construct { args, .. } => args.iter().for_each(|argument| visit(argument, see)),
        Expression::Case { expr, cases } => {
            visit(expr, see);
            for case in cases {
                if let coq::Pattern::Constructor { argnames, .. } = &case.pat {
                    see(argnames, None);
                }
                visit(&case.body, see);
            }
        }
        Expression::Global { .. } | Expression::Other => {}
    }
}
