//! Values.

use super::error::{Error, Result, state};
use super::{Label, Type};
use bigdecimal::BigDecimal;
use smol_str::SmolStr;
use std::sync::Arc;

/// A row of values.
pub type Row = Vec<Datum>;

/// A value of SQL. Which [`crate::Type`] it has is known beside it: texts of all kinds are one variant.
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
    /// bigint; tid: the block times 65,536, and the number within it
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
    /// A row.
    Record(Arc<Record>),
    /// A value of an enum.
    Enum(Arc<Label>),
}

/// A row as a value.
#[derive(Clone, Debug)]
pub struct Record {
    /// The values of its fields.
    pub fields: Vec<Datum>,
    /// The names and types of its fields, where they are known.
    pub shape: Option<Arc<RowShape>>,
}

/// The names and types of a row's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowShape {
    /// The fields.
    pub fields: Vec<(SmolStr, Type)>,
    /// The composite type of which the row is a value; `None` for a record.
    pub composite: Option<CompositeShape>,
}

/// The composite type of a row. The row says itself how it is stored, whatever the type becomes while the row is at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompositeShape {
    /// The type's identifier.
    pub oid: u32,
    /// The places of the fields in what is stored, ascending. An attribute keeps its place as long as it lives.
    pub places: Vec<u16>,
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
    pub element: crate::Scalar,
    /// The subscript of the first element: 1, and 0 of the catalogs' vectors.
    pub lower_bound: i32,
    /// The elements; arrays if there is more than one dimension.
    pub elements: Vec<Datum>,
}

impl Datum {
    /// Returns whether the value is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// Returns the type of a value that carries no declared type, such as a field of an anonymous row.
    pub fn natural_type(&self) -> Type {
        match self {
            Datum::Null | Datum::Text(_) => Type::TEXT,
            Datum::Bool(_) => Type::BOOL,
            Datum::Int2(_) => Type::INT2,
            Datum::Int4(_) => Type::INT4,
            Datum::Int8(_) => Type::INT8,
            Datum::Float4(_) => Type::FLOAT4,
            Datum::Float8(_) => Type::FLOAT8,
            Datum::Numeric(_) => Type::NUMERIC,
            Datum::Bytea(_) => Type::BYTEA,
            Datum::Date(_) => Type::DATE,
            Datum::Time(_) => Type::TIME,
            Datum::Timestamp(_) => Type::TIMESTAMP,
            Datum::Timestamptz(_) => Type::TIMESTAMPTZ,
            Datum::Interval(_) => Type::INTERVAL,
            Datum::Uuid(_) => Type::UUID,
            Datum::Oid(_) => Type::OID,
            Datum::Array(array) => Type::array_of(array.element),
            Datum::Record(record) => record.data_type(),
            Datum::Enum(label) => Type::of(crate::Scalar::Enum(label.enumeration)),
        }
    }

    /// The text inside.
    pub fn as_text(&self) -> Option<&str> {
        if let Datum::Text(text) = self { Some(text) } else { None }
    }

    /// The boolean inside.
    pub fn as_bool(&self) -> Option<bool> {
        if let Datum::Bool(value) = self { Some(*value) } else { None }
    }

    /// The integer inside, of any width; an oid too.
    pub fn as_i64(&self) -> Option<i64> {
        Some(match self {
            Datum::Int2(value) => i64::from(*value),
            Datum::Int4(value) => i64::from(*value),
            Datum::Int8(value) => *value,
            Datum::Oid(value) => i64::from(*value),
            _ => return None,
        })
    }

    /// The float inside, of any width.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Datum::Float4(value) => Some(f64::from(*value)),
            Datum::Float8(value) => Some(*value),
            _ => None,
        }
    }

    /// The numeric inside.
    pub fn as_numeric(&self) -> Option<&Numeric> {
        if let Datum::Numeric(value) = self { Some(value) } else { None }
    }

    /// The bytes inside.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Datum::Bytea(value) = self { Some(value) } else { None }
    }

    /// The interval inside.
    pub fn as_interval(&self) -> Option<&Interval> {
        if let Datum::Interval(value) = self { Some(value) } else { None }
    }

    /// The array inside.
    pub fn as_array(&self) -> Option<&Array> {
        if let Datum::Array(value) = self { Some(value) } else { None }
    }

    /// The object identifier inside.
    pub fn as_oid(&self) -> Option<u32> {
        if let Datum::Oid(value) = self { Some(*value) } else { None }
    }

    /// The fields of a record inside.
    pub fn as_record(&self) -> Option<&[Datum]> {
        if let Datum::Record(record) = self { Some(&record.fields) } else { None }
    }

    /// A row of fields without names.
    pub fn record(fields: impl Into<Vec<Datum>>) -> Datum {
        Datum::Record(Arc::new(Record { fields: fields.into(), shape: None }))
    }
}

impl std::ops::Deref for Record {
    type Target = [Datum];

    fn deref(&self) -> &[Datum] {
        &self.fields
    }
}

impl Record {
    /// Its type: that of the composite type whose value it is.
    pub fn data_type(&self) -> Type {
        let composite = self.shape.as_ref().and_then(|shape| shape.composite.as_ref());
        composite.map_or(Type::RECORD, |composite| Type::of(crate::Scalar::Composite(composite.oid)))
    }

    /// The fields with their names and types. Without a name, the third is `f3`.
    pub fn described(&self) -> impl Iterator<Item = (SmolStr, Type, &Datum)> {
        self.fields.iter().enumerate().map(|(at, value)| {
            match self.shape.as_ref().and_then(|shape| shape.fields.get(at)) {
                Some((name, data_type)) => (name.clone(), *data_type, value),
                None => (RowShape::nameless(at), value.natural_type(), value),
            }
        })
    }
}

impl RowShape {
    /// The shape of a record with these fields.
    pub fn record(fields: Vec<(SmolStr, Type)>) -> RowShape {
        RowShape { fields, composite: None }
    }

    /// The name of a field without a name, by its position from 0.
    pub fn nameless(at: usize) -> SmolStr {
        smol_str::format_smolstr!("f{}", at + 1)
    }
}

macro_rules! datum_from {
    ($($kind:ty => $variant:ident),* $(,)?) => {
        $(impl From<$kind> for Datum {
            fn from(value: $kind) -> Datum {
                Datum::$variant(value.into())
            }
        })*
    };
}
datum_from!(
    bool => Bool,
    i16 => Int2,
    i32 => Int4,
    i64 => Int8,
    f32 => Float4,
    f64 => Float8,
    Numeric => Numeric,
    &str => Text,
    String => Text,
    SmolStr => Text,
    Vec<u8> => Bytea,
    &[u8] => Bytea,
    Interval => Interval,
    Array => Array,
);

impl From<Vec<Datum>> for Datum {
    fn from(fields: Vec<Datum>) -> Datum {
        Datum::record(fields)
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Datum {
        value.map_or(Datum::Null, Into::into)
    }
}

impl Array {
    /// Dimensions, at most.
    pub const MOST_DIMENSIONS: usize = 6;

    /// Refuses more dimensions than an array has.
    ///
    /// # Errors
    /// 54000
    pub fn check_dimensions(count: usize) -> Result<()> {
        if count <= Array::MOST_DIMENSIONS {
            return Ok(());
        }
        let most = Array::MOST_DIMENSIONS;
        let message = format!("number of array dimensions ({count}) exceeds the maximum allowed ({most})");
        Err(Error::new(state::PROGRAM_LIMIT_EXCEEDED, message))
    }

    /// A one-dimensional array, counted from 1.
    pub fn new(element: crate::Scalar, elements: Vec<Datum>) -> Array {
        Array { element, lower_bound: 1, elements }
    }

    /// An array of these dimensions from its elements in order; `None` if their number is another. Bounds of inner
    /// dimensions are 1.
    pub fn from_leaves(
        element: crate::Scalar,
        lower_bound: i32,
        dimensions: &[usize],
        leaves: Vec<Datum>,
    ) -> Option<Array> {
        if dimensions.is_empty() {
            return leaves.is_empty().then_some(Array { element, lower_bound, elements: leaves });
        }
        let count = dimensions.iter().try_fold(1usize, |count, length| count.checked_mul(*length))?;
        if count != leaves.len() {
            return None;
        }
        let mut elements = leaves;
        for length in dimensions[1..].iter().rev() {
            let mut rest = elements.into_iter();
            elements = std::iter::from_fn(|| {
                let inner: Vec<Datum> = rest.by_ref().take(*length).collect();
                (!inner.is_empty()).then(|| Array { element, lower_bound: 1, elements: inner }.into())
            })
            .collect();
        }
        Some(Array { element, lower_bound, elements })
    }
}

/// Bytes that a row holds, about.
pub fn row_bytes(row: &[Datum]) -> usize {
    24 + row.iter().map(|datum| size_of::<Datum>() + value_bytes(datum)).sum::<usize>()
}

/// Bytes that a value holds beside itself, about.
pub fn value_bytes(datum: &Datum) -> usize {
    match datum {
        Datum::Text(text) if text.is_heap_allocated() => text.len() + 16,
        Datum::Bytea(bytes) => bytes.len() + 16,
        Datum::Numeric(_) => 64,
        Datum::Array(array) => 64 + array.elements.len() * size_of::<Datum>(),
        Datum::Record(fields) => 32 + fields.len() * size_of::<Datum>(),
        _ => 0,
    }
}

const _: () = assert!(size_of::<Datum>() <= 32);
