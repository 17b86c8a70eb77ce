//! Expressions that stand in definitions as text: which columns they name, and how they follow a column's new name.

use super::name::{fold, quoted};
use crate::catalog::{Oid, Relation};
use crate::context::Context;
use crate::error::Result;
use crate::parse;
use sqlparser::ast::{self, Expr, visit_expressions, visit_expressions_mut};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The columns that an expression names.
pub(super) fn columns(expression: &str) -> Result<BTreeSet<String>> {
    Ok(columns_of(&parse::expression(expression)?))
}

/// The columns that a piece of syntax names, qualified or not.
pub(super) fn columns_of(syntax: &impl ast::Visit) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let _: ControlFlow<()> = visit_expressions(syntax, |expression| {
        match expression {
            Expr::Identifier(ident) => {
                found.insert(fold(ident));
            }
            Expr::CompoundIdentifier(idents) => found.extend(idents.last().map(fold)),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    found
}

/// Whether an expression is a literal, perhaps cast.
pub(super) fn is_literal(expression: &str) -> Result<bool> {
    Ok(literal(&parse::expression(expression)?).is_some())
}

/// The expression with a column called by its new name.
pub(super) fn rename_column(expression: &str, old: &str, new: &str) -> Result<String> {
    let mut syntax = parse::expression(expression)?;
    let _: ControlFlow<()> = visit_expressions_mut(&mut syntax, |expression| {
        match expression {
            Expr::Identifier(ident) if fold(ident) == old => *ident = quoted(new),
            Expr::CompoundIdentifier(idents) => {
                if let Some(last) = idents.last_mut()
                    && fold(last) == old
                {
                    *last = quoted(new);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    Ok(syntax.to_string())
}

/// The sequences that a default calls: `nextval('name')`, with or without a cast.
pub(super) fn sequences(context: &mut Context<'_>, expression: &str) -> Result<BTreeSet<Oid>> {
    let mut names = Vec::new();
    let _: ControlFlow<()> = visit_expressions(&parse::expression(expression)?, |expression| {
        if let Expr::Function(call) = expression
            && matches!(call.name.0.last(), Some(ast::ObjectNamePart::Identifier(ident)) if fold(ident) == "nextval")
            && let ast::FunctionArguments::List(list) = &call.args
            && let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] = &list.args[..]
        {
            names.extend(literal(argument));
        }
        ControlFlow::Continue(())
    });
    let mut found = BTreeSet::new();
    for name in names {
        let idents = match parse::expression(&name) {
            Ok(Expr::CompoundIdentifier(idents)) => idents,
            Ok(Expr::Identifier(ident)) => vec![ident],
            _ => continue,
        };
        let mut parts: Vec<String> = idents.iter().map(fold).collect();
        let (name, schema) = (parts.pop().unwrap_or_default(), parts.pop());
        if let Some(Relation::Sequence(sequence)) = context.relation(schema.as_deref(), &name)? {
            found.insert(sequence.oid);
        }
    }
    Ok(found)
}

/// The text of a literal, also of one that is cast.
fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Cast { expr, .. } => literal(expr),
        Expr::Value(ast::ValueWithSpan { value: ast::Value::SingleQuotedString(text), .. }) => Some(text.clone()),
        _ => None,
    }
}
