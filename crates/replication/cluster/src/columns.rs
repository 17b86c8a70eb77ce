//! Sets of columns: those that a read has looked at, and those that a write has changed.

use model::{Columns, Predicate};

/// A set of columns of one table. Columns from the 64th on are in it together or not at all: coarser, and never finer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSet(pub u64);

/// The bit that the last columns share.
const LAST: u32 = 63;

impl ColumnSet {
    /// No column: whether there is a row, and nothing of it.
    pub const NONE: ColumnSet = ColumnSet(0);
    /// Every column; of a row of bytes, the bytes.
    pub const ALL: ColumnSet = ColumnSet(u64::MAX);

    pub fn of(column: u16) -> ColumnSet {
        ColumnSet(1 << u32::from(column).min(LAST))
    }

    /// What a read returns.
    pub fn wanted(columns: Columns<'_>) -> ColumnSet {
        match columns {
            Columns::All => ColumnSet::ALL,
            Columns::None => ColumnSet::NONE,
            Columns::Some(columns) => {
                columns.iter().fold(ColumnSet::NONE, |set, column| set.with(ColumnSet::of(*column)))
            }
        }
    }

    /// What a predicate looks at.
    pub fn looked_at(predicate: &Predicate) -> ColumnSet {
        match predicate {
            Predicate::True => ColumnSet::NONE,
            Predicate::Compare(column, ..)
            | Predicate::CompareDecimal(column, ..)
            | Predicate::In(column, _)
            | Predicate::IsNull(column)
            | Predicate::StartsWith(column, _) => ColumnSet::of(*column),
            Predicate::And(operands) | Predicate::Or(operands) => {
                operands.iter().fold(ColumnSet::NONE, |set, operand| set.with(ColumnSet::looked_at(operand)))
            }
            Predicate::Not(inner) => ColumnSet::looked_at(inner),
        }
    }

    #[must_use]
    pub fn with(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    pub fn meets(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }

    pub fn has(self, column: u16) -> bool {
        self.meets(ColumnSet::of(column))
    }

    pub fn has_all(self, other: ColumnSet) -> bool {
        self.0 & other.0 == other.0
    }
}
