//! Footprints: the accesses that a procedure declares, and an [`Access`] that enforces them.

use crate::{Access, Columns, Delta, Draws, Invalid, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::ops::{Bound, ControlFlow};

/// Accesses that a procedure declares: keys, each with its kind of access, and ranges that are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Sorted.
    keys: Vec<FootprintEntry>,
    ranges: Vec<FootprintRange>,
}

/// One key of a footprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FootprintEntry {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: Key,
    /// Declared access.
    pub touch: Touch,
}

/// Its key, in slices of keys of one table.
impl AsRef<[u8]> for FootprintEntry {
    fn as_ref(&self) -> &[u8] {
        &self.key
    }
}

/// One range of a footprint: read only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FootprintRange {
    /// The table.
    pub table: TableId,
    /// Lower bound, in key order.
    pub lower: Bound<Key>,
    /// Upper bound, in key order.
    pub upper: Bound<Key>,
}

/// Declared access to a key. Engines that place versions ahead of execution need to know which keys get one, and whether the
/// one before is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Touch {
    /// Read.
    Read,
    /// Found absent, and a row written: [`Access::insert`].
    Insert,
    /// Read, and written: [`Access::update`], [`Access::put`], [`Access::read_for_update`].
    Update,
    /// Read, and removed: [`Access::delete`].
    Delete,
    /// Written without being read: [`Access::put`] alone.
    Overwrite,
    /// Any of these.
    Any,
}

impl Touch {
    /// Returns whether it may write.
    pub fn writes(self) -> bool {
        self != Touch::Read
    }

    /// Returns whether it may read the previous row.
    pub fn reads(self) -> bool {
        self != Touch::Overwrite
    }

    /// Returns whether the declaration `self` permits `action`.
    fn allows(self, action: Touch) -> bool {
        match (self, action) {
            (Touch::Any, _) => true,
            (Touch::Update, Touch::Overwrite) => true,
            (declared, Touch::Read) => declared.reads(),
            (declared, action) => declared == action,
        }
    }
}

impl Footprint {
    /// Adds a key with what will be done to it.
    pub fn touches(mut self, table: TableId, key: impl Into<Key>, touch: Touch) -> Footprint {
        let entry = FootprintEntry { table, key: key.into(), touch };
        if let Err(at) = self.keys.binary_search(&entry) {
            self.keys.insert(at, entry);
        }
        self
    }

    /// Adds a key that will be read.
    pub fn reads(self, table: TableId, key: impl Into<Key>) -> Footprint {
        self.touches(table, key, Touch::Read)
    }

    /// Adds a key to which anything may be done.
    pub fn writes(self, table: TableId, key: impl Into<Key>) -> Footprint {
        self.touches(table, key, Touch::Any)
    }

    /// Adds a range that will be scanned. What is written in it must stand among the keys too.
    pub fn reads_range(mut self, table: TableId, lower: Bound<Key>, upper: Bound<Key>) -> Footprint {
        self.ranges.push(FootprintRange { table, lower, upper });
        self
    }

    /// Its keys, in the order of tables and keys; one may stand in several entries.
    pub fn keys(&self) -> &[FootprintEntry] {
        &self.keys
    }

    /// Its ranges.
    pub fn ranges(&self) -> &[FootprintRange] {
        &self.ranges
    }

    /// Returns whether it declares `action` on a key. A range that is read covers reads of its keys.
    pub fn covers(&self, table: TableId, key: &[u8], action: Touch) -> bool {
        let first = self.keys.partition_point(|entry| (entry.table, &entry.key[..]) < (table, key));
        let mut same_key = self.keys[first..].iter().take_while(|entry| entry.table == table && entry.key[..] == *key);
        let by_range = |range: &FootprintRange| range.table == table && range.contains(key);
        same_key.any(|entry| entry.touch.allows(action)) || (action == Touch::Read && self.ranges.iter().any(by_range))
    }

    /// Returns whether one of its ranges contains this one.
    pub fn covers_range(&self, table: TableId, lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
        self.ranges.iter().any(|range| range.table == table && range.contains_range(lower, upper))
    }
}

/// Sorts once: for procedures of many keys.
impl FromIterator<FootprintEntry> for Footprint {
    fn from_iter<I: IntoIterator<Item = FootprintEntry>>(entries: I) -> Footprint {
        let mut keys: Vec<FootprintEntry> = entries.into_iter().collect();
        if keys.len() <= FEW {
            keys.sort_unstable();
        } else {
            keys.sort_by_cached_key(FootprintEntry::prefix);
            keys.chunk_by_mut(|a, b| a.prefix() == b.prefix()).for_each(<[_]>::sort_unstable);
        }
        keys.dedup();
        Footprint { keys, ranges: Vec::new() }
    }
}

/// Entries that are sorted as they are; more of them by their prefixes first, which are compared without a look at the keys.
const FEW: usize = 32;

impl FootprintEntry {
    /// The table and the first bytes of the key, in the order of entries.
    fn prefix(&self) -> (TableId, [u8; 8]) {
        let mut first = [0; 8];
        let length = self.key.len().min(first.len());
        first[..length].copy_from_slice(&self.key[..length]);
        (self.table, first)
    }
}

impl FootprintRange {
    fn contains(&self, key: &[u8]) -> bool {
        let above = match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => lower[..] <= *key,
            Bound::Excluded(lower) => lower[..] < *key,
        };
        let below = match &self.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => *key <= upper[..],
            Bound::Excluded(upper) => *key < upper[..],
        };
        above && below
    }

    fn contains_range(&self, lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
        let from = match (&self.lower, lower) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(own), Bound::Included(other)) => own < other,
            (Bound::Included(own) | Bound::Excluded(own), Bound::Included(other) | Bound::Excluded(other)) => {
                own <= other
            }
        };
        let to = match (&self.upper, upper) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(own), Bound::Included(other)) => other < own,
            (Bound::Included(own) | Bound::Excluded(own), Bound::Included(other) | Bound::Excluded(other)) => {
                other <= own
            }
        };
        from && to
    }
}

/// An [`Access`] that refuses what a footprint does not declare ([`Invalid::Undeclared`]): for engines that have no use for
/// footprints, so that a procedure that works on one works on all.
#[derive(Debug)]
pub struct Guarded<'a, A: ?Sized> {
    inner: &'a mut A,
    footprint: &'a Footprint,
}

impl<'a, A: Access + ?Sized> Guarded<'a, A> {
    /// Guards `inner`.
    pub fn new(inner: &'a mut A, footprint: &'a Footprint) -> Guarded<'a, A> {
        Guarded { inner, footprint }
    }

    fn check(&self, table: TableId, key: &[u8], action: Touch) -> Result<()> {
        self.allow(table, self.footprint.covers(table, key, action))
    }

    fn allow(&self, table: TableId, is_declared: bool) -> Result<()> {
        let undeclared = || Invalid::Undeclared { table: format!("number {}", table.0) }.into();
        if is_declared { Ok(()) } else { Err(undeclared()) }
    }
}

impl<A: Access + ?Sized> Access for Guarded<'_, A> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.check(table, key, Touch::Read)?;
        self.inner.read(table, key, columns, row)
    }

    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        keys.iter().try_for_each(|key| self.check(table, key, Touch::Read))?;
        self.inner.read_many(table, keys, columns, each)
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        self.inner.prefetch(table, keys);
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.check(table, key, Touch::Update)?;
        self.inner.read_for_update(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check(table, key, Touch::Overwrite)?;
        self.inner.put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check(table, key, Touch::Insert)?;
        self.inner.insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.check(table, key, Touch::Update)?;
        self.inner.update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.check(table, key, Touch::Delete)?;
        self.inner.delete(table, key)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.allow(scan.table, self.footprint.covers_range(scan.table, &scan.lower, &scan.upper))?;
        self.inner.scan(scan, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.inner.draws()
    }
}
