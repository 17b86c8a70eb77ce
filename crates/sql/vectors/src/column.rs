//! Columns: the values of one attribute in the rows of a batch.

use crate::digits::Digits;
use crate::texts::Texts;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::ToPrimitive;
use pgtypes::memory::{check_large, reserve};
use pgtypes::{Datum, Numeric, Result, Scalar, Type, value_bytes};

/// Marks a row of a [`Column::gather`] that has no source: it becomes NULL.
pub const ABSENT: u32 = u32::MAX;

/// Values of one column. Which [`Type`] they have is known beside them.
#[derive(Clone, Debug)]
pub struct Column {
    /// The values; a default value where the row has NULL.
    pub data: Data,
    /// Which rows have NULL; `None`: none.
    pub nulls: Option<Vec<bool>>,
}

/// The values of a column, in the form of their type's [`Class`].
#[derive(Clone, Debug)]
pub enum Data {
    /// boolean
    Bool(Vec<bool>),
    /// Integers, dates and times of all widths.
    Int(Vec<i64>),
    /// Floats of both widths.
    Float(Vec<f64>),
    /// Numerics of one display scale: the digits as integers, and the scale.
    Decimal(Digits, u32),
    /// Texts of the types whose values are compared as bytes.
    Text(Texts),
    /// Values of any other type, and numerics that are no [`Data::Decimal`].
    Datums(Vec<Datum>),
}

/// How the values of a type are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// As [`Data::Bool`].
    Bool,
    /// As [`Data::Int`].
    Int,
    /// As [`Data::Float`].
    Float,
    /// As [`Data::Decimal`] where that is possible.
    Decimal,
    /// As [`Data::Text`].
    Text,
    /// As [`Data::Datums`].
    Other,
}

impl Class {
    /// The class of a type.
    pub fn of(data_type: Type) -> Class {
        if data_type.is_array {
            return Class::Other;
        }
        match data_type.scalar {
            Scalar::Bool => Class::Bool,
            Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Oid => Class::Int,
            Scalar::Date | Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz => Class::Int,
            Scalar::Float4 | Scalar::Float8 => Class::Float,
            Scalar::Numeric => Class::Decimal,
            Scalar::Text | Scalar::Varchar | Scalar::Bpchar => Class::Text,
            _ => Class::Other,
        }
    }
}

impl Data {
    /// No values, of the same form.
    pub fn emptied(&self) -> Data {
        match self {
            Data::Bool(_) => Data::Bool(Vec::new()),
            Data::Int(_) => Data::Int(Vec::new()),
            Data::Float(_) => Data::Float(Vec::new()),
            Data::Decimal(_, scale) => Data::Decimal(Digits::default(), *scale),
            Data::Text(_) => Data::Text(Texts::default()),
            Data::Datums(_) => Data::Datums(Vec::new()),
        }
    }
}

impl Column {
    /// An empty column for values of a type.
    pub fn new(data_type: Type) -> Column {
        let data = match Class::of(data_type) {
            Class::Bool => Data::Bool(Vec::new()),
            Class::Int => Data::Int(Vec::new()),
            Class::Float => Data::Float(Vec::new()),
            Class::Decimal => Data::Decimal(Digits::default(), 0),
            Class::Text => Data::Text(Texts::default()),
            Class::Other => Data::Datums(Vec::new()),
        };
        Column { data, nulls: None }
    }

    /// A column of booleans.
    pub fn of_truths(truths: Vec<bool>, nulls: Option<Vec<bool>>) -> Column {
        Column { data: Data::Bool(truths), nulls }
    }

    /// A column of integers, dates or times, and which rows have NULL.
    pub fn of_integers(values: Vec<i64>, is_null: Vec<bool>) -> Column {
        let nulls = is_null.contains(&true).then_some(is_null);
        Column { data: Data::Int(values), nulls }
    }

    /// One value for each of `rows` rows.
    pub fn repeated(value: &Datum, data_type: Type, rows: usize) -> Column {
        let mut column = Column::new(data_type);
        (0..rows).for_each(|_| column.push(value));
        column
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Bool(values) => values.len(),
            Data::Int(values) => values.len(),
            Data::Float(values) => values.len(),
            Data::Decimal(values, _) => values.len(),
            Data::Text(texts) => texts.len(),
            Data::Datums(values) => values.len(),
        }
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a row has NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls[row])
    }

    /// The value of one row, of this type.
    pub fn get(&self, row: usize, data_type: Type) -> Datum {
        if self.is_null(row) {
            return Datum::Null;
        }
        match &self.data {
            Data::Bool(values) => Datum::Bool(values[row]),
            Data::Int(values) => int_datum(values[row], data_type),
            Data::Float(values) if data_type.scalar == Scalar::Float4 => Datum::Float4(values[row] as f32),
            Data::Float(values) => Datum::Float8(values[row]),
            Data::Decimal(values, scale) => Datum::Numeric(Numeric::new(BigInt::from(values.get(row)), *scale)),
            Data::Text(texts) => Datum::Text(texts.text(row)),
            Data::Datums(values) => values[row].clone(),
        }
    }

    /// Appends a value. One that is not of the column's class counts as NULL: expressions are typed.
    pub fn push(&mut self, value: &Datum) {
        match value {
            Datum::Null => self.push_null(),
            value if matches!(self.data, Data::Datums(_)) => self.push_other(value),
            Datum::Bool(value) => self.push_bool(*value),
            Datum::Int2(value) => self.push_int(i64::from(*value)),
            Datum::Int4(value) | Datum::Date(value) => self.push_int(i64::from(*value)),
            Datum::Int8(value) | Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => {
                self.push_int(*value);
            }
            Datum::Oid(value) => self.push_int(i64::from(*value)),
            Datum::Float4(value) => self.push_float(f64::from(*value)),
            Datum::Float8(value) => self.push_float(*value),
            Datum::Text(text) => self.push_text(text.as_bytes()),
            Datum::Numeric(value) => self.push_numeric(value),
            other => self.push_other(other),
        }
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        let rows = self.len();
        self.nulls.get_or_insert_with(|| vec![false; rows]).push(true);
        match &mut self.data {
            Data::Bool(values) => values.push(false),
            Data::Int(values) => values.push(0),
            Data::Float(values) => values.push(0.0),
            Data::Decimal(values, _) => values.push(0),
            Data::Text(texts) => texts.push(&[]),
            Data::Datums(values) => values.push(Datum::Null),
        }
    }

    /// Appends an integer, a date or a time.
    #[inline]
    pub fn push_int(&mut self, value: i64) {
        match &mut self.data {
            Data::Int(values) => values.push(value),
            _ => return self.push_other(&Datum::Int8(value)),
        }
        self.mark_value();
    }

    /// Appends a boolean.
    #[inline]
    pub fn push_bool(&mut self, value: bool) {
        match &mut self.data {
            Data::Bool(values) => values.push(value),
            _ => return self.push_other(&Datum::Bool(value)),
        }
        self.mark_value();
    }

    /// Appends a float.
    #[inline]
    pub fn push_float(&mut self, value: f64) {
        match &mut self.data {
            Data::Float(values) => values.push(value),
            _ => return self.push_other(&Datum::Float8(value)),
        }
        self.mark_value();
    }

    /// Appends a text, which is UTF-8.
    #[inline]
    pub fn push_text(&mut self, value: &[u8]) {
        match &mut self.data {
            Data::Text(texts) => texts.push(value),
            _ => return self.push_other(&Datum::Text(String::from_utf8_lossy(value).into())),
        }
        self.mark_value();
    }

    /// Appends a numeric by its digits and display scale.
    #[inline]
    pub fn push_decimal(&mut self, digits: i128, scale: u32) {
        match &mut self.data {
            Data::Decimal(values, known) if *known == scale => values.push(digits),
            Data::Decimal(values, known)
                if self.nulls.as_ref().map_or(values.is_empty(), |nulls| nulls.iter().all(|null| *null)) =>
            {
                *known = scale;
                values.push(digits);
            }
            _ => return self.push_other(&Datum::Numeric(Numeric::new(BigInt::from(digits), scale))),
        }
        self.mark_value();
    }

    fn push_numeric(&mut self, value: &Numeric) {
        let parts = value.digits_and_scale().and_then(|(digits, scale)| Some((digits.to_i128()?, scale)));
        match parts {
            Some((digits, scale)) => self.push_decimal(digits, scale),
            None => self.push_other(&Datum::Numeric(value.clone())),
        }
    }

    /// Appends a value as such. Numerics that are no decimals of one scale turn all of them into values.
    fn push_other(&mut self, value: &Datum) {
        if let Data::Decimal(..) = self.data {
            let rows = self.len();
            self.data = Data::Datums((0..rows).map(|row| self.get(row, Type::NUMERIC)).collect());
        }
        match &mut self.data {
            Data::Datums(values) => values.push(value.clone()),
            _ => return self.push_null(),
        }
        self.mark_value();
    }

    fn mark_value(&mut self) {
        if let Some(nulls) = &mut self.nulls {
            nulls.push(false);
        }
    }

    /// The values of these rows, in this order; NULL for [`ABSENT`].
    pub fn gather(&self, rows: &[u32]) -> Column {
        let is_whole = !rows.iter().fold(false, |any, row| any | (*row == ABSENT));
        let each = Picked { rows, is_whole };
        let data = match &self.data {
            Data::Bool(values) => Data::Bool(each.of(values)),
            Data::Int(values) => Data::Int(each.of(values)),
            Data::Float(values) => Data::Float(each.of(values)),
            Data::Decimal(Digits::Short(values), scale) => Data::Decimal(Digits::Short(each.of(values)), *scale),
            Data::Decimal(Digits::Long(values), scale) => Data::Decimal(Digits::Long(each.of(values)), *scale),
            Data::Text(texts) => Data::Text(texts.gather(rows)),
            Data::Datums(values) => Data::Datums(each.of(values)),
        };
        let nulls = match &self.nulls {
            None if is_whole => None,
            _ => Some(rows.iter().map(|&row| row == ABSENT || self.is_null(row as usize)).collect()),
        };
        Column { data, nulls }
    }

    /// Appends one row of another column of the same type.
    pub fn push_from(&mut self, other: &Column, row: usize) {
        match (&self.data, &other.data) {
            (_, _) if other.is_null(row) => self.push_null(),
            (Data::Bool(_), Data::Bool(others)) => self.push_bool(others[row]),
            (Data::Int(_), Data::Int(others)) => self.push_int(others[row]),
            (Data::Float(_), Data::Float(others)) => self.push_float(others[row]),
            (Data::Decimal(..), Data::Decimal(others, scale)) => self.push_decimal(others.get(row), *scale),
            (Data::Text(_), Data::Text(others)) => self.push_text(others.get(row)),
            // Numerics of one form and the other, or values as such.
            _ => self.push(&other.get(row, Type::NUMERIC)),
        }
    }

    /// Makes room for the rows of another column of the same type, in a column that may become large: [`Column::append`] cannot fail.
    ///
    /// # Errors
    /// 53200.
    pub fn reserve(&mut self, other: &Column) -> Result<()> {
        let (rows, more) = (self.len(), other.len());
        match (&mut self.nulls, &other.nulls) {
            (Some(nulls), _) => reserve(nulls, more)?,
            (None, Some(_)) => check_large(rows + more)?,
            (None, None) => {}
        }
        match (&mut self.data, &other.data) {
            (Data::Bool(values), _) => reserve(values, more),
            (Data::Int(values), _) => reserve(values, more),
            (Data::Float(values), _) => reserve(values, more),
            (Data::Decimal(values, scale), Data::Decimal(others, other_scale))
                if scale == other_scale || values.is_empty() =>
            {
                values.reserve(others)
            }
            (Data::Text(texts), Data::Text(others)) => texts.reserve(others),
            (Data::Datums(values), _) => reserve(values, more),
            // Numerics of several scales become values.
            _ => check_large((rows + more) * size_of::<Datum>()),
        }
    }

    /// Appends the rows of another column of the same type.
    pub fn append(&mut self, other: &Column) {
        let (before, more) = (self.len(), other.len());
        match (&mut self.data, &other.data) {
            (Data::Bool(values), Data::Bool(others)) => values.extend_from_slice(others),
            (Data::Int(values), Data::Int(others)) => values.extend_from_slice(others),
            (Data::Float(values), Data::Float(others)) => values.extend_from_slice(others),
            (Data::Decimal(values, scale), Data::Decimal(others, other_scale))
                if scale == other_scale || values.is_empty() =>
            {
                *scale = *other_scale;
                values.append(others);
            }
            (Data::Text(texts), Data::Text(others)) => texts.append(others),
            (Data::Datums(values), Data::Datums(others)) => values.extend_from_slice(others),
            _ => return (0..more).for_each(|row| self.push(&other.get(row, Type::NUMERIC))),
        }
        if self.nulls.is_some() || other.nulls.is_some() {
            let nulls = self.nulls.get_or_insert_with(|| vec![false; before]);
            match &other.nulls {
                Some(others) => nulls.extend_from_slice(others),
                None => nulls.resize(before + more, false),
            }
        }
    }

    /// Approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        let nulls = self.nulls.as_ref().map_or(0, Vec::len);
        nulls
            + match &self.data {
                Data::Bool(values) => values.len(),
                Data::Int(values) => values.len() * 8,
                Data::Float(values) => values.len() * 8,
                Data::Decimal(values, _) => values.bytes(),
                Data::Text(texts) => texts.bytes(),
                Data::Datums(values) => {
                    values.len() * size_of::<Datum>() + values.iter().map(value_bytes).sum::<usize>()
                }
            }
    }
}

/// Rows of a column, of which some may be [`ABSENT`].
struct Picked<'r> {
    rows: &'r [u32],
    is_whole: bool,
}

impl Picked<'_> {
    fn of<T: Clone + Default>(&self, values: &[T]) -> Vec<T> {
        if self.is_whole {
            return self.rows.iter().map(|&row| values[row as usize].clone()).collect();
        }
        self.rows.iter().map(|&row| values.get(row as usize).cloned().unwrap_or_default()).collect()
    }
}

/// An integer as a value of its type.
fn int_datum(value: i64, data_type: Type) -> Datum {
    match data_type.scalar {
        Scalar::Int2 => Datum::Int2(value as i16),
        Scalar::Int4 => Datum::Int4(value as i32),
        Scalar::Oid => Datum::Oid(value as u32),
        Scalar::Date => Datum::Date(value as i32),
        Scalar::Time => Datum::Time(value),
        Scalar::Timestamp => Datum::Timestamp(value),
        Scalar::Timestamptz => Datum::Timestamptz(value),
        _ => Datum::Int8(value),
    }
}
