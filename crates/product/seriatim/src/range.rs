//! Ranges: how they are specified, and iterated from both ends.

use crate::resolve::ResolvedTable;
use crate::snapshot::Snapshot;
use crate::{AsKey, AsPrefix, Error, Invalid, Result};
use model::{Access, Columns, Direction, Item, Key, RowRef, Scan, ScanEnd, TableId};
use std::fmt;
use std::ops::{Bound, ControlFlow, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use tables::IndexId;

/// A range of keys of type `K`: `..`, `a..`, `..b`, `a..b`, `a..=b`, `..=b` or a pair of [`Bound`]s, over anything that can be
/// given as a key.
///
/// Unlike `RangeBounds` it needs no type annotation for `..`, and a range that ends before it starts is empty.
pub trait KeyRange<K: ?Sized> {
    /// Returns the encoded bounds.
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

/// The extent of an iteration: a range of an engine table that holds rows, or index entries that lead to rows.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    table: TableId,
    /// The engine table of the rows to which entries lead.
    rows: Option<TableId>,
    lower: Bound<Key>,
    upper: Bound<Key>,
}

impl Span {
    /// All rows.
    pub fn all(of: ResolvedTable<'_>) -> Span {
        Span { table: of.rows(), rows: None, lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The rows whose keys are in a range.
    pub fn keys<K: ?Sized>(of: ResolvedTable<'_>, range: &impl KeyRange<K>) -> Result<Span> {
        let (lower, upper) = range.bounds();
        let stored = |bound: Bound<Key>| map_bound(bound, |key| of.stored_key(key));
        Ok(Span { lower: stored(lower)?, upper: stored(upper)?, ..Span::all(of) })
    }

    /// The rows whose keys start with these components.
    pub fn prefix<K: ?Sized>(of: ResolvedTable<'_>, prefix: &impl AsPrefix<K>) -> Result<Span> {
        let mut key = Key::new();
        prefix.append_to(&mut key);
        Span::starting_with(of, key)
    }

    /// The rows whose keys start with these components, encoded.
    pub fn starting_with(of: ResolvedTable<'_>, key: Key) -> Result<Span> {
        Ok(Span::all(of).at_prefix(of.stored_key(key)?))
    }

    /// Entries of an index.
    fn entries(of: ResolvedTable<'_>, index: IndexId) -> Result<Span> {
        let ResolvedTable::Defined(layout) = of else {
            let index = format!("number {}", index.0);
            return Err(Invalid::UnknownIndex { table: "a table of bytes".into(), index }.into());
        };
        Ok(Span { table: layout.entries(index)?, rows: Some(layout.rows()), ..Span::all(of) })
    }

    /// Entries of an index whose columns start with these components.
    pub fn entries_with(of: ResolvedTable<'_>, index: IndexId, key: &Key) -> Result<Span> {
        Ok(Span::entries(of, index)?.at_prefix(stored_entry(of, index, key)?))
    }

    /// Entries of an index whose columns are in the range. An entry may continue after its columns (with the row's key), so an
    /// excluded lower bound and an included upper bound move behind all entries with their value.
    pub fn entries_between(
        of: ResolvedTable<'_>,
        index: IndexId,
        (lower, upper): (Bound<Key>, Bound<Key>),
    ) -> Result<Span> {
        let span = Span::entries(of, index)?;
        let stored = |bound: Bound<Key>| map_bound(bound, |key| stored_entry(of, index, &key));
        let lower = match stored(lower)? {
            Bound::Excluded(key) => match key.successor_of_prefix() {
                Some(next) => Bound::Included(next),
                // Nothing is above: the empty range above the greatest key.
                None => {
                    return Ok(Span { lower: Bound::Excluded(key.clone()), upper: Bound::Excluded(key), ..span });
                }
            },
            other => other,
        };
        let upper = match stored(upper)? {
            Bound::Included(key) => key.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded),
            other => other,
        };
        Ok(Span { lower, upper, ..span })
    }

    /// The rows whose keys are between these bounds, encoded.
    pub fn keys_between(of: ResolvedTable<'_>, (lower, upper): (Bound<Key>, Bound<Key>)) -> Result<Span> {
        let stored = |bound: Bound<Key>| map_bound(bound, |key| of.stored_key(key));
        Ok(Span { lower: stored(lower)?, upper: stored(upper)?, ..Span::all(of) })
    }

    fn at_prefix(self, key: Key) -> Span {
        let upper = key.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded);
        Span { lower: Bound::Included(key), upper, ..self }
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

    /// The table that it is walked in, and its bounds there.
    pub fn bounds(&self) -> (TableId, Bound<Key>, Bound<Key>) {
        (self.table, self.lower.clone(), self.upper.clone())
    }

    fn scan(&self, direction: Direction) -> Scan<'static> {
        Scan { direction, ..Scan::table(self.table).between(self.lower.clone(), self.upper.clone()) }
    }
}

fn map_bound(bound: Bound<Key>, map: impl FnOnce(Key) -> Result<Key>) -> Result<Bound<Key>> {
    Ok(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(map(key)?),
        Bound::Excluded(key) => Bound::Excluded(map(key)?),
    })
}

fn stored_entry(of: ResolvedTable<'_>, index: IndexId, key: &Key) -> Result<Key> {
    match of {
        ResolvedTable::Defined(layout) => Ok(layout.stored_entry(index, key)?),
        ResolvedTable::Plain(_) => Ok(key.clone()),
    }
}

/// The reads that an iteration needs of a view.
pub(crate) trait Reads: fmt::Debug {
    /// Same as [`Access::scan`].
    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd>;

    /// Same as [`Access::read_many`], of whole rows.
    fn read_many(&self, rows: TableId, keys: &[Key], each: &mut dyn FnMut(usize, Option<RowRef<'_>>)) -> Result<()>;
}

impl Reads for Snapshot {
    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        Snapshot::scan(self, scan, visit)
    }

    fn read_many(&self, rows: TableId, keys: &[Key], each: &mut dyn FnMut(usize, Option<RowRef<'_>>)) -> Result<()> {
        self.with(|engine| engine.read_many(rows, keys, Columns::All, each))
    }
}

/// Number of rows in the first batch. It doubles from batch to batch, so that a short iteration reads little and a long one calls
/// the engine seldom.
const FIRST_FETCH_ROWS: usize = 16;
const MAX_FETCH_ROWS: usize = 1024;
const MAX_FETCH_BYTES: usize = 256 * 1024;

/// Iterates over a span from both ends, fetching rows in batches. Fetched rows count as read by the transaction, whether or not
/// the caller sees them.
#[derive(Debug)]
pub(crate) struct Cursor<'s> {
    snapshot: &'s dyn Reads,
    /// The part that has not been fetched.
    rest: Span,
    finished: bool,
    fetch_rows: usize,
    front: Batch,
    back: Batch,
}

impl<'s> Cursor<'s> {
    pub fn new(snapshot: &'s dyn Reads, span: Span) -> Cursor<'s> {
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

    /// For callers that need one row: fetches no more than that.
    pub fn one(snapshot: &'s dyn Reads, span: Span) -> Cursor<'s> {
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

    /// After an error there are no more rows.
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
        if let Some(rows) = self.rest.rows {
            *batch = batch.follow(self.snapshot, rows)?;
        }
        self.fetch_rows = (rows * 2).min(MAX_FETCH_ROWS);
        match (end, direction) {
            (ScanEnd::Finished, _) => self.finished = true,
            (ScanEnd::Stopped(position), Direction::Forward) => self.rest.lower = Bound::Excluded(position),
            (ScanEnd::Stopped(position), Direction::Backward) => self.rest.upper = Bound::Excluded(position),
        }
        Ok(())
    }
}

/// Rows in one buffer, taken from either end.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Position of each row.
    places: Vec<Place>,
    /// The rows not yet returned: `first..last` of `places`.
    first: usize,
    last: usize,
}

/// Start and end of a row's key, and the end of the row after it.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: usize,
    key_end: usize,
    row_end: usize,
}

impl Batch {
    fn push(&mut self, key: &[u8], row: RowRef<'_>) {
        let place = self.append(key, row);
        self.places.push(place);
        self.last = self.places.len();
    }

    fn append(&mut self, key: &[u8], row: RowRef<'_>) -> Place {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(row.bytes());
        Place { start, key_end, row_end: self.bytes.len() }
    }

    /// The rows to which these entries lead, in their order.
    fn follow(&self, snapshot: &dyn Reads, rows: TableId) -> Result<Batch> {
        let keys: Vec<Key> = (self.first..self.last).map(|place| Key::from_bytes(self.at(place).1.bytes())).collect();
        let mut found = Batch { places: vec![Place::default(); keys.len()], ..Batch::default() };
        snapshot.read_many(rows, &keys, &mut |at, row| {
            if let Some(row) = row {
                found.places[at] = found.append(&keys[at], row);
            }
        })?;
        found.places.retain(|place| place.start < place.row_end);
        found.last = found.places.len();
        Ok(found)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
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
        let Place { start, key_end, row_end } = self.places[place];
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
