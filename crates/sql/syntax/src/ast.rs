//! The syntax tree: the parser's, under one name for all crates.

pub use sqlparser::ast::*;
pub use sqlparser::tokenizer::{Location, Span};
