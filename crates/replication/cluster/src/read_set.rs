//! What a transaction has read of the state below its own writes: keys, absent ones too, and predicates: ranges as far as scans went,
//! with their filters; of both, the columns.

use crate::codes::{TableKey, key, list, put_key, put_table, table};
use crate::columns::ColumnSet;
use crate::filter::Filter;
use codec::put_number;
use model::{
    Decoder, Key, Limit, LimitKind, Malformed, Predicate, Result, RowRef, TableId, decode_bound, encode_bound,
};
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

/// What a transaction has read. It may say more than was read, never less.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadSet {
    /// Keys, and the columns of their rows.
    pub points: BTreeMap<TableKey, ColumnSet>,
    pub ranges: Vec<Range>,
    /// Rows of the last range that were read by key after it.
    followed: usize,
}

/// Rows of a range that are read by key one by one before the columns of the whole range count: a statement that changes what a scan
/// has found reads each of its rows again.
const MOST_FOLLOWED: usize = 64;

/// A predicate: no row that its filter passes may come, go or change in its columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    pub table: TableId,
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
    /// `None`: every row of the range counts.
    pub filter: Option<Filter>,
    /// Columns of those rows that were read.
    pub columns: ColumnSet,
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

    /// The rows of a scan within these bounds.
    pub fn of(
        table: TableId,
        (lower, upper): (Bound<Key>, Bound<Key>),
        filter: Option<&Predicate>,
        columns: ColumnSet,
    ) -> Range {
        match filter.map(Filter::of) {
            None => Range { table, lower, upper, filter: None, columns },
            Some(Ok(filter)) => Range { table, lower, upper, filter: Some(filter), columns },
            // As long as no column of the filter changes, it passes the same rows.
            Some(Err(more)) => Range { table, lower, upper, filter: None, columns: columns.with(more) },
        }
    }

    /// Takes in the next page of the same scan. Returns whether it was that.
    fn joins(&mut self, next: &Range) -> bool {
        if self.table != next.table || self.filter != next.filter {
            return false;
        }
        match (&self.upper, &next.lower, &self.lower, &next.upper) {
            (Bound::Included(end), Bound::Excluded(begin), ..) if end == begin => self.upper = next.upper.clone(),
            (_, _, Bound::Included(begin), Bound::Excluded(end)) if begin == end => self.lower = next.lower.clone(),
            _ if (&self.lower, &self.upper) == (&next.lower, &next.upper) => {}
            _ => return false,
        }
        // A read of a row between two pages may have added columns.
        self.columns = self.columns.with(next.columns);
        true
    }

    /// Whether the filter passes a row; `None` stands for one that is not there, or was not read whole.
    fn passes(&self, row: Option<RowRef<'_>>) -> bool {
        row.is_some_and(|row| self.filter.as_ref().is_none_or(|filter| filter.predicate.matches(row)))
    }
}

impl ReadSet {
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.ranges.is_empty()
    }

    /// Adds a key, unless the last range that was read has it. `row`: the whole row, where it was read whole.
    pub fn add_point(
        &mut self,
        table: TableId,
        key: &[u8],
        row: Option<RowRef<'_>>,
        columns: ColumnSet,
        limit: u64,
    ) -> Result<()> {
        if let Some(range) = self.ranges.last_mut().filter(|range| range.table == table && range.contains(key)) {
            if range.filter.is_none() && range.columns.has_all(columns) {
                return Ok(());
            }
            if range.passes(row) {
                self.followed += 1;
                if self.followed > MOST_FOLLOWED {
                    range.columns = range.columns.with(columns);
                    return Ok(());
                }
            }
        }
        let point = (table, Key::from_bytes(key));
        if let Some(known) = self.points.get_mut(&point) {
            *known = known.with(columns);
            return Ok(());
        }
        self.check(limit)?;
        self.points.insert(point, columns);
        Ok(())
    }

    /// Adds a range; pages of one scan become one range.
    pub fn add_range(&mut self, range: Range, limit: u64) -> Result<()> {
        if range.is_empty() || self.ranges.last_mut().is_some_and(|last| last.joins(&range)) {
            return Ok(());
        }
        self.check(limit)?;
        self.followed = 0;
        self.ranges.push(range);
        Ok(())
    }

    fn check(&self, limit: u64) -> Result<()> {
        let actual = (self.points.len() + self.ranges.len()) as u64 + 1;
        if actual > limit { Err(Limit { kind: LimitKind::ReadSet, limit, actual }.into()) } else { Ok(()) }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(out, self.points.len() as u64);
        for (point, columns) in &self.points {
            put_key(out, point);
            put_columns(out, *columns);
        }
        put_number(out, self.ranges.len() as u64);
        for Range { table, lower, upper, filter, columns } in &self.ranges {
            put_table(out, *table);
            encode_bound(lower, out);
            encode_bound(upper, out);
            put_columns(out, *columns);
            out.push(u8::from(filter.is_some()));
            filter.iter().for_each(|filter| filter.encode(out));
        }
    }

    pub fn decode(from: &mut Decoder<'_>) -> std::result::Result<ReadSet, Malformed> {
        let points = list(from, |from| Ok((key(from)?, columns(from)?)))?.into_iter().collect();
        let range = |from: &mut Decoder<'_>| {
            let (table, lower, upper) = (table(from)?, decode_bound(from)?, decode_bound(from)?);
            let columns = columns(from)?;
            let filter = match from.u8()? {
                0 => None,
                1 => Some(Filter::decode(from)?),
                _ => return Err(Malformed),
            };
            Ok(Range { table, lower, upper, filter, columns })
        };
        Ok(ReadSet { points, ranges: list(from, range)?, followed: 0 })
    }
}

/// One more than the set as a number: all columns, and none, are one byte.
fn put_columns(out: &mut Vec<u8>, columns: ColumnSet) {
    put_number(out, columns.0.wrapping_add(1));
}

fn columns(from: &mut Decoder<'_>) -> std::result::Result<ColumnSet, Malformed> {
    Ok(ColumnSet(from.number()?.wrapping_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Comparison, RowBuf, Value, ValueRef};

    const TABLE: TableId = TableId(1);

    fn range(lower: Bound<u64>, upper: Bound<u64>) -> Range {
        Range::of(TABLE, (lower.map(Key::from_u64), upper.map(Key::from_u64)), None, ColumnSet::ALL)
    }

    /// Rows whose first column is this.
    fn is(value: i64) -> Predicate {
        Predicate::Compare(0, Comparison::Equal, Value::Int(value))
    }

    fn filtered(lower: Bound<u64>, upper: Bound<u64>, filter: &Predicate, columns: ColumnSet) -> Range {
        Range::of(TABLE, (lower.map(Key::from_u64), upper.map(Key::from_u64)), Some(filter), columns)
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
    fn pages_of_two_filters_are_two_ranges() {
        let (first, second) = (ColumnSet::of(1), ColumnSet::of(2));
        let mut read_set = ReadSet::default();
        read_set.add_range(filtered(Bound::Unbounded, Bound::Included(3), &is(1), first), 9).unwrap();
        read_set.add_range(filtered(Bound::Excluded(3), Bound::Included(5), &is(1), second), 9).unwrap();
        let joined = filtered(Bound::Unbounded, Bound::Included(5), &is(1), first.with(second));
        assert_eq!((read_set.ranges.len(), &read_set.ranges[0]), (1, &joined), "the columns of both");
        read_set.add_range(filtered(Bound::Excluded(5), Bound::Included(7), &is(2), first), 9).unwrap();
        assert_eq!((read_set.ranges.len(), &read_set.ranges[0]), (2, &joined));
    }

    #[test]
    fn rows_that_follow_a_scan_are_points_until_they_are_many() {
        let all = MOST_FOLLOWED as u64 + 3;
        let mut read_set = ReadSet::default();
        read_set.add_range(filtered(Bound::Included(1), Bound::Excluded(500), &is(1), ColumnSet::NONE), 999).unwrap();
        let row = |value| RowBuf::from_values(&[ValueRef::Int(value)]);
        let (passes, fails) = (row(1), row(2));
        let mut read = |key: u64, row: Option<&RowBuf>| {
            let row = row.map(RowBuf::row);
            read_set.add_point(TABLE, &Key::from_u64(key), row, ColumnSet::of(3), 999).unwrap();
            (read_set.points.len() as u64, read_set.ranges[0].columns)
        };
        (1..all).for_each(|key| _ = read(key, Some(&passes)));
        assert_eq!(read(all, Some(&passes)), (all - 3, ColumnSet::of(3)), "the range has their column now");
        assert_eq!(read(400, Some(&fails)), (all - 2, ColumnSet::of(3)), "the filter says nothing of this row");
        assert_eq!(read(401, None), (all - 1, ColumnSet::of(3)), "nor of one that is not there");
        assert_eq!(read(500, Some(&passes)), (all, ColumnSet::of(3)), "nor of one outside of the range");
    }

    #[test]
    fn a_range_of_fewer_columns_does_not_stand_for_a_point() {
        let mut read_set = ReadSet::default();
        let all = (Bound::Unbounded, Bound::Unbounded);
        read_set.add_range(Range::of(TABLE, all, None, ColumnSet::of(1)), 9).unwrap();
        read_set.add_point(TABLE, b"a", None, ColumnSet::of(1), 9).unwrap();
        read_set.add_point(TABLE, b"a", None, ColumnSet::NONE, 9).unwrap();
        assert!(read_set.points.is_empty());
        read_set.add_point(TABLE, b"a", None, ColumnSet::of(2), 9).unwrap();
        read_set.add_point(TABLE, b"a", None, ColumnSet::of(3), 9).unwrap();
        assert_eq!(read_set.points.values().copied().collect::<Vec<_>>(), [ColumnSet::of(2).with(ColumnSet::of(3))]);
    }

    #[test]
    fn what_was_written_is_read_and_cut_off_is_malformed() {
        let mut read_set = ReadSet::default();
        read_set.add_point(TABLE, b"key", None, ColumnSet::ALL, 9).unwrap();
        read_set.add_point(TABLE, b"absent", None, ColumnSet::NONE, 9).unwrap();
        read_set.add_range(range(Bound::Excluded(1), Bound::Unbounded), 9).unwrap();
        read_set.add_range(filtered(Bound::Included(1), Bound::Unbounded, &is(7), ColumnSet::of(63)), 9).unwrap();
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
        read_set.add_point(TABLE, b"a", None, ColumnSet::ALL, 1).unwrap();
        read_set.add_point(TABLE, b"a", None, ColumnSet::ALL, 1).unwrap();
        assert!(read_set.add_point(TABLE, b"b", None, ColumnSet::ALL, 1).is_err());
    }
}
