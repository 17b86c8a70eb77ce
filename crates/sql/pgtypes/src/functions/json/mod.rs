//! json and jsonb. Both are kept as text, jsonb as PostgreSQL prints it: parts of them are slices of that text (`scan.rs`), and
//! newly built values are text again (`build.rs`), normalized for jsonb. `populate.rs` makes rows of
//! objects.

mod access;
mod build;
mod change;
mod populate;
mod scan;

pub(super) use build::{natural_type, push_key, push_value};

use super::Function;
use super::table::*;
use crate::{Modifier, text};

/// The functions and operators.
pub(super) fn tables() -> [&'static [Function]; 5] {
    let [of_json, of_jsonb] = &populate::FUNCTIONS;
    [access::FUNCTIONS, build::FUNCTIONS, change::FUNCTIONS, of_json, of_jsonb]
}

/// The text of a JSON as jsonb.
pub(super) fn normalized(json: &str) -> Result<Datum> {
    text::parse(json, JSONB, Modifier::NONE, &Default::default())
}
