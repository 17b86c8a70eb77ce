//! Tables: an index from keys to records each.

use crate::record::{Record, RecordRef};
use crate::tid::{Tid, Word};
use model::{Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::{AnyIndex, Entry, LeafChange, LeafCount};
use std::ptr::NonNull;

pub(crate) type Table = parts::tables::Table<Index>;
/// A table by its address. Whoever has one is a transaction that began before the table was dropped (S8), or has
/// counted it.
pub(crate) type TableRef = parts::tables::TableRef<Index>;
pub(crate) type Tables = parts::tables::Tables<Index>;

/// The records of a table by their keys.
#[derive(Debug)]
pub(crate) struct Index(AnyIndex<Record>);

/// The table of a number, for a transaction that has begun.
#[inline]
pub(crate) fn find(tables: &Tables, id: TableId) -> Option<TableRef> {
    // SAFETY: S8: a dropped table is freed when every transaction that began before has ended.
    unsafe { tables.get(id) }
}

impl Index {
    pub fn new(schema: &Schema, has_small_nodes: bool) -> Index {
        Index(AnyIndex::new(schema, has_small_nodes))
    }

    /// The record of a key, or the count of the leaf in which there is none.
    #[inline]
    pub fn get(&self, key: &[u8], guard: &Guard) -> Result<RecordRef, LeafCount> {
        self.0.get_or_count(key, guard).map(Record::handle)
    }

    /// The count of the leaf that covers a key; without a key, of the first one.
    pub fn count_of(&self, key: Option<&[u8]>, guard: &Guard) -> LeafCount {
        self.0.count_of(key, guard)
    }

    /// The record of a key, made absent and with room for a row of so many bytes if there is none; true if it was made.
    pub fn get_or_insert(
        &self,
        key: &[u8],
        row_bytes: usize,
        changed: impl FnMut(LeafChange<'_>),
    ) -> (RecordRef, bool) {
        let guard = epoch::pin();
        let make = || Record::allocate(key, row_bytes, Word::new(Tid::ZERO, true)).pointer();
        // SAFETY: the record has this key; `reclaim.rs` takes it out and frees it through the epoch.
        match unsafe { self.0.insert_counted(key, &guard, make, changed) } {
            Ok(record) => (record.handle(), true),
            Err(record) => (record.handle(), false),
        }
    }

    /// Takes a record out.
    pub fn remove(&self, record: RecordRef, guard: &Guard) {
        let was_there = self.0.remove(record.key(), record.pointer(), guard);
        assert!(was_there, "S9: a record that a list takes out is in its index");
    }

    /// Puts the records of the next leaf of a range into an empty batch, `most` at most. Returns whether more may
    /// follow. None in a hash table.
    pub fn scan_leaf(
        &self,
        cursor: &mut Cursor,
        most: usize,
        batch: &mut Vec<RecordRef>,
        note: impl FnMut(LeafCount, Option<&[u8]>),
    ) -> bool {
        let guard = epoch::pin();
        // Both conversions happen in place: they keep the memory of the batch.
        let mut found: Vec<&Record> =
            std::mem::take(batch).into_iter().map(|_| unreachable!("the batch is empty")).collect();
        let more = self.0.scan_leaf_counted(cursor, most, &guard, &mut found, note);
        *batch = found.into_iter().map(Record::handle).collect();
        more
    }

    /// Brings some keys' records near.
    pub fn prefetch(&self, keys: &[model::Key]) {
        self.0.prefetch_entries(keys, &epoch::pin(), Record::prefetch);
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // SAFETY: nobody else has the table, so nobody finds its records (S8).
        self.0.drain(|record: NonNull<Record>| unsafe { record.as_ref().handle().free() });
    }
}
