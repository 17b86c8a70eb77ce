//! Definitions of relations from [`tables`], with SQL's types.

use crate::types::{Modifier, Scalar, Type};

pub use tables::{
    Action, Check, EXPRESSION, EnumLabel, ForeignKey, Identity, Index, IndexEntry, KeyForm, Namespace, Oid, OnCommit,
    Storage,
};

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
/// A type that a statement has defined.
pub type DefinedType = tables::DefinedType<Type, Modifier>;
/// What such a type is.
pub type TypeKind = tables::TypeKind<Type, Modifier>;
/// A domain.
pub type Domain = tables::Domain<Type, Modifier>;
/// A type that a statement has defined, or the type of a relation's rows, as a type of values; for a domain, the name of it alone.
pub fn type_of(found: &DefinedType) -> Type {
    Type::of(match found.kind {
        TypeKind::Composite(_) => Scalar::Composite(found.oid),
        TypeKind::Enum(_) | TypeKind::Domain(_) => Scalar::Enum(found.oid),
    })
}

/// The attributes of a composite type that are there, with their places.
pub fn attributes(found: &DefinedType) -> impl Iterator<Item = (usize, &Column)> {
    let columns = match &found.kind {
        TypeKind::Composite(columns) => &columns[..],
        TypeKind::Enum(_) | TypeKind::Domain(_) => &[],
    };
    columns.iter().enumerate().filter(|(_, column)| !column.dropped)
}

/// The catalog with its cached definitions.
pub type Cache = tables::Catalog<Type, Modifier>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Scalars that both layers name, which the compiler compares with all that each has.
    macro_rules! scalars {
        ($($name:ident)+) => {{
            let _ours = |scalar: Scalar| match scalar {
                $(Scalar::$name => {})+
                Scalar::Enum(_) | Scalar::Composite(_) => {}
            };
            let _theirs = |scalar: tables::Scalar| match scalar {
                $(tables::Scalar::$name => {})+
                tables::Scalar::Enum(_) | tables::Scalar::Composite(_) => {}
            };
            [
                $((Scalar::$name, tables::Scalar::$name)),+,
                (Scalar::Enum(16_400), tables::Scalar::Enum(16_400)),
                (Scalar::Composite(16_401), tables::Scalar::Composite(16_401)),
            ]
        }};
    }

    /// Each layer reads the catalog entries that the other writes: types are the same, and stored alike.
    #[test]
    fn types_are_those_of_the_table_layer() {
        let all = scalars! {
            Bool Int2 Int4 Int8 Float4 Float8 Numeric Text Varchar Bpchar Name Char Bytea Date Time Timestamp Timestamptz Interval
            Uuid Json Jsonb Oid Xid Regclass Regtype Regproc Regnamespace Regrole Int2Vector OidVector PgNodeTree AclItem Record
            Void Unknown Regprocedure Regoper Regoperator Regcollation Tid
        };
        for (ours, theirs) in all {
            for is_array in [false, true] {
                let ours = serde_json::to_string(&(Type { scalar: ours, is_array }, Modifier(24))).unwrap();
                let theirs = (tables::Type { scalar: theirs, is_array }, tables::Modifier(24));
                assert_eq!(ours, serde_json::to_string(&theirs).unwrap());
                assert_eq!(serde_json::from_str::<(tables::Type, tables::Modifier)>(&ours).unwrap(), theirs);
            }
        }
    }
}
