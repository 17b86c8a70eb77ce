//! Identifiers: folded to lower case unless quoted, cut to 63 bytes.

use crate::error::{Result, SqlError, state};
use syntax::ast::{Expr, Ident, Location, ObjectName};

/// Returns the name that an identifier denotes.
pub(crate) fn fold(ident: &Ident) -> String {
    let mut name = if ident.quoted { ident.value.clone() } else { ident.value.to_ascii_lowercase() };
    if name.len() > 63 {
        let end = (0..=63).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

/// The parts of a name.
pub(crate) fn parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().map(fold).collect()
}

/// Splits a name into schema and name.
///
/// # Errors
/// 42601 for a name with too many parts, 0A000 for a name in another database.
pub(crate) fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let mut parts = parts(name);
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

/// Refuses a name of another database than this one.
///
/// # Errors
/// 0A000
pub(crate) fn check_database(name: &ObjectName, database: &str) -> Result<()> {
    match &*name.0 {
        [first, _, _] if fold(first) != database => {
            let message = format!("cross-database references are not implemented: \"{}\"", parts(name).join("."));
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
        }
        _ => Ok(()),
    }
}

/// Location of a name.
pub(crate) fn location(name: &ObjectName) -> Location {
    name.0.first().map_or(super::position::NOWHERE, |first| first.span.start)
}

/// Returns whether an expression is the word DEFAULT.
pub(super) fn is_default(expression: &Expr) -> bool {
    matches!(expression, Expr::Default(_))
}
