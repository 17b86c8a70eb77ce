//! Stored rows of a table as they are, for batches: read here, decoded elsewhere.

use super::pushed::{self, Pushed};
use super::{count_scan, fill};
use crate::catalog::Column as Attribute;
use crate::error::{Result, SqlError};
use crate::exec::scope::Run;
use crate::plan::Scan;
use crate::storage::{decode_stored, stored_decimal};
use crate::types::{Error, Row, Scalar, Type, error};
use model::columns::{Values, Vector};
use model::{RowRef, ValueRef};
use std::sync::Arc;
use vectors::flow::Piece;
use vectors::{Batch, Class, Column, Data};

/// Returns the next rows; `None` behind the last.
type Columns<'c, E> = dyn Fn() -> Result<Option<Box<dyn Piece>>, E> + Sync + 'c;

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
    /// The only row that counts.
    only: Option<super::Batch>,
}

/// Which columns stored rows have, and where.
struct Layout {
    /// Columns of the table.
    width: usize,
    /// The column, its type, and its place in what is stored.
    columns: Vec<(usize, Type, usize)>,
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
        let only = pushed.only_extreme(scan, asked.as_deref(), run)?;
        let entries = match run.ranges(scan)?.pop_front() {
            Some(super::Range::Between(entries)) if only.is_none() => Some(entries),
            _ => None,
        };
        let layout = Arc::new(Layout::new(scan, &pushed, asked.as_deref()));
        Ok(StoredRows { entries, layout, asked, pushed, size: FIRST, only })
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

    /// Shows a call that returns the next rows by column, on any thread, if the engine stores columns and not all are wanted; `None` if it
    /// does not.
    pub fn share_columns<E>(
        &mut self,
        run: &mut Run<'_, '_>,
        work: &mut dyn FnMut(&Columns<'_, E>) -> Result<(), E>,
        stop: fn(SqlError) -> E,
    ) -> Option<Result<(), E>> {
        let (asked, entries) = (self.asked.as_deref()?, self.entries.as_ref()?);
        let wrong = |error: model::Error| stop(error.into());
        let view = match run.exec.transaction.shared_reads()?.read_view() {
            Ok(view) => view,
            Err(error) => return Some(Err(wrong(error))),
        };
        let mut scan = model::Scan::table(entries.table).between(entries.lower.clone(), entries.upper.clone());
        (scan.filter, scan.columns) = (self.pushed.filter.as_ref(), pushed::as_columns(Some(asked)));
        let layout = &self.layout;
        let columns = view.columns()?;
        let read = || {
            let batches = columns.scan_columns(scan).map_err(wrong)?;
            work(&|| {
                let mut batch = model::columns::Batch::default();
                let is_one = batches.next(&mut batch).map_err(wrong)?;
                Ok(is_one.then(|| Box::new(Columnar { batch, layout: layout.clone() }) as Box<dyn Piece>))
            })
        };
        let result = read();
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
        let column = |(at, column): (usize, &Attribute)| Some((at, column.data_type, place(at)?));
        Layout {
            width: all.len(),
            columns: all.iter().enumerate().filter(|(at, _)| is_used(*at)).filter_map(column).collect(),
        }
    }
}

/// Rows by column as an engine returns them.
struct Columnar {
    batch: model::columns::Batch,
    layout: Arc<Layout>,
}

impl Piece for Columnar {
    fn decode(self: Box<Self>) -> Result<Batch, Error> {
        let mut columns: Vec<Column> = (0..self.layout.width).map(|_| Column::new(Type::BOOL)).collect();
        for (at, data_type, place) in &self.layout.columns {
            let (vector, mut column) = (self.batch.column(*place), Column::new(*data_type));
            if !copy(vector, *data_type, &mut column) {
                (0..self.batch.len()).try_for_each(|row| push(&mut column, vector.get(row), *data_type))?;
            }
            columns[*at] = column;
        }
        Ok(Batch::new(self.batch.len(), columns))
    }
}

/// Copies values whose stored form is that of the column; `false` if one is not, or may not be.
fn copy(vector: &Vector, data_type: Type, column: &mut Column) -> bool {
    let in_range = |value: &i64| match data_type {
        Type::INT8 => true,
        Type::INT4 => i32::try_from(*value).is_ok(),
        Type::INT2 => i16::try_from(*value).is_ok(),
        _ => false,
    };
    match (vector.values(), &mut column.data) {
        // A value that stands where the row has NULL may be out of range, too: then each is looked at.
        (Values::Int(values), Data::Int(into)) if values.iter().all(in_range) => into.extend_from_slice(values),
        (Values::Timestamp(values), Data::Int(into)) if data_type.scalar != Scalar::Time => {
            into.extend_from_slice(values)
        }
        (Values::Date(values), Data::Int(into)) => into.extend(values.iter().map(|value| i64::from(*value))),
        (Values::Float(values), Data::Float(into)) => into.extend_from_slice(values),
        (Values::Bool(values), Data::Bool(into)) => into.extend_from_slice(values),
        (Values::Text(values), Data::Text(into)) => {
            (0..vector.is_null().len()).for_each(|row| into.push(values.get(row)))
        }
        _ => return false,
    }
    column.nulls = vector.is_null().contains(&true).then(|| vector.is_null().to_vec());
    true
}

impl Piece for Stored {
    fn decode(self: Box<Self>) -> Result<Batch, Error> {
        let rows = self.ends.len() / 2;
        let mut columns: Vec<Column> = (0..self.layout.width).map(|_| Column::new(Type::BOOL)).collect();
        for (at, data_type, _) in &self.layout.columns {
            columns[*at] = Column::new(*data_type);
        }
        for ends in self.ends.chunks_exact(2) {
            let row = RowRef::new(&self.bytes[ends[0]..ends[1]]);
            let width = if self.layout.columns.is_empty() { 0 } else { row.width() };
            for (at, data_type, place) in &self.layout.columns {
                let value = if *place < width { row.get(*place) } else { ValueRef::Null };
                push(&mut columns[*at], value, *data_type)?;
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
            let wrong = |_| Error::new(error::state::DATA_CORRUPTED, "a stored value is not of its type");
            column.push(&decoded.map_err(wrong)?);
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
    fn decode(self: Box<Self>) -> Result<Batch, Error> {
        Ok(Batch::from_rows(&self.rows, &self.types))
    }
}
