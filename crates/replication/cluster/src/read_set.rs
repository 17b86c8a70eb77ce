//! What a transaction has read of the state below its own writes: keys, absent ones too, and ranges as far as scans went.

use crate::codes::{TableKey, key, list, put_key, put_table, table};
use codec::put_number;
use model::{Decoder, Key, Limit, LimitKind, Malformed, Result, TableId, decode_bound, encode_bound};
use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};

/// What a transaction has read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadSet {
    pub points: BTreeSet<TableKey>,
    pub ranges: Vec<Range>,
}

/// A part of a table in which no row may come, go or change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub table: TableId,
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
}

impl Range {
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower.as_ref().map(|key| &**key), self.upper.as_ref().map(|key| &**key))
    }

    fn contains(&self, key: &[u8]) -> bool {
        RangeBounds::<[u8]>::contains(&self.bounds(), key)
    }

    /// Whether its bounds are the wrong way round, which a sorted map refuses.
    pub fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
                lower >= upper
            }
        }
    }

    /// Takes in the next page of the same scan. Returns whether it was that.
    fn joins(&mut self, next: &Range) -> bool {
        if self.table != next.table {
            return false;
        }
        match (&self.upper, &next.lower, &self.lower, &next.upper) {
            (Bound::Included(end), Bound::Excluded(begin), ..) if end == begin => self.upper = next.upper.clone(),
            (_, _, Bound::Included(begin), Bound::Excluded(end)) if begin == end => self.lower = next.lower.clone(),
            _ => return self == next,
        }
        true
    }
}

impl ReadSet {
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.ranges.is_empty()
    }

    /// Adds a key, unless the last range that was read has it.
    pub fn add_point(&mut self, table: TableId, key: &[u8], limit: u64) -> Result<()> {
        if self.ranges.last().is_some_and(|range| range.table == table && range.contains(key)) {
            return Ok(());
        }
        let point = (table, Key::from_bytes(key));
        if !self.points.contains(&point) {
            self.check(limit)?;
            self.points.insert(point);
        }
        Ok(())
    }

    /// Adds a range; pages of one scan become one range.
    pub fn add_range(&mut self, range: Range, limit: u64) -> Result<()> {
        if range.is_empty() || self.ranges.last_mut().is_some_and(|last| last.joins(&range)) {
            return Ok(());
        }
        self.check(limit)?;
        self.ranges.push(range);
        Ok(())
    }

    fn check(&self, limit: u64) -> Result<()> {
        let actual = (self.points.len() + self.ranges.len()) as u64 + 1;
        if actual > limit { Err(Limit { kind: LimitKind::ReadSet, limit, actual }.into()) } else { Ok(()) }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(out, self.points.len() as u64);
        self.points.iter().for_each(|point| put_key(out, point));
        put_number(out, self.ranges.len() as u64);
        for Range { table, lower, upper } in &self.ranges {
            put_table(out, *table);
            encode_bound(lower, out);
            encode_bound(upper, out);
        }
    }

    pub fn decode(from: &mut Decoder<'_>) -> std::result::Result<ReadSet, Malformed> {
        let points = list(from, key)?.into_iter().collect();
        let range = |from: &mut Decoder<'_>| {
            Ok(Range { table: table(from)?, lower: decode_bound(from)?, upper: decode_bound(from)? })
        };
        Ok(ReadSet { points, ranges: list(from, range)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    fn range(lower: Bound<u64>, upper: Bound<u64>) -> Range {
        Range { table: TABLE, lower: lower.map(Key::from_u64), upper: upper.map(Key::from_u64) }
    }

    #[test]
    fn pages_of_a_scan_are_one_range() {
        let mut forward = ReadSet::default();
        forward.add_range(range(Bound::Unbounded, Bound::Included(3)), 9).unwrap();
        forward.add_range(range(Bound::Excluded(3), Bound::Included(7)), 9).unwrap();
        forward.add_range(range(Bound::Excluded(7), Bound::Excluded(9)), 9).unwrap();
        assert_eq!(forward.ranges, [range(Bound::Unbounded, Bound::Excluded(9))]);
        let mut backward = ReadSet::default();
        backward.add_range(range(Bound::Included(7), Bound::Unbounded), 9).unwrap();
        backward.add_range(range(Bound::Unbounded, Bound::Excluded(7)), 9).unwrap();
        assert_eq!(backward.ranges, [range(Bound::Unbounded, Bound::Unbounded)]);
        backward.add_range(range(Bound::Included(1), Bound::Included(2)), 9).unwrap();
        assert_eq!(backward.ranges.len(), 2, "a range between others is kept as it is");
    }

    #[test]
    fn what_was_written_is_read_and_cut_off_is_malformed() {
        let mut read_set = ReadSet::default();
        read_set.add_point(TABLE, b"key", 9).unwrap();
        read_set.add_range(range(Bound::Excluded(1), Bound::Unbounded), 9).unwrap();
        let mut bytes = Vec::new();
        read_set.encode(&mut bytes);
        assert_eq!(ReadSet::decode(&mut Decoder::new(&bytes)), Ok(read_set));
        for end in 0..bytes.len() {
            assert!(ReadSet::decode(&mut Decoder::new(&bytes[..end])).is_err(), "{end}");
        }
    }

    #[test]
    fn one_read_too_many_is_refused() {
        let mut read_set = ReadSet::default();
        read_set.add_point(TABLE, b"a", 1).unwrap();
        read_set.add_point(TABLE, b"a", 1).unwrap();
        assert!(read_set.add_point(TABLE, b"b", 1).is_err());
    }
}
