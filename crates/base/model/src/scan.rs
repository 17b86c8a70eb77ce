//! Scans: their request, the argument of each visit, how a scan ends and resumes.

use crate::sieve::Sieve;
use crate::{Columns, Key, Predicate, RowRef, TableId};
use std::ops::Bound;

/// A range of an ordered table.
///
/// The bounds are encoded keys; a composite key's prefix is a bound too (see [`Scan::prefix`]).
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// The table.
    pub table: TableId,
    /// Lower bound, in key order.
    pub lower: Bound<Key>,
    /// Upper bound, in key order.
    pub upper: Bound<Key>,
    /// Which end comes first.
    pub direction: Direction,
    /// Rows that fail it are read (and protected) but not visited.
    pub filter: Option<&'a Predicate>,
    /// Columns that the visitor receives.
    pub columns: Columns<'a>,
    /// Stops after this many rows were examined, passing or not, so that a selective filter does not keep its caller waiting.
    /// `None`: no limit. An engine may examine a few more.
    pub examine: Option<usize>,
    /// Columns of integers, and what is looked for in each: rows that have anything else there, or NULL, may be left out or not. They are
    /// read and protected, as far as the filter says.
    pub sieves: &'a [(u16, Sieve)],
}

/// Which end of a range comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    #[default]
    Forward,
    /// Descending keys.
    Backward,
}

/// Argument of one visit.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The row's key. A later scan resumes here.
    pub key: &'a [u8],
    /// The wanted columns.
    pub row: RowRef<'a>,
}

/// End of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// Everything in the range was visited.
    Finished,
    /// The visitor stopped at this key, or [`Scan::examine`] did; [`Scan::resume`] goes on behind it.
    Stopped(Key),
}

impl<'a> Scan<'a> {
    /// The whole table, in key order, all columns.
    pub fn table(table: TableId) -> Scan<'a> {
        Scan {
            table,
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: Direction::Forward,
            filter: None,
            columns: Columns::All,
            examine: None,
            sieves: &[],
        }
    }

    /// Only keys within these bounds.
    pub fn between(mut self, lower: Bound<Key>, upper: Bound<Key>) -> Scan<'a> {
        self.lower = lower;
        self.upper = upper;
        self
    }

    /// Only keys that start with `prefix`.
    pub fn prefix(self, prefix: Key) -> Scan<'a> {
        let upper = prefix.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded);
        self.between(Bound::Included(prefix), upper)
    }

    /// From the other end.
    pub fn backward(mut self) -> Scan<'a> {
        self.direction = Direction::Backward;
        self
    }

    /// Only rows that pass.
    pub fn filter(mut self, filter: &'a Predicate) -> Scan<'a> {
        self.filter = Some(filter);
        self
    }

    /// Only these columns.
    pub fn columns(mut self, columns: Columns<'a>) -> Scan<'a> {
        self.columns = columns;
        self
    }

    /// At most this many rows examined.
    pub fn examine(mut self, rows: usize) -> Scan<'a> {
        self.examine = Some(rows);
        self
    }

    /// Bounds of the part of the range that the scan has seen, if it ended so.
    pub fn seen(&self, end: &ScanEnd) -> (Bound<Key>, Bound<Key>) {
        let (lower, upper) = (self.lower.clone(), self.upper.clone());
        match (end, self.direction) {
            (ScanEnd::Finished, _) => (lower, upper),
            (ScanEnd::Stopped(position), Direction::Forward) => (lower, Bound::Included(position.clone())),
            (ScanEnd::Stopped(position), Direction::Backward) => (Bound::Included(position.clone()), upper),
        }
    }

    /// The rest of this scan behind a key.
    pub fn resume(mut self, position: Key) -> Scan<'a> {
        match self.direction {
            Direction::Forward => self.lower = Bound::Excluded(position),
            Direction::Backward => self.upper = Bound::Excluded(position),
        }
        self
    }
}
