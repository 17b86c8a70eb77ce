//! Bytes of values of columns. One value has one encoding, so that what is remembered weighs the same on all nodes.

use codec::{put_bytes, put_number};
use model::{ColumnType, Decoder, Malformed, ValueRef};

const NULL: u8 = 0;

/// Small integers of either sign are short.
pub(crate) fn put_integer(out: &mut Vec<u8>, integer: i64) {
    put_number(out, (integer.wrapping_shl(1) ^ (integer >> 63)) as u64);
}

pub(crate) fn integer(from: &mut Decoder<'_>) -> Result<i64, Malformed> {
    let number = from.number()?;
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}

pub(crate) fn put_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    out.push(value.column_type().map_or(NULL, |kind| kind as u8));
    match value {
        ValueRef::Null => {}
        ValueRef::Bool(value) => out.push(value.into()),
        ValueRef::Int(value) | ValueRef::Timestamp(value) => put_integer(out, value),
        ValueRef::Date(value) => put_integer(out, value.into()),
        ValueRef::Float(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
        ValueRef::Text(value) => put_bytes(out, value.as_bytes()),
        ValueRef::Bytes(value) => put_bytes(out, value),
    }
}

pub(crate) fn value<'p>(from: &mut Decoder<'p>) -> Result<ValueRef<'p>, Malformed> {
    let tag = from.u8()?;
    if tag == NULL {
        return Ok(ValueRef::Null);
    }
    Ok(match ColumnType::from_tag(tag).ok_or(Malformed)? {
        ColumnType::Bool => match from.u8()? {
            0 => ValueRef::Bool(false),
            1 => ValueRef::Bool(true),
            _ => return Err(Malformed),
        },
        ColumnType::Int => ValueRef::Int(integer(from)?),
        ColumnType::Timestamp => ValueRef::Timestamp(integer(from)?),
        ColumnType::Date => ValueRef::Date(i32::try_from(integer(from)?).map_err(|_| Malformed)?),
        ColumnType::Float => ValueRef::Float(f64::from_bits(from.u64()?)),
        ColumnType::Text => ValueRef::Text(std::str::from_utf8(from.bytes()?).map_err(|_| Malformed)?),
        ColumnType::Bytes => ValueRef::Bytes(from.bytes()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written_and_cut_off_are_malformed() {
        let values = [
            ValueRef::Null,
            ValueRef::Bool(true),
            ValueRef::Int(i64::MIN),
            ValueRef::Int(i64::MAX),
            ValueRef::Int(-1),
            ValueRef::Timestamp(0),
            ValueRef::Date(i32::MIN),
            ValueRef::Float(-0.5),
            ValueRef::Text("text"),
            ValueRef::Bytes(&[0, 255]),
        ];
        for expected in values {
            let mut bytes = Vec::new();
            put_value(&mut bytes, expected);
            let mut from = Decoder::new(&bytes);
            assert_eq!(value(&mut from), Ok(expected));
            assert!(from.is_empty());
            (0..bytes.len()).for_each(|end| assert!(value(&mut Decoder::new(&bytes[..end])).is_err(), "{expected}"));
        }
        for foreign in [&[9][..], &[ColumnType::Bool as u8, 2], &[ColumnType::Text as u8, 1, 255]] {
            assert!(value(&mut Decoder::new(foreign)).is_err(), "{foreign:?}");
        }
    }
}
