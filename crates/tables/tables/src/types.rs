//! The types of columns, as the catalog writes them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A type that is not an array, by PostgreSQL's internal name.
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
            other => {
                write!(f, "{}", format!("{other:?}").to_lowercase())?;
                return f.write_str(if self.is_array { "[]" } else { "" });
            }
        };
        write!(f, "{name}{}", if self.is_array { "[]" } else { "" })
    }
}
