//! Tables: objects by their keys, and the ranges that active transactions have scanned.

use crate::object::Object;
use crate::slots::Slots;
use crate::turn::Turn;
use model::{Direction, Invalid, Key, Limit, LimitKind, Result, Schema, Storage, TableId};
use parts::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use parts::sync::{Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, PoisonError};

/// Parts of a table that is stored by hash, each with a latch of its own.
const SHARDS: usize = 64;

/// A part of a table that is stored by hash.
type Shard = RwLock<HashMap<Key, Arc<Object>>>;

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub id: TableId,
    pub schema: Arc<Schema>,
    index: Index,
    pub ranges: Ranges,
}

#[derive(Debug)]
enum Index {
    Ordered(RwLock<BTreeMap<Key, Arc<Object>>>),
    Hash(RandomState, Box<[Shard]>),
}

/// The tables by their numbers.
#[derive(Debug)]
pub(crate) struct Tables {
    places: Box<[OnceLock<Arc<Table>>]>,
    /// How many there are. Held while one is created.
    count: Mutex<usize>,
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Tables {
    /// Room for so many.
    pub fn new(limit: usize) -> Tables {
        Tables { places: (0..limit).map(|_| OnceLock::new()).collect(), count: Mutex::default() }
    }

    /// The table of a number.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`].
    pub fn find(&self, id: TableId) -> Result<&Arc<Table>> {
        let found = self.places.get(id.0 as usize).and_then(OnceLock::get);
        found.ok_or_else(|| Invalid::UnknownTable { table: format!("number {}", id.0) }.into())
    }

    /// Creates a table. Every node does, at the same place of the order, so that the numbers agree.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`LimitKind::Tables`].
    pub fn create(&self, schema: Schema) -> Result<TableId> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if self.all().any(|table| table.schema.name() == schema.name()) {
            return Err(Invalid::TableExists { table: schema.name().into() }.into());
        }
        let Some(place) = self.places.get(*count) else {
            let (limit, actual) = (self.places.len() as u64, *count as u64 + 1);
            return Err(Limit { kind: LimitKind::Tables, limit, actual }.into());
        };
        let id = TableId(*count as u32);
        let is_first = place.set(Arc::new(Table::new(id, schema))).is_ok();
        assert!(is_first, "a number is given once, under the latch of the count");
        *count += 1;
        Ok(id)
    }

    /// All tables, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.places.iter().map_while(OnceLock::get)
    }
}

impl Table {
    fn new(id: TableId, schema: Schema) -> Table {
        let index = match schema.storage() {
            Storage::Ordered => Index::Ordered(RwLock::default()),
            Storage::Hash => Index::Hash(RandomState::new(), (0..SHARDS).map(|_| RwLock::default()).collect()),
        };
        Table { id, schema: Arc::new(schema), index, ranges: Ranges::default() }
    }

    /// The object of a key, if there is one.
    pub fn get(&self, key: &[u8]) -> Option<Arc<Object>> {
        match &self.index {
            Index::Ordered(rows) => read(rows).get(key).cloned(),
            Index::Hash(state, shards) => read(shard(state, shards, key)).get(key).cloned(),
        }
    }

    /// The object of a key. A key without a row has one as long as a transaction has to do with it.
    pub fn get_or_insert(&self, key: &[u8]) -> Arc<Object> {
        if let Some(found) = self.get(key) {
            return found;
        }
        let owned = Key::from_bytes(key);
        let make = || Arc::new(Object::new(self.id, owned.clone()));
        match &self.index {
            Index::Ordered(rows) => write(rows).entry(owned.clone()).or_insert_with(make).clone(),
            Index::Hash(state, shards) => {
                write(shard(state, shards, key)).entry(owned.clone()).or_insert_with(make).clone()
            }
        }
    }

    /// Removes an object of which there is nothing to know. Whoever else has it ends later, and looks again: each hands its own
    /// over, which goes under the latch, so that the last one sees that it is the last.
    pub fn sweep(&self, object: Arc<Object>) {
        if !object.is_vacant() {
            return;
        }
        let key = object.key.clone();
        // Under the latch nobody finds it; without another handle nobody uses it.
        let is_free = |found: Option<&Arc<Object>>, object: Arc<Object>| {
            let is_it = found.is_some_and(|found| Arc::ptr_eq(found, &object));
            drop(object);
            is_it && found.is_some_and(|found| Arc::strong_count(found) == 1 && found.is_vacant())
        };
        match &self.index {
            Index::Ordered(rows) => {
                let mut rows = write(rows);
                if is_free(rows.get(&key), object) {
                    rows.remove(&key);
                }
            }
            Index::Hash(state, shards) => {
                let mut rows = write(shard(state, shards, &key));
                if is_free(rows.get(&key), object) {
                    rows.remove(&key);
                }
            }
        }
    }

    /// The next objects of a range, `most` at most, in the order of a scan. None in a table that is stored by hash.
    pub fn range(&self, range: &KeyRange, direction: Direction, most: usize) -> Vec<Arc<Object>> {
        let Index::Ordered(rows) = &self.index else { return Vec::new() };
        if range.is_empty() {
            return Vec::new();
        }
        let rows = read(rows);
        let found = rows.range::<[u8], _>((as_slice(&range.lower), as_slice(&range.upper))).map(|(_, object)| object);
        match direction {
            Direction::Forward => found.take(most).cloned().collect(),
            Direction::Backward => found.rev().take(most).cloned().collect(),
        }
    }

    /// All objects, in no order.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        match &self.index {
            Index::Ordered(rows) => read(rows).values().cloned().collect(),
            Index::Hash(_, shards) => {
                shards.iter().flat_map(|rows| read(rows).values().cloned().collect::<Vec<_>>()).collect()
            }
        }
    }
}

fn shard<'s, T>(state: &RandomState, shards: &'s [T], key: &[u8]) -> &'s T {
    &shards[state.hash_one(key) as usize % SHARDS]
}

fn as_slice(bound: &Bound<Key>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

/// A range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
}

impl KeyRange {
    pub fn contains(&self, key: &[u8]) -> bool {
        RangeBounds::<[u8]>::contains(&(as_slice(&self.lower), as_slice(&self.upper)), key)
    }

    /// Returns whether its bounds are the wrong way round, which a sorted map refuses.
    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
                lower >= upper
            }
        }
    }

    /// What is left behind a key.
    pub fn behind(&mut self, key: &Key, direction: Direction) {
        match direction {
            Direction::Forward => self.lower = Bound::Excluded(key.clone()),
            Direction::Backward => self.upper = Bound::Excluded(key.clone()),
        }
    }
}

/// Ranges that active transactions have scanned: who writes a key looks for later ones around it.
///
/// A scan enters its range before it looks at objects, and a writer owns its object before it looks for ranges: one of them sees the
/// other (D4).
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// How many there are: most writers find none, without the latch. Its partner is the latch of the object.
    count: AtomicUsize,
    active: Mutex<Vec<(Turn, KeyRange)>>,
}

impl Ranges {
    fn lock(&self) -> MutexGuard<'_, Vec<(Turn, KeyRange)>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a range of a transaction, before it looks at its objects.
    pub fn enter(&self, turn: Turn, range: KeyRange) {
        self.lock().push((turn, range));
        self.count.fetch_add(1, SeqCst);
    }

    /// Forgets the ranges of a transaction.
    pub fn leave(&self, turn: Turn) {
        let mut active = self.lock();
        let before = active.len();
        active.retain(|(of, _)| *of != turn);
        self.count.fetch_sub(before - active.len(), SeqCst);
    }

    /// Aborts later transactions that have scanned around a key, of which `turn` owns the object.
    pub fn abort_later(&self, turn: Turn, key: &[u8], slots: &Slots) {
        if self.count.load(SeqCst) == 0 {
            return;
        }
        let active = self.lock();
        let later = active.iter().filter(|(of, range)| *of > turn && range.contains(key));
        let readers = later.fold(0, |readers, (of, _)| readers | slots.bit(*of));
        slots.abort(readers, turn);
    }
}
