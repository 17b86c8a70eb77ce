//! Numbers.

mod float;
mod integer;
mod numeric;
mod random;
mod uuid;

use super::Function;

/// The functions and operators over numbers.
pub(super) fn tables() -> [&'static [Function]; 14] {
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
        uuid::FUNCTIONS,
    ]
}

pub(super) use float::checked as checked_float;
