//! The window: what the last transactions have done to which rows, the same on every node. It decides about commits.

use crate::change::{Change, Version};
use crate::codes::{TableKey, key, list, origin, position, put_key, put_origin, put_position};
use crate::columns::ColumnSet;
use crate::error::{Conflict, Seen};
use crate::options::Limits;
use crate::read_set::{Range, ReadSet};
use crate::replica::window_key;
use codec::{put_bytes, put_number};
use foldhash::fast::RandomState;
use model::{Decoder, Key, Malformed, Predicate, Result, RowBuf, TableId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque, hash_map};
use std::ops::{Bound, RangeBounds};
use std::sync::OnceLock;
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

/// The writes of a key that are remembered, and the row that they have led to. Most keys have one write, which takes no memory elsewhere.
#[derive(Debug, PartialEq)]
struct History {
    /// The row as it is; `None`: it is not kept, since no filter looks at it or it is too long.
    now: Option<Option<RowBuf>>,
    /// Those before the last one, the oldest first.
    older: VecDeque<(Writer, Change)>,
    last: (Writer, Change),
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
    /// The keys of the entries. Nothing may depend on the order in which they are visited.
    rows: HashMap<TableKey, History, RandomState>,
    ordered: Ordered,
    /// The last writer of each table among the entries.
    tables: BTreeMap<TableId, Position>,
    /// Place up to which nothing is remembered.
    floor: Position,
    /// The number of the last transaction that was decided.
    place: u64,
}

/// The keys of the entries in their order, which a long range needs and nothing else. They are sorted when one is checked, and kept in
/// their order from then on until none was for a while: keeping an order costs every transaction as much as all else of the window.
#[derive(Debug, Default)]
struct Ordered {
    keys: OnceLock<BTreeSet<TableKey>>,
    /// Transactions that were added since they were asked for.
    unused: Cell<u64>,
}

/// Transactions after which keys that no range has asked for are not kept in their order any more: to sort them again is little beside so
/// many.
const KEPT_IN_ORDER: u64 = 1 << 15;

/// Which keys there are says the window.
impl PartialEq for Ordered {
    fn eq(&self, _: &Ordered) -> bool {
        true
    }
}

impl Ordered {
    /// The keys in their order; `all` are those of the window.
    fn of<'w>(&'w self, all: impl Iterator<Item = &'w TableKey>) -> &'w BTreeSet<TableKey> {
        self.unused.set(0);
        self.keys.get_or_init(|| all.cloned().collect())
    }

    /// One transaction more.
    fn age(&mut self) {
        let unused = self.unused.get() + 1;
        self.unused.set(unused);
        if unused > KEPT_IN_ORDER {
            self.keys = OnceLock::new();
        }
    }

    fn insert(&mut self, key: &TableKey) {
        self.keys.get_mut().into_iter().for_each(|keys| _ = keys.insert(key.clone()));
    }

    fn remove(&mut self, key: &TableKey) {
        self.keys.get_mut().into_iter().for_each(|keys| _ = keys.remove(key));
    }
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

/// Adds an entry to a row of the state table.
pub(crate) fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    put_position(out, entry.position);
    put_bytes(out, &entry.encode());
}

/// The entries of a row of the state table.
pub(crate) fn entries(row: &[u8]) -> std::result::Result<Vec<Entry>, Malformed> {
    let (mut from, mut entries) = (Decoder::new(row), Vec::new());
    while !from.is_empty() {
        entries.push(Entry::decode(position(&mut from)?, from.bytes()?)?);
    }
    Ok(entries)
}

/// Adds a row of the state table for each entry of one that is behind the floor, with its key. Returns how many there are.
pub(crate) fn split(row: &[u8], floor: Position, out: &mut Vec<u8>) -> std::result::Result<u64, Malformed> {
    let (mut from, mut count) = (Decoder::new(row), 0);
    while !from.is_empty() {
        let (at, entry) = (position(&mut from)?, from.bytes()?);
        if at > floor {
            let mut alone = Vec::with_capacity(entry.len() + 24);
            put_position(&mut alone, at);
            put_bytes(&mut alone, entry);
            put_bytes(out, &window_key(at));
            put_bytes(out, &alone);
            count += 1;
        }
    }
    Ok(count)
}

impl Window {
    pub fn new(limits: Limits, floor: Position) -> Window {
        Window {
            limits,
            entries: VecDeque::new(),
            bytes: 0,
            rows: HashMap::default(),
            ordered: Ordered::default(),
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

    /// The number of the last transaction that was decided.
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
        self.add(entry, rows)
    }

    fn add<'r>(
        &mut self,
        entry: Entry,
        mut rows: impl Iterator<Item = (&'r TableKey, &'r Option<RowBuf>)>,
    ) -> Vec<Position> {
        assert!(self.entries.back().is_none_or(|last| last.position < entry.position), "C3: places are in their order");
        if !entry.is_remembered() {
            self.floor = entry.position;
            self.bytes = 0;
            self.rows.clear();
            self.ordered = Ordered::default();
            self.tables.clear();
            return self.entries.drain(..).map(|entry| entry.position).collect();
        }
        let weight = entry.weight();
        let Entry { position, place, origin, submission, writes } = entry;
        let mut keys = Vec::with_capacity(writes.len());
        self.ordered.age();
        let mut table = None;
        for (key, change) in writes {
            if table.replace(key.0) != Some(key.0) {
                self.tables.insert(key.0, position);
            }
            let row = rows.next().filter(|_| change.keeps_rows());
            let now = row.map(|(written, row)| {
                debug_assert_eq!(*written, key, "the rows of an entry are in the order of its keys");
                row.clone()
            });
            let last = (Writer { position, place }, change);
            match self.rows.entry(key.clone()) {
                hash_map::Entry::Occupied(history) => history.into_mut().push(last, now),
                hash_map::Entry::Vacant(none) => {
                    self.ordered.insert(&key);
                    none.insert(History { now, older: VecDeque::new(), last });
                }
            }
            keys.push(key);
        }
        self.bytes += weight;
        self.entries.push_back(Remembered { position, place, origin, submission, keys, weight });
        self.trim()
    }

    /// Takes an entry back as a row of the state has it: in order, and none too many. [`Window::restore_rows`] follows.
    pub fn restore(&mut self, entry: Entry) {
        let forgotten = self.add(entry, std::iter::empty());
        assert!(forgotten.is_empty(), "C4: what the state has was not trimmed");
    }

    /// Reads the rows that the writes have led to: the state has them.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn restore_rows(&mut self, mut read: impl FnMut(&TableKey) -> Result<Option<RowBuf>>) -> Result<()> {
        for (key, history) in &mut self.rows {
            if history.last.1.keeps_rows() {
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
                if history.older.pop_front().is_none() {
                    self.rows.remove(key);
                    self.ordered.remove(key);
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
        self.rows.get(&(table, Key::from_bytes(key))).map(|history| history.last.0)
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
        let keys = self.ordered.of(self.rows.keys()).range((lower(range), Bound::Unbounded));
        let mut keys = keys.take_while(|(table, key)| *table == range.table && !is_behind(range, key));
        keys.find_map(|key| met(self.rows.get_key_value(key)?))
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
    fn push(&mut self, last: (Writer, Change), now: Option<Option<RowBuf>>) {
        self.older.push_back(std::mem::replace(&mut self.last, last));
        self.now = now;
    }

    /// The oldest first.
    fn writes(&self) -> impl DoubleEndedIterator<Item = &(Writer, Change)> {
        self.older.iter().chain([&self.last])
    }

    /// The writes since `base`, the youngest first, with their numbers.
    fn since(&self, base: Position) -> impl Iterator<Item = (usize, &Change)> {
        let youngest_first = (0..=self.older.len()).rev().zip(self.writes().rev());
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
        for (_, change) in self.writes().skip(number + 1).collect::<Vec<_>>().into_iter().rev() {
            after = after.before(change);
        }
        let (writer, change) = self.older.get(number).unwrap_or(&self.last);
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

    /// The order of the keys is kept while ranges ask for it, and found again after a while without.
    #[test]
    fn keys_are_in_their_order_whenever_a_range_asks() {
        let mut window = window(200);
        let long_before = |place: u64| at(place - 2 * FEW as u64);
        let mut place = 0;
        let mut add = |window: &mut Window, count: u64| {
            (0..count).for_each(|_| {
                place += 1;
                push(window, entry(place, &[place, 1_000_000 - place]));
            });
            place
        };
        for count in [200, 150, KEPT_IN_ORDER + 1, 1] {
            let last = add(&mut window, count);
            assert_eq!(window.ordered.keys.get().is_some(), last > 200 && count <= 150);
            for key in [last, last - 100, 1_000_000 - last] {
                let expected = if key == last - 100 { last - 100 } else { last };
                let met = window.check(&range(key - 1, key), long_before(last)).expect_err("it was written");
                assert_eq!(met.other, Some(expected), "key {key} of {last}");
            }
            assert!(window.check(&range(last, last + 100), long_before(last)).is_ok(), "nobody wrote there");
            assert_eq!(window.ordered.keys.get().map(BTreeSet::len), Some(window.rows.len()));
        }
    }

    #[test]
    fn entries_of_a_row_are_read_as_they_were_written_and_cut_off_are_malformed() {
        let all = [entry(7, &[1, 2]), entry(9, &[]), entry(10, &[3])];
        let mut row = Vec::new();
        let ends: Vec<usize> = all.iter().map(|entry| (put_entry(&mut row, entry), row.len()).1).collect();
        assert_eq!(entries(&row), Ok(all.to_vec()));
        for cut in (1..row.len()).filter(|cut| !ends.contains(cut)) {
            assert!(entries(&row[..cut]).is_err(), "{cut}");
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
