//! The order of values, and equality and hashing that agree with it.

use super::{Datum, Type};
use std::cmp::Ordering;
use std::hash::Hasher;

#[allow(unused_variables)]
impl Datum {
    /// How two values of one type compare, neither NULL; inside arrays and records NULL is greater than every value.
    /// `character(n)` needs [`compare_typed`].
    pub fn compare(&self, other: &Datum) -> Ordering {
        todo!()
    }
}

/// How two values of this type compare: [`Datum::compare`], with `character(n)` compared without its trailing blanks.
#[allow(unused_variables)]
pub fn compare_typed(data_type: Type, left: &Datum, right: &Datum) -> Ordering {
    todo!()
}

/// Whether two values of this type are equal; NULL equals NULL (as in GROUP BY and IS NOT DISTINCT FROM).
#[allow(unused_variables)]
pub fn equal_typed(data_type: Type, left: &Datum, right: &Datum) -> bool {
    todo!()
}

/// Hashes a value of this type so that equal ones ([`equal_typed`]) have the same hash.
#[allow(unused_variables)]
pub fn hash_typed(data_type: Type, value: &Datum, hasher: &mut impl Hasher) {
    todo!()
}
