//! Read set of a transaction that owns at the statement, in case it must move to a later timestamp (`advance.rs`).
//!
//! Keys are appended; whenever their number has doubled, they are sorted and repetitions are removed. So a transaction that
//! reads the same few keys in each of a million statements keeps few, and a read costs one copy of its key.

use model::{Key, TableId};
use parts::memory::Meter;
use std::cmp::Ordering;
use std::ops::Bound;

/// The keys and ranges that one transaction has read. A range covers what it saw in it, and what it found absent.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    keys: Vec<(TableId, Key)>,
    ranges: Vec<Range>,
    /// Repetitions go, and the limit is looked at, at this many keys and ranges or at [`FIRST_SORT`].
    sort_at: usize,
    /// More was read than is noted here: the transaction cannot move any more.
    overflowed: bool,
    /// Bytes that the meter knows of.
    counted: usize,
}

/// A range of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub table: TableId,
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
}

const FIRST_SORT: usize = 64;

impl ReadSet {
    /// Notes a key, found or not.
    pub fn note_key(&mut self, table: TableId, key: &[u8], limit: usize) {
        if self.keys.last().is_none_or(|(last, of)| *last != table || of[..] != *key) && self.has_room(limit) {
            self.keys.push((table, Key::from_bytes(key)));
        }
    }

    /// Notes a range.
    pub fn note_range(&mut self, range: Range, limit: usize) {
        if self.ranges.last() != Some(&range) && self.has_room(limit) {
            self.ranges.push(range);
        }
    }

    /// Takes over what a read view has noted.
    pub fn take_over(&mut self, other: &mut ReadSet, limit: usize) {
        other.keys.drain(..).for_each(|(table, key)| self.note_key(table, &key, limit));
        other.ranges.drain(..).for_each(|range| self.note_range(range, limit));
        self.overflowed |= std::mem::take(&mut other.overflowed);
    }

    /// The keys.
    pub fn keys(&self) -> &[(TableId, Key)] {
        &self.keys
    }

    /// The ranges.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Returns whether more was read than is noted.
    pub fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Counts what has come since the last time, if it is a step.
    pub fn count(&mut self, meter: &Meter) {
        let held = self.keys.capacity() * size_of::<(TableId, Key)>() + self.ranges.capacity() * size_of::<Range>();
        if held >= self.counted + meter.step() {
            meter.charge(held - self.counted);
            self.counted = held;
        }
    }

    /// Ready for the next transaction. Returns how many bytes were counted.
    pub fn clear(&mut self) -> usize {
        self.keys.clear();
        self.ranges.clear();
        (self.sort_at, self.overflowed) = (0, false);
        std::mem::take(&mut self.counted)
    }

    /// Keys that it has room for without asking for memory.
    pub fn capacity(&self) -> usize {
        self.keys.capacity() + self.ranges.capacity()
    }

    fn has_room(&mut self, limit: usize) -> bool {
        if self.overflowed {
            return false;
        }
        let length = self.keys.len() + self.ranges.len();
        if length >= self.sort_at.max(FIRST_SORT) {
            self.forget_repetitions();
            let distinct = self.keys.len() + self.ranges.len();
            self.sort_at = 2 * distinct;
            self.overflowed = distinct >= limit;
        }
        !self.overflowed
    }

    fn forget_repetitions(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
        self.ranges.sort_unstable_by(Range::compare);
        self.ranges.dedup();
    }
}

impl Range {
    /// Any order in which equal ranges lie side by side.
    fn compare(&self, other: &Range) -> Ordering {
        let table = self.table.cmp(&other.table);
        table
            .then_with(|| rank(&self.lower).cmp(&rank(&other.lower)))
            .then_with(|| rank(&self.upper).cmp(&rank(&other.upper)))
    }
}

fn rank(bound: &Bound<Key>) -> (u8, Option<&Key>) {
    match bound {
        Bound::Unbounded => (0, None),
        Bound::Included(key) => (1, Some(key)),
        Bound::Excluded(key) => (2, Some(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: TableId = TableId(1);

    #[test]
    fn repetitions_take_no_room() {
        let mut reads = ReadSet::default();
        for round in 0..10_000_u64 {
            reads.note_key(ROWS, &(round % 5).to_be_bytes(), 100);
            let lower = Bound::Excluded(Key::from_bytes(&(round % 7).to_be_bytes()));
            reads.note_range(Range { table: ROWS, lower, upper: Bound::Unbounded }, 100);
        }
        assert!(!reads.has_overflowed());
        reads.forget_repetitions();
        assert_eq!((reads.keys().len(), reads.ranges().len()), (5, 7));
    }

    #[test]
    fn it_notes_as_much_as_it_may_and_says_when_it_does_not() {
        let mut reads = ReadSet::default();
        (0..100_u64).for_each(|key| reads.note_key(ROWS, &key.to_be_bytes(), 100));
        assert!(!reads.has_overflowed());
        assert_eq!(reads.keys().len(), 100);
        (100..200_u64).for_each(|key| reads.note_key(ROWS, &key.to_be_bytes(), 100));
        assert!(reads.has_overflowed());
        assert!(reads.keys().len() <= 200);
        let mut whole = ReadSet::default();
        whole.take_over(&mut reads, 1000);
        assert!(whole.has_overflowed());
        assert_eq!(whole.clear(), 0, "too little to count");
        assert!(!whole.has_overflowed());
    }
}
