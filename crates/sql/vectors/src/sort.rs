//! Sorting.

use crate::aggregate::split;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::{Column, Data};
use crate::expression::Expression;
use crate::kernels::compare_floats;
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
}

impl Sorter {
    /// No rows yet, of columns of these types.
    pub fn new(keys: Arc<Vec<SortKey>>, types: &[Type], bound: Option<usize>) -> Sorter {
        let of_keys = keys.iter().map(|key| key.expression.data_type());
        let columns = types.iter().copied().chain(of_keys).map(Column::new).collect();
        Sorter { keys, bound, rows: 0, columns }
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
            Some(bound) if self.rows >= bound.saturating_mul(2).max(4 * BATCH_ROWS) => self.keep_first(bound),
            _ => Ok(()),
        }
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
    /// 57014 and its kin.
    pub fn finish(self) -> Result<Vec<Batch>> {
        let mut order = self.order()?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        let width = self.columns.len() - self.keys.len();
        let whole = Batch::new(order.len(), self.columns[..width].iter().map(|column| column.gather(&order)));
        Ok(split(&whole))
    }
}

/// Compares two rows by their keys.
fn compare_rows(keys: &[(&Column, &SortKey)], left: usize, right: usize) -> Ordering {
    for (column, key) in keys {
        let nulls = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
        let order = match (column.is_null(left), column.is_null(right)) {
            (true, true) => Ordering::Equal,
            (true, false) => nulls,
            (false, true) => nulls.reverse(),
            (false, false) => {
                let order = compare_values(column, key.expression.data_type(), left, right);
                if key.descending { order.reverse() } else { order }
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Compares two values of a column, neither NULL.
fn compare_values(column: &Column, data_type: Type, left: usize, right: usize) -> Ordering {
    match &column.data {
        Data::Int(values) => values[left].cmp(&values[right]),
        Data::Bool(values) => values[left].cmp(&values[right]),
        Data::Float(values) => compare_floats(values[left], values[right]),
        Data::Decimal(values, _) => values[left].cmp(&values[right]),
        Data::Text(texts) if data_type != Type::BPCHAR => texts.get(left).cmp(texts.get(right)),
        Data::Datums(values) => compare_typed(data_type, &values[left], &values[right]),
        Data::Text(_) => compare_typed(data_type, &column.get(left, data_type), &column.get(right, data_type)),
    }
}
