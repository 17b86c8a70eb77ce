//! Keys: the values of some columns as bytes, equal where SQL calls the values equal, and tables of them.

use crate::batch::Batch;
use crate::column::{Class, Column, Data};
use crate::expression::{Expression, Vector};
use bigdecimal::num_traits::ToPrimitive;
use foldhash::fast::FixedState;
use pgtypes::{Datum, Numeric, Result, Scalar, Type};
use std::hash::BuildHasher;

/// The keys of a batch's rows.
#[derive(Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// Which keys have NULL in them.
    has_null: Vec<bool>,
}

const NULL: u8 = 0;
const VALUE: u8 = 1;
const LONG: u8 = 2;
const NAN: u8 = 3;
const INFINITY: u8 = 4;
const NEGATIVE_INFINITY: u8 = 5;

/// Returns whether values of a type can be keys.
pub fn is_key_type(data_type: Type) -> bool {
    let known = [Scalar::Interval, Scalar::Uuid, Scalar::Bytea, Scalar::Name];
    Class::of(data_type) != Class::Other || (!data_type.is_array && known.contains(&data_type.scalar))
}

impl Keys {
    /// The keys of a batch. Types are all [`is_key_type`].
    ///
    /// # Errors
    /// Errors of the expressions.
    pub fn of(batch: &Batch, expressions: &[Expression]) -> Result<Keys> {
        let vectors = expressions.iter().map(|key| key.evaluate(batch)).collect::<Result<Vec<Vector>>>()?;
        let columns: Vec<_> = vectors.into_iter().map(|vector| vector.spread(batch.rows)).collect();
        let types: Vec<Type> = expressions.iter().map(Expression::data_type).collect();
        let columns: Vec<(&Column, Type)> = columns.iter().map(|column| &**column).zip(types).collect();
        Ok(Keys::of_columns(&columns, batch.rows))
    }

    /// The keys of these columns.
    pub fn of_columns(columns: &[(&Column, Type)], rows: usize) -> Keys {
        let mut keys = Keys { ends: Vec::with_capacity(rows), ..Keys::default() };
        let hasher = FixedState::with_seed(0);
        for row in 0..rows {
            let start = keys.bytes.len();
            let mut has_null = false;
            for (column, data_type) in columns {
                has_null |= column.is_null(row);
                push_key(column, row, *data_type, &mut keys.bytes);
            }
            keys.hashes.push(hasher.hash_one(&keys.bytes[start..]));
            keys.ends.push(keys.bytes.len());
            keys.has_null.push(has_null);
        }
        keys
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of one key.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[row]]
    }

    /// The hash of one key.
    pub fn hash(&self, row: usize) -> u64 {
        self.hashes[row]
    }

    /// Returns whether one of the values of a key is NULL.
    pub fn has_null(&self, row: usize) -> bool {
        self.has_null[row]
    }
}

/// Appends a value to a key. The form says where it ends.
fn push_key(column: &Column, row: usize, data_type: Type, out: &mut Vec<u8>) {
    if column.is_null(row) {
        return out.push(NULL);
    }
    out.push(VALUE);
    match &column.data {
        Data::Int(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::Bool(values) => out.push(u8::from(values[row])),
        Data::Float(values) => {
            let value = values[row];
            let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
            out.extend_from_slice(&bits.to_le_bytes());
        }
        Data::Decimal(values, scale) => push_decimal(values[row], *scale, out),
        Data::Text(texts) => {
            let mut text = texts.get(row);
            if data_type == Type::BPCHAR {
                text = text.trim_ascii_end_of_blanks();
            }
            push_bytes(text, out);
        }
        Data::Datums(values) => push_datum(&values[row], out),
    }
}

trait WithoutBlanks {
    fn trim_ascii_end_of_blanks(&self) -> &Self;
}

impl WithoutBlanks for [u8] {
    fn trim_ascii_end_of_blanks(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        &self[..end]
    }
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Equal numerics have equal digits and scales without trailing zeros.
fn push_decimal(mut digits: i128, mut scale: u32, out: &mut Vec<u8>) {
    while scale > 0 && digits % 10 == 0 {
        (digits, scale) = (digits / 10, scale - 1);
    }
    out.extend_from_slice(&scale.to_le_bytes());
    out.extend_from_slice(&digits.to_le_bytes());
}

fn push_datum(value: &Datum, out: &mut Vec<u8>) {
    match value {
        Datum::Numeric(value) => push_numeric(value, out),
        Datum::Interval(value) => out.extend_from_slice(&value.normalized().to_le_bytes()),
        Datum::Uuid(value) => out.extend_from_slice(&**value),
        Datum::Bytea(value) => push_bytes(value, out),
        Datum::Text(value) => push_bytes(value.as_bytes(), out),
        _ => {}
    }
}

fn push_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let mark = out.len() - 1;
    match value {
        Numeric::NaN => out[mark] = NAN,
        Numeric::Infinity => out[mark] = INFINITY,
        Numeric::NegativeInfinity => out[mark] = NEGATIVE_INFINITY,
        Numeric::Finite(_) => {
            let trimmed = value.trim_scale();
            let Some((digits, scale)) = trimmed.digits_and_scale() else { return };
            if let Some(digits) = digits.to_i128() {
                return push_decimal(digits, scale, out);
            }
            out[mark] = LONG;
            out.extend_from_slice(&scale.to_le_bytes());
            push_bytes(&digits.to_signed_bytes_le(), out);
        }
    }
}

/// Distinct keys, numbered from 0 in the order in which they came.
#[derive(Default)]
pub struct KeySet {
    /// Numbers of keys plus one, by hash; 0 is free. A power of two of them.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeySet {
    /// Number of keys.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a key, if it is there.
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let number = self.slots[at].checked_sub(1)?;
            if self.hashes[number as usize] == hash && self.key(number as usize) == key {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of a key, and whether it is new.
    #[inline]
    pub fn insert(&mut self, hash: u64, key: &[u8]) -> (u32, bool) {
        if let Some(number) = self.find(hash, key) {
            return (number, false);
        }
        if (self.count() + 1) * 8 > self.slots.len() * 7 {
            self.grow();
        }
        let number = self.count() as u32;
        self.hashes.push(hash);
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.place(hash, number);
        (number, true)
    }

    fn place(&mut self, hash: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = number + 1;
    }

    fn grow(&mut self) {
        self.slots = vec![0; (self.slots.len() * 2).max(64)];
        for number in 0..self.count() {
            self.place(self.hashes[number], number as u32);
        }
    }

    /// The hash and the bytes of each key, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (0..self.count()).map(|number| (self.hashes[number], self.key(number)))
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.slots.len() * 4 + self.hashes.len() * 16 + self.bytes.len()
    }
}
