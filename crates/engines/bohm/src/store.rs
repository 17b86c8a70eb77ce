//! Tables: an index from keys to records each. Planners change it; all read it.

use crate::record::{Record, RecordRef};
use crate::version::VersionRef;
use model::{FootprintEntry, Invalid, Limit, LimitKind, Result, Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::AnyIndex;
use parts::index::ordered::Cursor;
use parts::index::prefetch::prefetch;
use parts::sync::atomic::{AtomicU32, Ordering::Relaxed};
use parts::sync::{Mutex, MutexGuard, OnceLock};
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

/// Room for a row in the first versions of a table.
const FIRST_ROOM: u32 = 32;

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub id: TableId,
    pub schema: Arc<Schema>,
    pub index: Index,
    /// Room that new versions get: the longest row so far that may stand in its version. `Relaxed`: a hint.
    pub row_bytes: AtomicU32,
}

/// The records of a table by their keys.
#[derive(Debug)]
pub(crate) struct Index(AnyIndex<Record>);

/// The tables by their numbers. A table is created once, and never dropped.
#[derive(Debug)]
pub(crate) struct Tables {
    places: Box<[OnceLock<Table>]>,
    /// The names, in the order of the numbers. Held while a table is created.
    names: Mutex<Vec<String>>,
}

impl Tables {
    /// Room for so many.
    pub fn new(limit: usize) -> Tables {
        Tables { places: (0..limit).map(|_| OnceLock::new()).collect(), names: Mutex::default() }
    }

    #[inline]
    pub fn get(&self, id: TableId) -> Option<&Table> {
        self.places.get(id.0 as usize)?.get()
    }

    /// The table of a number.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`].
    #[inline]
    pub fn find(&self, id: TableId) -> Result<&Table> {
        self.get(id).ok_or_else(|| Invalid::UnknownTable { table: format!("number {}", id.0) }.into())
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`LimitKind::Tables`].
    pub fn create(&self, schema: Schema, has_small_nodes: bool) -> Result<TableId> {
        let mut names = self.names();
        if names.iter().any(|name| name == schema.name()) {
            return Err(Invalid::TableExists { table: schema.name().into() }.into());
        }
        let Some(place) = self.places.get(names.len()) else {
            let limit =
                Limit { kind: LimitKind::Tables, limit: self.places.len() as u64, actual: names.len() as u64 + 1 };
            return Err(limit.into());
        };
        let id = TableId(names.len() as u32);
        names.push(schema.name().into());
        let is_first = place.set(Table::new(id, schema, has_small_nodes)).is_ok();
        assert!(is_first, "a number is given once, under the latch of the names");
        Ok(id)
    }

    /// All tables, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Table> {
        self.places.iter().map_while(|place| place.get())
    }

    /// All tables, for their last owner.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.places.iter_mut().map_while(|place| place.get_mut())
    }

    fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn new(id: TableId, schema: Schema, has_small_nodes: bool) -> Table {
        let index = Index(AnyIndex::new(&schema, has_small_nodes));
        Table { id, schema: Arc::new(schema), index, row_bytes: AtomicU32::new(FIRST_ROOM) }
    }

    /// Has later versions make room for a row of this length.
    pub fn make_room_for(&self, row_bytes: usize) {
        self.row_bytes.fetch_max(u32::try_from(row_bytes).unwrap_or(u32::MAX), Relaxed);
    }
}

impl Index {
    #[inline]
    pub fn get(&self, key: &[u8], guard: &Guard) -> Option<RecordRef> {
        self.0.get(key, guard).map(RecordRef::of)
    }

    /// Puts in a record for a key that has none, with its first version: the planner of the key.
    pub fn insert(&self, key: &[u8], first: VersionRef, guard: &Guard) -> RecordRef {
        let make = || Record::create(key, first).pointer();
        // SAFETY: the record has this key; `plan.rs` takes it out and frees it through the epoch.
        let inserted = unsafe { self.0.insert(key, guard, make) };
        let Ok(record) = inserted else { panic!("B2: one planner makes the records of a key") };
        RecordRef::of(record)
    }

    /// Takes a record out: the planner of the key.
    pub fn remove(&self, record: RecordRef, guard: &Guard) {
        let was_there = self.0.remove(parts::index::Entry::key(&*record), record.pointer(), guard);
        assert!(was_there, "B9: a record is in its index until its planner takes it out");
    }

    /// Puts the records of the next leaf of a range into an empty batch, `most` at most. Returns whether more may
    /// follow. None in a hash table.
    pub fn scan_leaf(&self, cursor: &mut Cursor, most: usize, batch: &mut Vec<RecordRef>) -> bool {
        let guard = epoch::pin();
        let mut found: Vec<&Record> = Vec::new();
        let more = self.0.scan_leaf(cursor, most, &guard, &mut found);
        batch.extend(found.into_iter().map(RecordRef::of));
        more
    }

    /// Brings the records of some keys near, or their newest versions.
    pub fn prefetch(&self, keys: &[FootprintEntry], guard: &Guard, near: Near) {
        let near = |record: &Record| match near {
            Near::Record => prefetch(record, size_of::<Record>()),
            Near::Version => prefetch(record.newest_address(), VERSION_LINES),
        };
        self.0.prefetch_entries(keys, guard, near);
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Empties the index of its last owner.
    pub fn drain(&mut self, take: impl FnMut(NonNull<Record>)) {
        self.0.drain(take);
    }
}

/// What of a key is brought near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Near {
    /// Its record.
    Record,
    /// The newest version, once the record is near.
    Version,
}

/// Bytes of a version that planning looks at.
const VERSION_LINES: usize = 64;

/// Returns which of some planners owns a key.
pub(crate) fn planner_of(entry: &FootprintEntry, planners: usize) -> u8 {
    if planners == 1 {
        return 0;
    }
    let seed = u64::from(entry.table.0) ^ 0xcbf2_9ce4_8422_2325;
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash: u64 = entry.as_ref().iter().fold(seed, mix);
    // The high bits of the product decide, so that the low ones of a last byte do not alone.
    ((u128::from(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * planners as u128) >> 64) as u8
}
