//! Keys: the values of some columns as bytes, equal where SQL calls the values equal, and tables of them.

use crate::batch::Batch;
use crate::column::{Class, Column, Data};
use crate::expression::{Expression, Vector};
use bigdecimal::num_traits::ToPrimitive;
use foldhash::fast::FixedState;
use pgtypes::{Datum, Numeric, Result, Scalar, Type};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The keys of a batch's rows.
pub struct Keys {
    form: Form,
    hashes: Vec<u64>,
    /// Which keys have NULL in them; `None`: none.
    has_null: Option<Vec<bool>>,
}

enum Form {
    /// One integer each.
    Integers(Arc<Column>),
    /// Bytes, one key behind the other, and where each ends.
    Bytes(Vec<u8>, Vec<usize>),
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'k> {
    /// An integer, a date or a time alone; `None`: NULL.
    Integer(Option<i64>),
    /// Any others.
    Bytes(&'k [u8]),
}

/// Hash of an integer, of which both ends depend on all bits.
#[inline]
fn hash_integer(value: i64) -> u64 {
    let product = u128::from(value as u64 ^ 0x2d35_8dcc_aa6c_78a5) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// Hash of NULL alone.
const HASH_OF_NULL: u64 = 0x1357_9bdf_0246_8ace;

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
        let types = expressions.iter().map(Expression::data_type);
        let columns = vectors.into_iter().zip(types).map(|(vector, of)| (vector.spread(batch.rows), of));
        Ok(Keys::of_columns(&columns.collect::<Vec<_>>(), batch.rows))
    }

    /// The keys of these columns. Those of one type, or of the same types, have one form.
    pub fn of_columns(columns: &[(Arc<Column>, Type)], rows: usize) -> Keys {
        if let [(column, _)] = columns
            && let Data::Int(values) = &column.data
        {
            return Keys::of_integers(column, values);
        }
        let mut keys =
            Keys { form: Form::Bytes(Vec::new(), Vec::new()), hashes: Vec::with_capacity(rows), has_null: None };
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows));
        let hasher = FixedState::with_seed(0);
        for row in 0..rows {
            let start = bytes.len();
            columns.iter().for_each(|(column, data_type)| push_key(column, row, *data_type, &mut bytes));
            keys.hashes.push(hasher.hash_one(&bytes[start..]));
            ends.push(bytes.len());
        }
        if columns.iter().any(|(column, _)| column.nulls.is_some()) {
            let has_null = |row: usize| columns.iter().any(|(column, _)| column.is_null(row));
            keys.has_null = Some((0..rows).map(has_null).collect());
        }
        keys.form = Form::Bytes(bytes, ends);
        keys
    }

    fn of_integers(column: &Arc<Column>, values: &[i64]) -> Keys {
        let mut hashes: Vec<u64> = values.iter().map(|value| hash_integer(*value)).collect();
        if let Some(nulls) = &column.nulls {
            hashes.iter_mut().zip(nulls).filter(|(_, null)| **null).for_each(|(hash, _)| *hash = HASH_OF_NULL);
        }
        Keys { form: Form::Integers(column.clone()), hashes, has_null: column.nulls.clone() }
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    /// One key.
    #[inline]
    pub fn get(&self, row: usize) -> Key<'_> {
        match &self.form {
            Form::Integers(column) => match &column.data {
                Data::Int(values) if !self.has_null(row) => Key::Integer(Some(values[row])),
                _ => Key::Integer(None),
            },
            Form::Bytes(bytes, ends) => {
                let start = row.checked_sub(1).map_or(0, |before| ends[before]);
                Key::Bytes(&bytes[start..ends[row]])
            }
        }
    }

    /// The hash of one key.
    #[inline]
    pub fn hash(&self, row: usize) -> u64 {
        self.hashes[row]
    }

    /// Returns whether one of the values of a key is NULL.
    #[inline]
    pub fn has_null(&self, row: usize) -> bool {
        self.has_null.as_ref().is_some_and(|nulls| nulls[row])
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
            let text = texts.get(row);
            push_bytes(if data_type == Type::BPCHAR { without_blanks(text) } else { text }, out);
        }
        Data::Datums(values) => push_datum(&values[row], out),
    }
}

/// A text of `char(n)` without the blanks at its end, which count for nothing.
pub(crate) fn without_blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
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

/// Distinct keys of one form, numbered from 0 in the order in which they came.
#[derive(Default)]
pub struct KeySet {
    /// Numbers of keys plus one, by hash; 0 is free. A power of two of them.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    /// The keys that are integers; 0 for NULL.
    integers: Vec<i64>,
    /// The number of NULL, which is in no slot.
    null: Option<u32>,
    /// The keys that are bytes, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeySet {
    /// Number of keys.
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    fn key(&self, number: usize) -> Key<'_> {
        if self.ends.is_empty() {
            let is_null = self.null == Some(number as u32);
            return Key::Integer((!is_null).then(|| self.integers[number]));
        }
        Key::Bytes(self.bytes_of(number))
    }

    fn bytes_of(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a key, if it is there.
    #[inline]
    pub fn find(&self, hash: u64, key: Key<'_>) -> Option<u32> {
        match key {
            Key::Integer(None) => self.null,
            Key::Integer(Some(value)) => self.look(hash, |number| self.integers[number] == value),
            Key::Bytes(key) => self.look(hash, |number| self.hashes[number] == hash && self.bytes_of(number) == key),
        }
    }

    #[inline]
    fn look(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let number = self.slots[at].checked_sub(1)?;
            if is_it(number as usize) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of a key, and whether it is new.
    #[inline]
    pub fn insert(&mut self, hash: u64, key: Key<'_>) -> (u32, bool) {
        match self.find(hash, key) {
            Some(number) => (number, false),
            None => (self.add(hash, key), true),
        }
    }

    /// Adds a key that is not there.
    fn add(&mut self, hash: u64, key: Key<'_>) -> u32 {
        if (self.count() + 1) * 8 > self.slots.len() * 7 {
            self.grow();
        }
        let number = self.count() as u32;
        self.hashes.push(hash);
        match key {
            Key::Integer(value) => {
                self.integers.push(value.unwrap_or(0));
                if value.is_none() {
                    self.null = Some(number);
                    return number;
                }
            }
            Key::Bytes(key) => {
                self.bytes.extend_from_slice(key);
                self.ends.push(self.bytes.len());
            }
        }
        self.place(hash, number);
        number
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
        for number in 0..self.count() as u32 {
            if self.null != Some(number) {
                self.place(self.hashes[number as usize], number);
            }
        }
    }

    /// The hash of each key and the key, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Key<'_>)> {
        (0..self.count()).map(|number| (self.hashes[number], self.key(number)))
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.slots.len() * 4 + (self.hashes.len() + self.integers.len() + self.ends.len()) * 8 + self.bytes.len()
    }
}
