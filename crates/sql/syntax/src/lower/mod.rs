//! Lowering: turns the parser's tree into [`crate::ast`], chapter by chapter.
//!
//! The parser's nodes are consumed, so that names and texts move instead of being copied. What PostgreSQL does not have, and
//! what it has and this server lacks, is refused here by its name: nothing outside of this crate sees it.

mod call;
mod data_type;
mod dml;
mod expression;
mod group;
mod query;
mod table;

pub(crate) use data_type::data_type;
pub(crate) use dml::{assignment, statement};
pub(crate) use expression::expr;
pub(crate) use query::{cte, query};
pub(crate) use table::factor as table_factor;

use crate::ast::{Ident, Location, ObjectName, Span};
use pgtypes::Error;
use sqlparser::{ast as parser, tokenizer};
use std::fmt;

/// Why a node cannot be lowered, and where it stands.
#[derive(Debug)]
pub(crate) struct Refusal {
    error: Error,
    at: Location,
}

/// A lowered node.
pub(crate) type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    /// 0A000
    pub(crate) fn unsupported(what: impl fmt::Display) -> Refusal {
        Error::unsupported(what).into()
    }

    /// Adds the place.
    pub(crate) fn at(self, at: Location) -> Refusal {
        Refusal { at, ..self }
    }

    /// Returns the error with its position in the text of the statement.
    pub(crate) fn in_text(self, text: &str) -> Error {
        match self.at {
            at if at == Span::NOWHERE.start => self.error,
            at => self.error.at(crate::position_of(text, at)),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal { error, at: Span::NOWHERE.start }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        refusal.error
    }
}

impl From<tokenizer::Location> for Location {
    fn from(location: tokenizer::Location) -> Location {
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Location { line: narrow(location.line), column: narrow(location.column) }
    }
}

/// A range of places.
pub(crate) fn span(span: tokenizer::Span) -> Span {
    Span { start: span.start.into(), end: span.end.into() }
}

/// A name of one word.
pub(crate) fn ident(ident: parser::Ident) -> Ident {
    Ident { value: ident.value, quoted: ident.quote_style.is_some(), span: span(ident.span) }
}

/// A name of words with dots between them.
pub(crate) fn object_name(name: parser::ObjectName) -> ObjectName {
    let part = |part| match part {
        parser::ObjectNamePart::Identifier(part) => ident(part),
        // No dialect but Snowflake's computes names.
        parser::ObjectNamePart::Function(function) => ident(function.name),
    };
    ObjectName(name.0.into_iter().map(part).collect())
}

/// Nodes in their order.
fn each<P, T>(nodes: Vec<P>, lower: impl FnMut(P) -> Result<T>) -> Result<Vec<T>> {
    nodes.into_iter().map(lower).collect()
}

/// A node in a box.
fn boxed(expr: parser::Expr) -> Result<Box<crate::ast::Expr>> {
    expression::expr(expr).map(Box::new)
}

#[cfg(test)]
mod tests;
