//! Plan of a statement, with names and types resolved: the tree that `bind` makes, `optimize` rewrites and `exec` runs.

mod equality;
mod expression;
mod implication;
mod index;
mod origin;
mod output;
mod parts;
mod statement;
mod tree;
mod visit;
mod volatile;

pub(crate) use equality::{equal, equal_lists};
pub use expression::*;
pub use implication::{all_imply, implies};
pub use index::*;
pub use origin::origin;
pub use statement::*;
pub use tree::*;
pub(crate) use volatile::is_volatile;
