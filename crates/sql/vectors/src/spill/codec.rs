//! The written form of a batch. It is read by the process that wrote it: the form may change at any time.

use crate::batch::Batch;
use crate::column::{Column, Data};
use crate::digits::Digits;
use crate::texts::Texts;
use bigdecimal::num_bigint::BigInt;
use pgtypes::{Datum, Error, Interval, Numeric, Result, state};
use std::sync::Arc;

const BOOL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const DECIMAL: u8 = 3;
const TEXT: u8 = 4;
const DATUMS: u8 = 5;
const SHORT_DECIMAL: u8 = 6;

/// Appends a batch.
///
/// # Errors
/// 0A000 for arrays, rows and labels of enums.
pub fn write(batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
    put(batch.rows, out);
    put(batch.columns.len(), out);
    batch.columns.iter().try_for_each(|column| write_column(column, out))
}

fn put(number: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn write_column(column: &Column, out: &mut Vec<u8>) -> Result<()> {
    match &column.nulls {
        None => out.push(0),
        Some(nulls) => {
            out.push(1);
            put(nulls.len(), out);
            out.extend(nulls.iter().map(|null| u8::from(*null)));
        }
    }
    let kind = |kind: u8, out: &mut Vec<u8>| {
        out.push(kind);
        put(column.len(), out);
    };
    match &column.data {
        Data::Bool(values) => {
            kind(BOOL, out);
            out.extend(values.iter().map(|value| u8::from(*value)));
        }
        Data::Int(values) => {
            kind(INT, out);
            values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        }
        Data::Float(values) => {
            kind(FLOAT, out);
            values.iter().for_each(|value| out.extend_from_slice(&value.to_bits().to_le_bytes()));
        }
        Data::Decimal(Digits::Short(values), scale) => {
            kind(SHORT_DECIMAL, out);
            put(*scale as usize, out);
            values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        }
        Data::Decimal(Digits::Long(values), scale) => {
            kind(DECIMAL, out);
            put(*scale as usize, out);
            values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        }
        Data::Text(texts) => {
            kind(TEXT, out);
            (0..column.len()).for_each(|row| put_bytes(texts.get(row), out));
        }
        Data::Datums(values) => {
            kind(DATUMS, out);
            values.iter().try_for_each(|value| write_value(value, out))?;
        }
    }
    Ok(())
}

/// A value: which variant, and what it holds.
fn write_value(value: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Datum::Null => out.push(0),
        Datum::Bool(value) => out.extend_from_slice(&[1, u8::from(*value)]),
        Datum::Int2(value) => write_number(2, i64::from(*value), out),
        Datum::Int4(value) => write_number(3, i64::from(*value), out),
        Datum::Int8(value) => write_number(4, *value, out),
        Datum::Float4(value) => write_number(5, i64::from(value.to_bits()), out),
        Datum::Float8(value) => write_number(6, value.to_bits() as i64, out),
        Datum::Date(value) => write_number(7, i64::from(*value), out),
        Datum::Time(value) => write_number(8, *value, out),
        Datum::Timestamp(value) => write_number(9, *value, out),
        Datum::Timestamptz(value) => write_number(10, *value, out),
        Datum::Oid(value) => write_number(11, i64::from(*value), out),
        Datum::Text(text) => {
            out.push(12);
            put_bytes(text.as_bytes(), out);
        }
        Datum::Bytea(bytes) => {
            out.push(13);
            put_bytes(bytes, out);
        }
        Datum::Uuid(bytes) => {
            out.push(14);
            out.extend_from_slice(&**bytes);
        }
        Datum::Interval(interval) => {
            out.push(15);
            out.extend_from_slice(&interval.months.to_le_bytes());
            out.extend_from_slice(&interval.days.to_le_bytes());
            out.extend_from_slice(&interval.micros.to_le_bytes());
        }
        Datum::Numeric(value) => match (value.digits_and_scale(), value) {
            (Some((digits, scale)), _) => {
                write_number(16, i64::from(scale), out);
                put_bytes(&digits.to_signed_bytes_le(), out);
            }
            (None, Numeric::Infinity) => out.push(18),
            (None, Numeric::NegativeInfinity) => out.push(19),
            (None, _) => out.push(17),
        },
        Datum::Array(_) | Datum::Record(_) | Datum::Enum(_) => {
            return Err(Error::unsupported("a temporary file of arrays, rows or enums"));
        }
    }
    Ok(())
}

fn write_number(kind: u8, value: i64, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads a batch.
///
/// # Errors
/// XX001: the bytes are not what was written.
pub fn read(bytes: &[u8]) -> Result<Batch> {
    let mut reader = Reader(bytes);
    let (rows, width) = (reader.count()?, reader.count()?);
    let columns = (0..width).map(|_| reader.column()).collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(rows, columns))
}

struct Reader<'b>(&'b [u8]);

fn corrupted() -> Error {
    Error::new(state::DATA_CORRUPTED, "a temporary file does not hold what was written to it")
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(corrupted)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| corrupted())
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn count(&mut self) -> Result<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| corrupted())
    }

    fn bytes(&mut self) -> Result<&'b [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    fn number(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Values of `N` bytes each.
    fn values<const N: usize, T>(&mut self, count: usize, value: fn([u8; N]) -> T) -> Result<Vec<T>> {
        let bytes = self.take(count.checked_mul(N).ok_or_else(corrupted)?)?;
        let (values, _) = bytes.as_chunks::<N>();
        Ok(values.iter().map(|bytes| value(*bytes)).collect())
    }

    fn column(&mut self) -> Result<Column> {
        let nulls = match self.byte()? {
            0 => None,
            _ => Some(self.bytes()?.iter().map(|byte| *byte != 0).collect()),
        };
        let (kind, count) = (self.byte()?, self.count()?);
        let data = match kind {
            BOOL => Data::Bool(self.values(count, |[byte]| byte != 0)?),
            INT => Data::Int(self.values(count, i64::from_le_bytes)?),
            FLOAT => Data::Float(self.values(count, f64::from_le_bytes)?),
            SHORT_DECIMAL => {
                let scale = u32::try_from(self.count()?).map_err(|_| corrupted())?;
                Data::Decimal(Digits::Short(self.values(count, i64::from_le_bytes)?), scale)
            }
            DECIMAL => {
                let scale = u32::try_from(self.count()?).map_err(|_| corrupted())?;
                Data::Decimal(Digits::Long(self.values(count, i128::from_le_bytes)?), scale)
            }
            TEXT => {
                let mut texts = Texts::default();
                for _ in 0..count {
                    texts.push(self.bytes()?);
                }
                Data::Text(texts)
            }
            DATUMS => Data::Datums((0..count).map(|_| self.value()).collect::<Result<_>>()?),
            _ => return Err(corrupted()),
        };
        Ok(Column { data, nulls })
    }

    fn value(&mut self) -> Result<Datum> {
        Ok(match self.byte()? {
            0 => Datum::Null,
            1 => Datum::Bool(self.byte()? != 0),
            2 => Datum::Int2(self.number()? as i16),
            3 => Datum::Int4(self.number()? as i32),
            4 => Datum::Int8(self.number()?),
            5 => Datum::Float4(f32::from_bits(self.number()? as u32)),
            6 => Datum::Float8(f64::from_bits(self.number()? as u64)),
            7 => Datum::Date(self.number()? as i32),
            8 => Datum::Time(self.number()?),
            9 => Datum::Timestamp(self.number()?),
            10 => Datum::Timestamptz(self.number()?),
            11 => Datum::Oid(self.number()? as u32),
            12 => Datum::Text(std::str::from_utf8(self.bytes()?).map_err(|_| corrupted())?.into()),
            13 => Datum::Bytea(self.bytes()?.into()),
            14 => Datum::Uuid(Arc::new(self.array()?)),
            15 => {
                let (months, days) = (i32::from_le_bytes(self.array()?), i32::from_le_bytes(self.array()?));
                Datum::Interval(Arc::new(Interval { months, days, micros: self.number()? }))
            }
            16 => {
                let scale = self.number()? as u32;
                Datum::Numeric(Numeric::new(BigInt::from_signed_bytes_le(self.bytes()?), scale))
            }
            17 => Datum::Numeric(Numeric::NaN),
            18 => Datum::Numeric(Numeric::Infinity),
            19 => Datum::Numeric(Numeric::NegativeInfinity),
            _ => return Err(corrupted()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgtypes::Type;

    fn rows() -> (Vec<Vec<Datum>>, Vec<Type>) {
        let numeric = |digits: i64, scale| Datum::Numeric(Numeric::new(BigInt::from(digits), scale));
        let interval = Interval { months: -1, days: 2, micros: i64::MIN };
        let wide = vec![
            Datum::Bool(true),
            Datum::Int8(i64::MIN),
            Datum::Float8(-0.0),
            numeric(-12345, 2),
            Datum::Text("ünï".into()),
            Datum::Bytea([0, 255][..].into()),
            Datum::Uuid(Arc::new([7; 16])),
            Datum::Interval(Arc::new(interval)),
            numeric(1, 0),
            Datum::Float4(f32::NAN),
        ];
        let other = vec![
            Datum::Null,
            Datum::Int8(0),
            Datum::Float8(f64::INFINITY),
            numeric(0, 2),
            Datum::Null,
            Datum::Null,
            Datum::Null,
            Datum::Null,
            Datum::Numeric(Numeric::NegativeInfinity),
            Datum::Null,
        ];
        let types = [Type::BOOL, Type::INT8, Type::FLOAT8, Type::NUMERIC, Type::TEXT, Type::BYTEA, Type::UUID];
        let types = types.into_iter().chain([Type::INTERVAL, Type::NUMERIC, Type::FLOAT4]).collect();
        (vec![wide, other], types)
    }

    #[test]
    fn what_is_written_is_read() {
        let (rows, types) = rows();
        let batch = Batch::from_rows(&rows, &types);
        let mut bytes = Vec::new();
        write(&batch, &mut bytes).expect("all types have a form");
        let found = read(&bytes).expect("it was written");
        for row in 0..rows.len() {
            assert_eq!(format!("{:?}", found.row(row, &types)), format!("{:?}", batch.row(row, &types)));
        }
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "cut at {length}");
        }
    }
}
