//! Storage of rows: tables, and an index from keys to records in each. Rows are changed in place, under locks.

use super::locks::{LockMode, LockWord, OwnerNumber, Ranges};
use super::record::{Record, RecordRef};
use model::{Key, Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::{AnyIndex, Entry};
use parts::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::ops::{Bound, Bound::Excluded, Bound::Included, Bound::Unbounded, Deref};
use std::ptr::NonNull;
use std::sync::Arc;

/// Records whose sizes tell those of all.
const WEIGHED: usize = 16;

/// All tables at one moment. Replaced as a whole when one comes or goes, so that transactions keep a reference.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    /// Number of changes before this one.
    pub(super) version: u64,
    /// By number; dropped ones leave a hole, since a number is not given again.
    pub(super) tables: Vec<Option<Arc<Table>>>,
}

impl Catalog {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().flatten()
    }

    pub(super) fn named(&self, name: &str) -> Option<&Arc<Table>> {
        self.all().find(|table| table.schema.name() == name)
    }
}

/// A table: its records, and the ranges that are locked among them.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) id: TableId,
    pub(super) schema: Arc<Schema>,
    pub(super) index: Index,
    pub(super) ranges: Ranges,
    /// Set once. `Relaxed`: a statement that runs at the same time may see either.
    pub(super) dropped: AtomicBool,
}

/// A table by its address. Whoever has one is a transaction whose worker keeps a catalog with the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableRef(NonNull<Table>);

// SAFETY: a table is Send and Sync.
unsafe impl Send for TableRef {}
// SAFETY: as for Send.
unsafe impl Sync for TableRef {}

impl Deref for TableRef {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        // SAFETY: in a catalog that the transaction's worker keeps, as the type says.
        unsafe { self.0.as_ref() }
    }
}

impl TableRef {
    /// The table without its count.
    pub(super) fn of(table: &Arc<Table>) -> TableRef {
        TableRef(NonNull::from(&**table))
    }
}

impl Table {
    pub(super) fn new(id: TableId, schema: Schema, has_small_nodes: bool) -> Table {
        let index = Index(AnyIndex::new(&schema, has_small_nodes));
        Table { id, schema: Arc::new(schema), index, ranges: Ranges::default(), dropped: AtomicBool::new(false) }
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed)
    }

    /// Returns whether another transaction may have locked a range, for a writer that has locked its record (I4).
    #[inline]
    pub(super) fn has_ranges(&self) -> bool {
        self.index.0.is_ordered() && self.ranges.is_any()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: nobody else has the table, so nobody finds its records.
        self.index.0.drain(|record| unsafe { record.as_ref().handle().free() });
    }
}

/// Keys to records. A record is here from the first time that a transaction wants to lock its key, until it has no row and no
/// transaction wants it (I3).
#[derive(Debug)]
pub(super) struct Index(AnyIndex<Record>);

impl Index {
    /// The record of a key, if there is one; valid while the guard is pinned.
    #[inline]
    pub(super) fn get(&self, key: &[u8], guard: &Guard) -> Option<RecordRef> {
        self.0.get(key, guard).map(Record::handle)
    }

    /// Makes the record of a key, without a row and locked by its maker, unless there is one: then that one is returned.
    pub(super) fn insert(
        &self,
        key: &[u8],
        row_bytes: usize,
        (maker, mode): (OwnerNumber, LockMode),
        guard: &Guard,
    ) -> Result<RecordRef, RecordRef> {
        let make = || Record::allocate(key, row_bytes, LockWord::held(maker, mode)).pointer();
        // SAFETY: the record has this key; `remove` takes it out and frees it through the epoch.
        let inserted = unsafe { self.0.insert(key, guard, make) };
        inserted.map(Record::handle).map_err(Record::handle)
    }

    /// Takes a record out that is gone: its word says so, and whoever finds it meanwhile looks its key up again (I3).
    pub(super) fn remove(&self, record: RecordRef, guard: &Guard) {
        let was_there = self.0.remove(record.key(), record.pointer(), guard);
        assert!(was_there, "I3: a record that has just gone is in its index");
        // SAFETY: it is out of the index, by the transaction that made it gone.
        unsafe { record.free_later(guard) };
    }

    /// Puts the records of the next leaf of a range into an empty batch, and returns whether more may follow. None in a
    /// hash table.
    pub(super) fn scan_leaf<'g>(
        &'g self,
        cursor: &mut Cursor,
        most: usize,
        guard: &'g Guard,
        batch: &mut Vec<&'g Record>,
    ) -> bool {
        self.0.scan_leaf(cursor, most, guard, batch)
    }

    /// Brings some keys' records near.
    pub(super) fn prefetch(&self, keys: &[Key]) {
        self.0.prefetch_entries(keys, &epoch::pin(), Record::prefetch);
    }

    /// About how many bytes the records take, from the sizes of a few.
    pub(super) fn estimate_bytes(&self) -> u64 {
        let guard = epoch::pin();
        let weighed = self.0.sample(WEIGHED, &guard);
        let count = self.0.estimate(Unbounded, Unbounded).unwrap_or_default();
        let bytes: usize = weighed.iter().map(|record| record.size()).sum();
        // A sample may have one record several times.
        count.max(weighed.len().min(1) as u64).saturating_mul(bytes as u64) / (weighed.len() as u64).max(1)
    }

    /// Returns the number of records, for tests and figures.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns whether no key can lie in the range.
pub(super) fn is_empty_range(lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
    match (lower, upper) {
        (Included(lower), Included(upper)) => lower > upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower >= upper,
        _ => false,
    }
}
