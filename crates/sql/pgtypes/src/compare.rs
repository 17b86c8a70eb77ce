//! Order of values, with equality and hashing that agree with it.

use super::{Array, Datum, Interval, Record, Scalar, Type, jsonb};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

impl Datum {
    /// Compares two values of one type, neither NULL; inside arrays and records NULL is greater than every value.
    /// `character(n)` needs [`compare_typed`].
    pub fn compare(&self, other: &Datum) -> Ordering {
        use Datum::*;
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Greater,
            (_, Null) => Ordering::Less,
            (Bool(a), Bool(b)) => a.cmp(b),
            (Int2(a), Int2(b)) => a.cmp(b),
            (Int4(a), Int4(b)) | (Date(a), Date(b)) => a.cmp(b),
            (Int8(a), Int8(b))
            | (Time(a), Time(b))
            | (Timestamp(a), Timestamp(b))
            | (Timestamptz(a), Timestamptz(b)) => a.cmp(b),
            (Float4(a), Float4(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            (Float8(a), Float8(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            (Numeric(a), Numeric(b)) => a.compare(b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Bytea(a), Bytea(b)) => a.cmp(b),
            (Interval(a), Interval(b)) => a.normalized().cmp(&b.normalized()),
            (Uuid(a), Uuid(b)) => a.cmp(b),
            (Oid(a), Oid(b)) => a.cmp(b),
            (Array(a), Array(b)) => compare_arrays(a, b),
            (Enum(a), Enum(b)) => a.rank.cmp(&b.rank),
            (Record(a), Record(b)) => compare_records(a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// An order of the variants, so that even values of different types compare somehow, and consistently.
    fn rank(&self) -> u8 {
        match self {
            Datum::Null => u8::MAX,
            Datum::Bool(_) => 0,
            Datum::Int2(_) => 1,
            Datum::Int4(_) => 2,
            Datum::Int8(_) => 3,
            Datum::Float4(_) => 4,
            Datum::Float8(_) => 5,
            Datum::Numeric(_) => 6,
            Datum::Text(_) => 7,
            Datum::Bytea(_) => 8,
            Datum::Date(_) => 9,
            Datum::Time(_) => 10,
            Datum::Timestamp(_) => 11,
            Datum::Timestamptz(_) => 12,
            Datum::Interval(_) => 13,
            Datum::Uuid(_) => 14,
            Datum::Oid(_) => 15,
            Datum::Array(_) => 16,
            Datum::Record(_) => 17,
            Datum::Enum(_) => 18,
        }
    }
}

impl Interval {
    /// The span in microseconds, with months of 30 days and days of 24 hours: how intervals compare.
    pub fn normalized(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.micros)
    }
}

/// Compares arrays element by element. Of equal beginnings the shorter is less, then fewer dimensions, then by lengths and
/// bounds.
fn compare_arrays(left: &Array, right: &Array) -> Ordering {
    compare_arrays_by(left, right, Datum::compare)
}

fn compare_arrays_by(left: &Array, right: &Array, compare: impl Fn(&Datum, &Datum) -> Ordering) -> Ordering {
    let (a, b) = (left.leaves(), right.leaves());
    compare_lists_by(a, b, compare)
        .then_with(|| left.dimensions().len().cmp(&right.dimensions().len()))
        .then_with(|| left.dimensions().cmp(&right.dimensions()))
        .then_with(|| left.lower_bound.cmp(&right.lower_bound))
}

/// Compares rows field by field, each by its type.
fn compare_records(left: &Record, right: &Record) -> Ordering {
    let fields = left.shape.as_ref().map_or(&[][..], |shape| &shape.fields);
    for (at, (a, b)) in left.iter().zip(right.iter()).enumerate() {
        let ordering = match fields.get(at) {
            Some((_, data_type)) => compare_typed(*data_type, a, b),
            None => a.compare(b),
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    left.fields.len().cmp(&right.fields.len())
}

fn compare_lists_by<'d>(
    left: impl Iterator<Item = &'d Datum>,
    mut right: impl Iterator<Item = &'d Datum>,
    compare: impl Fn(&Datum, &Datum) -> Ordering,
) -> Ordering {
    for a in left {
        match right.next() {
            None => return Ordering::Greater,
            Some(b) => match compare(a, b) {
                Ordering::Equal => {}
                other => return other,
            },
        }
    }
    if right.next().is_some() { Ordering::Less } else { Ordering::Equal }
}

/// Compares two values of this type: [`Datum::compare`], but `character(n)` without its trailing blanks, and jsonb by its
/// contents.
pub fn compare_typed(data_type: Type, left: &Datum, right: &Datum) -> Ordering {
    match (data_type.scalar, left, right) {
        (Scalar::Bpchar, Datum::Text(a), Datum::Text(b)) => {
            without_blanks(a).as_bytes().cmp(without_blanks(b).as_bytes())
        }
        (Scalar::Jsonb, Datum::Text(a), Datum::Text(b)) => jsonb::compare(a, b),
        (Scalar::Bpchar | Scalar::Jsonb, Datum::Array(a), Datum::Array(b)) => {
            compare_arrays_by(a, b, |a, b| compare_typed(Type::of(data_type.scalar), a, b))
        }
        _ => left.compare(right),
    }
}

/// The text of a `character(n)` that counts.
pub fn without_blanks(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Returns whether two values of this type are equal; NULL equals NULL (as in GROUP BY and IS NOT DISTINCT FROM).
pub fn equal_typed(data_type: Type, left: &Datum, right: &Datum) -> bool {
    compare_typed(data_type, left, right) == Ordering::Equal
}

/// Returns whether two values are one in every respect. Equal ones may differ in what is printed or computed of them: 1.0 and 1.00,
/// a month and 30 days. NULL is identical to NULL.
pub fn identical(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Float4(a), Datum::Float4(b)) => a.to_bits() == b.to_bits(),
        (Datum::Float8(a), Datum::Float8(b)) => a.to_bits() == b.to_bits(),
        (Datum::Numeric(a), Datum::Numeric(b)) => a.scale() == b.scale() && a.compare(b).is_eq(),
        (Datum::Interval(a), Datum::Interval(b)) => a == b,
        (Datum::Array(a), Datum::Array(b)) => {
            (a.element, a.lower_bound) == (b.element, b.lower_bound) && identical_lists(&a.elements, &b.elements)
        }
        (Datum::Record(a), Datum::Record(b)) => a.shape == b.shape && identical_lists(a, b),
        // Texts byte by byte, whatever their type; nothing else has two forms of one value.
        _ => left.compare(right).is_eq(),
    }
}

fn identical_lists(left: &[Datum], right: &[Datum]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| identical(left, right))
}

/// Hashes a value of this type so that equal ones ([`equal_typed`]) have the same hash.
pub fn hash_typed(data_type: Type, value: &Datum, hasher: &mut impl Hasher) {
    value.rank().hash(hasher);
    match value {
        Datum::Null => {}
        Datum::Bool(value) => value.hash(hasher),
        Datum::Int2(value) => value.hash(hasher),
        Datum::Int4(value) | Datum::Date(value) => value.hash(hasher),
        Datum::Int8(value) | Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => {
            value.hash(hasher);
        }
        Datum::Float4(value) => hash_float(f64::from(*value), hasher),
        Datum::Float8(value) => hash_float(*value, hasher),
        Datum::Numeric(value) => value.hash_value(hasher),
        Datum::Text(text) if data_type.scalar == Scalar::Bpchar => without_blanks(text).hash(hasher),
        Datum::Text(text) if data_type.scalar == Scalar::Jsonb => jsonb::hash(text, hasher),
        Datum::Text(text) => text.hash(hasher),
        Datum::Bytea(bytes) => bytes.hash(hasher),
        Datum::Interval(interval) => interval.normalized().hash(hasher),
        Datum::Uuid(uuid) => uuid.hash(hasher),
        Datum::Oid(oid) => oid.hash(hasher),
        Datum::Array(array) => array.leaves().for_each(|element| hash_typed(data_type, element, hasher)),
        Datum::Enum(label) => label.rank.hash(hasher),
        Datum::Record(record) => {
            record.described().for_each(|(_, data_type, field)| hash_typed(data_type, field, hasher))
        }
    }
}

fn hash_float(value: f64, hasher: &mut impl Hasher) {
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
    bits.hash(hasher);
}

impl Array {
    /// The lengths of the dimensions, outermost first; none of an empty array.
    pub fn dimensions(&self) -> Vec<usize> {
        let mut dimensions = Vec::new();
        let mut elements = &self.elements;
        while !elements.is_empty() {
            dimensions.push(elements.len());
            match &elements[0] {
                Datum::Array(inner) => elements = &inner.elements,
                _ => break,
            }
        }
        dimensions
    }

    /// The elements of all dimensions, in order.
    pub fn leaves(&self) -> impl Iterator<Item = &Datum> {
        let mut open = vec![self.elements.iter()];
        std::iter::from_fn(move || {
            loop {
                match open.last_mut()?.next() {
                    Some(Datum::Array(inner)) => open.push(inner.elements.iter()),
                    Some(element) => return Some(element),
                    None => {
                        open.pop();
                    }
                }
            }
        })
    }
}
