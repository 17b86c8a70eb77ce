//! The types of columns, as the catalog writes them.

use model::ColumnType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A type that is not an array, by PostgreSQL's internal name, or by its identifier where a statement has defined it
/// ([`crate::DefinedType`]). The same as SQL's, which a test of SQL compares: SQL's types stand
/// on a floor above, and the table layer knows no more of them than how the catalog writes them.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scalar {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Varchar,
    Bpchar,
    Name,
    Char,
    Bytea,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    Json,
    Jsonb,
    Oid,
    Xid,
    Regclass,
    Regtype,
    Regproc,
    Regnamespace,
    Regrole,
    Int2Vector,
    OidVector,
    PgNodeTree,
    AclItem,
    Record,
    Void,
    Unknown,
    Regprocedure,
    Regoper,
    Regoperator,
    Regcollation,
    Tid,
    Enum(u32),
    Composite(u32),
}

/// The type of a column: a scalar, or an array of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Type {
    /// The scalar, or the array's element.
    pub scalar: Scalar,
    /// Whether it is an array.
    pub is_array: bool,
}

/// PostgreSQL's type modifier: -1 for none; the length + 4 of `varchar`, for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Modifier(pub i32);

impl Modifier {
    /// None.
    pub const NONE: Modifier = Modifier(-1);
}

impl Type {
    /// The type that is not an array.
    pub const fn of(scalar: Scalar) -> Type {
        Type { scalar, is_array: false }
    }

    /// The type of a new column that holds values of an engine's column type.
    pub fn for_values(kind: ColumnType) -> Type {
        Type::of(match kind {
            ColumnType::Bool => Scalar::Bool,
            ColumnType::Int => Scalar::Int8,
            ColumnType::Float => Scalar::Float8,
            ColumnType::Text => Scalar::Text,
            ColumnType::Bytes => Scalar::Bytea,
            ColumnType::Timestamp => Scalar::Timestamptz,
            ColumnType::Date => Scalar::Date,
        })
    }

    /// The engine's column type whose values stand in a column of this type as they are; `None` where a value's stored bytes
    /// have a form of their own (`numeric`), or its text has rules (`json`).
    pub fn plain(self) -> Option<ColumnType> {
        if self.is_array {
            return None;
        }
        Some(match self.scalar {
            Scalar::Bool => ColumnType::Bool,
            Scalar::Int2 | Scalar::Int4 | Scalar::Int8 => ColumnType::Int,
            Scalar::Float8 => ColumnType::Float,
            Scalar::Text | Scalar::Varchar => ColumnType::Text,
            Scalar::Bytea => ColumnType::Bytes,
            Scalar::Timestamp | Scalar::Timestamptz => ColumnType::Timestamp,
            Scalar::Date => ColumnType::Date,
            _ => return None,
        })
    }
}

impl Scalar {
    /// The bytes of a key component of an integer or a date; `None` for other types.
    pub(crate) fn integer_width(self) -> Option<usize> {
        match self {
            Scalar::Int2 => Some(2),
            Scalar::Int4 | Scalar::Date => Some(4),
            Scalar::Int8 => Some(8),
            _ => None,
        }
    }
}

/// As SQL names it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.scalar {
            Scalar::Bool => "boolean",
            Scalar::Int2 => "smallint",
            Scalar::Int4 => "integer",
            Scalar::Int8 => "bigint",
            Scalar::Float4 => "real",
            Scalar::Float8 => "double precision",
            Scalar::Varchar => "character varying",
            Scalar::Bpchar => "character",
            Scalar::Time => "time without time zone",
            Scalar::Timestamp => "timestamp without time zone",
            Scalar::Timestamptz => "timestamp with time zone",
            Scalar::Enum(_) => "an enum",
            Scalar::Composite(_) => "a composite type",
            other => {
                write!(f, "{}", format!("{other:?}").to_lowercase())?;
                return f.write_str(if self.is_array { "[]" } else { "" });
            }
        };
        write!(f, "{name}{}", if self.is_array { "[]" } else { "" })
    }
}
