//! Storage of rows: tables, and an index from keys to records in each. Rows are changed in place, under locks.

use super::locks::{LockMode, LockWord, OwnerNumber, Ranges};
use super::record::{Record, RecordRef};
use model::{Key, Schema, Storage, TableId};
use parts::epoch::{self, Guard};
use parts::index::hash::HashCursor;
use parts::index::ordered::Cursor;
use parts::index::{Entry, Hash, Insert, KeyWidth, Ordered};
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
        let width = if schema.has_eight_byte_keys() { KeyWidth::Eight } else { KeyWidth::Any };
        let index = match schema.storage() {
            Storage::Ordered if has_small_nodes => Index::Small(Ordered::with_fanout(width)),
            Storage::Ordered => Index::Ordered(Ordered::new(width)),
            Storage::Hash => Index::Hash(Hash::new(width)),
        };
        Table { id, schema: Arc::new(schema), index, ranges: Ranges::default(), dropped: AtomicBool::new(false) }
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed)
    }

    /// Returns whether another transaction may have locked a range, for a writer that has locked its record (I4).
    #[inline]
    pub(super) fn has_ranges(&self) -> bool {
        !matches!(self.index, Index::Hash(_)) && self.ranges.is_any()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: nobody else has the table, so nobody finds its records.
        self.index.drain(|record| unsafe { record.as_ref().handle().free() });
    }
}

/// Keys to records. A record is here from the first time that a transaction wants to lock its key, until it has no row and no
/// transaction wants it (I3).
pub(super) enum Index {
    Ordered(Ordered<Record>),
    /// Nodes of four entries: tests make splits and merges common.
    Small(Ordered<Record, 4>),
    Hash(Hash<Record>),
}

/// Runs an expression on the index behind an ordered table, or another one on a hash table's.
macro_rules! on_index {
    ($index:expr, $ordered:ident => $if_ordered:expr, $hash:ident => $if_hash:expr) => {
        match $index {
            Index::Ordered($ordered) => $if_ordered,
            Index::Small($ordered) => $if_ordered,
            Index::Hash($hash) => $if_hash,
        }
    };
}

impl Index {
    /// The record of a key, if there is one; valid while the guard is pinned.
    #[inline]
    pub(super) fn get(&self, key: &[u8], guard: &Guard) -> Option<RecordRef> {
        on_index!(self, it => it.get(key, guard), it => it.get(key, guard)).map(Record::handle)
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
        let inserted = unsafe {
            on_index!(self, it => it.insert(key, u64::MAX, guard, make), it => it.insert(key, u64::MAX, guard, make))
        };
        match inserted {
            Insert::Inserted(record) => Ok(record.handle()),
            Insert::Exists(record) => Err(record.handle()),
            Insert::Stamped(_) => unreachable!("no stamp is above the greatest"),
        }
    }

    /// Takes a record out that is gone: its word says so, and whoever finds it meanwhile looks its key up again (I3).
    pub(super) fn remove(&self, record: RecordRef, guard: &Guard) {
        let is_same = |found: &Record| (found.handle() == record).then_some(0);
        let removed = on_index!(self,
            it => it.remove(record.key(), guard, is_same),
            it => it.remove(record.key(), guard, is_same));
        assert!(removed == Some(record.pointer()), "I3: a record that has just gone is in its index");
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
        on_index!(self, it => it.scan_leaf(cursor, None, most, guard, batch), _it => false)
    }

    /// Brings some keys' records near.
    pub(super) fn prefetch(&self, keys: &[Key]) {
        let guard = epoch::pin();
        on_index!(self,
            it => it.prefetch_entries(keys, &guard, Record::prefetch),
            it => it.prefetch_entries(keys, &guard, Record::prefetch));
    }

    /// About how many bytes the records take, from the sizes of a few.
    pub(super) fn estimate_bytes(&self) -> u64 {
        let guard = epoch::pin();
        let mut batch = Vec::new();
        let count = on_index!(self, it => {
            batch = it.sample(WEIGHED, &guard);
            it.estimate(Unbounded, Unbounded, &guard)
        }, it => {
            let mut cursor = HashCursor::default();
            while batch.is_empty() && it.scan_batch(&mut cursor, &guard, &mut batch) {}
            it.len() as u64
        });
        let weighed = &batch[..batch.len().min(WEIGHED)];
        let bytes: usize = weighed.iter().map(|record| record.size()).sum();
        // A sample may have one record several times.
        count.max(weighed.len().min(1) as u64).saturating_mul(bytes as u64) / (weighed.len() as u64).max(1)
    }

    /// Returns the number of records, for tests and figures.
    pub(super) fn len(&self) -> usize {
        on_index!(self, it => it.len(&epoch::pin()), it => it.len())
    }

    fn drain(&mut self, free: impl Fn(NonNull<Record>)) {
        on_index!(self, it => it.drain().for_each(free), it => it.drain(free));
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(on_index!(self, _it => "ordered", _it => "hash"))
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
