//! Sorting.
//!
//! Rows that are more than may be held are written away as sorted runs, which are merged (`merge`).

mod merge;

use crate::aggregate::split;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::{Column, Data};
use crate::expression::Expression;
use crate::kernels::{compare_floats, compare_texts};
use crate::spill::{Spilling, Stored};
use merge::Runs;
use pgtypes::{Result, Type, compare_typed, interrupt};
use std::cmp::Ordering;
use std::sync::Arc;

/// An ordering column.
#[derive(Clone)]
pub struct SortKey {
    /// By what.
    pub expression: Expression,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// Rows that are being sorted.
pub struct Sorter {
    keys: Arc<Vec<SortKey>>,
    /// Number of rows that will be read.
    bound: Option<usize>,
    rows: usize,
    /// The input's columns, then the keys.
    columns: Vec<Column>,
    /// Leave to write rows away, and the runs so far.
    runs: Option<Runs>,
}

/// Sorted rows.
pub enum Sorted {
    /// In memory.
    Held(Vec<Batch>),
    /// In runs.
    Merged(Box<dyn Stored>),
}

impl Sorter {
    /// No rows yet, of columns of these types.
    pub fn new(keys: Arc<Vec<SortKey>>, types: &[Type], bound: Option<usize>, spilling: Option<Spilling>) -> Sorter {
        let of_keys = keys.iter().map(|key| key.expression.data_type());
        let columns = types.iter().copied().chain(of_keys).map(Column::new).collect();
        Sorter { runs: spilling.map(Runs::new), keys, bound, rows: 0, columns }
    }

    /// Adds the rows of a batch.
    ///
    /// # Errors
    /// Errors of the keys.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let keys = self.keys.iter().map(|key| Ok(key.expression.evaluate(batch)?.spread(batch.rows)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        for (known, column) in self.columns.iter_mut().zip(batch.columns.iter().chain(&keys)) {
            known.append(column);
        }
        self.rows += batch.rows;
        match self.bound {
            Some(bound) if self.rows >= bound.saturating_mul(2).max(4 * BATCH_ROWS) => self.keep_first(bound)?,
            _ => {}
        }
        if self.runs.as_ref().is_some_and(|runs| self.memory() > runs.share()) {
            self.write_run()?;
        }
        Ok(())
    }

    /// Writes the rows away as a run.
    fn write_run(&mut self) -> Result<()> {
        let mut order = self.order()?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        let columns = self.columns.iter_mut().map(|column| {
            let empty = Column { data: column.data.emptied(), nulls: None };
            std::mem::replace(column, empty)
        });
        let rows = Batch::new(std::mem::take(&mut self.rows), columns);
        self.runs.as_mut().map_or(Ok(()), |runs| runs.write(&rows, &order))
    }

    fn keep_first(&mut self, bound: usize) -> Result<()> {
        let mut order = self.order()?;
        order.truncate(bound);
        self.columns = self.columns.iter().map(|column| column.gather(&order)).collect();
        self.rows = order.len();
        Ok(())
    }

    /// The rows' numbers, sorted; equal rows stay in their order.
    fn order(&self) -> Result<Vec<u32>> {
        let keys = &self.columns[self.columns.len() - self.keys.len()..];
        let keys: Vec<(&Column, &SortKey)> = keys.iter().zip(&*self.keys).collect();
        let mut order: Vec<u32> = (0..self.rows as u32).collect();
        let compare = |left: &u32, right: &u32| compare_rows(&keys, *left as usize, *right as usize);
        // First runs, then longer ones of two runs each, which the library's sort merges: the statement can be cancelled between.
        let mut length = 8 * BATCH_ROWS;
        loop {
            for part in order.chunks_mut(length) {
                interrupt::look()?;
                part.sort_by(compare);
            }
            if length >= order.len() {
                return Ok(order);
            }
            length *= 2;
        }
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum::<usize>() + self.rows * 4
    }

    /// The rows in order.
    ///
    /// # Errors
    /// 57014 and its kin; errors of temporary files.
    pub fn finish(mut self) -> Result<Sorted> {
        let width = self.columns.len() - self.keys.len();
        if self.runs.as_ref().is_some_and(Runs::has_rows) {
            self.write_run()?;
            if let Some(runs) = self.runs.take() {
                return Ok(Sorted::Merged(Box::new(runs.merged(self.keys, width, self.bound)?)));
            }
        }
        let mut order = self.order()?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        let whole = Batch::new(order.len(), self.columns[..width].iter().map(|column| column.gather(&order)));
        Ok(Sorted::Held(split(&whole)))
    }
}

/// Compares two rows of the same columns by their keys.
fn compare_rows(keys: &[(&Column, &SortKey)], left: usize, right: usize) -> Ordering {
    let mut orders = keys.iter().map(|(column, key)| compare_key(key, (column, left), (column, right)));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Compares the values of two rows for one key.
fn compare_key(key: &SortKey, (left, left_row): (&Column, usize), (right, right_row): (&Column, usize)) -> Ordering {
    let nulls = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (left.is_null(left_row), right.is_null(right_row)) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls,
        (false, true) => nulls.reverse(),
        (false, false) => {
            let order = compare_values(key.expression.data_type(), (left, left_row), (right, right_row));
            if key.descending { order.reverse() } else { order }
        }
    }
}

/// Compares two values, neither NULL.
fn compare_values(data_type: Type, (left, at): (&Column, usize), (right, other): (&Column, usize)) -> Ordering {
    match (&left.data, &right.data) {
        (Data::Int(left), Data::Int(right)) => left[at].cmp(&right[other]),
        (Data::Bool(left), Data::Bool(right)) => left[at].cmp(&right[other]),
        (Data::Float(left), Data::Float(right)) => compare_floats(left[at], right[other]),
        (Data::Decimal(left, scale), Data::Decimal(right, same)) if scale == same => left[at].cmp(&right[other]),
        (Data::Text(left), Data::Text(right)) => compare_texts(data_type, (left.get(at), right.get(other))),
        (Data::Datums(left), Data::Datums(right)) => compare_typed(data_type, &left[at], &right[other]),
        _ => compare_typed(data_type, &left.get(at, data_type), &right.get(other, data_type)),
    }
}
