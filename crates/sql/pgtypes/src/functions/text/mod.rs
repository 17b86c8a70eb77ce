//! Texts and bytes.

mod basic;
mod binary;
mod build;
mod ends;
mod like;
mod preference;
pub(super) mod quote;
mod regex;
mod regex_functions;
mod search;
mod slice;

use super::Function;

/// The functions and operators over texts and bytes.
pub(super) fn tables() -> [&'static [Function]; 7] {
    [
        basic::FUNCTIONS,
        slice::FUNCTIONS,
        build::FUNCTIONS,
        binary::FUNCTIONS,
        like::FUNCTIONS,
        quote::FUNCTIONS,
        regex_functions::FUNCTIONS,
    ]
}
