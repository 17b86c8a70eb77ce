//! From syntax to meaning: names are looked up, types decided, conversions made explicit.

use crate::context::Context;
use crate::error::Result;
use crate::plan::{Expr, Statement};
use crate::types::Type;
use sqlparser::ast;

/// The types of a statement's parameters: given by the client, or found while binding.
pub type Parameters = Vec<Option<Type>>;

/// Binds SELECT, INSERT, UPDATE or DELETE. Types of parameters that are `None` (and further ones) are filled in.
///
/// # Errors
/// 42P01, 42703, 42883 and the like, with the position where the syntax tree knows it.
#[allow(unused_variables)]
pub fn statement(
    context: &mut Context<'_>,
    statement: &ast::Statement,
    parameters: &mut Parameters,
) -> Result<Statement> {
    todo!()
}

/// Binds an expression over the columns of one table (DEFAULT: no columns; CHECK; generated columns), cast to `wanted` by
/// assignment if given.
///
/// # Errors
/// As [`statement`].
#[allow(unused_variables)]
pub fn expression(
    context: &mut Context<'_>,
    expression: &str,
    columns: &[(String, Type, crate::types::Modifier)],
    wanted: Option<(Type, crate::types::Modifier)>,
) -> Result<Expr> {
    todo!()
}
