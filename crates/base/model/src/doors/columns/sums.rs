//! Sums of columns, added up by the engine: no value is copied.

use super::Batch;
use crate::Result;

/// A scan whose columns are added up. Threads that share it take different rows.
pub trait Summing: Send + Sync {
    /// Adds further rows to `sums`, which has a sum for each column of the scan, and in which other rows of the scan may be already. Rows
    /// that cannot be added so (decimals of another scale, byte strings that are none) are put into `batch` instead, which is empty
    /// otherwise. Returns whether there may be more.
    ///
    /// # Errors
    /// Same as [`crate::Access::scan`].
    fn next(&self, sums: &mut Sums, batch: &mut Batch) -> Result<bool>;
}

/// Rows, and what their columns add up to, in the order of the scan's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of rows.
    pub rows: u64,
    /// A sum for each column.
    pub columns: Vec<Sum>,
}

/// What a column adds up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Values that are not NULL.
    pub values: u64,
    /// Their sum: of integers as it is, of decimals in units of their scale, of other types nothing that counts.
    pub digits: i128,
    /// The one scale of the decimals; 0 as long as there is none.
    pub scale: u16,
}

impl Sums {
    /// No rows, of so many columns.
    pub fn new(columns: usize) -> Sums {
        Sums { rows: 0, columns: vec![Sum::default(); columns] }
    }
}

impl Sum {
    /// Adds so many values with this sum: integers with scale 0, or decimals of a scale. False, and nothing: it has decimals of another
    /// one.
    pub fn add(&mut self, values: u64, digits: i128, scale: u16) -> bool {
        let fits = self.values == 0 || values == 0 || self.scale == scale;
        if fits && values > 0 {
            *self = Sum { values: self.values + values, digits: self.digits + digits, scale };
        }
        fits
    }

    /// Adds the values of another sum, as [`Sum::add`] does.
    pub fn merge(&mut self, other: Sum) -> bool {
        self.add(other.values, other.digits, other.scale)
    }
}
