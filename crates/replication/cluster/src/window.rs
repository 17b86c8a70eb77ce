//! The window: which keys were written by which of the last transactions, the same on every node. It decides about commits.

use crate::codes::{TableKey, key, list, origin, put_key, put_origin};
use crate::error::Conflict;
use crate::options::Limits;
use crate::read_set::{Range, ReadSet};
use codec::put_number;
use model::{Decoder, Key, Malformed, TableId, Target};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, RangeBounds};
use total::{Origin, Position};

/// A committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub position: Position,
    /// How many transactions were certified before it, and this one.
    pub place: u64,
    pub origin: Origin,
    pub submission: u64,
    /// The keys that it wrote.
    pub keys: Vec<TableKey>,
}

/// Who wrote a key last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub position: Position,
    pub place: u64,
}

/// Bytes of an entry's keys from which on it is not remembered: it ends the window instead, so that its row fits any store.
const LONGEST_ENTRY: u64 = 1 << 20;
/// Bytes that a key takes beside its own.
const KEY_OVERHEAD: u64 = 16;

/// The last committed transactions.
#[derive(Debug)]
pub(crate) struct Window {
    limits: Limits,
    entries: VecDeque<Entry>,
    bytes: u64,
    /// The last writer of each key of the entries.
    writers: BTreeMap<TableKey, Writer>,
    /// The last writer of each table among the entries.
    tables: BTreeMap<TableId, Position>,
    /// Place up to which nothing is remembered.
    floor: Position,
    /// The number of the last transaction that was decided.
    place: u64,
}

impl Entry {
    pub fn weight(&self) -> u64 {
        self.keys.iter().map(|(_, key)| key.len() as u64 + KEY_OVERHEAD).sum::<u64>() + KEY_OVERHEAD
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
        put_number(&mut out, self.keys.len() as u64);
        self.keys.iter().for_each(|key| put_key(&mut out, key));
        out
    }

    pub fn decode(position: Position, row: &[u8]) -> Result<Entry, Malformed> {
        let mut from = Decoder::new(row);
        let (place, origin, submission) = (from.number()?, origin(&mut from)?, from.number()?);
        let keys = list(&mut from, key)?;
        from.end()?;
        Ok(Entry { position, place, origin, submission, keys })
    }
}

impl Window {
    pub fn new(limits: Limits, floor: Position) -> Window {
        Window {
            limits,
            entries: VecDeque::new(),
            bytes: 0,
            writers: BTreeMap::new(),
            tables: BTreeMap::new(),
            floor,
            place: 0,
        }
    }

    pub fn floor(&self) -> Position {
        self.floor
    }

    /// The number of the last transaction that was decided, in this life.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// A transaction is decided, whether it commits or not.
    pub fn set_place(&mut self, place: u64) {
        self.place = place;
    }

    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.entries
    }

    /// Adds a transaction, behind all others. Returns the entries that are forgotten for it (C4).
    pub fn push(&mut self, entry: Entry) -> Vec<Position> {
        assert!(self.entries.back().is_none_or(|last| last.position < entry.position), "C3: places are in their order");
        if !entry.is_remembered() {
            self.floor = entry.position;
            self.bytes = 0;
            self.writers.clear();
            self.tables.clear();
            return self.entries.drain(..).map(|entry| entry.position).collect();
        }
        let writer = Writer { position: entry.position, place: entry.place };
        for key in &entry.keys {
            self.writers.insert(key.clone(), writer);
            self.tables.insert(key.0, entry.position);
        }
        self.bytes += entry.weight();
        self.entries.push_back(entry);
        self.trim()
    }

    /// Takes an entry back as a row of the state has it: in order, and none too many.
    pub fn restore(&mut self, entry: Entry) {
        let forgotten = self.push(entry);
        assert!(forgotten.is_empty(), "C4: what the state has was not trimmed");
    }

    fn trim(&mut self) -> Vec<Position> {
        let mut forgotten = Vec::new();
        while self.entries.len() as u64 > self.limits.window_transactions || self.bytes > self.limits.window_bytes {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.weight();
            self.floor = oldest.position;
            for key in &oldest.keys {
                if self.writers.get(key).is_some_and(|writer| writer.position == oldest.position) {
                    self.writers.remove(key);
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
        self.writers.get(&(table, Key::from_bytes(key))).copied()
    }

    /// Whether what was read at `base` has been changed since, as far as the window goes: the first change that is found (C2).
    ///
    /// # Errors
    /// The conflict.
    pub fn check(&self, read_set: &ReadSet, base: Position) -> Result<(), Box<Conflict>> {
        if read_set.is_empty() {
            return Ok(());
        }
        if base < self.floor {
            return Err(Conflict::too_old());
        }
        let is_newer = |writer: &&Writer| writer.position > base;
        for point in &read_set.points {
            if let Some(writer) = self.writers.get(point).filter(is_newer) {
                return Err(Conflict::key_changed(point.clone(), writer.place));
            }
        }
        read_set.ranges.iter().try_for_each(|range| match self.changed(range, base) {
            Some(writer) => {
                let target = Target::Range(range.lower.clone(), range.upper.clone());
                Err(Conflict::range_changed(range.table, target, writer.place))
            }
            None => Ok(()),
        })
    }

    /// Who has written into a range since `base`.
    fn changed(&self, range: &Range, base: Position) -> Option<Writer> {
        if range.is_empty() || self.tables.get(&range.table).is_none_or(|last| *last <= base) {
            return None;
        }
        let since = self.entries.partition_point(|entry| entry.position <= base);
        let few = self.entries.len() - since <= FEW;
        if few {
            let wrote =
                |entry: &&Entry| entry.keys.iter().any(|(table, key)| *table == range.table && is_in(range, key));
            let entry = self.entries.range(since..).find(wrote)?;
            return Some(Writer { position: entry.position, place: entry.place });
        }
        let keys = self.writers.range((lower(range), Bound::Unbounded));
        let keys = keys.take_while(|((table, key), _)| *table == range.table && !is_behind(range, key));
        keys.map(|(_, writer)| *writer).find(|writer| writer.position > base)
    }

    /// The transaction of an origin's submission, if it committed and is remembered.
    pub fn find(&self, origin: Origin, submission: u64) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.origin == origin && entry.submission == submission)
    }

    /// The transaction of a place, if it committed and is remembered.
    pub fn at_place(&self, place: u64) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&place, |entry| entry.place).ok()?;
        self.entries.get(at)
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

    const TABLE: TableId = TableId(3);
    const ORIGIN: Origin = Origin { node: 0, life: 1 };

    fn at(instance: u64) -> Position {
        Position { instance, index: 0 }
    }

    fn entry(place: u64, keys: &[u64]) -> Entry {
        let keys = keys.iter().map(|key| (TABLE, Key::from_u64(*key))).collect();
        Entry { position: at(place), place, origin: ORIGIN, submission: place, keys }
    }

    fn window(entries: u64) -> Window {
        Window::new(Limits { window_transactions: entries, ..Limits::default() }, Position::default())
    }

    fn point(key: u64) -> ReadSet {
        let mut read_set = ReadSet::default();
        read_set.add_point(TABLE, &key.to_be_bytes(), 9).unwrap();
        read_set
    }

    fn range(lower: u64, upper: u64) -> ReadSet {
        let mut read_set = ReadSet::default();
        let (lower, upper) = (Bound::Excluded(Key::from_u64(lower)), Bound::Included(Key::from_u64(upper)));
        read_set.add_range(Range { table: TABLE, lower, upper }, 9).unwrap();
        read_set
    }

    #[test]
    fn a_key_is_changed_by_who_wrote_it_behind_the_base() {
        let mut window = window(100);
        (1..=3).for_each(|place| assert!(window.push(entry(place, &[place])).is_empty()));
        assert!(window.check(&point(2), at(2)).is_ok());
        assert_eq!(window.check(&point(2), at(1)).unwrap_err().other, Some(2));
        assert!(window.check(&point(9), Position::default()).is_ok(), "a key that nobody wrote");
    }

    #[test]
    fn a_range_is_changed_by_keys_within_it_however_many_there_are() {
        for others in [0, FEW as u64 * 2] {
            let mut window = window(1_000);
            window.push(entry(1, &[5]));
            (0..others).for_each(|other| _ = window.push(entry(2 + other, &[1_000 + other])));
            assert!(window.check(&range(5, 9), Position::default()).is_ok(), "the bound is excluded");
            assert_eq!(window.check(&range(4, 5), Position::default()).unwrap_err().other, Some(1));
            assert!(window.check(&range(4, 5), at(1)).is_ok(), "it was there");
            assert!(window.check(&range(0, 4), Position::default()).is_ok());
        }
    }

    #[test]
    fn who_has_read_before_the_window_is_refused() {
        let mut window = window(2);
        assert_eq!((1..=4).map(|place| window.push(entry(place, &[place])).len()).sum::<usize>(), 2);
        assert_eq!(window.floor(), at(2));
        assert_eq!(window.check(&point(9), at(1)).unwrap_err().rule, "snapshot-too-old");
        assert!(window.check(&point(9), at(2)).is_ok());
        assert!(window.check(&ReadSet::default(), at(0)).is_ok(), "who has read nothing is never too old");
    }

    #[test]
    fn a_long_transaction_ends_the_window() {
        let mut window = window(100);
        window.push(entry(1, &[1]));
        let long = entry(2, &(0..LONGEST_ENTRY / KEY_OVERHEAD).collect::<Vec<_>>());
        assert_eq!(window.push(long), [at(1)]);
        assert_eq!((window.floor(), window.entries().len()), (at(2), 0));
        assert!(window.check(&point(1), at(1)).is_err());
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = entry(7, &[1, 2]);
        assert_eq!(Entry::decode(at(7), &entry.encode()), Ok(entry));
    }
}
