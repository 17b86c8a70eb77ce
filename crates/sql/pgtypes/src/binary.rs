//! PostgreSQL's binary formats: big-endian, moments counted from 2000-01-01.

#[cfg(test)]
mod tests;

use super::datetime::{checked_date, checked_timestamp};
use super::defined;
use super::text::{apply_modifier, char_byte, check_rules, parse};
use super::{Array, Datum, Encoding, Interval, Modifier, Numeric, Record, Scalar, Styles, Type};
use crate::error::{Error, Result, state};
use bigdecimal::num_bigint::BigInt;
use std::borrow::Cow;
use std::sync::Arc;

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// Appends a value that is not NULL in its type's binary format, texts in `encoding`.
///
/// # Errors
/// 42883 for a type that has none, 22P05 for a character that the encoding lacks.
pub fn send(value: &Datum, data_type: Type, encoding: Encoding, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Datum::Null => {}
        Datum::Bool(value) => out.push(u8::from(*value)),
        Datum::Int2(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Int4(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Int8(value) if data_type == Type::TID => out.extend_from_slice(&value.to_be_bytes()[2..]),
        Datum::Int8(value) | Datum::Time(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Float4(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Float8(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Oid(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Numeric(value) => send_numeric(value, out),
        Datum::Text(text) => send_text(text, data_type, encoding, out)?,
        Datum::Bytea(bytes) => out.extend_from_slice(bytes),
        Datum::Date(date) => {
            let shifted = if matches!(*date, i32::MIN | i32::MAX) { *date } else { date.saturating_sub(EPOCH_DAYS) };
            out.extend_from_slice(&shifted.to_be_bytes());
        }
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) => {
            let shifted =
                if matches!(*micros, i64::MIN | i64::MAX) { *micros } else { micros.saturating_sub(EPOCH_MICROS) };
            out.extend_from_slice(&shifted.to_be_bytes());
        }
        Datum::Interval(interval) => {
            out.extend_from_slice(&interval.micros.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
        Datum::Uuid(uuid) => out.extend_from_slice(uuid.as_slice()),
        Datum::Array(array) => send_array(array, encoding, out)?,
        Datum::Enum(label) => out.extend_from_slice(&encoding.encode(&label.name)?),
        Datum::Record(record) => send_record(record, encoding, out)?,
    }
    Ok(())
}

fn send_text(text: &str, data_type: Type, encoding: Encoding, out: &mut Vec<u8>) -> Result<()> {
    match data_type.scalar {
        Scalar::Char => out.push(char_byte(text)),
        Scalar::Jsonb => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(&encoding.encode(text)?);
        }
        Scalar::AclItem => {
            return Err(Error::new(state::UNDEFINED_FUNCTION, "no binary output function available for type aclitem"));
        }
        _ => out.extend_from_slice(&encoding.encode(text)?),
    }
    Ok(())
}

const JSONB_VERSION: u8 = 1;

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// Number of digits to the base of 10,000, weight of the first, sign, display scale, the digits.
fn send_numeric(numeric: &Numeric, out: &mut Vec<u8>) {
    let mut put = |values: [u16; 4]| values.iter().for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
    let Some((digits, scale)) = numeric.digits_and_scale() else {
        let sign = match numeric {
            Numeric::Infinity => INFINITY,
            Numeric::NegativeInfinity => NEGATIVE_INFINITY,
            _ => NAN,
        };
        return put([0, 0, sign, 0]);
    };
    let mut text = digits.magnitude().to_string();
    // Zeros on both sides, so that the point falls between groups of four.
    let after = scale as usize;
    text.extend(std::iter::repeat_n('0', (4 - after % 4) % 4));
    let before = text.len().saturating_sub(after.div_ceil(4) * 4);
    let in_front = (4 - before % 4) % 4 + (after.div_ceil(4) * 4).saturating_sub(text.len());
    let text = "0".repeat(in_front) + &text;
    let groups: Vec<u16> = text
        .as_bytes()
        .chunks(4)
        .map(|group| group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0')))
        .collect();
    let whole = groups.len() as i64 - after.div_ceil(4) as i64;
    let leading = groups.iter().take_while(|group| **group == 0).count();
    let kept = groups.iter().rposition(|group| *group != 0).map_or(leading, |last| last + 1);
    let significant = &groups[leading.min(kept)..kept];
    let weight = if significant.is_empty() { 0 } else { (whole - leading as i64 - 1) as i16 };
    let sign = if numeric.signum() < 0 { NEGATIVE } else { POSITIVE };
    put([significant.len() as u16, weight as u16, sign, scale as u16]);
    significant.iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
}

/// Dimensions, whether there are NULLs, the element's type, length and bound of each dimension, the elements.
fn send_array(array: &Array, encoding: Encoding, out: &mut Vec<u8>) -> Result<()> {
    let element = Type::of(array.element);
    let dimensions = array.dimensions();
    let nulls = array.leaves().any(Datum::is_null);
    out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(nulls).to_be_bytes());
    out.extend_from_slice(&element.oid().to_be_bytes());
    for (at, length) in dimensions.into_iter().enumerate() {
        out.extend_from_slice(&(length as i32).to_be_bytes());
        out.extend_from_slice(&(if at == 0 { array.lower_bound } else { 1 }).to_be_bytes());
    }
    array.leaves().try_for_each(|value| send_element(value, element, encoding, out))
}

/// The length, -1 for NULL, and the value.
fn send_element(value: &Datum, data_type: Type, encoding: Encoding, out: &mut Vec<u8>) -> Result<()> {
    let at = out.len();
    out.extend_from_slice(&(-1i32).to_be_bytes());
    if !value.is_null() {
        send(value, data_type, encoding, out)?;
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

fn send_record(record: &Record, encoding: Encoding, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&(record.fields.len() as i32).to_be_bytes());
    for (_, data_type, field) in record.described() {
        out.extend_from_slice(&data_type.oid().to_be_bytes());
        send_element(field, data_type, encoding, out)?;
    }
    Ok(())
}

/// Unread bytes of a value, whose texts are in an encoding.
struct Reader<'b>(&'b [u8], Encoding);

fn malformed(message: &str) -> Error {
    Error::new(state::INVALID_BINARY_REPRESENTATION, message)
}

fn too_short() -> Error {
    Error::new(state::PROTOCOL_VIOLATION, "insufficient data left in message")
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        let (head, tail) = self.0.split_at_checked(count).ok_or_else(too_short)?;
        self.0 = tail;
        Ok(head)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk().ok_or_else(too_short)?;
        self.0 = tail;
        Ok(*head)
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.bytes()?))
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.bytes()?))
    }

    fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.bytes()?))
    }

    /// Texts hold no zero bytes.
    fn text(&mut self) -> Result<Cow<'b, str>> {
        let bytes = self.take(self.0.len())?;
        self.1.decode(bytes)
    }
}

/// Reads a value from its type's binary format, texts in `encoding`.
///
/// # Errors
/// 22P03 or 08P01 for bytes that are no such value, 22021 and 22P05 for texts.
pub fn receive(bytes: &[u8], data_type: Type, encoding: Encoding) -> Result<Datum> {
    let mut reader = Reader(bytes, encoding);
    let value = match data_type.element() {
        Some(element) => receive_array(&mut reader, element, data_type)?,
        None => receive_scalar(&mut reader, data_type)?,
    };
    if reader.0.is_empty() { Ok(value) } else { Err(malformed("incorrect binary data format")) }
}

fn receive_scalar(reader: &mut Reader<'_>, data_type: Type) -> Result<Datum> {
    let from_text = |text: &str| parse(text, data_type, Modifier::NONE, &Styles::default());
    Ok(match data_type.scalar {
        Scalar::Bool => Datum::Bool(reader.bytes::<1>()? != [0]),
        Scalar::Int2 => Datum::Int2(i16::from_be_bytes(reader.bytes()?)),
        Scalar::Int4 => Datum::Int4(reader.i32()?),
        Scalar::Int8 => Datum::Int8(reader.i64()?),
        Scalar::Float4 => Datum::Float4(f32::from_be_bytes(reader.bytes()?)),
        Scalar::Float8 => Datum::Float8(f64::from_be_bytes(reader.bytes()?)),
        Scalar::Numeric => Datum::Numeric(receive_numeric(reader)?),
        Scalar::Bytea => Datum::Bytea(reader.take(reader.0.len())?.into()),
        Scalar::Date => Datum::Date(receive_date(reader.i32()?)?),
        Scalar::Time => match reader.i64()? {
            time @ 0..=86_400_000_000 => Datum::Time(time),
            _ => return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, "time out of range")),
        },
        Scalar::Timestamp => Datum::Timestamp(receive_timestamp(reader.i64()?)?),
        Scalar::Timestamptz => Datum::Timestamptz(receive_timestamp(reader.i64()?)?),
        Scalar::Interval => {
            let micros = reader.i64()?;
            let days = reader.i32()?;
            Datum::Interval(Arc::new(Interval { months: reader.i32()?, days, micros }))
        }
        Scalar::Uuid => Datum::Uuid(Arc::new(reader.bytes()?)),
        Scalar::Tid => {
            let [a, b, c, d, e, f] = reader.bytes()?;
            Datum::Int8(i64::from_be_bytes([0, 0, a, b, c, d, e, f]))
        }
        scalar if scalar.is_oid() => Datum::Oid(u32::from_be_bytes(reader.bytes()?)),
        Scalar::Char => match reader.bytes::<1>()?[0] {
            0 => Datum::Text("".into()),
            byte => from_text(&format!("\\{byte:03o}"))?,
        },
        Scalar::Jsonb => match reader.bytes::<1>()?[0] {
            JSONB_VERSION => from_text(&reader.text()?)?,
            version => {
                let message = format!("unsupported jsonb version number {version}");
                return Err(Error::new(state::INTERNAL_ERROR, message));
            }
        },
        Scalar::Text
        | Scalar::Varchar
        | Scalar::Bpchar
        | Scalar::Name
        | Scalar::Json
        | Scalar::Unknown
        | Scalar::Enum(_) => from_text(&reader.text()?)?,
        Scalar::Composite(oid) => crate::stack::ensure_stack(|| receive_row(reader, oid))?,
        Scalar::Void => Datum::Text("".into()),
        _ => {
            return Err(Error::new(
                state::UNDEFINED_FUNCTION,
                format!("no binary input function available for type {data_type}"),
            ));
        }
    })
}

fn receive_date(days: i32) -> Result<i32> {
    if matches!(days, i32::MIN | i32::MAX) {
        return Ok(days);
    }
    checked_date(i64::from(days) + i64::from(EPOCH_DAYS))
        .ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, "date out of range"))
}

fn receive_timestamp(micros: i64) -> Result<i64> {
    if matches!(micros, i64::MIN | i64::MAX) {
        return Ok(micros);
    }
    checked_timestamp(i128::from(micros) + i128::from(EPOCH_MICROS))
        .ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
}

fn receive_numeric(reader: &mut Reader<'_>) -> Result<Numeric> {
    let invalid = |what: &str| malformed(&format!("invalid {what} in external \"numeric\" value"));
    let count = reader.u16()?;
    let weight = i64::from(reader.u16()? as i16);
    let sign = reader.u16()?;
    let scale = u32::from(reader.u16()?);
    match sign {
        POSITIVE | NEGATIVE => {}
        NAN => return Ok(Numeric::NaN),
        INFINITY => return Ok(Numeric::Infinity),
        NEGATIVE_INFINITY => return Ok(Numeric::NegativeInfinity),
        _ => return Err(invalid("sign")),
    }
    if scale > super::numeric::MAX_SCALE {
        return Err(invalid("scale"));
    }
    let mut text = Vec::with_capacity(usize::from(count).min(reader.0.len()) * 4 + 1);
    text.push(b'0');
    for _ in 0..count {
        let digit = reader.u16()?;
        if digit >= 10_000 {
            return Err(invalid("digit"));
        }
        text.extend_from_slice(&[digit / 1000, digit / 100 % 10, digit / 10 % 10, digit % 10].map(|d| b'0' + d as u8));
    }
    let digits = BigInt::parse_bytes(&text, 10).unwrap_or_default();
    let digits = if sign == NEGATIVE { -digits } else { digits };
    // The digits after the point, as they stand and as they shall be shown: what is beyond is cut.
    Numeric::from_places(digits, (i64::from(count) - weight - 1) * 4, scale)
}

fn receive_array(reader: &mut Reader<'_>, element: Type, data_type: Type) -> Result<Datum> {
    let dimensions = reader.i32()?;
    match usize::try_from(dimensions) {
        Ok(count) => Array::check_dimensions(count)?,
        Err(_) => {
            let message = format!("invalid number of dimensions: {dimensions}");
            return Err(Error::new(state::INVALID_BINARY_REPRESENTATION, message));
        }
    }
    if !matches!(reader.i32()?, 0 | 1) {
        return Err(malformed("invalid array flags"));
    }
    let sent = reader.i32()? as u32;
    if sent != element.oid() {
        return Err(Error::new(
            state::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {sent} ({}) instead of expected {} ({element})",
                name_of(sent),
                element.oid()
            ),
        ));
    }
    let (mut lengths, mut lower_bound) = (Vec::new(), None);
    for _ in 0..dimensions {
        let length = usize::try_from(reader.i32()?).map_err(|_| malformed("invalid array length"))?;
        lengths.push(length);
        lower_bound.get_or_insert(reader.i32()?);
    }
    let count = lengths.iter().try_fold(usize::from(dimensions > 0), |count, length| count.checked_mul(*length));
    // Each element takes four bytes at least.
    let count = count.filter(|count| *count <= reader.0.len() / 4).ok_or_else(too_short)?;
    let mut leaves = Vec::with_capacity(count);
    for _ in 0..count {
        leaves.push(match reader.i32()? {
            -1 => Datum::Null,
            length => {
                let length = usize::try_from(length).map_err(|_| too_short())?;
                receive(reader.take(length)?, element, reader.1)?
            }
        });
    }
    if count == 0 {
        lengths.clear();
    }
    let lower_bound = lower_bound.filter(|_| count > 0).unwrap_or(1);
    let lower_bound = if data_type.is_array { lower_bound } else { 0 };
    Array::from_leaves(element.scalar, lower_bound, &lengths, leaves)
        .map(Datum::from)
        .ok_or_else(|| malformed("incorrect binary data format"))
}

/// The number of fields; of each its type, its length and its value. Source: PostgreSQL 15, `record_recv`.
fn receive_row(reader: &mut Reader<'_>, oid: u32) -> Result<Datum> {
    let found = defined::find(oid).ok_or_else(|| defined::unknown(oid))?;
    let mismatch = |message: String| Error::new(state::DATATYPE_MISMATCH, message);
    let count = reader.i32()?;
    if usize::try_from(count) != Ok(found.attributes.len()) {
        let expected = found.attributes.len();
        return Err(mismatch(format!("wrong number of columns: {count}, expected {expected}")));
    }
    let mut fields = Vec::with_capacity(found.attributes.len());
    for (number, attribute) in (1..).zip(&found.attributes) {
        check_rules(attribute)?;
        let (sent, expected) = (reader.i32()? as u32, attribute.data_type);
        if sent != expected.oid() {
            return Err(mismatch(format!(
                "binary data has type {sent} ({}) instead of expected {} ({expected}) in record column {number}",
                name_of(sent),
                expected.oid()
            )));
        }
        fields.push(match reader.i32()? {
            -1 => Datum::Null,
            length => {
                let length = usize::try_from(length).map_err(|_| too_short())?;
                let value = receive(reader.take(length)?, expected, reader.1)?;
                apply_modifier(value, expected, attribute.modifier, false)?
            }
        });
    }
    Ok(Datum::Record(Arc::new(Record { fields, shape: Some(found.shape.clone()) })))
}

fn name_of(oid: u32) -> String {
    Type::from_oid(oid).map_or_else(|| "???".to_owned(), Type::name)
}
