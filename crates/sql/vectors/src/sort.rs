//! Sorting.
//!
//! Rows that are more than may be held are written away as sorted runs, which are merged (`merge`). Where only the first few will be
//! read, so many are held and some more: a row that does not come before the last of them is dropped when it comes (`first`), by its
//! keys alone.

mod edge;
mod first;
mod merge;
mod order;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::{Column, Data};
use crate::expression::Expression;
use crate::kernels::{compare_floats, compare_texts};
use crate::spill::{Spilling, Stored};
use crate::threads::Threads;
pub use edge::Edge;
use first::before;
use merge::Runs;
use order::order;
use pgtypes::memory::check_large;
use pgtypes::{Result, Type, compare_typed};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Rows beyond those that will be read, at least, before the others are dropped.
const SPARE: usize = BATCH_ROWS / 4;

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
    /// What the sorts of the input know together.
    edge: Option<Arc<Edge>>,
    rows: usize,
    /// The columns that are shown, then the keys.
    columns: Vec<Column>,
    /// The places in the input of the columns that are shown.
    shown: Arc<[usize]>,
    /// The last of the rows that will be read, as far as is known: a row that does not come before it is none of them.
    worst: Option<usize>,
    /// Leave to write rows away, and the runs so far.
    runs: Option<Runs>,
    /// Runs of other sorts of the input.
    others: Vec<Runs>,
    /// Number of sorts of the input, which share what may be held.
    sharing: Arc<AtomicUsize>,
}

/// Sorted rows.
pub enum Sorted {
    /// In memory.
    Held(Vec<Batch>),
    /// In runs.
    Merged(Box<dyn Stored>),
}

impl Sorter {
    /// No rows yet. `shown` has the columns of the input that are shown, with their types, `sharing` counts the sorts that share the leave
    /// to write rows away.
    pub fn new(
        keys: Arc<Vec<SortKey>>,
        shown: &[(usize, Type)],
        (bound, edge): (Option<usize>, Option<Arc<Edge>>),
        spilling: Option<Spilling>,
        sharing: &Arc<AtomicUsize>,
    ) -> Sorter {
        // Relaxed, here and below: a number that orders nothing.
        sharing.fetch_add(1, Relaxed);
        let of_keys = keys.iter().map(|key| key.expression.data_type());
        let columns = shown.iter().map(|(_, data_type)| *data_type).chain(of_keys).map(Column::new).collect();
        let (runs, shown) = (spilling.map(Runs::new), shown.iter().map(|(at, _)| *at).collect());
        Sorter {
            runs,
            keys,
            bound,
            edge,
            rows: 0,
            columns,
            shown,
            worst: None,
            others: Vec::new(),
            sharing: sharing.clone(),
        }
    }

    /// Adds the rows of a batch.
    ///
    /// # Errors
    /// Errors of the keys; 53200.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let keys = self.keys.iter().map(|key| Ok(key.expression.evaluate(batch)?.spread(batch.rows)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let chosen = match self.worst {
            None => None,
            Some(worst) => Some(before(&self.keys, &keys, batch.rows, &self.columns[self.shown.len()..], worst)),
        };
        let count = chosen.as_ref().map_or(batch.rows, Vec::len);
        if count == 0 {
            return Ok(());
        }
        let shown = self.shown.iter().map(|at| &batch.columns[*at]);
        for (known, column) in self.columns.iter_mut().zip(shown.chain(&keys)) {
            match &chosen {
                Some(chosen) if count < batch.rows => add_rows(known, &column.gather(chosen))?,
                _ => add_rows(known, column)?,
            }
        }
        self.rows += count;
        match self.bound {
            Some(bound) if self.rows >= bound.saturating_add((bound / 2).max(SPARE)) => self.keep_first(bound)?,
            _ => {}
        }
        if self.runs.as_ref().is_some_and(|runs| self.memory() > runs.share() / self.sharing.load(Relaxed).max(1)) {
            self.write_run()?;
        }
        Ok(())
    }

    /// Adds the rows of another sort of the same input, behind those of this one.
    ///
    /// # Errors
    /// 57014 and its kin; 53200; errors of temporary files.
    pub fn merge(&mut self, mut other: Sorter) -> Result<()> {
        if self.has_runs() || other.has_runs() {
            other.write_run()?;
            self.others.extend(other.runs.take());
            self.others.append(&mut other.others);
            return Ok(());
        }
        for (known, column) in self.columns.iter_mut().zip(&other.columns) {
            add_rows(known, column)?;
        }
        (self.rows, self.worst) = (self.rows + other.rows, None);
        Ok(())
    }

    fn has_runs(&self) -> bool {
        self.runs.as_ref().is_some_and(Runs::has_rows) || !self.others.is_empty()
    }

    /// Writes the rows away as a run.
    fn write_run(&mut self) -> Result<()> {
        let mut order = self.order(&Threads::one())?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        self.worst = None;
        let columns = self.columns.iter_mut().map(|column| {
            let empty = Column { data: column.data.emptied(), nulls: None };
            std::mem::replace(column, empty)
        });
        let rows = Batch::new(std::mem::take(&mut self.rows), columns);
        self.runs.as_mut().map_or(Ok(()), |runs| runs.write(&rows, &order))
    }

    fn keep_first(&mut self, bound: usize) -> Result<()> {
        let mut order = self.order(&Threads::one())?;
        check_large(self.memory())?;
        order.truncate(bound);
        self.columns = self.columns.iter().map(|column| column.gather(&order)).collect();
        self.rows = order.len();
        self.worst = bound.checked_sub(1).filter(|worst| *worst < self.rows);
        if let (Some(edge), Some(worst)) = (&self.edge, self.worst) {
            edge.narrow(&self.columns[self.shown.len()], worst);
        }
        Ok(())
    }

    /// The rows' numbers, sorted; equal rows stay in their order.
    fn order(&self, threads: &Threads) -> Result<Vec<u32>> {
        let keys: Vec<(&Column, &SortKey)> = self.columns[self.shown.len()..].iter().zip(&*self.keys).collect();
        order(&keys, self.rows, threads)
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum::<usize>() + self.rows * 4
    }

    /// The rows in order.
    ///
    /// # Errors
    /// 57014 and its kin; errors of temporary files.
    pub fn finish(mut self, threads: &Threads) -> Result<Sorted> {
        if self.has_runs() {
            self.write_run()?;
            if let Some(runs) = self.runs.take() {
                return Ok(Sorted::Merged(Box::new(runs.merged(
                    self.others,
                    self.keys,
                    self.shown.len(),
                    self.bound,
                )?)));
            }
        }
        let mut order = self.order(threads)?;
        order.truncate(self.bound.unwrap_or(usize::MAX));
        let rows =
            |part: &[u32]| Batch::new(part.len(), self.columns[..self.shown.len()].iter().map(|of| of.gather(part)));
        Ok(Sorted::Held(order.chunks(BATCH_ROWS).map(rows).collect()))
    }
}

/// Appends rows to a column that may become large.
fn add_rows(known: &mut Column, more: &Column) -> Result<()> {
    known.reserve(more)?;
    known.append(more);
    Ok(())
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
        (Data::Decimal(left, scale), Data::Decimal(right, same)) if scale == same => {
            left.get(at).cmp(&right.get(other))
        }
        (Data::Text(left), Data::Text(right)) => compare_texts(data_type, (left.get(at), right.get(other))),
        (Data::Datums(left), Data::Datums(right)) => compare_typed(data_type, &left[at], &right[other]),
        _ => compare_typed(data_type, &left.get(at, data_type), &right.get(other, data_type)),
    }
}
