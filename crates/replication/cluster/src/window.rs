//! The window: what the last transactions have done to which rows, the same on every node. It decides about commits.

use crate::change::{Change, Version};
use crate::codes::{TableKey, key, list, origin, put_key, put_origin};
use crate::columns::ColumnSet;
use crate::error::{Conflict, Seen};
use crate::options::Limits;
use crate::read_set::{Range, ReadSet};
use codec::put_number;
use model::{Decoder, Key, Malformed, Predicate, Result, RowBuf, TableId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, RangeBounds};
use total::{Origin, Position};

/// A transaction that is about to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub position: Position,
    /// How many transactions were certified before it, and this one.
    pub place: u64,
    pub origin: Origin,
    pub submission: u64,
    /// The keys that it wrote, and what it did to their rows.
    pub writes: Vec<(TableKey, Change)>,
}

/// A committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub position: Position,
    pub place: u64,
    pub origin: Origin,
    pub submission: u64,
    keys: Vec<TableKey>,
    weight: u64,
}

/// Who wrote a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub position: Position,
    pub place: u64,
}

/// The writes of a key that are remembered, and the row that they have led to.
#[derive(Debug, Default, PartialEq)]
struct History {
    /// The row as it is; `None`: it is not kept, since no filter looks at it or it is too long.
    now: Option<Option<RowBuf>>,
    /// The oldest first.
    writes: VecDeque<(Writer, Change)>,
}

/// Bytes of an entry from which on it is remembered by its keys alone, and if these take so much, not at all: it ends the window then,
/// so that its row fits any store.
const LONGEST_ENTRY: u64 = 1 << 20;
/// Bytes that a key takes beside its own.
const KEY_OVERHEAD: u64 = 32;
/// Writes that a certification compares with filters, at most. Of what is left when it has done so, the ranges count: a transaction that
/// has scanned again and again must not hold up all nodes.
const MOST_COMPARED: u64 = 1 << 20;

/// The last committed transactions.
#[derive(Debug, PartialEq)]
pub(crate) struct Window {
    limits: Limits,
    entries: VecDeque<Remembered>,
    bytes: u64,
    /// The keys of the entries.
    rows: BTreeMap<TableKey, History>,
    /// The last writer of each table among the entries.
    tables: BTreeMap<TableId, Position>,
    /// Place up to which nothing is remembered.
    floor: Position,
    /// The number of the last transaction that was decided.
    place: u64,
}

impl Entry {
    pub fn weight(&self) -> u64 {
        let weight = |(key, change): &(TableKey, Change)| key.1.len() as u64 + KEY_OVERHEAD + change.weight();
        self.writes.iter().map(weight).sum::<u64>() + KEY_OVERHEAD
    }

    /// Forgets the rows of a long entry. Whoever has read by a filter where it wrote is refused then, whatever the filter says.
    pub fn shorten(&mut self) {
        if self.weight() > LONGEST_ENTRY {
            self.writes.iter_mut().for_each(|(_, change)| change.strip());
        }
    }

    /// Whether it is remembered, or ends the window.
    pub fn is_remembered(&self) -> bool {
        self.weight() <= LONGEST_ENTRY
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, self.place);
        put_origin(&mut out, self.origin);
        put_number(&mut out, self.submission);
        put_number(&mut out, self.writes.len() as u64);
        for (key, change) in &self.writes {
            put_key(&mut out, key);
            change.encode(&mut out);
        }
        out
    }

    pub fn decode(position: Position, row: &[u8]) -> std::result::Result<Entry, Malformed> {
        let mut from = Decoder::new(row);
        let (place, origin, submission) = (from.number()?, origin(&mut from)?, from.number()?);
        let writes = list(&mut from, |from| Ok((key(from)?, Change::decode(from)?)))?;
        from.end()?;
        Ok(Entry { position, place, origin, submission, writes })
    }
}

impl Window {
    pub fn new(limits: Limits, floor: Position) -> Window {
        Window {
            limits,
            entries: VecDeque::new(),
            bytes: 0,
            rows: BTreeMap::new(),
            tables: BTreeMap::new(),
            floor,
            place: 0,
        }
    }

    pub fn floor(&self) -> Position {
        self.floor
    }

    /// Bytes of what is remembered.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of the last transaction that was decided, in this life.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// A transaction is decided, whether it commits or not.
    pub fn set_place(&mut self, place: u64) {
        self.place = place;
    }

    pub fn entries(&self) -> &VecDeque<Remembered> {
        &self.entries
    }

    /// Adds a transaction, behind all others, with the rows that it leaves. Returns the entries that are forgotten for it (C4).
    pub fn push<'r>(
        &mut self,
        entry: Entry,
        rows: impl Iterator<Item = (&'r TableKey, &'r Option<RowBuf>)>,
    ) -> Vec<Position> {
        let forgotten = self.add(entry);
        for (key, row) in rows {
            self.set_row(key, || row.clone());
        }
        forgotten
    }

    /// Sets the row that the writes of a key have led to, if it is kept.
    fn set_row(&mut self, key: &TableKey, row: impl FnOnce() -> Option<RowBuf>) {
        let Some(history) = self.rows.get_mut(key) else { return };
        let keeps = history.writes.back().is_some_and(|(_, change)| change.keeps_rows());
        history.now = keeps.then(row);
    }

    fn add(&mut self, entry: Entry) -> Vec<Position> {
        assert!(self.entries.back().is_none_or(|last| last.position < entry.position), "C3: places are in their order");
        if !entry.is_remembered() {
            self.floor = entry.position;
            self.bytes = 0;
            self.rows.clear();
            self.tables.clear();
            return self.entries.drain(..).map(|entry| entry.position).collect();
        }
        let weight = entry.weight();
        let Entry { position, place, origin, submission, writes } = entry;
        let mut keys = Vec::with_capacity(writes.len());
        for (key, change) in writes {
            self.tables.insert(key.0, position);
            self.rows.entry(key.clone()).or_default().writes.push_back((Writer { position, place }, change));
            keys.push(key);
        }
        self.bytes += weight;
        self.entries.push_back(Remembered { position, place, origin, submission, keys, weight });
        self.trim()
    }

    /// Takes an entry back as a row of the state has it: in order, and none too many. [`Window::restore_rows`] follows.
    pub fn restore(&mut self, entry: Entry) {
        let forgotten = self.add(entry);
        assert!(forgotten.is_empty(), "C4: what the state has was not trimmed");
    }

    /// Reads the rows that the writes have led to: the state has them.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn restore_rows(&mut self, mut read: impl FnMut(&TableKey) -> Result<Option<RowBuf>>) -> Result<()> {
        for (key, history) in &mut self.rows {
            if history.writes.back().is_some_and(|(_, change)| change.keeps_rows()) {
                history.now = Some(read(key)?);
            }
        }
        Ok(())
    }

    fn trim(&mut self) -> Vec<Position> {
        let mut forgotten = Vec::new();
        while self.entries.len() as u64 > self.limits.window_transactions || self.bytes > self.limits.window_bytes {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.weight;
            self.floor = oldest.position;
            for key in &oldest.keys {
                let Some(history) = self.rows.get_mut(key) else { continue };
                history.writes.pop_front();
                if history.writes.is_empty() {
                    self.rows.remove(key);
                }
            }
            forgotten.push(oldest.position);
        }
        if !forgotten.is_empty() {
            let floor = self.floor;
            self.tables.retain(|_, last| *last > floor);
        }
        forgotten
    }

    /// The last writer of a key that is remembered.
    pub fn writer(&self, table: TableId, key: &[u8]) -> Option<Writer> {
        let history = self.rows.get(&(table, Key::from_bytes(key)))?;
        history.writes.back().map(|(writer, _)| *writer)
    }

    /// Whether what was read at `base` has been changed since, as far as the window goes: the first change that is found (C2).
    ///
    /// # Errors
    /// The conflict.
    pub fn check(&self, read_set: &ReadSet, base: Position) -> std::result::Result<(), Box<Conflict>> {
        if read_set.is_empty() {
            return Ok(());
        }
        if base < self.floor {
            return Err(Conflict::too_old());
        }
        for (point, columns) in &read_set.points {
            if let Some(history) = self.rows.get(point)
                && let Some(met) = history.seen_by(*columns, base)
            {
                return Err(Conflict::key_changed(point.clone(), history.seen(met, None)));
            }
        }
        let mut left = MOST_COMPARED;
        read_set.ranges.iter().try_for_each(|range| match self.changed(range, base, &mut left) {
            Some((key, history, met)) => {
                let seen = history.seen(met, range.filter.as_ref().map(|filter| &filter.predicate));
                Err(Conflict::range_changed(range, key.clone(), seen))
            }
            None => Ok(()),
        })
    }

    /// Which write since `base` a scan would have seen.
    fn changed(&self, range: &Range, base: Position, left: &mut u64) -> Option<(&TableKey, &History, usize)> {
        if range.is_empty() || self.tables.get(&range.table).is_none_or(|last| *last <= base) {
            return None;
        }
        let mut met = |(key, history)| Some((key, history, History::met_by(history, range, base, left)?));
        let since = self.entries.partition_point(|entry| entry.position <= base);
        let few = self.entries.len() - since <= FEW;
        if few {
            let written = self.entries.range(since..).flat_map(|entry| &entry.keys);
            let mut near = written.filter(|(table, key)| *table == range.table && is_in(range, key));
            return near.find_map(|key| met(self.rows.get_key_value(key)?));
        }
        let keys = self.rows.range((lower(range), Bound::Unbounded));
        let mut keys = keys.take_while(|((table, key), _)| *table == range.table && !is_behind(range, key));
        keys.find_map(met)
    }

    /// The transaction of an origin's submission, if it committed and is remembered.
    pub fn find(&self, origin: Origin, submission: u64) -> Option<&Remembered> {
        self.entries.iter().rev().find(|entry| entry.origin == origin && entry.submission == submission)
    }

    /// The transaction of a place, if it committed and is remembered.
    pub fn at_place(&self, place: u64) -> Option<&Remembered> {
        let at = self.entries.binary_search_by_key(&place, |entry| entry.place).ok()?;
        self.entries.get(at)
    }
}

impl History {
    /// The writes since `base`, the youngest first, with their numbers.
    fn since(&self, base: Position) -> impl Iterator<Item = (usize, &Change)> {
        let youngest_first = self.writes.iter().enumerate().rev();
        let since = youngest_first.take_while(move |(_, (writer, _))| writer.position > base);
        since.map(|(number, (_, change))| (number, change))
    }

    /// The number of a write since `base` that a read of these columns sees.
    fn seen_by(&self, columns: ColumnSet, base: Position) -> Option<usize> {
        self.since(base).find(|(_, change)| change.is_seen_by(columns)).map(|(number, _)| number)
    }

    /// The number of a write since `base` that changes what a scan shows: its filter passes the row before it or behind it, and it
    /// changed whether it passes, or a column that was read. Source: HyPer, section 2.3.
    fn met_by(&self, range: &Range, base: Position, left: &mut u64) -> Option<usize> {
        let Some(filter) = &range.filter else { return self.seen_by(range.columns, base) };
        let looked_at = range.columns.with(filter.columns);
        let youngest = self.seen_by(looked_at, base)?;
        let mut version = Version::of(self.now.as_ref());
        for (number, change) in self.since(base) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return Some(youngest);
            }
            let passes_after = version.passes(&filter.predicate);
            version = version.before(change);
            if !change.is_seen_by(looked_at) {
                continue;
            }
            let passes_before = version.passes(&filter.predicate);
            let is_met = match (passes_before, passes_after) {
                (Some(false), Some(false)) => false,
                (Some(true), Some(true)) => change.columns.meets(range.columns),
                // It came, or went, or may have done so.
                _ => true,
            };
            if is_met {
                return Some(number);
            }
        }
        None
    }

    /// A write, as whoever loses is shown it.
    #[cold]
    fn seen(&self, number: usize, filter: Option<&Predicate>) -> Seen {
        let mut after = Version::of(self.now.as_ref());
        for (_, change) in self.writes.range(number + 1..).rev() {
            after = after.before(change);
        }
        let (writer, change) = &self.writes[number];
        let before = after.clone().before(change);
        Seen::of(writer.place, change, filter, (&before, &after))
    }
}

/// Transactions since a snapshot up to which their keys are compared with a range, rather than the range's with theirs.
const FEW: usize = 64;

fn is_in(range: &Range, key: &Key) -> bool {
    RangeBounds::<[u8]>::contains(&range.bounds(), &**key)
}

fn lower(range: &Range) -> Bound<TableKey> {
    match &range.lower {
        Bound::Included(key) => Bound::Included((range.table, key.clone())),
        Bound::Excluded(key) => Bound::Excluded((range.table, key.clone())),
        Bound::Unbounded => Bound::Included((range.table, Key::new())),
    }
}

fn is_behind(range: &Range, key: &Key) -> bool {
    match &range.upper {
        Bound::Included(upper) => key > upper,
        Bound::Excluded(upper) => key >= upper,
        Bound::Unbounded => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Schema;

    const TABLE: TableId = TableId(3);
    const ORIGIN: Origin = Origin { node: 0, life: 1 };

    fn at(instance: u64) -> Position {
        Position { instance, index: 0 }
    }

    fn entry(place: u64, keys: &[u64]) -> Entry {
        let schema = Schema::bytes("registers").build().expect("a good schema");
        let (before, after) = (RowBuf::from_bytes(b"before"), RowBuf::from_bytes(b"after"));
        let change = Change::of(&schema, Some(before.row()), Some(after.row()));
        let writes = keys.iter().map(|key| ((TABLE, Key::from_u64(*key)), change.clone())).collect();
        Entry { position: at(place), place, origin: ORIGIN, submission: place, writes }
    }

    fn push(window: &mut Window, entry: Entry) -> Vec<Position> {
        window.push(entry, std::iter::empty())
    }

    fn window(entries: u64) -> Window {
        Window::new(Limits { window_transactions: entries, ..Limits::default() }, Position::default())
    }

    fn point(key: u64) -> ReadSet {
        let mut read_set = ReadSet::default();
        read_set.add_point(TABLE, &key.to_be_bytes(), None, ColumnSet::ALL, 9).unwrap();
        read_set
    }

    fn range(lower: u64, upper: u64) -> ReadSet {
        let mut read_set = ReadSet::default();
        let bounds = (Bound::Excluded(Key::from_u64(lower)), Bound::Included(Key::from_u64(upper)));
        read_set.add_range(Range::of(TABLE, bounds, None, ColumnSet::ALL), 9).unwrap();
        read_set
    }

    #[test]
    fn a_key_is_changed_by_who_wrote_it_behind_the_base() {
        let mut window = window(100);
        (1..=3).for_each(|place| assert!(push(&mut window, entry(place, &[place])).is_empty()));
        assert!(window.check(&point(2), at(2)).is_ok());
        assert_eq!(window.check(&point(2), at(1)).unwrap_err().other, Some(2));
        assert!(window.check(&point(9), Position::default()).is_ok(), "a key that nobody wrote");
    }

    #[test]
    fn a_range_is_changed_by_keys_within_it_however_many_there_are() {
        for others in [0, FEW as u64 * 2] {
            let mut window = window(1_000);
            push(&mut window, entry(1, &[5]));
            (0..others).for_each(|other| _ = push(&mut window, entry(2 + other, &[1_000 + other])));
            assert!(window.check(&range(5, 9), Position::default()).is_ok(), "the bound is excluded");
            assert_eq!(window.check(&range(4, 5), Position::default()).unwrap_err().other, Some(1));
            assert!(window.check(&range(4, 5), at(1)).is_ok(), "it was there");
            assert!(window.check(&range(0, 4), Position::default()).is_ok());
        }
    }

    #[test]
    fn who_has_read_before_the_window_is_refused() {
        let mut window = window(2);
        assert_eq!((1..=4).map(|place| push(&mut window, entry(place, &[place])).len()).sum::<usize>(), 2);
        assert_eq!(window.floor(), at(2));
        assert_eq!(window.check(&point(9), at(1)).unwrap_err().rule, "snapshot-too-old");
        assert!(window.check(&point(9), at(2)).is_ok());
        assert!(window.check(&ReadSet::default(), at(0)).is_ok(), "who has read nothing is never too old");
    }

    #[test]
    fn a_long_transaction_ends_the_window() {
        let mut window = window(100);
        push(&mut window, entry(1, &[1]));
        let long = entry(2, &(0..LONGEST_ENTRY / KEY_OVERHEAD).collect::<Vec<_>>());
        assert_eq!(push(&mut window, long), [at(1)]);
        assert_eq!((window.floor(), window.entries().len(), window.bytes()), (at(2), 0, 0));
        assert!(window.check(&point(1), at(1)).is_err());
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = entry(7, &[1, 2]);
        assert_eq!(Entry::decode(at(7), &entry.encode()), Ok(entry));
    }
}

#[cfg(test)]
mod predicates;
