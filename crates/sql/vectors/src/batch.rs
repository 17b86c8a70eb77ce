//! Batches: some rows, by column.

use crate::column::Column;
use crate::columns::Columns;
use pgtypes::{Datum, Row, Type};
use std::sync::Arc;

/// Rows in a batch, about: some vectors of so many values stay in a core's first cache.
pub const BATCH_ROWS: usize = 1024;

/// Rows by column. Columns are shared: what an operator passes on it does not copy.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Number of rows; each column has as many values.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<Arc<Column>>,
}

impl Batch {
    /// A batch of these columns.
    pub fn new(rows: usize, columns: impl IntoIterator<Item = Column>) -> Batch {
        Batch { rows, columns: columns.into_iter().map(Arc::new).collect() }
    }

    /// A batch of rows whose columns have these types.
    pub fn from_rows(rows: &[Row], types: &[Type]) -> Batch {
        Batch::of_rows(rows, types, &Columns::first(types.len()))
    }

    /// A batch of these columns of rows, whose columns have these types.
    pub fn of_rows(rows: &[Row], types: &[Type], columns: &Columns) -> Batch {
        let column = |at: usize| {
            let mut column = Column::new(types[at]);
            rows.iter().for_each(|row| column.push(row.get(at).unwrap_or(&Datum::Null)));
            column
        };
        Batch::new(rows.len(), columns.iter().map(column))
    }

    /// The values of one row, of these types.
    pub fn row(&self, row: usize, types: &[Type]) -> Row {
        self.columns.iter().zip(types).map(|(column, data_type)| column.get(row, *data_type)).collect()
    }

    /// These rows of all columns.
    pub fn gather(&self, rows: &[u32]) -> Batch {
        Batch::new(rows.len(), self.columns.iter().map(|column| column.gather(rows)))
    }

    /// These columns.
    pub fn with_columns(&self, columns: &[usize]) -> Batch {
        Batch { rows: self.rows, columns: columns.iter().map(|at| self.columns[*at].clone()).collect() }
    }

    /// These rows of these columns.
    pub fn gather_from(&self, rows: &[u32], columns: &[usize]) -> Batch {
        Batch::new(rows.len(), columns.iter().map(|at| self.columns[*at].gather(rows)))
    }

    /// These rows, in which only these columns are looked at.
    pub fn gather_columns(&self, rows: &[u32], used: &[usize]) -> Batch {
        let mut columns = self.columns.clone();
        for &at in used {
            columns[at] = Arc::new(columns[at].gather(rows));
        }
        Batch { rows: rows.len(), columns }
    }

    /// Approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| column.bytes()).sum()
    }
}
