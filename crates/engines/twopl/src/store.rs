//! Storage of rows: tables of records. Rows are changed in place, under locks.

use super::locks::{Lock, Owner, Ranges, latch};
use model::{Direction, Key, RowBuf, Schema, Storage, TableId};
use parts::CachePadded;
use parts::sync::atomic::{AtomicBool, Ordering::Relaxed};
use parts::sync::{Mutex, MutexGuard, RwLock};
use parts::wait::WaitTable;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::{Bound, Bound::Excluded, Bound::Included};
use std::sync::{Arc, PoisonError};

/// Parts of a hash map that are latched apart. A power of two, a few times the number of threads.
const HASH_SHARDS: usize = 64;
/// Records whose sizes tell those of all.
const WEIGHED: usize = 16;

/// All tables at one moment. Replaced as a whole when one comes or goes, so that transactions keep a reference.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
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

#[derive(Debug)]
pub(super) struct Table {
    pub(super) id: TableId,
    pub(super) schema: Arc<Schema>,
    /// The rows, by key.
    pub(super) rows: Arc<Keyspace>,
    /// Set once. `Relaxed`: a statement that runs at the same time may see either.
    pub(super) dropped: AtomicBool,
}

impl Table {
    pub(super) fn new(id: TableId, schema: Schema) -> Table {
        let schema = Arc::new(schema);
        let rows = Arc::new(Keyspace::new(schema.clone()));
        Table { id, rows, dropped: AtomicBool::new(false), schema }
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.dropped.load(Relaxed)
    }
}

/// The records of a table, and the ranges that are locked among them.
#[derive(Debug)]
pub(super) struct Keyspace {
    pub(super) schema: Arc<Schema>,
    pub(super) ranges: Ranges,
    map: Map,
}

/// Keys to records. A record is here from the first time that a transaction wants to lock its key, until it has no row and no
/// transaction wants it (I3).
#[derive(Debug)]
enum Map {
    Ordered(RwLock<BTreeMap<Key, Arc<Record>>>),
    Hash(RandomState, Box<[CachePadded<HashShard>]>),
}

type HashShard = RwLock<HashMap<Key, Arc<Record>>>;

/// A key, its row if it has one, and its lock.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) key: Key,
    pub(super) state: Mutex<State>,
}

/// State guarded by a record's latch.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) lock: Lock,
    pub(super) row: Option<RowBuf>,
    /// The exclusive holder has changed the row, and its undo log has what was there.
    pub(super) changed: bool,
    /// The record has left its map: look the key up again.
    pub(super) gone: bool,
}

impl Record {
    pub(super) fn latch(&self) -> MutexGuard<'_, State> {
        latch(&self.state)
    }

    /// Bytes of the key, the row and what surrounds them.
    fn size(&self) -> usize {
        let row = self.latch().row.as_ref().map_or(0, |row| row.bytes().len());
        size_of::<Record>() + self.key.len() + row
    }
}

impl Keyspace {
    fn new(schema: Arc<Schema>) -> Keyspace {
        let map = match schema.storage() {
            Storage::Ordered => Map::Ordered(RwLock::default()),
            Storage::Hash => Map::Hash(RandomState::new(), (0..HASH_SHARDS).map(|_| CachePadded::default()).collect()),
        };
        Keyspace { schema, ranges: Ranges::default(), map }
    }

    /// The record of a key, made if there is none.
    pub(super) fn record(&self, key: &[u8]) -> Arc<Record> {
        let new = || Arc::new(Record { key: key.into(), state: Mutex::default() });
        match &self.map {
            Map::Ordered(map) => {
                if let Some(record) = read(map).get(key) {
                    return record.clone();
                }
                write(map).entry(key.into()).or_insert_with(new).clone()
            }
            Map::Hash(hasher, shards) => {
                let shard = shard(hasher, shards, key);
                if let Some(record) = read(shard).get(key) {
                    return record.clone();
                }
                write(shard).entry(key.into()).or_insert_with(new).clone()
            }
        }
    }

    /// Appends up to `limit` records of a range, from the end where `direction` begins. None in a hash map.
    pub(super) fn collect(
        &self,
        (lower, upper): (&Bound<Key>, &Bound<Key>),
        direction: Direction,
        limit: usize,
        found: &mut Vec<Arc<Record>>,
    ) {
        let Map::Ordered(map) = &self.map else { return };
        if is_empty_range(lower, upper) {
            return;
        }
        let map = read(map);
        let range = map.range::<Key, _>((lower.as_ref(), upper.as_ref())).map(|(_, record)| record.clone());
        match direction {
            Direction::Forward => found.extend(range.take(limit)),
            Direction::Backward => found.extend(range.rev().take(limit)),
        }
    }

    /// Releases a record's lock, and takes the record out of the map if nothing is left in it.
    pub(super) fn release(&self, record: &Record, owner: &Arc<Owner>, sleepers: &WaitTable) {
        let mut state = record.latch();
        assert!(!state.gone, "I3: a record that is locked is in its map");
        state.changed &= !state.lock.is_held_by(owner);
        state.lock.release(owner, sleepers);
        let is_empty = state.is_empty();
        drop(state);
        if is_empty {
            self.forget(record);
        }
    }

    /// For a record that was looked up, and then not locked.
    pub(super) fn forget_if_empty(&self, record: &Record) {
        if record.latch().is_empty() {
            self.forget(record);
        }
    }

    /// Takes a record out of the map if it still is empty. The map is latched before the record, and the record is marked before
    /// the map is unlatched: a thread that finds a record gone and looks the key up again finds another record (I3).
    fn forget(&self, record: &Record) {
        let take = || {
            let mut state = record.latch();
            let take = state.is_empty() && !state.gone;
            state.gone |= take;
            take
        };
        match &self.map {
            Map::Ordered(map) => {
                let mut map = write(map);
                if take() {
                    check_removed(map.remove(&record.key), record);
                }
            }
            Map::Hash(hasher, shards) => {
                let mut map = write(shard(hasher, shards, &record.key));
                if take() {
                    check_removed(map.remove(&record.key), record);
                }
            }
        }
    }

    /// About how many bytes the records take, from the sizes of the first ones.
    pub(super) fn estimate_bytes(&self) -> u64 {
        let first: Vec<Arc<Record>> = match &self.map {
            Map::Ordered(map) => read(map).values().take(WEIGHED).cloned().collect(),
            Map::Hash(_, shards) => shards
                .iter()
                .flat_map(|shard| read(shard).values().take(WEIGHED).cloned().collect::<Vec<_>>())
                .take(WEIGHED)
                .collect(),
        };
        let bytes: usize = first.iter().map(|record| record.size()).sum();
        (self.len().max(first.len()) as u64).saturating_mul(bytes as u64) / (first.len() as u64).max(1)
    }

    /// Returns the number of records, for tests and figures.
    pub(super) fn len(&self) -> usize {
        match &self.map {
            Map::Ordered(map) => read(map).len(),
            Map::Hash(_, shards) => shards.iter().map(|shard| read(shard).len()).sum(),
        }
    }
}

fn check_removed(removed: Option<Arc<Record>>, record: &Record) {
    let is_same = removed.is_some_and(|removed| std::ptr::eq(&*removed, record));
    assert!(is_same, "I3: a record that is not gone is in its map");
}

impl State {
    fn is_empty(&self) -> bool {
        self.row.is_none() && self.lock.is_idle()
    }
}

/// Returns whether no key can lie in the range; `BTreeMap` panics on some of these.
pub(super) fn is_empty_range(lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
    match (lower, upper) {
        (Included(lower), Included(upper)) => lower > upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower >= upper,
        _ => false,
    }
}

fn shard<'s, T>(hasher: &RandomState, shards: &'s [CachePadded<T>], key: &[u8]) -> &'s T {
    &shards[hasher.hash_one(key) as usize % shards.len()]
}

fn read<T>(map: &RwLock<T>) -> impl std::ops::Deref<Target = T> + '_ {
    map.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(map: &RwLock<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    map.write().unwrap_or_else(PoisonError::into_inner)
}
