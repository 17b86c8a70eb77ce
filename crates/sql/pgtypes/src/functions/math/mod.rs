//! Numbers.

mod float;
mod integer;
mod numeric;
mod random;

use super::Function;

/// The functions and operators over numbers.
pub(super) fn tables() -> [&'static [Function]; 13] {
    [
        &integer::SMALL,
        &integer::PLAIN,
        &integer::BIG,
        integer::FUNCTIONS,
        &float::SINGLE,
        &float::SINGLE_DOUBLE,
        &float::DOUBLE_SINGLE,
        &float::DOUBLE,
        &float::SINGLE_SIGNS,
        &float::DOUBLE_SIGNS,
        float::FUNCTIONS,
        numeric::FUNCTIONS,
        random::FUNCTIONS,
    ]
}

pub(super) use float::checked as checked_float;
