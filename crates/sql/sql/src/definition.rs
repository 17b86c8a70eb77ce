//! Definitions of relations from [`tables`], with SQL's types.

use crate::types::{Modifier, Type};

pub use tables::{Action, Check, ForeignKey, Identity, Index, IndexEntry, KeyForm, Namespace, Oid, Storage};

/// Any relation that a name in FROM or DROP can denote.
pub type Relation = tables::Relation<Type, Modifier>;
/// A table.
pub type Table = tables::Table<Type, Modifier>;
/// A column.
pub type Column = tables::Column<Type, Modifier>;
/// A sequence.
pub type Sequence = tables::Sequence<Type>;
/// A view.
pub type View = tables::View<Type, Modifier>;
/// The catalog with its cached definitions.
pub type Cache = tables::Catalog<Type, Modifier>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scalar;

    /// Each layer reads the catalog entries that the other writes: types are stored alike.
    #[test]
    fn types_are_stored_as_the_table_layer_stores_them() {
        let all =
            [Scalar::Bool, Scalar::Int4, Scalar::Numeric, Scalar::Varchar, Scalar::Timestamptz, Scalar::Int2Vector];
        for data_type in all.into_iter().flat_map(|scalar| [Type::of(scalar), Type::array_of(scalar)]) {
            let ours = serde_json::to_string(&(data_type, Modifier(24))).unwrap();
            let theirs: (tables::Type, tables::Modifier) = serde_json::from_str(&ours).unwrap();
            assert_eq!(serde_json::to_string(&theirs).unwrap(), ours);
            assert_eq!(theirs.1.0, 24);
        }
    }
}
