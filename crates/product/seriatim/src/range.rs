//! Ranges: how they are said, and how they are walked from both ends.

use crate::snapshot::Snapshot;
use crate::{AsKey, AsPrefix, Error, Result};
use model::{Direction, IndexId, Key, RowRef, Scan, ScanEnd, TableId};
use std::ops::{Bound, ControlFlow, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys of type `K`: whatever `RangeBounds` is made of (`..`, `a..`, `..b`, `a..b`, `a..=b`, `..=b`, a pair of
/// [`Bound`]s), over whatever can be given as a key.
///
/// Unlike `RangeBounds` it needs no type annotation for `..`, and a range that ends before it starts is empty.
pub trait KeyRange<K: ?Sized> {
    /// The encoded bounds.
    fn bounds(&self) -> (Bound<Key>, Bound<Key>);
}

impl<K: ?Sized> KeyRange<K> for RangeFull {
    fn bounds(&self) -> (Bound<Key>, Bound<Key>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

macro_rules! key_range {
    ($($range:ty, $it:ident => $lower:expr, $upper:expr;)+) => {$(
        impl<K: ?Sized, Q: AsKey<K>> KeyRange<K> for $range {
            fn bounds(&self) -> (Bound<Key>, Bound<Key>) {
                let $it = self;
                ($lower, $upper)
            }
        }
    )+};
}
key_range! {
    Range<Q>, it => Bound::Included(it.start.to_key()), Bound::Excluded(it.end.to_key());
    RangeInclusive<Q>, it => Bound::Included(it.start().to_key()), Bound::Included(it.end().to_key());
    RangeFrom<Q>, it => Bound::Included(it.start.to_key()), Bound::Unbounded;
    RangeTo<Q>, it => Bound::Unbounded, Bound::Excluded(it.end.to_key());
    RangeToInclusive<Q>, it => Bound::Unbounded, Bound::Included(it.end.to_key());
    (Bound<Q>, Bound<Q>), it => it.0.as_ref().map(AsKey::to_key), it.1.as_ref().map(AsKey::to_key);
}

/// What a walk covers: part of a table, in the order of its keys or of one of its indexes.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub table: TableId,
    pub index: Option<IndexId>,
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
}

impl Span {
    pub fn keys<K: ?Sized>(table: TableId, range: &impl KeyRange<K>) -> Span {
        let (lower, upper) = range.bounds();
        Span { table, index: None, lower, upper }
    }

    pub fn prefix<K: ?Sized>(table: TableId, prefix: &impl AsPrefix<K>) -> Span {
        let mut key = Key::new();
        prefix.append_to(&mut key);
        Span { table, index: None, ..Span::starting_with(table, key) }
    }

    /// Keys (or entries) that start with these components.
    pub fn starting_with(table: TableId, key: Key) -> Span {
        let upper = key.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded);
        Span { table, index: None, lower: Bound::Included(key), upper }
    }

    /// Entries of an index whose columns are in the range. An entry may go on behind its columns (with the primary key),
    /// so a bound that leaves a value out, or an upper one that takes it in, moves behind all entries with that value.
    pub fn entries<K: ?Sized>(table: TableId, index: IndexId, range: &impl KeyRange<K>) -> Span {
        let (lower, upper) = range.bounds();
        let lower = match lower {
            Bound::Excluded(key) => match key.successor_of_prefix() {
                Some(next) => Bound::Included(next),
                // Nothing is above: the empty range above the greatest key.
                None => {
                    return Span {
                        table,
                        index: Some(index),
                        lower: Bound::Excluded(key.clone()),
                        upper: Bound::Excluded(key),
                    };
                }
            },
            other => other,
        };
        let upper = match upper {
            Bound::Included(key) => key.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded),
            other => other,
        };
        Span { table, index: Some(index), lower, upper }
    }

    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
                lower >= upper
            }
            _ => false,
        }
    }

    fn scan(&self, direction: Direction) -> Scan<'static> {
        let scan = match self.index {
            Some(index) => Scan::index(self.table, index),
            None => Scan::table(self.table),
        };
        Scan { direction, ..scan.between(self.lower.clone(), self.upper.clone()) }
    }
}

/// The first rows fetched at once; doubles from fetch to fetch, so that a short walk protects little and a long one calls
/// the engine seldom.
const FIRST_FETCH_ROWS: usize = 16;
const MAX_FETCH_ROWS: usize = 1024;
const MAX_FETCH_BYTES: usize = 256 * 1024;

/// Walks a span from both ends, fetching rows in batches. What it has fetched is protected by the transaction, whether or
/// not it is looked at.
#[derive(Debug)]
pub(crate) struct Cursor<'s> {
    snapshot: &'s Snapshot,
    /// What has not been fetched.
    rest: Span,
    finished: bool,
    fetch_rows: usize,
    front: Batch,
    back: Batch,
}

impl<'s> Cursor<'s> {
    pub fn new(snapshot: &'s Snapshot, span: Span) -> Cursor<'s> {
        let finished = span.is_empty();
        Cursor {
            snapshot,
            rest: span,
            finished,
            fetch_rows: FIRST_FETCH_ROWS,
            front: Batch::default(),
            back: Batch::default(),
        }
    }

    /// For callers that want one row: fetches no more than that.
    pub fn one(snapshot: &'s Snapshot, span: Span) -> Cursor<'s> {
        Cursor { fetch_rows: 1, ..Cursor::new(snapshot, span) }
    }

    /// The next row from the front, as `make` sees its key and row.
    pub fn next<T>(&mut self, make: impl FnOnce(&[u8], RowRef<'_>) -> Result<T>) -> Option<Result<T>> {
        if self.front.is_empty()
            && !self.finished
            && let Err(error) = self.fetch(Direction::Forward)
        {
            return Some(Err(self.fail(error)));
        }
        let (key, row) = match self.front.pop_first() {
            Some(item) => item,
            None => self.back.pop_last()?,
        };
        Some(make(key, row))
    }

    /// The next row from the back.
    pub fn next_back<T>(&mut self, make: impl FnOnce(&[u8], RowRef<'_>) -> Result<T>) -> Option<Result<T>> {
        if self.back.is_empty()
            && !self.finished
            && let Err(error) = self.fetch(Direction::Backward)
        {
            return Some(Err(self.fail(error)));
        }
        let (key, row) = match self.back.pop_first() {
            Some(item) => item,
            None => self.front.pop_last()?,
        };
        Some(make(key, row))
    }

    /// A walk that failed has nothing more to show.
    fn fail(&mut self, error: Error) -> Error {
        self.finished = true;
        self.front = Batch::default();
        self.back = Batch::default();
        error
    }

    fn fetch(&mut self, direction: Direction) -> Result<()> {
        let batch = match direction {
            Direction::Forward => &mut self.front,
            Direction::Backward => &mut self.back,
        };
        batch.clear();
        let rows = self.fetch_rows;
        let end = self.snapshot.scan(&self.rest.scan(direction), &mut |item| {
            batch.push(item.key, item.row);
            if batch.len() >= rows || batch.bytes() >= MAX_FETCH_BYTES {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        self.fetch_rows = (rows * 2).min(MAX_FETCH_ROWS);
        match (end, direction) {
            (ScanEnd::Finished, _) => self.finished = true,
            (ScanEnd::Stopped(position), Direction::Forward) => self.rest.lower = Bound::Excluded(position),
            (ScanEnd::Stopped(position), Direction::Backward) => self.rest.upper = Bound::Excluded(position),
        }
        Ok(())
    }
}

/// Rows side by side in one buffer, in the order in which they were fetched, taken from either end.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each row's key and value end.
    ends: Vec<(usize, usize)>,
    /// What has not been taken: `first..last` of `ends`.
    first: usize,
    last: usize,
}

impl Batch {
    fn push(&mut self, key: &[u8], row: RowRef<'_>) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(row.bytes());
        self.ends.push((key_end, self.bytes.len()));
        self.last = self.ends.len();
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        (self.first, self.last) = (0, 0);
    }

    fn is_empty(&self) -> bool {
        self.first == self.last
    }

    fn len(&self) -> usize {
        self.last - self.first
    }

    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn at(&self, place: usize) -> (&[u8], RowRef<'_>) {
        let start = if place == 0 { 0 } else { self.ends[place - 1].1 };
        let (key_end, row_end) = self.ends[place];
        (&self.bytes[start..key_end], RowRef::new(&self.bytes[key_end..row_end]))
    }

    fn pop_first(&mut self) -> Option<(&[u8], RowRef<'_>)> {
        if self.is_empty() {
            return None;
        }
        self.first += 1;
        Some(self.at(self.first - 1))
    }

    fn pop_last(&mut self) -> Option<(&[u8], RowRef<'_>)> {
        if self.is_empty() {
            return None;
        }
        self.last -= 1;
        Some(self.at(self.last))
    }
}
