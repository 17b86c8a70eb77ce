//! Scans by column: batches of rows as typed vectors, for executors that work on many rows at a time.
//!
//! A capability of a read view ([`ReadView::columns`]) and not of the open transaction: a plan holds several scans at once, and
//! several threads take batches of one. [`batches`] asks for it, and reads rows where an engine stores rows.

use crate::decimal::Decimal;
use crate::{
    ColumnType, Columns, Invalid, RawValue, ReadView, Result, RowKind, RowRef, Scan, ScanEnd, Schema, Value, ValueRef,
};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

mod strings;
mod sums;

pub use crate::sieve::{Narrowing, Set, Sieve};
pub use strings::{Coded, Dictionary, Strings};
pub use sums::{Sum, Summing, Sums};

/// Rows in a batch at most: a few vectors of so many values stay in a core's first cache.
pub const BATCH_ROWS: usize = 1024;

/// Scans by column, of an engine that stores columns.
pub trait ColumnReads: Sync {
    /// Begins a scan of the rows in a range that pass the filter, own writes included. What the scan says is protected from this call
    /// on, however many batches are taken: the range, as far as the filter and the columns say that it was looked at. Rows come in
    /// any order; [`Scan::direction`] and [`Scan::examine`] have no effect.
    ///
    /// # Errors
    /// Same as [`crate::Access::scan`].
    fn scan_columns<'v>(&'v self, scan: Scan<'v>) -> Result<Box<dyn Batches + 'v>>;

    /// Begins the same scan, to add up its columns where the values lie.
    ///
    /// # Errors
    /// Same as [`ColumnReads::scan_columns`].
    fn sum_columns<'v>(&'v self, scan: Scan<'v>) -> Result<Box<dyn Summing + 'v>>;
}

/// A scan by column. Threads that share it take different batches.
pub trait Batches: Send + Sync {
    /// Fills `batch` with the next rows, at least one and at most [`BATCH_ROWS`]; `false` if there are no more (then it is empty).
    ///
    /// # Errors
    /// Same as [`crate::Access::scan`].
    fn next(&self, batch: &mut Batch) -> Result<bool>;
}

/// Rows by column: [`Batch::column`] has as many values for each column of the scan. Reused from one batch to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    rows: usize,
    columns: Vec<Vector>,
}

/// The values of one column in a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    values: Values,
    is_null: Vec<bool>,
    /// See [`Vector::bits`].
    bits: u32,
}

/// Bits of the widest value.
const ALL_BITS: u32 = 64;

/// Values of one type, one for each row; any value where the row has NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// See [`ColumnType::Bool`].
    Bool(Vec<bool>),
    /// See [`ColumnType::Int`].
    Int(Vec<i64>),
    /// See [`ColumnType::Float`].
    Float(Vec<f64>),
    /// See [`ColumnType::Text`].
    Text(Strings),
    /// See [`ColumnType::Bytes`].
    Bytes(Strings),
    /// Byte strings that are decimals of one scale, by their digits.
    Decimal(Vec<i64>, u16),
    /// See [`ColumnType::Date`].
    Date(Vec<i32>),
    /// See [`ColumnType::Timestamp`].
    Timestamp(Vec<i64>),
}

impl Batch {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Values of a column, counted among those that the scan asks for.
    ///
    /// # Panics
    /// If the scan asks for fewer.
    pub fn column(&self, column: usize) -> &Vector {
        &self.columns[column]
    }

    /// The columns, in the order of the scan's.
    pub fn into_columns(self) -> Vec<Vector> {
        self.columns
    }

    /// Empties it for columns of these types. Memory is kept where the types are those of before.
    pub fn restart(&mut self, types: &[ColumnType]) {
        self.rows = 0;
        self.columns.truncate(types.len());
        for (at, &kind) in types.iter().enumerate() {
            match self.columns.get_mut(at) {
                Some(column) if column.values.kind() == kind => column.clear(),
                Some(column) => *column = Vector::new(kind),
                None => self.columns.push(Vector::new(kind)),
            }
        }
    }

    /// Appends a row that has these columns and no others. A value that is not of its column's type counts as NULL: engines check
    /// rows when they come in.
    pub fn push(&mut self, row: RowRef<'_>) {
        let width = if self.columns.is_empty() { 0 } else { row.width() };
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.push(if at < width { row.get(at) } else { ValueRef::Null });
        }
        self.rows += 1;
    }

    /// Appends rows by column, for an engine that stores columns: `append` appends as many values to each of the vectors, in the order
    /// of the scan's columns, by [`Vector::parts_mut`].
    ///
    /// # Panics
    /// If a vector has another number of values, or of NULL marks, afterwards.
    pub fn extend(&mut self, rows: usize, append: impl FnOnce(&mut [Vector])) {
        append(&mut self.columns);
        self.rows += rows;
        let whole = |column: &Vector| column.values.len() == self.rows && column.is_null.len() == self.rows;
        assert!(self.columns.iter().all(whole), "each column has a value for each of {} rows", self.rows);
    }
}

impl Vector {
    fn new(kind: ColumnType) -> Vector {
        let values = match kind {
            ColumnType::Bool => Values::Bool(Vec::new()),
            ColumnType::Int => Values::Int(Vec::new()),
            ColumnType::Float => Values::Float(Vec::new()),
            ColumnType::Text => Values::Text(Strings::default()),
            ColumnType::Bytes => Values::Bytes(Strings::default()),
            ColumnType::Date => Values::Date(Vec::new()),
            ColumnType::Timestamp => Values::Timestamp(Vec::new()),
        };
        Vector { values, is_null: Vec::new(), bits: 0 }
    }

    /// The values, for loops over one type.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Which rows have NULL.
    pub fn is_null(&self) -> &[bool] {
        &self.is_null
    }

    /// The values, and which rows have NULL.
    pub fn into_parts(self) -> (Values, Vec<bool>) {
        (self.values, self.is_null)
    }

    /// The values and which of them are NULL, to append to both ([`Batch::extend`]). A row with NULL has any value.
    pub fn parts_mut(&mut self) -> (&mut Values, &mut Vec<bool>) {
        self.narrow_parts_mut(ALL_BITS)
    }

    /// The same, to append integers of so many bits at most, with their sign; also where a row has NULL.
    pub fn narrow_parts_mut(&mut self, bits: u32) -> (&mut Values, &mut Vec<bool>) {
        self.bits = self.bits.max(bits);
        (&mut self.values, &mut self.is_null)
    }

    /// Bits that all integers have room in, with their sign: as the engine knows it without a look at them.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Appends a value.
    ///
    /// # Panics
    /// If it is none of the vector's type ([`RawValue::with_type`]).
    pub fn push_raw(&mut self, value: RawValue<'_>) {
        if let RawValue::Decimal(Decimal { digits, scale }) = value
            && let Some(decimals) = self.decimals_mut(scale)
        {
            decimals.push(digits);
            self.is_null.push(false);
            return;
        }
        value.with_type(self.values.kind(), |value| self.push(value));
    }

    /// The digits of byte strings, to append to those of decimals of a scale, with as many marks of NULL ([`Vector::parts_mut`]); `None` if
    /// others are there.
    pub fn decimals_mut(&mut self, scale: u16) -> Option<&mut Vec<i64>> {
        if let Values::Bytes(strings) = &self.values
            && self.is_null.len() == strings.len()
            && !self.is_null.contains(&false)
        {
            self.values = Values::Decimal(vec![0; self.is_null.len()], scale);
        }
        match &mut self.values {
            Values::Decimal(digits, known) if *known == scale => Some(digits),
            _ => None,
        }
    }

    /// Puts decimals together again, as the byte strings that they are.
    fn join_decimals(&mut self) {
        if let Values::Decimal(digits, scale) = &self.values {
            let mut strings = Strings::default();
            digits.iter().for_each(|&digits| strings.push(&Decimal::new(digits, *scale).stored()));
            self.values = Values::Bytes(strings);
        }
    }

    /// The value of one row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> Value {
        self.with_value(row, |value| value.to_owned())
    }

    /// Shows the value of one row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn with_value<R>(&self, row: usize, see: impl FnOnce(ValueRef<'_>) -> R) -> R {
        if self.is_null[row] {
            return see(ValueRef::Null);
        }
        if let Values::Decimal(digits, scale) = &self.values {
            return see(ValueRef::Bytes(&Decimal::new(digits[row], *scale).stored()));
        }
        see(match &self.values {
            Values::Bool(values) => ValueRef::Bool(values[row]),
            Values::Int(values) => ValueRef::Int(values[row]),
            Values::Float(values) => ValueRef::Float(values[row]),
            Values::Text(values) => {
                ValueRef::Text(std::str::from_utf8(values.get(row)).expect("texts are appended as such"))
            }
            Values::Bytes(values) => ValueRef::Bytes(values.get(row)),
            Values::Decimal(..) => ValueRef::Null,
            Values::Date(values) => ValueRef::Date(values[row]),
            Values::Timestamp(values) => ValueRef::Timestamp(values[row]),
        })
    }

    fn clear(&mut self) {
        self.is_null.clear();
        self.bits = 0;
        match &mut self.values {
            Values::Bool(values) => values.clear(),
            Values::Int(values) | Values::Timestamp(values) => values.clear(),
            Values::Float(values) => values.clear(),
            Values::Text(values) | Values::Bytes(values) => values.clear(),
            Values::Decimal(..) => self.values = Values::Bytes(Strings::default()),
            Values::Date(values) => values.clear(),
        }
    }

    fn push(&mut self, value: ValueRef<'_>) {
        self.bits = ALL_BITS;
        let is_null = value.column_type() != Some(self.values.kind());
        if let Values::Decimal(digits, _) = &mut self.values {
            if is_null {
                digits.push(0);
            } else {
                self.join_decimals();
            }
        }
        self.is_null.push(is_null);
        match (&mut self.values, value) {
            (Values::Bool(values), value) => values.push(value == ValueRef::Bool(true)),
            (Values::Int(values), ValueRef::Int(value)) | (Values::Timestamp(values), ValueRef::Timestamp(value)) => {
                values.push(value);
            }
            (Values::Int(values) | Values::Timestamp(values), _) => values.push(0),
            (Values::Float(values), ValueRef::Float(value)) => values.push(value),
            (Values::Float(values), _) => values.push(0.0),
            (Values::Text(values), ValueRef::Text(value)) => values.push(value.as_bytes()),
            (Values::Bytes(values), ValueRef::Bytes(value)) => values.push(value),
            (Values::Text(values) | Values::Bytes(values), _) => values.push(&[]),
            (Values::Decimal(..), _) => {}
            (Values::Date(values), ValueRef::Date(value)) => values.push(value),
            (Values::Date(values), _) => values.push(0),
        }
    }
}

impl Values {
    /// Number of values.
    fn len(&self) -> usize {
        match self {
            Values::Bool(values) => values.len(),
            Values::Int(values) | Values::Timestamp(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Text(values) | Values::Bytes(values) => values.len(),
            Values::Decimal(digits, _) => digits.len(),
            Values::Date(values) => values.len(),
        }
    }

    /// Type of the values.
    pub fn kind(&self) -> ColumnType {
        match self {
            Values::Bool(_) => ColumnType::Bool,
            Values::Int(_) => ColumnType::Int,
            Values::Float(_) => ColumnType::Float,
            Values::Text(_) => ColumnType::Text,
            Values::Bytes(_) | Values::Decimal(..) => ColumnType::Bytes,
            Values::Date(_) => ColumnType::Date,
            Values::Timestamp(_) => ColumnType::Timestamp,
        }
    }
}

/// Scans a typed table by column: as the engine stores it, or row by row. Row by row, threads that share the scan take turns, and
/// what is protected grows with the batches that were taken.
///
/// # Errors
/// Same as [`ColumnReads::scan_columns`]; [`Invalid::Row`] for a table without columns.
pub fn batches<'v, V: ReadView + ?Sized>(
    view: &'v V,
    schema: &Schema,
    scan: Scan<'v>,
) -> Result<Box<dyn Batches + 'v>> {
    schema.check_columns(scan.columns)?;
    if schema.rows() == RowKind::Bytes {
        return Err(Invalid::Row { table: schema.name().into(), what: "its rows have no columns".into() }.into());
    }
    if let Some(columns) = view.columns() {
        return columns.scan_columns(scan);
    }
    let all = schema.columns();
    let types = match scan.columns {
        Columns::All => all.iter().map(|column| column.kind).collect(),
        Columns::Some(columns) => columns.iter().map(|&column| all[usize::from(column)].kind).collect(),
        Columns::None => Vec::new(),
    };
    Ok(Box::new(RowBatches { view, types, rest: Mutex::new(Some(scan)) }))
}

/// A scan of rows that are put into batches.
struct RowBatches<'v, V: ?Sized> {
    view: &'v V,
    types: Vec<ColumnType>,
    /// What has not been read yet; `None`: nothing.
    rest: Mutex<Option<Scan<'v>>>,
}

impl<V: ReadView + ?Sized> Batches for RowBatches<'_, V> {
    fn next(&self, batch: &mut Batch) -> Result<bool> {
        batch.restart(&self.types);
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        // A scan that stops between batches may end before it has met a row that passes.
        while batch.is_empty()
            && let Some(scan) = &*rest
        {
            let end = self.view.scan(scan, &mut |item| {
                batch.push(item.row);
                if batch.len() < BATCH_ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            *rest = match end {
                ScanEnd::Finished => None,
                ScanEnd::Stopped(position) => rest.take().map(|scan| scan.resume(position)),
            };
        }
        Ok(!batch.is_empty())
    }
}
