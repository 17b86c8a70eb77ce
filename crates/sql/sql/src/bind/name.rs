//! Identifiers: folded to lower case unless quoted, cut to 63 bytes.

use crate::error::{Result, SqlError, state};
use syntax::ast::Location;
use syntax::ast::{Expr, Ident, ObjectName, ObjectNamePart};

/// Returns the name that an identifier denotes.
pub(crate) fn fold(ident: &Ident) -> String {
    let mut name = match ident.quote_style {
        None => ident.value.to_ascii_lowercase(),
        Some(_) => ident.value.clone(),
    };
    if name.len() > 63 {
        let end = (0..=63).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

/// The parts of a name.
pub(crate) fn parts(name: &ObjectName) -> Result<Vec<String>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(fold(ident)),
        ObjectNamePart::Function(_) => {
            Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{name}\"")))
        }
    };
    name.0.iter().map(part).collect()
}

/// Splits a name into schema and name.
///
/// # Errors
/// 42601 for a name with too many parts, 0A000 for a name in another database.
pub(crate) fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let mut parts = parts(name)?;
    let last = parts.pop().unwrap_or_default();
    match parts.len() {
        0 | 1 => Ok((parts.pop(), last)),
        2 => Ok((parts.pop(), last)),
        _ => {
            let message = format!("improper qualified name (too many dotted names): {name}");
            Err(SqlError::new(state::SYNTAX_ERROR, message))
        }
    }
}

/// Location of a name.
pub(crate) fn location(name: &ObjectName) -> Location {
    match name.0.first() {
        Some(ObjectNamePart::Identifier(ident)) => ident.span.start,
        Some(ObjectNamePart::Function(function)) => function.name.span.start,
        None => super::position::NOWHERE,
    }
}

/// Returns whether an expression is the word DEFAULT.
pub(super) fn is_default(expression: &Expr) -> bool {
    matches!(expression, Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
