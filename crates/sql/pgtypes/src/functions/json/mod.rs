//! json and jsonb. Both are kept as text, jsonb as PostgreSQL prints it: parts of them are slices of that text (`scan.rs`), and
//! newly built values are text again (`build.rs`), normalized for jsonb.

mod access;
mod build;
mod change;
mod scan;

pub(super) use build::{natural_type, push_key, push_value};

use super::Function;
use super::table::*;
use crate::{Modifier, text};

/// The functions and operators.
pub(super) fn tables() -> [&'static [Function]; 3] {
    [access::FUNCTIONS, build::FUNCTIONS, change::FUNCTIONS]
}

/// The text of a JSON as jsonb.
pub(super) fn normalized(json: &str) -> Result<Datum> {
    text::parse(json, JSONB, Modifier::NONE, &Default::default())
}
