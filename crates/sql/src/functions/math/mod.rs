//! Numbers.

mod float;
mod integer;
mod numeric;
mod random;

use super::Function;

/// The functions and operators over numbers.
pub(super) fn tables() -> [&'static [Function]; 11] {
    [
        &integer::SMALL,
        &integer::PLAIN,
        &integer::BIG,
        integer::FUNCTIONS,
        &float::SINGLE,
        &float::SINGLE_DOUBLE,
        &float::DOUBLE_SINGLE,
        &float::DOUBLE,
        float::FUNCTIONS,
        numeric::FUNCTIONS,
        random::FUNCTIONS,
    ]
}

pub(super) use float::checked as checked_float;
