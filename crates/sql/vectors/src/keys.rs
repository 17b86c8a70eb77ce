//! Keys: the values of some columns as bytes, equal where SQL calls the values equal, and tables of them.

use crate::batch::Batch;
use crate::column::{Class, Column, Data};
use crate::digits::Digits;
use crate::expression::{Expression, Vector};
use bigdecimal::num_traits::ToPrimitive;
use foldhash::fast::FixedState;
use pgtypes::{Datum, Numeric, Result, Scalar, Type};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The keys of a batch's rows.
pub struct Keys {
    form: Form,
    /// The hashes of keys that are bytes. Those of integers are as quickly made as read.
    hashes: Vec<u64>,
    /// Which keys have NULL in them; `None`: none.
    has_null: Option<Vec<bool>>,
    /// Which of the keys each row has, where rows of one key are known without a look at it.
    coded: Option<Distinct>,
}

enum Form {
    /// One integer each.
    Integers(Arc<Column>),
    /// Bytes, one key behind the other, and where each ends.
    Bytes(Vec<u8>, Vec<usize>),
}

/// The different keys of a batch.
pub struct Distinct {
    /// The first row of each.
    pub first: Vec<u32>,
    /// The key of each row.
    pub of_rows: Vec<u32>,
}

impl Distinct {
    /// The different keys of columns that are all texts with dictionaries; `None` of others, and if there may be too many.
    fn of(columns: &[(Arc<Column>, Type)], rows: usize) -> Option<Distinct> {
        let mut combined = vec![0_u32; rows];
        let mut most = 1_usize;
        for (column, _) in columns {
            let Data::Text(texts) = &column.data else { return None };
            let (dictionary, codes) = texts.codes()?;
            let places = dictionary.len() + 1; // One for NULL.
            most = most.checked_mul(places).filter(|most| *most <= MOST_COMBINED)?;
            match &column.nulls {
                None => combined
                    .iter_mut()
                    .zip(codes)
                    .for_each(|(all, &code)| *all = *all * places as u32 + u32::from(code) + 1),
                Some(nulls) => combined.iter_mut().zip(codes.iter().zip(nulls)).for_each(|(all, (&code, is_null))| {
                    *all = *all * places as u32 + if *is_null { 0 } else { u32::from(code) + 1 };
                }),
            }
        }
        let (mut numbers, mut first) = (vec![0_u32; most], Vec::new());
        for (row, combined) in (0..).zip(&mut combined) {
            let number = &mut numbers[*combined as usize];
            if *number == 0 {
                first.push(row);
                *number = first.len() as u32;
            }
            *combined = *number - 1;
        }
        Some(Distinct { first, of_rows: combined })
    }
}

/// Combinations of texts of several dictionaries, at most.
const MOST_COMBINED: usize = 4096;

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
            && let Data::Int(_) = &column.data
        {
            let form = Form::Integers(column.clone());
            return Keys { form, hashes: Vec::new(), has_null: column.nulls.clone(), coded: None };
        }
        match Distinct::of(columns, rows) {
            Some(distinct) => {
                let keys = Keys::of_rows(columns, distinct.first.iter().map(|&row| row as usize));
                Keys { coded: Some(distinct), ..keys }
            }
            None => Keys::of_rows(columns, 0..rows),
        }
    }

    /// The keys of some rows, as bytes.
    fn of_rows(columns: &[(Arc<Column>, Type)], rows: impl ExactSizeIterator<Item = usize> + Clone) -> Keys {
        let mut keys = Keys {
            form: Form::Bytes(Vec::new(), Vec::new()),
            hashes: Vec::with_capacity(rows.len()),
            has_null: None,
            coded: None,
        };
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        let hasher = FixedState::with_seed(0);
        for row in rows.clone() {
            let start = bytes.len();
            columns.iter().for_each(|(column, data_type)| push_key(column, row, *data_type, &mut bytes));
            keys.hashes.push(hasher.hash_one(&bytes[start..]));
            ends.push(bytes.len());
        }
        if columns.iter().any(|(column, _)| column.nulls.is_some()) {
            let has_null = |row: usize| columns.iter().any(|(column, _)| column.is_null(row));
            keys.has_null = Some(rows.map(has_null).collect());
        }
        keys.form = Form::Bytes(bytes, ends);
        keys
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        match (&self.form, &self.coded) {
            (_, Some(distinct)) => distinct.of_rows.len(),
            (Form::Integers(column), _) => column.len(),
            (Form::Bytes(_, ends), _) => ends.len(),
        }
    }

    /// The different keys, where they are known.
    pub fn distinct(&self) -> Option<&Distinct> {
        self.coded.as_ref()
    }

    /// Where the key of a row stands.
    #[inline]
    fn place(&self, row: usize) -> usize {
        self.coded.as_ref().map_or(row, |distinct| distinct.of_rows[row] as usize)
    }

    /// The keys, if they are integers without NULL.
    pub fn integers(&self) -> Option<&[i64]> {
        match &self.form {
            Form::Integers(column) if self.has_null.is_none() => match &column.data {
                Data::Int(values) => Some(values),
                _ => None,
            },
            _ => None,
        }
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
                let at = self.place(row);
                let start = at.checked_sub(1).map_or(0, |before| ends[before]);
                Key::Bytes(&bytes[start..ends[at]])
            }
        }
    }

    /// The hash of one key.
    #[inline]
    pub fn hash(&self, row: usize) -> u64 {
        match self.get(row) {
            Key::Integer(Some(value)) => hash_integer(value),
            Key::Integer(None) => HASH_OF_NULL,
            Key::Bytes(_) => self.hashes[self.place(row)],
        }
    }

    /// Returns whether one of the values of a key is NULL.
    #[inline]
    pub fn has_null(&self, row: usize) -> bool {
        self.has_null.as_ref().is_some_and(|nulls| nulls[self.place(row)])
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
        Data::Decimal(Digits::Short(values), scale) => push_short(values[row], *scale, out),
        Data::Decimal(Digits::Long(values), scale) => push_decimal(values[row], *scale, out),
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

/// Same as [`push_decimal`]: divisions of eight bytes are quicker.
fn push_short(mut digits: i64, mut scale: u32, out: &mut Vec<u8>) {
    while scale > 0 && digits % 10 == 0 {
        (digits, scale) = (digits / 10, scale - 1);
    }
    out.extend_from_slice(&scale.to_le_bytes());
    out.extend_from_slice(&i128::from(digits).to_le_bytes());
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
    dense: Dense,
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

    /// The keys but NULL, if they are integers. They are where there is none.
    pub fn integers(&self) -> Option<impl Iterator<Item = i64>> {
        let integers =
            (0..).zip(&self.integers).filter(|(number, _)| self.null != Some(*number)).map(|(_, value)| *value);
        self.ends.is_empty().then_some(integers)
    }

    /// The number of a key, if it is there.
    #[inline]
    pub fn find(&self, hash: u64, key: Key<'_>) -> Option<u32> {
        match key {
            Key::Integer(None) => self.null,
            Key::Integer(Some(value)) => match self.dense.place(value) {
                Some(place) => self.dense.numbers[place].checked_sub(1),
                None => self.look(hash, |number| self.integers[number] == value),
            },
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

    /// Finds the numbers of integers, and gives one to each that is not there: their rows become `new`.
    pub fn number(&mut self, values: &[i64], numbers: &mut Vec<u32>, new: &mut Vec<u32>) {
        let mut has_others = false;
        numbers.extend(values.iter().map(|value| {
            let number = self.dense.number(*value);
            has_others |= number == NO_NUMBER;
            number
        }));
        if !has_others {
            return;
        }
        let of_values = numbers.len() - values.len();
        for (row, (number, &value)) in (0..).zip(numbers[of_values..].iter_mut().zip(values)) {
            if *number == NO_NUMBER {
                let (found, is_new) = self.insert(hash_integer(value), Key::Integer(Some(value)));
                *number = found;
                if is_new {
                    new.push(row);
                }
            }
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
                self.dense.add(value.unwrap_or(0), number, &self.integers, self.null);
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
        (self.slots.len() + self.dense.numbers.len()) * 4
            + (self.hashes.len() + self.integers.len() + self.ends.len()) * 8
            + self.bytes.len()
    }
}

/// Numbers of integers that lie close together, by value: in front of the slots, which have all keys.
#[derive(Default)]
struct Dense {
    /// The value of the first place.
    least: i64,
    /// Numbers plus one; 0: the value is no key.
    numbers: Vec<u32>,
}

/// Stands for the number of a value that has no place, or is no key.
const NO_NUMBER: u32 = u32::MAX;
/// Places, however few keys there are.
const LEAST_PLACES: usize = 1024;
/// Places for each key, at most: they take as much memory as the key does otherwise.
const PLACES_OF_KEY: usize = 8;

impl Dense {
    /// The place of a value, if it has one. Differences wrap as places do.
    #[inline]
    fn place(&self, value: i64) -> Option<usize> {
        let place = value.wrapping_sub(self.least) as usize;
        (place < self.numbers.len()).then_some(place)
    }

    /// The number of a value, or [`NO_NUMBER`].
    #[inline]
    fn number(&self, value: i64) -> u32 {
        self.numbers.get(value.wrapping_sub(self.least) as usize).map_or(NO_NUMBER, |number| number.wrapping_sub(1))
    }

    /// Takes a new key, the last of `all`, and makes places up to it if there are keys enough for them.
    fn add(&mut self, value: i64, number: u32, all: &[i64], null: Option<u32>) {
        match self.place(value) {
            Some(place) => self.numbers[place] = number + 1,
            None => self.widen(value, all, null),
        }
    }

    fn widen(&mut self, value: i64, all: &[i64], null: Option<u32>) {
        let last = self.least.saturating_add(self.numbers.len() as i64 - 1);
        let (first, last) = match self.numbers.is_empty() {
            true => (value, value),
            false => (value.min(self.least), value.max(last)),
        };
        let places = last.checked_sub(first).and_then(|span| usize::try_from(span).ok()?.checked_add(1));
        let most = LEAST_PLACES.max(PLACES_OF_KEY * all.len());
        // Twice as many each time, so that moving the keys is paid for by those that came.
        let Some(places) = places.and_then(usize::checked_next_power_of_two).filter(|places| *places <= most) else {
            return;
        };
        self.least = if value == first { last.saturating_sub(places as i64 - 1) } else { first };
        self.numbers.clear();
        self.numbers.resize(places, 0);
        for (number, value) in (0..).zip(all).filter(|(number, _)| null != Some(*number)) {
            if let Some(place) = self.place(*value) {
                self.numbers[place] = number + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Numbers all keys of a column twice: by one call for all, and one by one.
    fn number(values: &[Option<i64>]) {
        let (mut all, mut each, mut known) = (KeySet::default(), KeySet::default(), HashMap::new());
        let mut column = Column::new(Type::INT8);
        for value in values {
            column.push(&value.map_or(Datum::Null, Datum::Int8));
        }
        let keys = Keys::of_columns(&[(Arc::new(column), Type::INT8)], values.len());
        let (mut numbers, mut new) = (Vec::new(), Vec::new());
        match keys.integers() {
            Some(integers) => all.number(integers, &mut numbers, &mut new),
            None => assert!(values.contains(&None)),
        }
        for (row, value) in values.iter().enumerate() {
            let expected = known.len() as u32;
            let (expected, is_new) = known.get(value).map_or((expected, true), |number| (*number, false));
            known.insert(*value, expected);
            assert_eq!(each.insert(keys.hash(row), keys.get(row)), (expected, is_new), "{value:?}");
            assert_eq!(each.find(keys.hash(row), keys.get(row)), Some(expected));
            if !numbers.is_empty() {
                assert_eq!((numbers[row], new.contains(&(row as u32))), (expected, is_new), "{value:?}");
            }
        }
        assert_eq!(each.count(), known.len());
        assert!(each.iter().zip(0..).all(|((_, key), number)| match key {
            Key::Integer(value) => known[&value] == number,
            Key::Bytes(_) => false,
        }));
        let absent = |value: i64| each.find(hash_integer(value), Key::Integer(Some(value)));
        let others = (-2000..2000).chain([i64::MIN, i64::MAX]);
        others.filter(|value| !known.contains_key(&Some(*value))).for_each(|value| assert_eq!(absent(value), None));
    }

    #[test]
    fn integers_have_one_number_each_however_they_lie() {
        let dense: Vec<_> = (0..5000).map(|at| Some(at * 31 % 1000)).collect();
        let falling: Vec<_> = (0..5000).map(|at| Some(-at / 2)).collect();
        let sparse: Vec<_> = (0..500).map(|at| Some(at * 1_000_003)).collect();
        let edges = [i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1, 0, -1, i64::MAX, i64::MIN].map(Some);
        let both: Vec<_> = (0..4000).map(|at| Some(if at % 3 == 0 { at << 40 } else { 700 - at % 1500 })).collect();
        for values in [&dense, &falling, &sparse, &edges.to_vec(), &both] {
            number(values);
            let with_null = [None, Some(5)].into_iter().chain(values.iter().copied()).chain([None]).collect::<Vec<_>>();
            number(&with_null);
        }
    }

    #[test]
    fn places_take_as_much_memory_as_keys_do() {
        let mut set = KeySet::default();
        let (mut numbers, mut new) = (Vec::new(), Vec::new());
        set.number(&(0..1000).map(|at| at << 30).collect::<Vec<_>>(), &mut numbers, &mut new);
        assert!(set.dense.numbers.len() <= 1, "they lie apart");
        set.number(&(0..1000).collect::<Vec<_>>(), &mut numbers, &mut new);
        assert!((1000..=2048).contains(&set.dense.numbers.len()), "{}", set.dense.numbers.len());
    }
}
