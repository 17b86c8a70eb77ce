//! Sums of columns that a source has made itself, in place of their rows.

use super::state::State;
use super::{Call, Grouping, Groups};
use crate::expression::Expression;
use pgtypes::Result;

/// Rows of a source, and what their columns add up to, in the order in which the columns are read.
pub struct Sums {
    /// Number of rows.
    pub rows: u64,
    /// A sum for each column.
    pub columns: Vec<Sum>,
}

/// What the values of a column add up to.
#[derive(Clone, Copy, Default)]
pub struct Sum {
    /// Those that are not NULL.
    pub values: u64,
    /// Their sum: of integers, or of numerics of one scale by their digits.
    pub digits: i128,
    /// That scale.
    pub scale: u32,
}

impl Call {
    /// Returns whether it looks at nothing but the number of rows, or the number and the sum of a column's values.
    fn is_of_sums(&self) -> bool {
        let of_column = self.arguments.iter().all(|argument| argument.as_column().is_some());
        let is_plain = self.filter.is_none() && !self.distinct && of_column;
        is_plain
            && matches!(State::new(self), State::Count(_) | State::Narrow(..) | State::Integers(_) | State::Numerics(_))
    }
}

impl Grouping {
    /// Returns whether it makes one group, of nothing but sums of columns.
    pub fn is_of_sums(&self) -> bool {
        self.keys.is_empty() && self.calls.iter().all(Call::is_of_sums)
    }
}

impl Groups {
    /// Adds rows to the only group by their sums.
    ///
    /// # Errors
    /// Errors of the aggregates.
    pub fn add_sums(&mut self, sums: &Sums) -> Result<()> {
        for (call, state) in self.grouping.calls.iter().zip(&mut self.states) {
            let all = Sum { values: sums.rows, ..Sum::default() };
            let column = call.arguments.first().and_then(Expression::as_column);
            state.add_sum(column.map_or(all, |column| sums.columns[column]))?;
        }
        self.count_bytes();
        Ok(())
    }
}
