//! Keys: bytes that compare as the values do, and are equal when the values are.
//!
//! Each component starts with a byte that says whether there is a value; NULL sorts last. Texts and byte strings are
//! escaped and terminated, so that no component is a prefix of another.

use super::{corrupted, mismatch};
use crate::error::{Result, SqlError, state};
use crate::types::without_blanks;
use crate::types::{Array, Datum, Interval, Numeric, Record, Scalar, Type, defined};
use bigdecimal::num_bigint::{BigInt, Sign};
use model::Key;
use smol_str::SmolStr;
use std::sync::Arc;

const PRESENT: u8 = 0x01;
const ABSENT: u8 = 0x02;
const SIGN: u64 = 1 << 63;

/// Between and after the elements of an array: less than any element's first byte, as the shorter array is less.
const END: u8 = 0x00;

/// Appends a value to a key: keys compare as the values do, NULL last; equal values give the same bytes. Types for which they do not:
/// [`has_ordered_keys`].
///
/// # Errors
/// 42883 for a type without an order (json), XX000 for a datum of another type.
pub fn push_key(key: &mut Key, value: &Datum, data_type: Type) -> Result<()> {
    if value.is_null() {
        key.push_raw(&[ABSENT]);
        return Ok(());
    }
    if data_type.scalar == Scalar::Json {
        return Err(SqlError::new(
            state::UNDEFINED_FUNCTION,
            format!("could not identify a comparison function for type {data_type}"),
        ));
    }
    key.push_raw(&[PRESENT]);
    match value {
        Datum::Null => {}
        Datum::Bool(value) => push(key, [u8::from(*value)]),
        Datum::Int2(value) => push(key, ((*value as u16) ^ 0x8000).to_be_bytes()),
        Datum::Int4(value) | Datum::Date(value) => push(key, flip(*value)),
        Datum::Int8(value) | Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => {
            key.push_i64(*value);
        }
        Datum::Oid(value) => push(key, value.to_be_bytes()),
        Datum::Float4(value) => push(key, float4_bits(*value).to_be_bytes()),
        Datum::Float8(value) => {
            key.push_f64(*value);
        }
        Datum::Numeric(value) => push_numeric(key, value),
        Datum::Text(value) if data_type.scalar == Scalar::Bpchar => {
            key.push_text(without_blanks(value));
        }
        Datum::Text(value) => {
            key.push_text(value);
        }
        Datum::Bytea(value) => {
            key.push_bytes(value);
        }
        Datum::Interval(value) => push(key, (value.normalized() as u128 ^ 1 << 127).to_be_bytes()),
        Datum::Uuid(value) => push(key, **value),
        Datum::Enum(label) => {
            key.push_bytes(&label.rank);
        }
        Datum::Array(array) => push_array(key, array, data_type)?,
        Datum::Record(record) if record.shape.is_some() => push_row(key, record)?,
        Datum::Record(_) => return Err(mismatch(value, data_type)),
    }
    Ok(())
}

/// Returns whether keys of a type are in the order of its values, and equal for equal ones. Those of jsonb are its text, as directories
/// have them: they tell 1 and 1.0 apart, and 10 comes before 9. So an index has each once, and nothing is searched or sorted by them.
pub fn has_ordered_keys(data_type: Type) -> bool {
    match data_type.scalar {
        Scalar::Jsonb => false,
        Scalar::Composite(oid) => defined::find(oid)
            .is_some_and(|found| found.attributes.iter().all(|attribute| has_ordered_keys(attribute.data_type))),
        _ => true,
    }
}

fn push<const N: usize>(key: &mut Key, bytes: [u8; N]) {
    key.push_raw(&bytes);
}

fn flip(value: i32) -> [u8; 4] {
    (value as u32 ^ 1 << 31).to_be_bytes()
}

/// IEEE 754 total order, with one NaN and one zero.
fn float4_bits(value: f32) -> u32 {
    let bits = if value.is_nan() { f32::NAN.to_bits() } else { (value + 0.0).to_bits() };
    if bits & 1 << 31 == 0 { bits | 1 << 31 } else { !bits }
}

const NEGATIVE_INFINITY: u8 = 0x00;
const NEGATIVE: u8 = 0x01;
const ZERO: u8 = 0x02;
const POSITIVE: u8 = 0x03;
const INFINITY: u8 = 0x04;
const NAN: u8 = 0x05;

/// Sign; then the decimal exponent and the digits without zeros at the end, two to a byte, each pair plus one so that
/// zero ends them. Of a negative number these are inverted, so that the larger magnitude is less.
fn push_numeric(key: &mut Key, numeric: &Numeric) {
    let Some((digits, scale)) = numeric.digits_and_scale() else {
        key.push_raw(&[match numeric {
            Numeric::Infinity => INFINITY,
            Numeric::NegativeInfinity => NEGATIVE_INFINITY,
            _ => NAN,
        }]);
        return;
    };
    let negative = match digits.sign() {
        Sign::NoSign => {
            key.push_raw(&[ZERO]);
            return;
        }
        sign => sign == Sign::Minus,
    };
    let text = digits.magnitude().to_string();
    let exponent = text.len() as i32 - scale as i32;
    let invert = |byte: u8| if negative { !byte } else { byte };
    key.push_raw(&[if negative { NEGATIVE } else { POSITIVE }]);
    key.push_raw(&flip(exponent).map(invert));
    for pair in text.trim_end_matches('0').as_bytes().chunks(2) {
        let units = pair.get(1).map_or(0, |digit| digit - b'0');
        key.push_raw(&[invert((pair[0] - b'0') * 10 + units + 1)]);
    }
    key.push_raw(&[invert(0)]);
}

/// The elements of all dimensions, then the number of dimensions, their lengths and the lower bound: the order of arrays.
fn push_array(key: &mut Key, array: &Array, data_type: Type) -> Result<()> {
    let Some(element) = data_type.element() else {
        return Err(mismatch(&Datum::Null, data_type));
    };
    for value in array.leaves() {
        push_key(key, value, element)?;
    }
    let dimensions = array.dimensions();
    key.push_raw(&[END, dimensions.len() as u8]);
    for length in dimensions {
        key.push_raw(&(length as u32).to_be_bytes());
    }
    key.push_raw(&flip(array.lower_bound));
    Ok(())
}

/// Ends a row: more than NULL, since NULLs at the end are left out and are more than any value.
const ROW_END: u8 = 0x03;

/// The fields, without the NULLs at the end: the key of a stored row stays what it is when its type gets another attribute.
fn push_row(key: &mut Key, record: &Record) -> Result<()> {
    let last = record.iter().rposition(|field| !field.is_null()).map_or(0, |last| last + 1);
    for (_, data_type, field) in record.described().take(last) {
        push_key(key, field, data_type)?;
    }
    key.push_raw(&[ROW_END]);
    Ok(())
}

fn read_row(key: &mut &[u8], oid: u32) -> Option<Datum> {
    let found = defined::find(oid)?;
    let mut fields = Vec::new();
    for attribute in &found.attributes {
        fields.push(match key.first()? {
            &ROW_END => Datum::Null,
            _ => read_component(key, attribute.data_type)?,
        });
    }
    let [ROW_END] = take::<1>(key)? else { return None };
    Some(Datum::Record(Arc::new(Record { fields, shape: Some(found.shape.clone()) })))
}

/// The key of a table whose primary key is one integer or date column: eight bytes in order. `None` for other values.
pub fn eight_byte_key(value: &Datum) -> Option<[u8; 8]> {
    let whole = match value {
        Datum::Int2(value) => i64::from(*value),
        Datum::Int4(value) | Datum::Date(value) => i64::from(*value),
        Datum::Int8(value) => *value,
        _ => return None,
    };
    Some((whole as u64 ^ SIGN).to_be_bytes())
}

/// Reads back the value of [`eight_byte_key`].
pub fn read_eight_byte_key(key: &[u8], data_type: Type) -> Option<Datum> {
    let whole = (u64::from_be_bytes(key.try_into().ok()?) ^ SIGN) as i64;
    match data_type {
        Type::INT2 => whole.try_into().ok().map(Datum::Int2),
        Type::INT4 => whole.try_into().ok().map(Datum::Int4),
        Type::INT8 => Some(Datum::Int8(whole)),
        Type::DATE => whole.try_into().ok().map(Datum::Date),
        _ => None,
    }
}

/// Reads back a component of [`push_key`]. The value is equal to the one that was pushed, though its form may differ
/// (a numeric's display scale, an interval's parts, blanks at the end of `character(n)`): good for messages.
///
/// # Errors
/// XX001 for bytes that are no such component.
pub fn read_key(key: &mut &[u8], data_type: Type) -> Result<Datum> {
    read_component(key, data_type).ok_or_else(|| corrupted(data_type))
}

fn read_component(key: &mut &[u8], data_type: Type) -> Option<Datum> {
    match take::<1>(key)? {
        [ABSENT] => return Some(Datum::Null),
        [PRESENT] => {}
        _ => return None,
    }
    if let Some(element) = data_type.element() {
        return read_array(key, element).map(|array| Datum::Array(Arc::new(array)));
    }
    Some(match data_type.scalar {
        Scalar::Bool => Datum::Bool(take::<1>(key)? != [0]),
        Scalar::Int2 => Datum::Int2((u16::from_be_bytes(take(key)?) ^ 0x8000) as i16),
        Scalar::Int4 => Datum::Int4(unflip(take(key)?)),
        Scalar::Date => Datum::Date(unflip(take(key)?)),
        Scalar::Int8 | Scalar::Tid => Datum::Int8(read_i64(key)?),
        Scalar::Time => Datum::Time(read_i64(key)?),
        Scalar::Timestamp => Datum::Timestamp(read_i64(key)?),
        Scalar::Timestamptz => Datum::Timestamptz(read_i64(key)?),
        scalar if scalar.is_oid() => Datum::Oid(u32::from_be_bytes(take(key)?)),
        Scalar::Float4 => {
            let bits = u32::from_be_bytes(take(key)?);
            Datum::Float4(f32::from_bits(if bits & 1 << 31 == 0 { !bits } else { bits ^ 1 << 31 }))
        }
        Scalar::Float8 => {
            let bits = u64::from_be_bytes(take(key)?);
            Datum::Float8(f64::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN }))
        }
        Scalar::Numeric => Datum::Numeric(read_numeric(key)?),
        Scalar::Bytea => Datum::Bytea(read_bytes(key)?.into()),
        Scalar::Interval => Datum::Interval(Arc::new(read_interval(key)?)),
        Scalar::Uuid => Datum::Uuid(Arc::new(take(key)?)),
        Scalar::Enum(oid) => {
            let rank = read_bytes(key)?;
            // A message may be about a type that the statement has not met.
            defined::label_of_rank(oid, &rank).map_or_else(|| Datum::Bytea(rank.into()), Datum::Enum)
        }
        Scalar::Composite(oid) => read_row(key, oid)?,
        Scalar::Record | Scalar::Json => return None,
        _ => Datum::Text(SmolStr::from(String::from_utf8(read_bytes(key)?).ok()?)),
    })
}

fn take<const N: usize>(key: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = key.split_first_chunk()?;
    *key = tail;
    Some(*head)
}

fn unflip(bytes: [u8; 4]) -> i32 {
    (u32::from_be_bytes(bytes) ^ 1 << 31) as i32
}

fn read_i64(key: &mut &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(take(key)?) ^ SIGN) as i64)
}

/// Undoes [`Key::push_bytes`].
fn read_bytes(key: &mut &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        match take::<1>(key)? {
            [0] => match take::<1>(key)? {
                [0x01] => return Some(value),
                [0xff] => value.push(0),
                _ => return None,
            },
            [byte] => value.push(byte),
        }
    }
}

fn read_numeric(key: &mut &[u8]) -> Option<Numeric> {
    let negative = match take::<1>(key)? {
        [NEGATIVE_INFINITY] => return Some(Numeric::NegativeInfinity),
        [ZERO] => return Some(Numeric::zero()),
        [INFINITY] => return Some(Numeric::Infinity),
        [NAN] => return Some(Numeric::NaN),
        [NEGATIVE] => true,
        [POSITIVE] => false,
        _ => return None,
    };
    let invert = |byte: u8| if negative { !byte } else { byte };
    let exponent = unflip(take::<4>(key)?.map(invert));
    let mut digits = Vec::new();
    loop {
        match invert(take::<1>(key)?[0]) {
            0 => break,
            pair @ 1..=100 => digits.extend_from_slice(&[b'0' + (pair - 1) / 10, b'0' + (pair - 1) % 10]),
            _ => return None,
        }
    }
    if digits.last() == Some(&b'0') {
        digits.pop();
    }
    let mut scale = digits.len() as i64 - i64::from(exponent);
    if scale < 0 {
        // Zeros before the point, as many as a numeric can have.
        let zeros = usize::try_from(-scale).ok().filter(|zeros| *zeros <= 131_072)?;
        digits.resize(digits.len() + zeros, b'0');
        scale = 0;
    }
    let value = BigInt::parse_bytes(&digits, 10)?;
    Numeric::checked(if negative { -value } else { value }, u32::try_from(scale).ok()?).ok()
}

/// An interval of the same length, in days and time as long as days can hold it.
fn read_interval(key: &mut &[u8]) -> Option<Interval> {
    const DAY: i128 = 86_400_000_000;
    const MONTH: i128 = 30 * DAY;
    let micros = (u128::from_be_bytes(take(key)?) ^ 1 << 127) as i128;
    // Days first; months only for what days cannot hold, and the time for what neither can.
    let clamp = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into());
    let months = if clamp(micros / DAY) == micros / DAY { 0 } else { clamp(micros / MONTH) };
    let rest = micros - months * MONTH;
    let days = clamp(rest / DAY);
    Some(Interval {
        months: months.try_into().ok()?,
        days: days.try_into().ok()?,
        micros: (rest - days * DAY).try_into().ok()?,
    })
}

fn read_array(key: &mut &[u8], element: Type) -> Option<Array> {
    let mut leaves = Vec::new();
    while *key.first()? != END {
        leaves.push(read_component(key, element)?);
    }
    let [_, dimensions] = take(key)?;
    let lengths: Vec<usize> =
        (0..dimensions).map(|_| take(key).map(|length| u32::from_be_bytes(length) as usize)).collect::<Option<_>>()?;
    let lower_bound = unflip(take(key)?);
    Array::from_leaves(element.scalar, lower_bound, &lengths, leaves)
}
