//! Values.

use bigdecimal::BigDecimal;
use smol_str::SmolStr;
use std::sync::Arc;

/// A row of values.
pub type Row = Vec<Datum>;

/// A value of SQL. Which [`crate::types::Type`] it has is known beside it: texts of all kinds are one variant.
#[derive(Clone, Debug, Default)]
pub enum Datum {
    /// No value.
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// real
    Float4(f32),
    /// double precision
    Float8(f64),
    /// numeric: a finite one keeps its display scale.
    Numeric(Numeric),
    /// text, varchar, bpchar, name, "char", json, jsonb, pg_node_tree, aclitem and literals of unknown type
    Text(SmolStr),
    /// bytea
    Bytea(Arc<[u8]>),
    /// Days since 1970-01-01; `i32::MIN` and `i32::MAX` are the infinities.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01 00:00:00; `i64::MIN` and `i64::MAX` are the infinities.
    Timestamp(i64),
    /// The same in UTC.
    Timestamptz(i64),
    /// interval
    Interval(Arc<Interval>),
    /// uuid
    Uuid(Arc<[u8; 16]>),
    /// oid, xid and the reg* types
    Oid(u32),
    /// An array; `int2vector` and `oidvector` are arrays with a lower bound of 0.
    Array(Arc<Array>),
    /// An anonymous row.
    Record(Arc<[Datum]>),
}

/// A numeric.
#[derive(Clone, Debug)]
pub enum Numeric {
    /// A number; its fractional digit count is its display scale.
    Finite(Arc<BigDecimal>),
    /// Not a number: greater than every other, equal to itself.
    NaN,
    /// Infinity
    Infinity,
    /// -Infinity
    NegativeInfinity,
}

/// A span of time: three parts that do not convert into each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// A one-dimensional array, or nested ones as an array of arrays.
#[derive(Clone, Debug)]
pub struct Array {
    /// The type of the elements.
    pub element: crate::types::Scalar,
    /// The subscript of the first element: 1, and 0 of the catalogs' vectors.
    pub lower_bound: i32,
    /// The elements; arrays if there is more than one dimension.
    pub elements: Vec<Datum>,
}

const _: () = assert!(size_of::<Datum>() <= 32);
