//! Stored rows of a table as they are, for batches: read here, decoded elsewhere.

use super::pushed::{self, Pushed};
use super::{count_scan, fill};
use crate::catalog::Column as Attribute;
use crate::error::{Result, SqlError};
use crate::exec::scope::Run;
use crate::plan::Scan;
use crate::storage::{decode_stored, stored_decimal};
use crate::types::{Error, Row, Scalar, Type, error};
use model::columns::{ColumnReads, Dictionary, Narrowing, Sieve, Strings, Values, Vector};
use model::{RowRef, ValueRef};
use std::ops::RangeInclusive;
use std::sync::Arc;
use vectors::aggregate::{Sum, Sums};
use vectors::digits::Digits;
use vectors::flow::{Added, Piece};
use vectors::sort::Edge;
use vectors::texts::{Plain, Texts};
use vectors::{Batch, Class, Column, Columns, Data};

/// Returns the next rows; `None` behind the last.
type NextPiece<'c, E> = dyn Fn() -> Result<Option<Box<dyn Piece>>, E> + Sync + 'c;

/// Adds up the next rows; `None` behind the last.
type NextSums<'c, E> = dyn Fn() -> Result<Option<Added>, E> + Sync + 'c;

/// Parts of the engine's that a thread adds up before it looks whether its statement may go on.
const PARTS_AT_ONCE: usize = 16;

const FIRST: usize = 64;
const LARGEST: usize = vectors::BATCH_ROWS;

/// The rows of a table in key order, some at a time.
pub struct StoredRows {
    entries: Option<super::Entries>,
    pushed: Pushed,
    /// Columns of the stored rows; `None`: all.
    asked: Option<Vec<u16>>,
    layout: Arc<Layout>,
    size: usize,
    /// Integers of columns without which a row is not needed.
    sieves: Vec<(u16, Sieve)>,
    /// The only rows that count.
    only: Option<super::Batch>,
}

/// An edge as the engine asks for it.
#[derive(Debug)]
struct Within(Arc<Edge>);

impl Narrowing for Within {
    fn range(&self) -> RangeInclusive<i64> {
        self.0.range()
    }

    fn keeps_null(&self) -> bool {
        self.0.keeps_null()
    }
}

/// Which columns stored rows have, and where.
struct Layout {
    /// For each column of the table that is read, its type and its place in what is stored.
    columns: Vec<Option<(Type, usize)>>,
}

/// Stored rows, one behind the other.
struct Stored {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    layout: Arc<Layout>,
}

impl StoredRows {
    /// Starts a scan of all rows, with the part of its filter that the engine evaluates.
    pub fn new(scan: &Scan, pushed: Pushed, run: &mut Run<'_, '_>) -> Result<StoredRows> {
        count_scan(scan, run);
        let asked = pushed::asked(scan, pushed.rest_columns.as_deref());
        let only = pushed.only_extremes(scan, asked.as_deref(), run)?;
        let entries = match run.ranges(scan)?.pop_front() {
            Some(super::Range::Between(entries)) if only.is_none() => Some(entries),
            _ => None,
        };
        let layout = Arc::new(Layout::new(scan, &pushed, asked.as_deref()));
        Ok(StoredRows { entries, layout, asked, pushed, size: FIRST, sieves: Vec::new(), only })
    }

    /// Leaves out rows whose integer in a column is none of these, where the engine can.
    pub fn sift(&mut self, column: usize, keys: &mut dyn Iterator<Item = i64>) {
        if let (true, Ok(column)) = (self.entries.is_some(), u16::try_from(column)) {
            self.sieves.push((column, Sieve::of(&keys.collect::<Vec<i64>>())));
        }
    }

    /// Leaves out rows whose integer in a column is beyond an edge, where the engine can.
    pub fn narrow(&mut self, column: usize, edge: &Arc<Edge>) {
        if let (true, Ok(column)) = (self.entries.is_some(), u16::try_from(column)) {
            self.sieves.push((column, Sieve::Range(Arc::new(Within(edge.clone())))));
        }
    }

    /// The next rows; `None` behind the last.
    pub fn next(&mut self, run: &mut Run<'_, '_>) -> Result<Option<Box<dyn Piece>>> {
        if let Some(only) = self.only.take().filter(|only| !only.ends.is_empty()) {
            return Ok(Some(Box::new(self.piece(only))));
        }
        let mut batch = super::Batch::default();
        while let Some(entries) = &mut self.entries {
            run.exec.check_cancel()?;
            let goes_on = fill(&mut batch, entries, self.size, &self.pushed, self.asked.as_deref(), run)?;
            self.size = (self.size * 2).min(LARGEST);
            if !goes_on {
                self.entries = None;
            }
            if !batch.ends.is_empty() {
                return Ok(Some(Box::new(self.piece(batch))));
            }
        }
        Ok(None)
    }

    /// Shows a call that returns the next rows by column, on any thread, if the engine stores columns; `None` if it does not.
    pub fn share_columns<E>(
        &mut self,
        run: &mut Run<'_, '_>,
        work: &mut dyn FnMut(&NextPiece<'_, E>) -> Result<(), E>,
        stop: fn(SqlError) -> E,
    ) -> Option<Result<(), E>> {
        let (asked, layout) = (self.asked.clone(), self.layout.clone());
        self.by_column(run, asked.as_deref(), stop, |columns, scan, wrong| {
            let batches = columns.scan_columns(scan).map_err(wrong)?;
            work(&|| {
                let mut batch = model::columns::Batch::default();
                let is_one = batches.next(&mut batch).map_err(wrong)?;
                Ok(is_one.then(|| Box::new(Columnar { batch, layout: layout.clone() }) as Box<dyn Piece>))
            })
        })
    }

    /// Shows a call that adds up columns where the engine stores them, on any thread; `None` if it does not store columns.
    pub fn sum_columns<E>(
        &mut self,
        columns: &Columns,
        run: &mut Run<'_, '_>,
        work: &mut dyn FnMut(&NextSums<'_, E>) -> Result<(), E>,
        stop: fn(SqlError) -> E,
    ) -> Option<Result<(), E>> {
        let asked: Vec<u16> = columns.iter().map(|at| at as u16).collect();
        let layout = Arc::new(self.layout.places(columns));
        self.by_column(run, Some(&asked), stop, |columns, scan, wrong| {
            let summing = columns.sum_columns(scan).map_err(wrong)?;
            work(&|| {
                let (mut found, mut batch) = (model::columns::Sums::new(asked.len()), model::columns::Batch::default());
                let mut has_more = true;
                for _ in 0..PARTS_AT_ONCE {
                    has_more = summing.next(&mut found, &mut batch).map_err(wrong)?;
                    if !has_more || !batch.is_empty() {
                        break;
                    }
                }
                if !has_more && found.rows == 0 {
                    return Ok(None);
                }
                let others = (!batch.is_empty()).then(|| Columnar { batch, layout: layout.clone() });
                let others = others.map(|others| Box::new(others) as Box<dyn Piece>);
                Ok(Some(Added { sums: sums_of(&found), others }))
            })
        })
    }

    /// Shows the scan of the rows to who reads it by column, with what makes an error of the engine's one of his; `None` if the engine does
    /// not store columns.
    fn by_column<E>(
        &mut self,
        run: &mut Run<'_, '_>,
        asked: Option<&[u16]>,
        stop: fn(SqlError) -> E,
        read: impl FnOnce(&dyn ColumnReads, model::Scan<'_>, &(dyn Fn(model::Error) -> E + Sync)) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let entries = self.entries.as_ref()?;
        let wrong = |error: model::Error| stop(error.into());
        let view = match run.exec.transaction.shared_reads()?.read_view() {
            Ok(view) => view,
            Err(error) => return Some(Err(wrong(error))),
        };
        let mut scan = model::Scan::table(entries.table).between(entries.lower.clone(), entries.upper.clone());
        (scan.filter, scan.columns) = (self.pushed.filter.as_ref(), pushed::as_columns(asked));
        scan.sieves = &self.sieves;
        let result = read(view.columns()?, scan, &wrong);
        drop(view);
        self.entries = None;
        Some(result)
    }

    fn piece(&self, batch: super::Batch) -> Stored {
        // The keys stay where they are, in front of each row.
        let super::Batch { bytes, ends, .. } = batch;
        let ends = ends.into_iter().flat_map(|(key, row)| [key, row]).collect();
        Stored { bytes, ends, layout: self.layout.clone() }
    }
}

impl Layout {
    fn new(scan: &Scan, pushed: &Pushed, asked: Option<&[u16]>) -> Layout {
        let all: &[Attribute] = &scan.table.columns;
        let is_used = |at: usize| {
            let by_rest = pushed.rest_columns.as_ref().is_none_or(|columns| columns.contains(&at));
            by_rest || scan.wanted.as_ref().is_none_or(|wanted| wanted.contains(&at))
        };
        let place = |at: usize| match asked {
            None => Some(at),
            Some(asked) => asked.iter().position(|column| usize::from(*column) == at),
        };
        let column = |(at, column): (usize, &Attribute)| Some((column.data_type, place(at)?));
        Layout { columns: all.iter().enumerate().map(|of| column(of).filter(|_| is_used(of.0))).collect() }
    }

    /// The same of rows that have these columns, and no others.
    fn places(&self, columns: &Columns) -> Layout {
        let place = |(at, column): (usize, &Option<(Type, usize)>)| {
            let place = columns.iter().position(|of| of == at)?;
            column.map(|(data_type, _)| (data_type, place))
        };
        Layout { columns: self.columns.iter().enumerate().map(place).collect() }
    }

    /// The types of columns, and their places in what is stored.
    fn of(&self, columns: &Columns) -> Result<Vec<(Type, usize)>, Error> {
        columns.iter().map(|at| self.columns.get(at).copied().flatten().ok_or_else(wrong)).collect()
    }
}

/// Sums as an engine returns them.
fn sums_of(found: &model::columns::Sums) -> Sums {
    let sum =
        |found: &model::columns::Sum| Sum { values: found.values, digits: found.digits, scale: found.scale.into() };
    Sums { rows: found.rows, columns: found.columns.iter().map(sum).collect() }
}

/// Rows by column as an engine returns them.
struct Columnar {
    batch: model::columns::Batch,
    layout: Arc<Layout>,
}

impl Piece for Columnar {
    fn decode(self: Box<Self>, columns: &Columns) -> Result<Batch, Error> {
        let Columnar { batch, layout } = *self;
        let rows = batch.len();
        let mut vectors: Vec<Option<Vector>> = batch.into_columns().into_iter().map(Some).collect();
        let decode = |(data_type, place): (Type, usize)| {
            let vector = vectors.get_mut(place).and_then(Option::take).ok_or_else(wrong)?;
            decode_vector(vector, rows, data_type)
        };
        let columns = layout.of(columns)?.into_iter().map(decode).collect::<Result<Vec<Column>, Error>>()?;
        Ok(Batch::new(rows, columns))
    }
}

fn wrong() -> Error {
    Error::new(error::state::DATA_CORRUPTED, "a stored value is not of its type")
}

/// The values of a column: as they stand in memory, where their stored form is that of the column.
fn decode_vector(vector: Vector, rows: usize, data_type: Type) -> Result<Column, Error> {
    if !is_as_stored(&vector, data_type) {
        return match decimals(&vector, data_type) {
            Some(data) => Ok(with_nulls(data, vector.into_parts().1)),
            None => {
                let mut column = Column::new(data_type);
                let push = |row| vector.with_value(row, |value| push(&mut column, value, data_type));
                (0..rows).try_for_each(push)?;
                Ok(column)
            }
        };
    }
    let (values, is_null) = vector.into_parts();
    let data = match values {
        Values::Int(values) | Values::Timestamp(values) => Data::Int(values),
        Values::Date(values) => Data::Int(values.into_iter().map(i64::from).collect()),
        Values::Float(values) => Data::Float(values),
        Values::Bool(values) => Data::Bool(values),
        Values::Decimal(digits, scale) => Data::Decimal(Digits::Short(digits), scale.into()),
        Values::Text(values) | Values::Bytes(values) => Data::Text(texts(values)),
    };
    Ok(with_nulls(data, is_null))
}

fn texts(values: Strings) -> Texts {
    let plain = |all: Dictionary| {
        let (bytes, ends) = all.into_parts();
        Plain::from_parts(bytes, ends)
    };
    match values.into_coded() {
        Ok(coded) => Texts::coded(plain(Arc::unwrap_or_clone(coded.dictionary)), coded.codes),
        Err(all) => plain(all).into(),
    }
}

fn with_nulls(data: Data, is_null: Vec<bool>) -> Column {
    // A loop to the end, sixteen rows at a time.
    let has_nulls = is_null.iter().fold(false, |any, is_null| any | is_null);
    Column { data, nulls: has_nulls.then_some(is_null) }
}

/// Returns whether the stored values are those of a column of the type; `false` also if a NULL stands over one that is not.
fn is_as_stored(vector: &Vector, data_type: Type) -> bool {
    // Bits above those of the type, of the distance from its least value.
    let fits = |values: &[i64], bits: u32| {
        let distance = |value: &i64| value.wrapping_add(1 << (bits - 1)) as u64;
        vector.bits() <= bits || values.iter().fold(0, |all, value| all | distance(value)) >> bits == 0
    };
    match (vector.values(), Class::of(data_type)) {
        (Values::Int(values), Class::Int) => match data_type {
            Type::INT8 => true,
            Type::INT4 => fits(values, 32),
            Type::INT2 => fits(values, 16),
            _ => false,
        },
        (Values::Timestamp(_), Class::Int) => data_type.scalar != Scalar::Time,
        (Values::Date(_), Class::Int) | (Values::Float(_), Class::Float) | (Values::Bool(_), Class::Bool) => true,
        (Values::Text(_), Class::Text) | (Values::Decimal(..), Class::Decimal) => true,
        _ => false,
    }
}

/// Stored numerics of one scale; `None` if they are none.
fn decimals(vector: &Vector, data_type: Type) -> Option<Data> {
    let (Values::Bytes(values), Class::Decimal) = (vector.values(), Class::of(data_type)) else { return None };
    let mut scale = None;
    let digits = vector.is_null().iter().enumerate().map(|(row, is_null)| {
        if *is_null {
            return Some(0);
        }
        let (digits, of_row) = stored_decimal(values.get(row))?;
        (*scale.get_or_insert(of_row) == of_row).then_some(digits)
    });
    let digits = digits.collect::<Option<Digits>>()?;
    Some(Data::Decimal(digits, scale.unwrap_or(0)))
}

impl Piece for Stored {
    fn decode(self: Box<Self>, columns: &Columns) -> Result<Batch, Error> {
        let rows = self.ends.len() / 2;
        let layout = self.layout.of(columns)?;
        let mut columns: Vec<Column> = layout.iter().map(|(data_type, _)| Column::new(*data_type)).collect();
        for ends in self.ends.chunks_exact(2) {
            let row = RowRef::new(&self.bytes[ends[0]..ends[1]]);
            let width = if layout.is_empty() { 0 } else { row.width() };
            for (column, (data_type, place)) in columns.iter_mut().zip(&layout) {
                let value = if *place < width { row.get(*place) } else { ValueRef::Null };
                push(column, value, *data_type)?;
            }
        }
        Ok(Batch::new(rows, columns))
    }
}

/// Appends a stored value to a column of its type.
fn push(column: &mut Column, value: ValueRef<'_>, data_type: Type) -> Result<(), Error> {
    match (Class::of(data_type), value) {
        (_, ValueRef::Null) => column.push_null(),
        (Class::Int, ValueRef::Int(value)) if data_type == Type::INT8 => column.push_int(value),
        (Class::Int, ValueRef::Int(value)) if data_type == Type::INT4 && i32::try_from(value).is_ok() => {
            column.push_int(value);
        }
        (Class::Int, ValueRef::Timestamp(value)) => column.push_int(value),
        (Class::Int, ValueRef::Date(value)) => column.push_int(i64::from(value)),
        (Class::Float, ValueRef::Float(value)) => column.push_float(value),
        (Class::Bool, ValueRef::Bool(value)) => column.push_bool(value),
        (Class::Text, ValueRef::Text(value)) => column.push_text(value.as_bytes()),
        (Class::Decimal, ValueRef::Bytes(bytes)) if let Some((digits, scale)) = stored_decimal(bytes) => {
            column.push_decimal(digits, scale);
        }
        _ => {
            let decoded = decode_stored(value, data_type);
            column.push(&decoded.map_err(|_| wrong())?);
        }
    }
    Ok(())
}

/// Rows of the row executor.
pub struct Decoded {
    /// The rows.
    pub rows: Vec<Row>,
    /// Types of their columns.
    pub types: Arc<[Type]>,
}

impl Piece for Decoded {
    fn decode(self: Box<Self>, columns: &Columns) -> Result<Batch, Error> {
        Ok(Batch::of_rows(&self.rows, &self.types, columns))
    }
}
