//! Predicates that a transaction has read by, and whether a write meets them: precision locking.
//!
//! The log keeps, for each access, the table, the key or range of keys, the restriction as comparisons of 64-bit
//! summaries, and the columns that were looked at. It grows with what was asked for and not with what was found: a
//! scan of a million rows is one entry. A write of another transaction meets an entry if it lies in the range, changed a
//! column that was looked at (or the row came or went), and the row satisfied the restriction before or after it.
//! Source: sections 2.3, 2.3.1 and 2.3.2; Jordan, Banerjee, Batman, *Precision Locks*, SIGMOD 1981.
//!
//! What is kept may be coarser than what was read, never finer (Y8): a summary of a text is its first bytes, many points of a
//! table become ranges, and a restriction that summaries cannot express is dropped.

mod keys;
mod restriction;
mod tree;

pub(crate) use keys::KeyRange;
pub(crate) use restriction::{Condition, looked_at};
pub(crate) use tree::{Images, Tree, Values};

use crate::undo::ColumnSet;
use crate::writer::Write;
use model::{Key, Predicate, TableId, Target};
use std::ops::Bound;

/// Entries that become one when the log is made coarser.
const JOINED: usize = 8;

/// An entry of a log, as others are shown it.
#[derive(Debug)]
pub(crate) struct Asked<'l> {
    pub keys: Target,
    pub conditions: &'l [Condition],
}

/// What a transaction has read by.
#[derive(Debug, Default)]
pub(crate) struct PredicateLog {
    points: Vec<Point>,
    /// The keys of the points.
    keys: Vec<u8>,
    ranges: Vec<Range>,
    /// Entries at which the log is made coarser next, if that is more than the option says.
    coarsen_at: usize,
}

/// A read of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub table: TableId,
    /// Where its key begins, and its length.
    key: (u32, u32),
    /// See [`Range::columns`].
    pub columns: ColumnSet,
}

/// A read of a range of keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    pub table: TableId,
    pub keys: KeyRange,
    /// All of these hold of the rows that matter.
    pub conditions: Vec<Condition>,
    /// The columns whose values the transaction has seen, those of the conditions included. None: only whether there are rows.
    pub columns: ColumnSet,
}

impl PredicateLog {
    pub fn clear(&mut self) {
        self.points.clear();
        self.keys.clear();
        self.ranges.clear();
        self.coarsen_at = 0;
    }

    /// Logs a read of one key. The log is made coarser once it has `most` entries.
    #[inline]
    pub fn point(&mut self, table: TableId, key: &[u8], columns: ColumnSet, most: usize) {
        if let Some(last) = self.points.last_mut()
            && last.table == table
            && self.keys[last.key.0 as usize..] == *key
        {
            last.columns = last.columns.with(columns);
            return;
        }
        if self.len() >= most.max(self.coarsen_at) {
            self.coarsen();
        }
        let place = (self.keys.len() as u32, key.len() as u32);
        self.keys.extend_from_slice(key);
        self.points.push(Point { table, key: place, columns });
    }

    /// Logs a read of the rows of a range that pass a filter.
    pub fn range(
        &mut self,
        table: TableId,
        (lower, upper): (Bound<&Key>, Bound<&Key>),
        columns: ColumnSet,
        filter: Option<&Predicate>,
        most: usize,
    ) {
        let conditions = filter.map_or_else(Vec::new, Condition::of_all);
        self.add(Range { table, keys: KeyRange::new(lower, upper), conditions, columns }, most);
    }

    fn add(&mut self, range: Range, most: usize) {
        if self.ranges.last() == Some(&range) {
            return; // A loop that asks the same again and again.
        }
        if self.len() >= most.max(self.coarsen_at) {
            self.coarsen();
        }
        self.ranges.push(range);
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.points.len() + self.ranges.len()
    }

    /// The key of a point.
    pub fn key(&self, point: &Point) -> &[u8] {
        &self.keys[point.key.0 as usize..][..point.key.1 as usize]
    }

    /// Finds the first entry that a write meets, for whoever is told of the conflict.
    pub fn met_by(&self, write: &Write, images: &impl Images) -> Option<Asked<'_>> {
        let is_seen = |columns: ColumnSet| write.columns == ColumnSet::ALL || columns.meets(write.columns);
        let point =
            |point: &&Point| point.table == write.table && *self.key(point) == write.key[..] && is_seen(point.columns);
        if self.points.iter().any(|it| point(&it)) {
            return Some(Asked { keys: Target::Key(write.key.clone()), conditions: &[] });
        }
        let range = |range: &&Range| {
            let holds = |value: Values<'_>| range.conditions.iter().all(|it| it.may_hold(&|column| value(column)));
            let is_near = range.table == write.table && range.keys.contains(&write.key) && is_seen(range.columns);
            is_near && (range.conditions.is_empty() || images.any(&mut |value| holds(value)))
        };
        let met = self.ranges.iter().find(range)?;
        Some(Asked { keys: met.keys.as_target(), conditions: &met.conditions })
    }

    /// Turns neighbouring points into ranges, and neighbouring ranges into wider ones: section 2.3.1, what an index nested loop
    /// join has read.
    #[cold]
    fn coarsen(&mut self) {
        let ranges = std::mem::take(&mut self.ranges);
        let points = self.points.iter().map(|point| Range {
            table: point.table,
            keys: KeyRange::of_key(self.key(point)),
            conditions: Vec::new(),
            columns: point.columns,
        });
        let mut all: Vec<Range> = points.chain(ranges).collect();
        all.sort_by(|a, b| a.table.cmp(&b.table).then_with(|| a.keys.compare_lower(&b.keys)));
        let mut joined = 0;
        for range in all {
            match self.ranges.last_mut() {
                Some(last) if joined < JOINED && last.table == range.table => {
                    last.keys.include(range.keys);
                    last.columns = last.columns.with(range.columns);
                    if last.conditions != range.conditions {
                        last.conditions.clear();
                    }
                    joined += 1;
                }
                _ => {
                    self.ranges.push(range);
                    joined = 1;
                }
            }
        }
        self.points.clear();
        self.keys.clear();
        self.coarsen_at = 2 * self.ranges.len();
    }

    /// Returns the bytes that the entries take, without unused capacity.
    pub fn bytes(&self) -> usize {
        let ranges: usize = self.ranges.iter().map(Range::bytes).sum();
        self.points.len() * size_of::<Point>() + self.keys.len() + ranges
    }
}

impl Range {
    fn bytes(&self) -> usize {
        let conditions: usize = self.conditions.iter().map(Condition::bytes).sum();
        size_of::<TableId>() + size_of::<ColumnSet>() + self.keys.bytes() + conditions
    }
}
