//! Lowering: turns the parser's tree into [`crate::ast`], node by node.
//!
//! The parser's nodes are consumed, so that names and texts move instead of being copied.

use crate::ast;
use pgtypes::Result;
use sqlparser::ast as parser;

/// An expression.
///
/// # Errors
/// 0A000 for an expression that this server lacks.
#[allow(dead_code, reason = "definitions are lowered next")]
pub(crate) fn expr(expr: parser::Expr) -> Result<ast::Expr> {
    Ok(expr)
}

/// A query.
///
/// # Errors
/// 0A000 for a clause that this server lacks.
#[allow(dead_code, reason = "definitions are lowered next")]
pub(crate) fn query(query: parser::Query) -> Result<ast::Query> {
    Ok(query)
}

/// A name of one word.
#[allow(dead_code, reason = "definitions are lowered next")]
pub(crate) fn ident(ident: parser::Ident) -> ast::Ident {
    ident
}

/// A name of words with dots between them.
#[allow(dead_code, reason = "definitions are lowered next")]
pub(crate) fn object_name(name: parser::ObjectName) -> ast::ObjectName {
    name
}

/// The name of a type. Whether there is such a type is decided by [`crate::data_type`].
#[allow(dead_code, reason = "definitions are lowered next")]
pub(crate) fn data_type(data_type: parser::DataType) -> ast::DataType {
    data_type
}
