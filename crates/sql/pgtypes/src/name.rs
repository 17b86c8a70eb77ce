//! The names of types.

use serde::{Deserialize, Serialize};

/// A type that is no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scalar {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric(p, s)`
    Numeric,
    /// `text`
    Text,
    /// `character varying(n)`
    Varchar,
    /// `character(n)`: stored padded to n, compared without trailing blanks.
    Bpchar,
    /// `name`: at most 63 bytes, of the catalogs.
    Name,
    /// `"char"`: one byte, of the catalogs.
    Char,
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `time without time zone`
    Time,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `interval`
    Interval,
    /// `uuid`
    Uuid,
    /// `json`: text that was checked.
    Json,
    /// `jsonb`: stored as normalized text.
    Jsonb,
    /// `oid`
    Oid,
    /// `xid`, of the catalogs.
    Xid,
    /// `regclass`: an oid that prints as a relation's name.
    Regclass,
    /// `regtype`
    Regtype,
    /// `regproc`
    Regproc,
    /// `regnamespace`
    Regnamespace,
    /// `regrole`
    Regrole,
    /// `int2vector`, of the catalogs: an array of smallint counted from 0.
    Int2Vector,
    /// `oidvector`, of the catalogs.
    OidVector,
    /// `pg_node_tree`, of the catalogs: a text.
    PgNodeTree,
    /// `aclitem`, of the catalogs.
    AclItem,
    /// An anonymous row.
    Record,
    /// `void`: of functions that return nothing.
    Void,
    /// A literal or NULL whose type the context decides.
    Unknown,
    /// `regprocedure`: a function with the types of its arguments.
    Regprocedure,
    /// `regoper`
    Regoper,
    /// `regoperator`: an operator with the types of its operands.
    Regoperator,
    /// `regcollation`
    Regcollation,
    /// `tid`: a place of a row, a block's number and a number within the block.
    Tid,
    /// An enum that a statement has defined ([`crate::defined`]), by its identifier.
    Enum(u32),
    /// A composite type, by its identifier: one that a statement has defined, or the type of a relation's rows.
    Composite(u32),
}

impl Scalar {
    /// Returns whether the type is an oid that prints as the name of what it identifies.
    pub fn is_reg(self) -> bool {
        use Scalar::*;
        matches!(
            self,
            Regclass | Regtype | Regproc | Regnamespace | Regrole | Regprocedure | Regoper | Regoperator | Regcollation
        )
    }

    /// The identifier of a type that a statement has defined.
    pub fn defined(self) -> Option<u32> {
        match self {
            Scalar::Enum(oid) | Scalar::Composite(oid) => Some(oid),
            _ => None,
        }
    }

    /// Returns whether values are rows: [`crate::Datum::Record`].
    pub fn is_row(self) -> bool {
        matches!(self, Scalar::Record | Scalar::Composite(_))
    }

    /// Returns whether values are object identifiers or transaction numbers: [`crate::Datum::Oid`].
    pub fn is_oid(self) -> bool {
        matches!(self, Scalar::Oid | Scalar::Xid) || self.is_reg()
    }
}

/// A type: a scalar, or an array of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Type {
    /// The scalar, or the array's element.
    pub scalar: Scalar,
    /// Whether the type is an array.
    pub is_array: bool,
}

/// PostgreSQL's type modifier: -1 for none, the length + 4 of varchar and bpchar, `(p << 16 | s) + 4` of numeric, the
/// precision of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Modifier(pub i32);

impl Modifier {
    /// None.
    pub const NONE: Modifier = Modifier(-1);
}

impl Default for Modifier {
    fn default() -> Modifier {
        Modifier::NONE
    }
}

impl Type {
    /// The type that is no array.
    pub const fn of(scalar: Scalar) -> Type {
        Type { scalar, is_array: false }
    }

    /// Returns whether values are rows.
    pub fn is_row(self) -> bool {
        !self.is_array && self.scalar.is_row()
    }

    /// The identifier of a composite type.
    pub fn composite(self) -> Option<u32> {
        match self {
            Type { scalar: Scalar::Composite(oid), is_array: false } => Some(oid),
            _ => None,
        }
    }

    /// The array of a scalar.
    pub const fn array_of(scalar: Scalar) -> Type {
        Type { scalar, is_array: true }
    }
}

macro_rules! type_constants {
    ($($constant:ident = $scalar:ident),* $(,)?) => {
        impl Type {
            $(#[doc = concat!("The type of [`Scalar::", stringify!($scalar), "`].")]
            pub const $constant: Type = Type::of(Scalar::$scalar);)*
        }
    };
}
type_constants!(
    BOOL = Bool,
    INT2 = Int2,
    INT4 = Int4,
    INT8 = Int8,
    FLOAT4 = Float4,
    FLOAT8 = Float8,
    NUMERIC = Numeric,
    TEXT = Text,
    VARCHAR = Varchar,
    BPCHAR = Bpchar,
    NAME = Name,
    CHAR = Char,
    BYTEA = Bytea,
    DATE = Date,
    TIME = Time,
    TIMESTAMP = Timestamp,
    TIMESTAMPTZ = Timestamptz,
    INTERVAL = Interval,
    UUID = Uuid,
    JSON = Json,
    JSONB = Jsonb,
    OID = Oid,
    REGCLASS = Regclass,
    REGTYPE = Regtype,
    RECORD = Record,
    TID = Tid,
    XID = Xid,
    VOID = Void,
    UNKNOWN = Unknown,
);
