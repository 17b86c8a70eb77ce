//! Definitions: CREATE, ALTER, DROP, TRUNCATE. Each is part of the transaction that says it.

use crate::context::Context;
use crate::error::{Result, SqlError};
use sqlparser::ast;

/// Runs a definition, if the statement is one, and says its tag (`CREATE TABLE`). Notices (`table "x" does not exist,
/// skipping`) are pushed.
///
/// # Errors
/// 42P07, 42P01, 42701, 2BP01 and the like, the engine's.
#[allow(unused_variables)]
pub fn run(
    context: &mut Context<'_>,
    statement: &ast::Statement,
    notices: &mut Vec<SqlError>,
) -> Result<Option<String>> {
    todo!()
}
