//! Identifiers of things that the catalog does not number by itself, made from those of what they belong to.
//!
//! Users' objects are numbered upwards from 16,384; the ranges here are far above.

use crate::catalog::Oid;
use crate::types::defined;

/// Returns whether an identifier is in the ranges of this file.
pub(super) fn is_derived(oid: Oid) -> bool {
    oid & 0xC000_0000 != 0
}

/// The row type of a relation.
pub(super) fn row_type(relation: Oid) -> Oid {
    defined::row_of(relation)
}

/// The array of the row type of a relation.
pub(super) fn row_array(relation: Oid) -> Oid {
    defined::array_of(defined::row_of(relation))
}

/// The relation of a row type.
pub(super) fn relation_of_row_type(data_type: Oid) -> Option<Oid> {
    defined::relation_of(data_type)
}

/// The relation of the array of a row type.
pub(super) fn relation_of_row_array(data_type: Oid) -> Option<Oid> {
    (data_type & 0xC000_0000 == 0xC000_0000).then_some(data_type & 0x3FFF_FFFF)
}

/// The relation that has the attributes of a composite type.
pub(super) fn class_of_type(data_type: Oid) -> Oid {
    partner(data_type)
}

/// The composite type whose attributes a relation has.
pub(super) fn type_of_class(relation: Oid) -> Option<Oid> {
    (relation & 0xC000_0000 == 0x4000_0000).then_some(relation & 0x3FFF_FFFF)
}

/// The constraint that made an index; the rule of a view.
pub(super) fn partner(relation: Oid) -> Oid {
    0x4000_0000 | relation
}

/// The index of a constraint.
pub(super) fn index_of_constraint(constraint: Oid) -> Option<Oid> {
    (constraint & 0xC000_0000 == 0x4000_0000).then_some(constraint & 0x3FFF_FFFF)
}

/// The default of a column (number from 1).
pub(super) fn default(relation: Oid, column: usize) -> Oid {
    let number = Oid::try_from(column).unwrap_or(Oid::MAX);
    0x2000_0000 | (relation.wrapping_mul(1_601).wrapping_add(number) & 0x1FFF_FFFF)
}
