//! Plan of a statement, with names and types resolved: the tree that `bind` makes, `optimize` rewrites and `exec` runs.

mod expression;
mod output;
mod parts;
mod statement;
mod tree;
mod visit;

pub use expression::*;
pub use statement::*;
pub use tree::*;
