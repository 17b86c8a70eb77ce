//! Formatting by templates: `to_char`, `to_number`, `to_date`, `to_timestamp`.

mod clock;
mod number;
mod number_words;
mod parse_clock;
mod words;

use super::Function;

/// The functions.
pub(super) fn tables() -> [&'static [Function]; 3] {
    [number::FUNCTIONS, clock::FUNCTIONS, parse_clock::FUNCTIONS]
}

/// The suffix of an ordinal number.
fn ordinal(digits: &str) -> &'static str {
    match digits.as_bytes() {
        [.., b'1', _] => "th",
        [.., b'1'] => "st",
        [.., b'2'] => "nd",
        [.., b'3'] => "rd",
        _ => "th",
    }
}
