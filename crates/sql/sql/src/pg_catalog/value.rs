//! Short constructors of values, for the tables' long rows.

use crate::catalog::Oid;
use crate::types::{Array, Datum, Scalar};
use std::sync::Arc;

/// No value.
pub(super) const NULL: Datum = Datum::Null;
/// false
pub(super) const NO: Datum = Datum::Bool(false);
/// true
pub(super) const YES: Datum = Datum::Bool(true);
/// The oid that means none.
pub(super) const NONE: Datum = Datum::Oid(0);

/// A text, a name or a `"char"`.
pub(super) fn text(text: impl AsRef<str>) -> Datum {
    Datum::Text(text.as_ref().into())
}

/// An oid.
pub(super) fn oid(oid: Oid) -> Datum {
    Datum::Oid(oid)
}

/// A boolean.
pub(super) fn bool(value: bool) -> Datum {
    Datum::Bool(value)
}

/// A smallint.
pub(super) fn int2(value: i16) -> Datum {
    Datum::Int2(value)
}

/// The smallint of a count of columns, or of a position: there are at most 1,600.
pub(super) fn count2(value: usize) -> Datum {
    Datum::Int2(i16::try_from(value).unwrap_or(i16::MAX))
}

/// The numbers of columns at these positions.
pub(super) fn numbers(positions: &[usize]) -> Vec<Datum> {
    positions.iter().map(|&position| count2(position + 1)).collect()
}

/// An array, counted from 1.
pub(super) fn array(element: Scalar, elements: Vec<Datum>) -> Datum {
    Datum::Array(Arc::new(Array { element, lower_bound: 1, elements }))
}

/// An `int2vector` or `oidvector`, counted from 0.
pub(super) fn vector(element: Scalar, elements: Vec<Datum>) -> Datum {
    Datum::Array(Arc::new(Array { element, lower_bound: 0, elements }))
}
