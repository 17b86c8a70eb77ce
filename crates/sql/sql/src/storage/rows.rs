//! Rows of the engine: each column in the engine's own type where there is one, else as bytes.
//!
//! A numeric is its display scale and the digits as a signed integer ([`model::decimal`]); an array its dimensions and its elements one
//! after the other, each with its length. A row is one field for each attribute that its type has had, in the same way: an attribute that
//! was added later is missing at the end, one that was dropped is NULL, so that no stored row changes with its type.

use super::{corrupted, mismatch};
use crate::definition::Column;
use crate::error::Result;
use crate::types::{Array, Datum, Interval, Numeric, Record, Row, Scalar, Type, defined};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::ToPrimitive;
use model::decimal::{Decimal, FINITE, INFINITY, NAN, NEGATIVE_INFINITY};
use model::{ColumnType, RowBuf, RowRef, Value, ValueRef};
use pgtypes::defined::Attribute;
use smallvec::SmallVec;
use std::sync::Arc;

/// The engine's type for values of a type.
pub fn column_type(data_type: Type) -> ColumnType {
    if data_type.is_array {
        return ColumnType::Bytes;
    }
    match data_type.scalar {
        Scalar::Bool => ColumnType::Bool,
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Time | Scalar::Tid => ColumnType::Int,
        Scalar::Oid
        | Scalar::Xid
        | Scalar::Regclass
        | Scalar::Regtype
        | Scalar::Regproc
        | Scalar::Regnamespace
        | Scalar::Regrole
        | Scalar::Regprocedure
        | Scalar::Regoper
        | Scalar::Regoperator
        | Scalar::Regcollation => ColumnType::Int,
        Scalar::Float4 | Scalar::Float8 => ColumnType::Float,
        Scalar::Date => ColumnType::Date,
        Scalar::Timestamp | Scalar::Timestamptz => ColumnType::Timestamp,
        Scalar::Text
        | Scalar::Varchar
        | Scalar::Bpchar
        | Scalar::Name
        | Scalar::Char
        | Scalar::Json
        | Scalar::Jsonb
        | Scalar::PgNodeTree
        | Scalar::AclItem
        | Scalar::Void
        | Scalar::Unknown => ColumnType::Text,
        Scalar::Numeric
        | Scalar::Bytea
        | Scalar::Interval
        | Scalar::Uuid
        | Scalar::Int2Vector
        | Scalar::OidVector
        | Scalar::Record
        | Scalar::Composite(_)
        | Scalar::Enum(_) => ColumnType::Bytes,
    }
}

/// Refills an engine row with a row's values; `row` has one datum for each of `columns`.
///
/// # Errors
/// XX000 if a datum is not of its column's type.
pub fn encode_row(row: &[Datum], columns: &[Column], out: &mut RowBuf) -> Result<()> {
    // Values that the engine does not have are encoded first, side by side; `ends` tells them apart.
    let mut encoded: SmallVec<[u8; 64]> = SmallVec::new();
    let mut ends: SmallVec<[usize; 16]> = SmallVec::new();
    for (value, column) in row.iter().zip(columns) {
        if !value.is_null() {
            if !stands_in(value, column_type(column.data_type)) {
                return Err(mismatch(value, column.data_type));
            }
            encode_if_needed(value, &mut encoded);
        }
        ends.push(encoded.len());
    }
    out.set_values(row.iter().zip(&ends).enumerate().map(|(at, (value, end))| {
        let start = at.checked_sub(1).map_or(0, |before| ends[before]);
        engine_value(value, &encoded[start..*end])
    }));
    Ok(())
}

/// Returns whether a datum belongs into an engine column of this type.
fn stands_in(value: &Datum, kind: ColumnType) -> bool {
    let own = match value {
        Datum::Null => return true,
        Datum::Bool(_) => ColumnType::Bool,
        Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) | Datum::Time(_) | Datum::Oid(_) => ColumnType::Int,
        Datum::Float4(_) | Datum::Float8(_) => ColumnType::Float,
        Datum::Date(_) => ColumnType::Date,
        Datum::Timestamp(_) | Datum::Timestamptz(_) => ColumnType::Timestamp,
        Datum::Text(_) => ColumnType::Text,
        Datum::Numeric(_)
        | Datum::Bytea(_)
        | Datum::Interval(_)
        | Datum::Uuid(_)
        | Datum::Array(_)
        | Datum::Record(_)
        | Datum::Enum(_) => ColumnType::Bytes,
    };
    own == kind
}

/// Returns whether the engine's order of stored values, and their equality, are those of the type: what it compares for a
/// scan is what SQL would. Not where blanks, digits or a structure count otherwise than their bytes.
pub fn is_ordered_as_stored(data_type: Type) -> bool {
    if data_type.is_array {
        return false;
    }
    matches!(
        data_type.scalar,
        Scalar::Bool
            | Scalar::Int2
            | Scalar::Int4
            | Scalar::Int8
            | Scalar::Oid
            | Scalar::Float4
            | Scalar::Float8
            | Scalar::Date
            | Scalar::Time
            | Scalar::Timestamp
            | Scalar::Timestamptz
            | Scalar::Text
            | Scalar::Varchar
            | Scalar::Name
            | Scalar::Bytea
            | Scalar::Uuid
            | Scalar::Enum(_)
    )
}

/// A value as the engine stores it, if it has a type for it.
pub fn engine_value_of(value: &Datum) -> Option<Value> {
    match value {
        Datum::Numeric(_) | Datum::Interval(_) | Datum::Array(_) | Datum::Record(_) => None,
        value => Some(engine_value(value, &[]).to_owned()),
    }
}

fn engine_value<'v>(value: &'v Datum, encoded: &'v [u8]) -> ValueRef<'v> {
    match value {
        Datum::Null => ValueRef::Null,
        Datum::Bool(value) => ValueRef::Bool(*value),
        Datum::Int2(value) => ValueRef::Int(i64::from(*value)),
        Datum::Int4(value) => ValueRef::Int(i64::from(*value)),
        Datum::Int8(value) | Datum::Time(value) => ValueRef::Int(*value),
        Datum::Oid(value) => ValueRef::Int(i64::from(*value)),
        Datum::Float4(value) => ValueRef::Float(f64::from(*value)),
        Datum::Float8(value) => ValueRef::Float(*value),
        Datum::Date(value) => ValueRef::Date(*value),
        Datum::Timestamp(value) | Datum::Timestamptz(value) => ValueRef::Timestamp(*value),
        Datum::Text(value) => ValueRef::Text(value),
        Datum::Bytea(value) => ValueRef::Bytes(value),
        Datum::Uuid(value) => ValueRef::Bytes(value.as_slice()),
        Datum::Enum(label) => ValueRef::Bytes(&label.rank),
        Datum::Numeric(_) | Datum::Interval(_) | Datum::Array(_) | Datum::Record(_) => ValueRef::Bytes(encoded),
    }
}

/// Appends the bytes of a value that has no engine type.
fn encode_if_needed<A: smallvec::Array<Item = u8>>(value: &Datum, out: &mut SmallVec<A>) {
    match value {
        Datum::Numeric(numeric) => encode_numeric(numeric, out),
        Datum::Interval(interval) => {
            out.extend_from_slice(&interval.months.to_le_bytes());
            out.extend_from_slice(&interval.days.to_le_bytes());
            out.extend_from_slice(&interval.micros.to_le_bytes());
        }
        Datum::Array(array) => encode_array(array, out),
        Datum::Record(record) => encode_row_value(record, out),
        _ => {}
    }
}

fn encode_numeric<A: smallvec::Array<Item = u8>>(numeric: &Numeric, out: &mut SmallVec<A>) {
    let Some((digits, scale)) = numeric.digits_and_scale() else {
        out.push(match numeric {
            Numeric::Infinity => INFINITY,
            Numeric::NegativeInfinity => NEGATIVE_INFINITY,
            _ => NAN,
        });
        return;
    };
    match digits.to_i64() {
        Some(small) => out.extend_from_slice(&Decimal::new(small, scale as u16).stored()),
        None => {
            out.push(FINITE);
            out.extend_from_slice(&(scale as u16).to_le_bytes());
            out.extend_from_slice(&digits.to_signed_bytes_le());
        }
    }
}

/// A numeric as engines compare stored ones with it; `None` if it has many digits, or is none.
pub fn decimal_of(value: &Datum) -> Option<Decimal> {
    let Datum::Numeric(numeric) = value else { return None };
    let (digits, scale) = numeric.digits_and_scale()?;
    Some(Decimal::new(digits.to_i64()?, scale.try_into().ok()?))
}

fn decode_numeric(bytes: &[u8]) -> Option<Numeric> {
    Some(match bytes.split_first()? {
        (&NAN, []) => Numeric::NaN,
        (&INFINITY, []) => Numeric::Infinity,
        (&NEGATIVE_INFINITY, []) => Numeric::NegativeInfinity,
        (&FINITE, [low, high, digits @ ..]) => {
            Numeric::new(decode_digits(digits), u32::from(u16::from_le_bytes([*low, *high])))
        }
        _ => return None,
    })
}

fn decode_digits(digits: &[u8]) -> BigInt {
    let Some(last) = digits.last() else { return BigInt::ZERO };
    if digits.len() > 8 {
        return BigInt::from_signed_bytes_le(digits);
    }
    let mut whole = if last & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
    whole[..digits.len()].copy_from_slice(digits);
    BigInt::from(i64::from_le_bytes(whole))
}

/// Lower bound, number of dimensions and their lengths; then the elements.
fn encode_array<A: smallvec::Array<Item = u8>>(array: &Array, out: &mut SmallVec<A>) {
    let dimensions = array.dimensions();
    out.extend_from_slice(&array.lower_bound.to_le_bytes());
    out.push(dimensions.len() as u8);
    for length in &dimensions {
        out.extend_from_slice(&(*length as u32).to_le_bytes());
    }
    let count = if dimensions.is_empty() { 0 } else { dimensions.iter().product() };
    encode_elements(array.leaves(), count, out);
}

/// Appends values in their stored forms, for a digest of them.
pub fn push_values(values: &[Datum], out: &mut Vec<u8>) {
    let mut encoded: SmallVec<[u8; 64]> = SmallVec::new();
    encode_elements(values.iter(), values.len(), &mut encoded);
    out.extend_from_slice(&encoded);
}

/// The fields at their places.
fn encode_row_value<A: smallvec::Array<Item = u8>>(record: &Record, out: &mut SmallVec<A>) {
    let Some(composite) = record.shape.as_ref().and_then(|shape| shape.composite.as_ref()) else {
        return encode_elements(record.iter(), record.len(), out);
    };
    let width = composite.places.last().map_or(0, |last| usize::from(*last) + 1);
    let mut fields = composite.places.iter().zip(record.iter()).peekable();
    let at_place = |place: usize| match fields.next_if(|(at, _)| usize::from(**at) == place) {
        Some((_, field)) => field,
        None => &Datum::Null,
    };
    encode_elements((0..width).map(at_place), width, out);
}

fn decode_row_value(bytes: &[u8], oid: u32) -> Option<Datum> {
    let found = defined::find(oid)?;
    let stored: Vec<Option<&[u8]>> = stored_elements(bytes)?;
    let field = |attribute: &Attribute| match stored.get(usize::from(attribute.place)) {
        Some(Some(bytes)) => decode_element(bytes, attribute.data_type),
        Some(None) | None => Some(Datum::Null),
    };
    let fields = found.attributes.iter().map(field).collect::<Option<_>>()?;
    Some(Datum::Record(Arc::new(Record { fields, shape: Some(found.shape.clone()) })))
}

const ABSENT: u32 = u32::MAX;

fn encode_elements<'d, A: smallvec::Array<Item = u8>>(
    elements: impl Iterator<Item = &'d Datum>,
    count: usize,
    out: &mut SmallVec<A>,
) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
    for element in elements.take(count) {
        let length_at = out.len();
        out.extend_from_slice(&ABSENT.to_le_bytes());
        if !element.is_null() {
            encode_element(element, out);
            let length = (out.len() - length_at - 4) as u32;
            out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

fn encode_element<A: smallvec::Array<Item = u8>>(element: &Datum, out: &mut SmallVec<A>) {
    match engine_value(element, &[]) {
        ValueRef::Null => {}
        ValueRef::Bool(value) => out.push(u8::from(value)),
        ValueRef::Int(value) | ValueRef::Timestamp(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Date(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Text(value) => out.extend_from_slice(value.as_bytes()),
        ValueRef::Bytes(value) => {
            out.extend_from_slice(value);
            encode_if_needed(element, out);
        }
    }
}

/// Refills `out` with one datum for each of `columns`; those that are not `wanted` (all are, if `None`) stay NULL, as do
/// those that were added after the row was stored.
///
/// # Errors
/// XX001 for a stored value that is none of its column's type.
pub fn decode_row(row: RowRef<'_>, columns: &[Column], wanted: Option<&[usize]>, out: &mut Row) -> Result<()> {
    let width = row.width();
    out.clear();
    match wanted {
        None => {
            out.reserve(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let value = if at < width { decode_value(row.get(at), column.data_type)? } else { Datum::Null };
                out.push(value);
            }
        }
        Some(wanted) => {
            out.resize(columns.len(), Datum::Null);
            for &at in wanted {
                if let (Some(place), Some(column)) = (out.get_mut(at), columns.get(at))
                    && at < width
                {
                    *place = decode_value(row.get(at), column.data_type)?;
                }
            }
        }
    }
    Ok(())
}

/// Same as [`decode_row`], from a row that holds the columns `stored` only, in that order; both lists are sorted.
///
/// # Errors
/// XX001 for a stored value that is none of its column's type.
pub fn decode_columns(
    row: RowRef<'_>,
    stored: &[u16],
    columns: &[Column],
    wanted: Option<&[usize]>,
    out: &mut Row,
) -> Result<()> {
    out.clear();
    out.resize(columns.len(), Datum::Null);
    for (place, column) in stored.iter().map(|&column| usize::from(column)).enumerate() {
        if wanted.is_none_or(|wanted| wanted.binary_search(&column).is_ok()) {
            out[column] = decode_value(row.get(place), columns[column].data_type)?;
        }
    }
    Ok(())
}

/// The digits and the scale of a stored numeric that is finite and not large.
pub fn stored_decimal(bytes: &[u8]) -> Option<(i128, u32)> {
    let [FINITE, low, high, digits @ ..] = bytes else { return None };
    let scale = u32::from(u16::from_le_bytes([*low, *high]));
    let sign = digits.last().map_or(0, |last| *last as i8 >> 7);
    if digits.len() <= 8 {
        // Most of them: one register.
        let whole = digits.iter().rev().fold(i64::from(sign), |whole, digit| whole << 8 | i64::from(*digit));
        return Some((whole.into(), scale));
    }
    let mut whole = [sign as u8; 16];
    whole.get_mut(..digits.len())?.copy_from_slice(digits);
    Some((i128::from_le_bytes(whole), scale))
}

/// A stored value as one of its type.
///
/// # Errors
/// XX001 for a stored value that is none of the type.
pub fn decode_stored(value: ValueRef<'_>, data_type: Type) -> Result<Datum> {
    decode_value(value, data_type)
}

fn decode_value(value: ValueRef<'_>, data_type: Type) -> Result<Datum> {
    let datum = match value {
        ValueRef::Null => Some(Datum::Null),
        ValueRef::Bytes(bytes) => decode_bytes(bytes, data_type),
        _ if data_type.is_array => None,
        ValueRef::Bool(value) => (data_type.scalar == Scalar::Bool).then_some(Datum::Bool(value)),
        ValueRef::Int(value) => decode_int(value, data_type.scalar),
        ValueRef::Float(value) => match data_type.scalar {
            Scalar::Float4 => Some(Datum::Float4(value as f32)),
            Scalar::Float8 => Some(Datum::Float8(value)),
            _ => None,
        },
        ValueRef::Date(value) => (data_type.scalar == Scalar::Date).then_some(Datum::Date(value)),
        ValueRef::Timestamp(value) => match data_type.scalar {
            Scalar::Timestamp => Some(Datum::Timestamp(value)),
            Scalar::Timestamptz => Some(Datum::Timestamptz(value)),
            _ => None,
        },
        ValueRef::Text(value) => (column_type(data_type) == ColumnType::Text).then(|| Datum::Text(value.into())),
    };
    datum.ok_or_else(|| corrupted(data_type))
}

fn decode_int(value: i64, scalar: Scalar) -> Option<Datum> {
    match scalar {
        Scalar::Int2 => value.try_into().ok().map(Datum::Int2),
        Scalar::Int4 => value.try_into().ok().map(Datum::Int4),
        Scalar::Int8 | Scalar::Tid => Some(Datum::Int8(value)),
        Scalar::Time => Some(Datum::Time(value)),
        _ => value.try_into().ok().map(Datum::Oid),
    }
}

fn decode_bytes(bytes: &[u8], data_type: Type) -> Option<Datum> {
    if let Some(element) = data_type.element() {
        return decode_array(bytes, element.scalar).map(|array| Datum::Array(Arc::new(array)));
    }
    match data_type.scalar {
        Scalar::Numeric => decode_numeric(bytes).map(Datum::Numeric),
        Scalar::Bytea => Some(Datum::Bytea(bytes.into())),
        Scalar::Enum(oid) => defined::label_of_rank(oid, bytes).map(Datum::Enum),
        Scalar::Composite(oid) => decode_row_value(bytes, oid),
        Scalar::Uuid => Some(Datum::Uuid(Arc::new(bytes.try_into().ok()?))),
        Scalar::Interval => {
            let (months, rest) = bytes.split_first_chunk()?;
            let (days, rest) = rest.split_first_chunk()?;
            Some(Datum::Interval(Arc::new(Interval {
                months: i32::from_le_bytes(*months),
                days: i32::from_le_bytes(*days),
                micros: i64::from_le_bytes(rest.try_into().ok()?),
            })))
        }
        _ => None,
    }
}

fn decode_array(bytes: &[u8], element: Scalar) -> Option<Array> {
    let (lower_bound, rest) = bytes.split_first_chunk()?;
    let lower_bound = i32::from_le_bytes(*lower_bound);
    let (dimensions, rest) = rest.split_first()?;
    let (lengths, rest) = rest.split_at_checked(usize::from(*dimensions) * 4)?;
    let lengths: Vec<usize> =
        lengths.as_chunks::<4>().0.iter().map(|length| u32::from_le_bytes(*length) as usize).collect();
    let elements = decode_elements(rest, element)?;
    Array::from_leaves(element, lower_bound, &lengths, elements)
}

fn decode_elements(bytes: &[u8], element: Scalar) -> Option<Vec<Datum>> {
    let decode = |stored: Option<&[u8]>| match stored {
        Some(bytes) => decode_element(bytes, Type::of(element)),
        None => Some(Datum::Null),
    };
    stored_elements(bytes)?.into_iter().map(decode).collect()
}

/// The elements as they are stored; `None` for NULL.
fn stored_elements(bytes: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let (count, mut rest) = bytes.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    // The bytes bound the count, whatever it says.
    let mut elements = Vec::with_capacity(count.min(rest.len() / 4));
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk()?;
        let length = u32::from_le_bytes(*length);
        if length == ABSENT {
            elements.push(None);
            rest = after;
            continue;
        }
        let (bytes, after) = after.split_at_checked(length as usize)?;
        elements.push(Some(bytes));
        rest = after;
    }
    Some(elements)
}

fn decode_element(bytes: &[u8], data_type: Type) -> Option<Datum> {
    let whole = |bytes: &[u8]| Some(i64::from_le_bytes(bytes.try_into().ok()?));
    let value = match column_type(data_type) {
        ColumnType::Bool => ValueRef::Bool(*bytes.first()? != 0),
        ColumnType::Int => ValueRef::Int(whole(bytes)?),
        ColumnType::Timestamp => ValueRef::Timestamp(whole(bytes)?),
        ColumnType::Float => ValueRef::Float(f64::from_bits(whole(bytes)? as u64)),
        ColumnType::Date => ValueRef::Date(i32::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Text => ValueRef::Text(std::str::from_utf8(bytes).ok()?),
        ColumnType::Bytes => ValueRef::Bytes(bytes),
    };
    decode_value(value, data_type).ok()
}
