//! The syntax tree: the parser's, by one name for the whole house.

pub use sqlparser::ast::*;
pub use sqlparser::tokenizer::{Location, Span};
