//! Expressions that definitions keep as text: the columns and sequences that they name, and renaming of those.

use super::name::{fold, no_relation, no_schema, quote, quoted};
use crate::catalog::{Oid, Relation, Sequence, Table};
use crate::context::Names;
use crate::error::{Result, SqlError};
use crate::types::Type;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::ast::{self, Expr, visit_expressions, visit_expressions_mut};

/// The columns that an expression names.
pub(crate) fn columns(expression: &str) -> Result<BTreeSet<String>> {
    Ok(columns_of(&syntax::expression(expression)?))
}

/// The columns that a piece of syntax names, qualified or not.
pub(crate) fn columns_of(syntax: &impl ast::Visit) -> BTreeSet<String> {
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

/// Returns the expression of a table without the table's name before its columns, which would not follow a renaming of the table.
pub(crate) fn of_table(table: &Table, expression: &str) -> Result<String> {
    let mut syntax = syntax::expression(expression)?;
    let is_table = |qualifier: &[ast::Ident]| match qualifier {
        [name] => fold(name) == table.name,
        [schema, name] => fold(schema) == table.schema && fold(name) == table.name,
        _ => false,
    };
    let _: ControlFlow<()> = visit_expressions_mut(&mut syntax, |expression| {
        if let Expr::CompoundIdentifier(idents) = expression
            && let Some((column, qualifier)) = idents.split_last()
            && is_table(qualifier)
        {
            *expression = Expr::Identifier(column.clone());
        }
        ControlFlow::Continue(())
    });
    Ok(syntax.to_string())
}

/// Returns whether an expression is a literal, perhaps cast.
pub(crate) fn is_literal(expression: &str) -> Result<bool> {
    Ok(literal(&syntax::expression(expression)?).is_some())
}

/// Returns the expression with a column renamed.
pub(crate) fn rename_column(expression: &str, old: &str, new: &str) -> Result<String> {
    let mut syntax = syntax::expression(expression)?;
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

/// The sequences that a default calls: `nextval('name')`, with or without a cast to `regclass`.
pub(crate) fn sequences(names: &mut Names<'_>, expression: &str) -> Result<BTreeSet<Oid>> {
    let mut called = Vec::new();
    let _: ControlFlow<()> = visit_expressions(&syntax::expression(expression)?, |expression| {
        called.extend(next_value_of_name(expression));
        ControlFlow::Continue(())
    });
    let mut found = BTreeSet::new();
    for name in called {
        found.extend(sequence(names, &name)?.map(|sequence| sequence.oid));
    }
    Ok(found)
}

/// Returns the expression with the sequences that it calls qualified by their schemas, so that it means the same under another
/// search path. A name that is explicitly a text is looked up at each call.
///
/// # Errors
/// 42P01 and 3F000 for an unknown name, errors of the engine.
pub(crate) fn with_sequences(names: &mut Names<'_>, expression: &Expr) -> Result<Expr> {
    let mut expression = expression.clone();
    let visited = visit_expressions_mut(&mut expression, |expression| {
        let Some(name) = next_value_of_name(expression) else { return ControlFlow::Continue(()) };
        let named = match sequence(names, &name) {
            Ok(Some(sequence)) => syntax::expression(&next_value_of(&sequence)).map_err(SqlError::from),
            Ok(None) => match check_relation(names, &name) {
                Ok(()) => return ControlFlow::Continue(()),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        match named {
            Ok(named) => *expression = named,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    });
    match visited {
        ControlFlow::Continue(()) => Ok(expression),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Returns the expression with a sequence renamed.
pub(crate) fn rename_sequence(expression: &str, old: &Sequence, new: &Sequence) -> Result<String> {
    let mut syntax = syntax::expression(expression)?;
    let visited = visit_expressions_mut(&mut syntax, |expression| {
        let named = next_value_of_name(expression).and_then(|name| name_parts(&name));
        if named.is_some_and(|(schema, name)| schema.as_ref() == Some(&old.schema) && name == old.name) {
            match syntax::expression(&next_value_of(new)) {
                Ok(renamed) => *expression = renamed,
                Err(error) => return ControlFlow::Break(SqlError::from(error)),
            }
        }
        ControlFlow::Continue(())
    });
    match visited {
        ControlFlow::Continue(()) => Ok(syntax.to_string()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The name in a call of `nextval` with a constant; `None` if it is explicitly a text, whose sequence is looked up at each call.
fn next_value_of_name(expression: &Expr) -> Option<String> {
    let is_text = |argument: &Expr| match argument {
        Expr::Cast { data_type, .. } => matches!(data_type.meaning, Ok((Type::TEXT, _))),
        _ => false,
    };
    next_value_argument(expression).filter(|argument| !is_text(argument)).and_then(literal)
}

/// The argument of a call of `nextval`.
fn next_value_argument(expression: &Expr) -> Option<&Expr> {
    let Expr::Function(call) = expression else { return None };
    let name = fold(call.name.0.last()?);
    match call.arguments.as_deref()? {
        [ast::Argument::Expr(argument)] if name == "nextval" => Some(argument),
        _ => None,
    }
}

/// Returns the sequence that a text names.
fn sequence(names: &mut Names<'_>, name: &str) -> Result<Option<Arc<Sequence>>> {
    let Some((schema, name)) = name_parts(name) else { return Ok(None) };
    Ok(match names.relation(schema.as_deref(), &name)? {
        Some(Relation::Sequence(sequence)) => Some(sequence),
        _ => None,
    })
}

/// Returns whether there is a relation of the name that a text gives. A number is an identifier, and not looked up.
///
/// # Errors
/// 42P01, 3F000.
fn check_relation(names: &mut Names<'_>, text: &str) -> Result<()> {
    let Some((schema, name)) = name_parts(text) else { return Ok(()) };
    let built_in = crate::catalog::built_in();
    let is_built_in =
        (built_in.table)(schema.as_deref(), &name).is_some() || (built_in.view)(schema.as_deref(), &name).is_some();
    if is_built_in || names.relation(schema.as_deref(), &name)?.is_some() {
        return Ok(());
    }
    match &schema {
        Some(schema) if names.searched_namespace(schema)?.is_none() => Err(no_schema(schema)),
        _ => Err(no_relation(schema.as_deref(), &name)),
    }
}

/// The schema, if there is one, and the name that a text gives.
fn name_parts(text: &str) -> Option<(Option<String>, String)> {
    let idents = match syntax::expression(text) {
        Ok(Expr::CompoundIdentifier(idents)) => idents,
        Ok(Expr::Identifier(ident)) => vec![ident],
        _ => return None,
    };
    let mut parts: Vec<String> = idents.iter().map(fold).collect();
    let name = parts.pop()?;
    Some((parts.pop(), name))
}

/// The text of a literal, also of one that is cast.
fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Cast { expr, .. } => literal(expr),
        Expr::Literal(ast::Literal { value: ast::Value::String(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// The default of a serial column.
pub(crate) fn next_value_of(sequence: &Sequence) -> String {
    let name = format!("{}.{}", quote(&sequence.schema), quote(&sequence.name));
    format!("nextval('{}'::regclass)", name.replace('\'', "''"))
}
