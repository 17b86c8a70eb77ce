//! Tables: an index from keys to records each. Planners change it; all read it.

use crate::position::Position;
use crate::record::{Record, RecordRef};
use crate::version::VersionRef;
use model::{Invalid, Limit, LimitKind, Result, Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::prefetch::prefetch;
use parts::index::{AnyIndex, KeyHash, Walk};
use parts::memory::Meter;
use parts::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
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
    /// Position of its drop; above all positions as long as there is none. `Relaxed`: stored by the sequencer before the batch is
    /// sealed; whoever looks at the same time may see either.
    dropped_at: AtomicU64,
    /// Room that new versions get: the longest row so far that may stand in its version. `Relaxed`: a hint.
    pub row_bytes: AtomicU32,
}

/// The records of a table by their keys.
#[derive(Debug)]
pub(crate) struct Index(AnyIndex<Record>);

/// The tables by their numbers, which are given once. A dropped table stays in its place, for calls before the drop.
#[derive(Debug)]
pub(crate) struct Tables {
    places: Box<[OnceLock<Table>]>,
    /// Held while a table is created or dropped.
    names: Mutex<Names>,
    /// Drops so far. `Relaxed`: read and written by the sequencer, and read before a footprint is checked by others: a call that has
    /// seen an older number is checked again.
    drops: AtomicU64,
    /// Counts the nodes of indexes.
    meter: Arc<Meter>,
}

#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Names of the tables that are not dropped.
    listed: Vec<(String, TableId)>,
    /// The next table's number.
    pub next: u32,
}

impl Tables {
    /// Room for so many.
    pub fn new(limit: usize, meter: Arc<Meter>) -> Tables {
        let places = (0..limit).map(|_| OnceLock::new()).collect();
        Tables { places, names: Mutex::default(), drops: AtomicU64::new(0), meter }
    }

    #[inline]
    pub fn get(&self, id: TableId) -> Option<&Table> {
        self.places.get(id.0 as usize)?.get()
    }

    /// The table of a number, unless it was dropped.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`].
    #[inline]
    pub fn find(&self, id: TableId) -> Result<&Table> {
        self.find_at(id, Position::from_number(u64::MAX - 1))
    }

    /// The table of a number, unless it was dropped before a position.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`].
    #[inline]
    pub fn find_at(&self, id: TableId, position: Position) -> Result<&Table> {
        let found = self.get(id).filter(|table| position < table.dropped_at());
        found.ok_or_else(|| Invalid::UnknownTable { table: format!("number {}", id.0) }.into())
    }

    /// The number of a name.
    pub fn named(&self, name: &str) -> Option<TableId> {
        self.names().listed.iter().find(|(listed, _)| listed == name).map(|(_, id)| *id)
    }

    /// Creates a table, once `log` has logged it.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`LimitKind::Tables`]; those of `log`.
    pub fn create(
        &self,
        schema: Schema,
        has_small_nodes: bool,
        log: impl FnOnce(TableId, &Schema) -> Result<()>,
    ) -> Result<TableId> {
        let mut names = self.names();
        if names.listed.iter().any(|(name, _)| name == schema.name()) {
            return Err(Invalid::TableExists { table: schema.name().into() }.into());
        }
        self.place(&mut names, schema, has_small_nodes, log)
    }

    /// Gives a table the next number, once `log` has logged it.
    fn place(
        &self,
        names: &mut Names,
        schema: Schema,
        has_small_nodes: bool,
        log: impl FnOnce(TableId, &Schema) -> Result<()>,
    ) -> Result<TableId> {
        let id = TableId(names.next);
        let Some(place) = self.places.get(id.0 as usize) else {
            let (limit, actual) = (self.places.len() as u64, u64::from(id.0) + 1);
            return Err(Limit { kind: LimitKind::Tables, limit, actual }.into());
        };
        log(id, &schema)?;
        names.listed.push((schema.name().into(), id));
        names.next += 1;
        let is_first = place.set(Table::new(id, schema, has_small_nodes, &self.meter)).is_ok();
        assert!(is_first, "a number is given once, under the latch of the names");
        Ok(id)
    }

    /// Creates a table that was logged, with its number. Its name may be that of an older one: a checkpoint has both, if the drop of that
    /// one was not executed yet, and is behind it in the log.
    ///
    /// # Errors
    /// The number is taken: [`Invalid::TableExists`]; [`LimitKind::Tables`].
    pub fn restore(&self, id: TableId, schema: Schema, has_small_nodes: bool) -> Result<()> {
        let mut names = self.names();
        // Numbers of tables that were dropped are not given again.
        names.next = names.next.max(id.0);
        self.place(&mut names, schema, has_small_nodes, |given, schema| {
            let taken = || Invalid::TableExists { table: schema.name().into() };
            if given == id { Ok(()) } else { Err(taken().into()) }
        })?;
        Ok(())
    }

    /// Gives no number below this again.
    pub fn reserve(&self, next: TableId) {
        let mut names = self.names();
        names.next = names.next.max(next.0);
    }

    /// Drops a table at a position of a batch that is about to be sealed: the sequencer.
    pub fn drop_at(&self, id: TableId, position: Position) {
        let table = self.get(id).expect("a drop is refused if there is no such table");
        self.names().listed.retain(|(_, listed)| *listed != id);
        table.dropped_at.store(position.number(), Relaxed);
        self.drops.fetch_add(1, Relaxed);
    }

    /// Drops so far.
    pub fn drops(&self) -> u64 {
        self.drops.load(Relaxed)
    }

    /// All tables, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Table> {
        self.places.iter().filter_map(|place| place.get())
    }

    /// All tables, for their last owner.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.places.iter_mut().filter_map(|place| place.get_mut())
    }

    /// Holds creations and drops up.
    pub fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn new(id: TableId, schema: Schema, has_small_nodes: bool, meter: &Arc<Meter>) -> Table {
        let index = Index(AnyIndex::metered(&schema, has_small_nodes, meter));
        let (dropped_at, row_bytes) = (AtomicU64::new(u64::MAX), AtomicU32::new(FIRST_ROOM));
        Table { id, schema: Arc::new(schema), index, dropped_at, row_bytes }
    }

    fn dropped_at(&self) -> Position {
        Position::from_number(self.dropped_at.load(Relaxed))
    }

    /// Returns whether a batch sees it that it was dropped in, or after.
    pub fn was_dropped_after(&self, batch: u64) -> bool {
        self.dropped_at().batch() > batch
    }

    /// Returns whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.dropped_at.load(Relaxed) < u64::MAX
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

    /// Whether its keys have an order.
    pub fn is_ordered(&self) -> bool {
        self.0.is_ordered()
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

    /// Begins a walk over all records.
    pub fn walk(&self) -> Walk {
        self.0.walk()
    }

    /// Puts the next records of a walk into an empty batch. Returns whether more may follow.
    pub fn walk_on(&self, walk: &mut Walk, batch: &mut Vec<RecordRef>) -> bool {
        let guard = epoch::pin();
        let mut found: Vec<&Record> = Vec::new();
        let more = self.0.walk_on(walk, &guard, &mut found);
        batch.extend(found.into_iter().map(RecordRef::of));
        more
    }

    /// Brings the records of some keys near, side by side: the one step of an ordered table.
    pub fn prefetch_ordered(&self, keys: &[impl AsRef<[u8]>], guard: &Guard) {
        self.0.prefetch_entries(keys, guard, |record| prefetch(record, size_of::<Record>()));
    }

    /// Brings the newest versions of some keys near, side by side.
    pub fn prefetch_newest(&self, keys: &[impl AsRef<[u8]>], guard: &Guard) {
        self.0.prefetch_entries(keys, guard, |record| record.newest().prefetch());
    }

    /// The first step of a lookup in steps: the hash, and a hint for the bucket.
    #[inline]
    pub fn begin_lookup(&self, key: &[u8]) -> KeyHash {
        let hash = self.0.hash_of(key);
        self.0.prefetch_bucket(hash);
        hash
    }

    /// The second one, once the bucket is near: a hint for the record.
    #[inline]
    pub fn prefetch_record(&self, hash: KeyHash) {
        self.0.prefetch_entry(hash);
    }

    /// The last one.
    #[inline]
    pub fn get_hashed(&self, key: &[u8], hash: KeyHash, guard: &Guard) -> Option<RecordRef> {
        self.0.get_hashed(key, hash, guard).map(RecordRef::of)
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

/// Returns which of some planners owns a key.
pub(crate) fn planner_of(table: TableId, key: &[u8], planners: usize) -> u8 {
    if planners == 1 {
        return 0;
    }
    let seed = u64::from(table.0) ^ 0xcbf2_9ce4_8422_2325;
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash: u64 = key.iter().fold(seed, mix);
    // The high bits of the product decide, so that the low ones of a last byte do not alone.
    ((u128::from(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * planners as u128) >> 64) as u8
}
