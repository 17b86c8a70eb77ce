//! Tables: an index from keys to records each.

use crate::record::{Record, RecordRef};
use model::{Schema, Storage, TableId};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::{Entry, Hash, Insert, KeyWidth, Ordered};
use parts::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub id: TableId,
    pub schema: Arc<Schema>,
    pub index: Index,
    /// Set once. `Relaxed`: a statement that runs at the same time may see either.
    pub is_dropped: AtomicBool,
    /// Whether records own the versions that were replaced, too.
    keeps_versions: bool,
}

/// The records of a table by their keys.
pub(crate) enum Index {
    Ordered(Ordered<Record>),
    /// Nodes of four entries: tests make splits and merges common.
    Small(Ordered<Record, 4>),
    Hash(Hash<Record>),
}

/// A table by its address. Whoever has one is a transaction that began before the table was dropped (K7), or has
/// counted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableRef(NonNull<Table>);

// SAFETY: a table is Send and Sync.
unsafe impl Send for TableRef {}
// SAFETY: as for Send.
unsafe impl Sync for TableRef {}

impl Deref for TableRef {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        // SAFETY: K7, as the type says.
        unsafe { self.0.as_ref() }
    }
}

impl TableRef {
    /// The table, counted: it lives as long as this.
    pub fn counted(self) -> Arc<Table> {
        // SAFETY: made by `Arc::into_raw` in `Tables::put`, and alive (K7).
        unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Arc::from_raw(self.0.as_ptr())
        }
    }
}

/// The tables by their numbers, to be read without a latch.
#[derive(Debug)]
pub(crate) struct Tables(Box<[AtomicPtr<Table>]>);

impl Tables {
    /// Room for so many.
    pub fn new(limit: usize) -> Tables {
        Tables((0..limit).map(|_| AtomicPtr::default()).collect())
    }

    /// The table of a number, for a transaction that has begun.
    #[inline]
    pub fn get(&self, id: TableId) -> Option<TableRef> {
        NonNull::new(self.0.get(id.0 as usize)?.load(Acquire)).map(TableRef)
    }

    /// Puts a table in its place.
    pub fn put(&self, table: Arc<Table>) {
        let place = &self.0[table.id.0 as usize];
        place.store(Arc::into_raw(table).cast_mut(), parts::sync::atomic::Ordering::Release);
    }

    /// Takes a table out; it must live on until transactions that have begun have ended.
    pub fn take(&self, id: TableId) -> Option<Arc<Table>> {
        let table = self.0[id.0 as usize].swap(ptr::null_mut(), AcqRel);
        // SAFETY: made by `Arc::into_raw` in `put`, and taken out once.
        (!table.is_null()).then(|| unsafe { Arc::from_raw(table) })
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        (0..self.0.len()).for_each(|id| drop(self.take(TableId(id as u32))));
    }
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

impl Table {
    /// An empty table.
    pub fn new(id: TableId, schema: Schema, has_small_nodes: bool, keeps_versions: bool) -> Table {
        let width = if schema.has_eight_byte_keys() { KeyWidth::Eight } else { KeyWidth::Any };
        let index = match schema.storage() {
            Storage::Ordered if has_small_nodes => Index::Small(Ordered::with_fanout(width)),
            Storage::Ordered => Index::Ordered(Ordered::new(width)),
            Storage::Hash => Index::Hash(Hash::new(width)),
        };
        Table { id, schema: Arc::new(schema), index, is_dropped: AtomicBool::new(false), keeps_versions }
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Relaxed)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let keeps_versions = self.keeps_versions;
        // SAFETY: nobody else has the table, so nobody finds its records (K7).
        let free = |record: NonNull<Record>| unsafe { record.as_ref().handle().free(keeps_versions) };
        on_index!(&mut self.index, ordered => ordered.drain().for_each(free), hash => hash.drain(free));
    }
}

impl Index {
    /// The record of a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<RecordRef> {
        let guard = epoch::pin();
        on_index!(self, it => it.get(key, &guard), it => it.get(key, &guard)).map(Record::handle)
    }

    /// The record of a key, made without a version if there is none.
    #[inline]
    pub fn get_or_insert(&self, key: &[u8]) -> RecordRef {
        if let Some(record) = self.get(key) {
            return record;
        }
        let guard = epoch::pin();
        let make = || Record::allocate(key);
        // SAFETY: the record has this key; `reclaim.rs` takes it out and frees it through the epoch.
        let inserted = unsafe {
            on_index!(self, it => it.insert(key, u64::MAX, &guard, make), it => it.insert(key, u64::MAX, &guard, make))
        };
        match inserted {
            Insert::Inserted(record) | Insert::Exists(record) => record.handle(),
            Insert::Stamped(_) => unreachable!("no stamp is above the greatest"),
        }
    }

    /// Takes a record out.
    pub fn remove(&self, record: RecordRef, guard: &Guard) {
        let is_same = |found: &Record| (found.handle() == record).then_some(0);
        let removed = on_index!(self,
            it => it.remove(record.key(), guard, is_same),
            it => it.remove(record.key(), guard, is_same));
        assert!(removed == Some(record.pointer()), "K8: a record that a list takes out is in its index");
    }

    /// Puts the records of the next leaf of a range into an empty batch, `most` at most. Returns whether more may
    /// follow. None in a hash table.
    pub fn scan_leaf(&self, cursor: &mut Cursor, most: usize, batch: &mut Vec<RecordRef>) -> bool {
        let guard = epoch::pin();
        // Both conversions happen in place: they keep the memory of the batch.
        let mut found: Vec<&Record> =
            std::mem::take(batch).into_iter().map(|_| unreachable!("the batch is empty")).collect();
        let more = on_index!(self, it => it.scan_leaf(cursor, None, most, &guard, &mut found), _it => false);
        *batch = found.into_iter().map(Record::handle).collect();
        more
    }

    /// Brings some keys' records near, and shows those that are there.
    pub fn prefetch(&self, keys: &[model::Key], mut found: impl FnMut(RecordRef)) {
        let guard = epoch::pin();
        let visit = |record: &Record| {
            record.prefetch();
            found(record.handle());
        };
        on_index!(self, it => it.prefetch_entries(keys, &guard, visit), it => it.prefetch_entries(keys, &guard, visit));
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        on_index!(self, it => it.len(&epoch::pin()), it => it.len())
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(on_index!(self, _it => "ordered", _it => "hash"))
    }
}
