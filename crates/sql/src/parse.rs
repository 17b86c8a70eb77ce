//! From text to syntax, by `sqlparser`'s PostgreSQL dialect.

use crate::error::Result;
use sqlparser::ast;

/// A statement and where it stands in the text (bytes).
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The syntax.
    pub statement: ast::Statement,
    /// Its text.
    pub text: String,
}

/// The statements of a text.
///
/// # Errors
/// 42601 with the position, 0A000 for what the parser does not know.
#[allow(unused_variables)]
pub fn statements(sql: &str) -> Result<Vec<Parsed>> {
    todo!()
}
