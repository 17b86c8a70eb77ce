//! Tables: an index from keys to records each.

use crate::record::{Record, RecordRef};
use model::{Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::{AnyIndex, Entry};
use std::ptr::NonNull;

pub(crate) type Table = parts::tables::Table<Index>;
/// A table by its address. Whoever has one is a transaction that began before the table was dropped (K7), or has
/// counted it.
pub(crate) type TableRef = parts::tables::TableRef<Index>;
pub(crate) type Tables = parts::tables::Tables<Index>;

/// The records of a table by their keys.
#[derive(Debug)]
pub(crate) struct Index {
    records: AnyIndex<Record>,
    /// Whether records own the versions that were replaced, too.
    keeps_versions: bool,
}

/// The table of a number, for a transaction that has begun.
#[inline]
pub(crate) fn find(tables: &Tables, id: TableId) -> Option<TableRef> {
    // SAFETY: K7: a dropped table is freed when every transaction that began before has ended.
    unsafe { tables.get(id) }
}

impl Index {
    pub fn new(schema: &Schema, has_small_nodes: bool, keeps_versions: bool) -> Index {
        Index { records: AnyIndex::new(schema, has_small_nodes), keeps_versions }
    }

    /// The record of a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<RecordRef> {
        self.records.get(key, &epoch::pin()).map(Record::handle)
    }

    /// The record of a key, made without a version if there is none.
    #[inline]
    pub fn get_or_insert(&self, key: &[u8]) -> RecordRef {
        if let Some(record) = self.get(key) {
            return record;
        }
        let guard = epoch::pin();
        // SAFETY: the record has this key; `reclaim.rs` takes it out and frees it through the epoch.
        let (Ok(record) | Err(record)) = unsafe { self.records.insert(key, &guard, || Record::allocate(key)) };
        record.handle()
    }

    /// Takes a record out.
    pub fn remove(&self, record: RecordRef, guard: &Guard) {
        let was_there = self.records.remove(record.key(), record.pointer(), guard);
        assert!(was_there, "K8: a record that a list takes out is in its index");
    }

    /// Puts the records of the next leaf of a range into an empty batch, `most` at most. Returns whether more may
    /// follow. None in a hash table.
    pub fn scan_leaf(&self, cursor: &mut Cursor, most: usize, batch: &mut Vec<RecordRef>) -> bool {
        let guard = epoch::pin();
        // Both conversions happen in place: they keep the memory of the batch.
        let mut found: Vec<&Record> =
            std::mem::take(batch).into_iter().map(|_| unreachable!("the batch is empty")).collect();
        let more = self.records.scan_leaf(cursor, most, &guard, &mut found);
        *batch = found.into_iter().map(Record::handle).collect();
        more
    }

    /// Brings some keys' records near, and shows those that are there.
    pub fn prefetch(&self, keys: &[model::Key], mut found: impl FnMut(RecordRef)) {
        self.records.prefetch_entries(keys, &epoch::pin(), |record| {
            record.prefetch();
            found(record.handle());
        });
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let keeps_versions = self.keeps_versions;
        // SAFETY: nobody else has the table, so nobody finds its records (K7).
        self.records.drain(|record: NonNull<Record>| unsafe { record.as_ref().handle().free(keeps_versions) });
    }
}
