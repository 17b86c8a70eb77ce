//! Tables: an index from keys to places, and blocks of rows at these places.

use crate::block::{Block, Rows, is_first_of_more};
use crate::growing::Growing;
use crate::node::{Node, NodeRef};
use crate::undo::ColumnSet;
use crate::writer::Place;
use model::{Key, RowRef, Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::AnyIndex;
use parts::index::ordered::Cursor;
use parts::index::prefetch::{SIDE_BY_SIDE, prefetch};
use parts::memory::Meter;
use parts::sync::Mutex;
use parts::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, SeqCst},
};
use parts::{CachePadded, threads};
use smallvec::SmallVec;
use std::ops::Bound;
use std::ptr;
use std::sync::{Arc, PoisonError};

/// Threads with the same number modulo this insert into the same block.
const INSERTERS: usize = 8;
/// Columns of an announced row that are asked for, for writes that follow.
const AHEAD_COLUMNS: usize = 16;
/// So many blocks of a table are small: one of few rows is not to take twice as much memory as these.
const SMALL_BLOCKS: u32 = 16;
const SMALL_SLOTS: usize = 1024;
/// Free places at either end of their list among which one is chosen for which a block need not grow much.
const LOOKED_AT: usize = 16;
/// Blocks whose sizes tell those of all: large ones among them, too.
const WEIGHED: usize = 2 * SMALL_BLOCKS as usize;

/// How a table's rows are stored.
#[derive(Debug)]
pub(crate) struct Layout {
    pub schema: Arc<Schema>,
    /// Whether whole rows are stored, and not columns.
    pub by_row: bool,
    /// Rows of a block, and of a synopsis.
    pub block_rows: usize,
    /// Whether scans look at versioned positions only.
    pub has_synopses: bool,
    /// Whether versions are whole rows, and not the columns that a write has changed.
    pub whole_versions: bool,
    /// Counts its memory.
    pub meter: Arc<Meter>,
}

impl Layout {
    /// The columns that are copied before these are changed.
    pub fn copied(&self, changed: ColumnSet) -> ColumnSet {
        if self.whole_versions && !changed.is_empty() { ColumnSet::ALL } else { changed }
    }
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub id: TableId,
    pub layout: Layout,
    pub index: Index,
    pub blocks: Blocks,
    inserters: Box<[CachePadded<Mutex<Inserter>>]>,
    /// Columns of rows that were changed or deleted, as bits. `Relaxed`: a hint.
    written: AtomicU64,
}

/// Where some threads insert.
#[derive(Debug, Default)]
struct Inserter {
    /// Places of rows that have gone.
    free: Vec<Place>,
    /// The next place in the last block of these threads.
    next: Option<Place>,
}

/// The places of a table by their keys.
#[derive(Debug)]
pub(crate) struct Index(AnyIndex<Node>);

impl Table {
    /// An empty table.
    pub fn new(id: TableId, layout: Layout, has_small_nodes: bool) -> Table {
        let index = Index(AnyIndex::metered(&layout.schema, has_small_nodes, &layout.meter));
        let inserters: Box<[CachePadded<Mutex<Inserter>>]> = (0..INSERTERS).map(|_| CachePadded::default()).collect();
        layout.meter.charge(size_of::<Table>() + size_of_val(&*inserters));
        Table { id, layout, index, blocks: Blocks::default(), inserters, written: AtomicU64::new(0) }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.layout.schema
    }

    /// A place that is nobody's. Its block grows here, and not under the latch of a leaf, unless it has shrunk before.
    pub fn new_place(&self) -> Place {
        let own = self.inserter();
        let mut inserter = own.lock().unwrap_or_else(PoisonError::into_inner);
        if inserter.free.is_empty() && inserter.next.is_none() {
            self.take_places_of_others(own, &mut inserter.free);
        }
        if let Some(place) = self.take_free(&mut inserter.free) {
            return place;
        }
        let place = inserter.next.filter(|place| self.grows_to(*place));
        let place = place.unwrap_or_else(|| Place { block: self.blocks.add(&self.layout), slot: 0 });
        let slot = place.slot + 1;
        inserter.next = ((slot as usize) < self.layout.block_rows).then_some(Place { slot, ..place });
        place
    }

    /// Takes the last of the free places. If its block has shrunk, and would have to grow by much at once, or has too many bytes already,
    /// it takes another one that is near an end of the list: the first blocks are small, and rows seldom go in the order of their places.
    fn take_free(&self, free: &mut Vec<Place>) -> Option<Place> {
        if self.growth(*free.last()?) == Some(0) {
            return free.pop();
        }
        let ends = (0..free.len().min(LOOKED_AT)).chain(free.len().saturating_sub(LOOKED_AT)..free.len());
        let growths = ends.filter_map(|at| Some((self.growth(free[at])?, at)));
        let (_, at) = growths.min()?;
        Some(free.swap_remove(at))
    }

    /// Slots by which the block of a free place must grow for it; `None` if it has too many bytes for another row. Blocks up to
    /// [`SMALL_SLOTS`] are not looked at.
    fn growth(&self, place: Place) -> Option<usize> {
        let slot = place.slot as usize;
        if slot < SMALL_SLOTS {
            return Some(0);
        }
        let rows = self.block(place.block).read();
        (!rows.is_full()).then(|| (slot + 1).saturating_sub(rows.slots()))
    }

    /// Has the block of a place grow, if the place is the first one for which it must. False: it does not grow any more.
    fn grows_to(&self, place: Place) -> bool {
        let slot = place.slot as usize;
        if !is_first_of_more(slot, &self.layout) {
            return true;
        }
        let mut rows = self.block(place.block).write();
        if slot < rows.slots() {
            return true; // It has grown for a free place behind.
        }
        let may_be_large = self.blocks.count() > SMALL_BLOCKS;
        let grows = (may_be_large || slot < SMALL_SLOTS) && rows.may_grow();
        if grows {
            rows.make_room(slot, &self.layout);
        }
        grows
    }

    /// Gives a place back.
    pub fn free_place(&self, place: Place) {
        let mut inserter = self.inserter().lock().unwrap_or_else(PoisonError::into_inner);
        self.add_places(&mut inserter.free, [place]);
    }

    /// Takes half of the free places of some other threads, if any have some: rows need not be deleted where they are inserted. Waits for
    /// nobody, since the caller has its own latch.
    fn take_places_of_others(&self, own: &Mutex<Inserter>, free: &mut Vec<Place>) {
        let others = self.inserters.iter().map(|other| &**other).filter(|other| !ptr::eq(*other, own));
        let found = others.filter_map(|other| other.try_lock().ok()).find(|other| !other.free.is_empty());
        if let Some(mut other) = found {
            let half = other.free.len() / 2;
            self.add_places(free, other.free.drain(half..));
        }
    }

    /// Adds places to a list of free ones, whose memory counts.
    fn add_places(&self, free: &mut Vec<Place>, places: impl IntoIterator<Item = Place>) {
        let before = free.capacity();
        free.extend(places);
        let grown = free.capacity() - before;
        if grown > 0 {
            self.layout.meter.charge(grown * size_of::<Place>());
        }
    }

    fn inserter(&self) -> &Mutex<Inserter> {
        &self.inserters[threads::number() % INSERTERS]
    }

    /// The block of a place that was given.
    #[inline]
    pub fn block(&self, number: u32) -> &Block {
        self.blocks.get(number).expect("blocks are made before their places are given")
    }

    /// Notes that a statement has changed columns of a row, which others of its kind will.
    #[inline]
    pub fn note_written(&self, changed: ColumnSet) {
        let known = self.written.load(Relaxed);
        let both = ColumnSet::from_bits(known).with(changed).to_bits();
        if both != known {
            self.written.store(both, Relaxed);
        }
    }

    /// The columns of its rows that statements have changed, if they are few: whoever announces a row may be about to change them.
    fn written_before(&self) -> ColumnSet {
        let written = ColumnSet::from_bits(self.written.load(Relaxed));
        let mut few = 0;
        written.each(self.schema().columns().len(), |_| few += 1);
        if few <= AHEAD_COLUMNS { written } else { ColumnSet::NONE }
    }

    /// A new index entry, counted: [`Table::remove`] frees it.
    pub fn allocate(&self, key: &[u8], place: Place) -> NodeRef {
        let node = NodeRef::allocate(key, place);
        self.layout.meter.charge(node.memory());
        node
    }

    /// Takes the node of a slot that has let go of it out of the index, frees it and its place.
    pub fn remove(&self, node: NodeRef, key: &[u8], place: Place) {
        let guard = epoch::pin();
        assert!(self.index.0.remove(key, node.pointer(), &guard), "Y6: a row that goes is in its index");
        let bytes = node.memory();
        self.layout.meter.credit(bytes);
        // SAFETY: it was leaked when it was inserted; it has left the index and its slot, so that nobody but the
        // guards of this moment can see it.
        unsafe { epoch::retire(&guard, bytes, move || node.free()) };
        self.free_place(place);
    }

    /// Shows the rows of each block, under its latch.
    pub fn each_block(&self, mut visit: impl FnMut(&Rows)) {
        (0..self.blocks.count()).filter_map(|number| self.blocks.get(number)).for_each(|block| visit(&block.read()));
    }

    /// Puts a row, or none, in the place of whatever is there under a key, without versions: in recovery, when nobody else has
    /// the database.
    pub fn replace(&self, key: &[u8], row: Option<RowRef<'_>>) {
        let guard = epoch::pin();
        let known = self.index.get(key, &guard).map(|node| (NodeRef::of(node), node.place));
        match (known, row) {
            (None, None) => {}
            (Some((_, place)), Some(_)) => self.block(place.block).write().put(place.slot as usize, row),
            (Some((node, place)), None) => {
                let mut rows = self.block(place.block).write();
                rows.put(place.slot as usize, None);
                let left = rows.leave(place.slot as usize, &self.layout);
                drop(rows);
                assert!(left == Some(node), "Y6: a row without versions leaves its slot");
                self.remove(node, key, place);
            }
            (None, Some(_)) => {
                let place = self.new_place();
                let inserted = self.index.insert(key, &guard, || {
                    let node = self.allocate(key, place);
                    let mut rows = self.block(place.block).write();
                    rows.make_room(place.slot as usize, &self.layout);
                    rows.take(place.slot as usize, node);
                    rows.put(place.slot as usize, row);
                    node
                });
                assert!(inserted.is_ok(), "nobody else inserts");
            }
        }
    }

    /// Frees all rows of a table that nobody uses any more. The rest of it stays counted until it is dropped.
    pub fn clear(&self) {
        for number in 0..self.blocks.count() {
            let Some(block) = self.blocks.get(number) else { continue };
            let gone = block.write().clear(&self.layout);
            for (slot, node) in gone {
                self.remove(node, &node.key().clone(), Place { block: number, slot });
            }
        }
    }

    /// Brings the index entries of the first [`SIDE_BY_SIDE`] keys near, their slots, and columns of their rows.
    pub fn prefetch(&self, keys: &[Key], columns: ColumnSet) {
        if keys.len() < 2 || !keys.iter().all(|key| self.schema().check_key(key).is_ok()) {
            return;
        }
        let guard = epoch::pin();
        let mut nodes: SmallVec<[&Node; SIDE_BY_SIDE]> = SmallVec::new();
        self.index.0.prefetch_entries(keys, &guard, |node| nodes.push(node));
        nodes.iter().for_each(|node| self.block(node.place.block).prefetch());
        let columns = columns.with(self.written_before());
        for Place { block, slot } in nodes.into_iter().map(|node| node.place) {
            self.block(block).read().prefetch(slot as usize, columns);
        }
    }

    /// About how many bytes its keys and rows take with their versions, from the sizes of some blocks and index entries.
    pub fn estimate_bytes(&self) -> u64 {
        let keys = self.index.estimate(Bound::Unbounded, Bound::Unbounded).unwrap_or_default();
        let count = self.blocks.count();
        let weighed =
            (0..count).step_by((count as usize).div_ceil(WEIGHED).max(1)).filter_map(|at| self.blocks.get(at));
        let sizes: Vec<u64> = weighed
            .map(|block| {
                let rows = block.read();
                // Keys stand in the index entries, whatever their lengths.
                if rows.is_free() { 0 } else { (rows.memory() + rows.memory_of_chains() + rows.key_bytes()) as u64 }
            })
            .collect();
        let rows = u64::from(count) * sizes.iter().sum::<u64>() / (sizes.len() as u64).max(1);
        rows + keys * (size_of::<Node>() + size_of::<usize>()) as u64
    }

    /// Returns the number of older versions of its rows.
    pub fn versions(&self) -> u64 {
        let mut versions = 0;
        self.each_block(|rows| versions += rows.versions());
        versions
    }

    /// Brings the index entries of a group of keys near, and the blocks of their rows: in recovery, when nobody else has the database.
    /// The keys are the table's.
    pub fn prefetch_group(&self, keys: &[&[u8]]) {
        let guard = epoch::pin();
        let near = |node: &Node| {
            let block = self.blocks.get(node.place.block);
            block.inspect(|block| prefetch(ptr::from_ref(*block), size_of::<Block>()));
        };
        self.index.0.prefetch_entries(keys, &guard, near);
    }

    /// Returns the number of index entries.
    pub fn len(&self) -> usize {
        self.index.0.len()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // Nobody else has the table, so nobody finds its nodes.
        self.index.0.drain(|node| NodeRef::at(node).free());
        let (blocks, inserters) = (self.blocks.blocks.bytes(), self.inserters.iter());
        let free = |inserter: &Mutex<Inserter>| inserter.lock().unwrap_or_else(PoisonError::into_inner).free.capacity();
        let places = inserters.map(|inserter| free(inserter)).sum::<usize>() * size_of::<Place>();
        self.layout.meter.credit(size_of::<Table>() + size_of_val(&*self.inserters) + blocks + places);
    }
}

impl Index {
    /// The node of a key.
    #[inline]
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g Node> {
        self.0.get(key, guard)
    }

    /// Inserts the node that `make` returns, which has this key, unless the key is taken. `make` runs under the latch of the key's
    /// leaf.
    ///
    /// # Errors
    /// It is: the node that has it.
    pub fn insert<'g>(&self, key: &[u8], guard: &'g Guard, make: impl FnOnce() -> NodeRef) -> Result<(), &'g Node> {
        let make = || {
            let node = make();
            assert!(**node.key() == *key, "a node is found by its key");
            node.pointer()
        };
        // SAFETY: the node has this key; it is freed by the epoch, after it was taken out.
        unsafe { self.0.insert(key, guard, make) }.map(drop)
    }

    /// About how many keys lie between two bounds; `None` of some of those that have no order.
    pub fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        self.0.estimate(lower, upper)
    }

    /// Keys from all over the index, if it has an order.
    pub fn sample(&self, most: usize) -> Vec<Key> {
        let guard = epoch::pin();
        let nodes = if self.0.is_ordered() { self.0.sample(most, &guard) } else { Vec::new() };
        nodes.into_iter().map(|node| node.key.clone()).collect()
    }

    /// Puts the nodes of the next leaf of a range into an empty batch, `most` at most. Returns whether more may follow.
    /// None in a hash table.
    pub fn scan_leaf<'g>(&self, cursor: &mut Cursor, most: usize, guard: &'g Guard, batch: &mut Vec<&'g Node>) -> bool {
        self.0.scan_leaf(cursor, most, guard, batch)
    }
}

/// The blocks of a table, which only grow in number. Read without a latch.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: Growing<Block>,
    count: AtomicU32,
}

impl Blocks {
    /// Adds an empty block. Returns its number.
    fn add(&self, layout: &Layout) -> u32 {
        let number = self.count.fetch_add(1, SeqCst);
        let block = Block::new(layout);
        layout.meter.charge(self.blocks.set(number, block));
        number
    }

    /// A block; `None` while it is being added.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Block> {
        self.blocks.get(number)
    }

    /// Returns the number of blocks, added or being added.
    pub fn count(&self) -> u32 {
        self.count.load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::MOST_BYTES;
    use std::ops::Range;

    fn table(schema: Schema, block_rows: usize) -> (Table, Arc<Meter>) {
        let meter = Arc::new(Meter::default());
        let (schema, by_row, has_synopses, whole_versions) = (Arc::new(schema), false, true, false);
        let layout = Layout { schema, by_row, block_rows, has_synopses, whole_versions, meter: meter.clone() };
        (Table::new(TableId(0), layout, false), meter)
    }

    /// Slots and bytes of the blocks of a table with so many rows of so many bytes.
    fn blocks(rows: u64, bytes: usize) -> Vec<(usize, usize)> {
        let (table, _) = table(Schema::bytes("t").u64_key().build().expect("a good schema"), 16_384);
        let row = vec![7; bytes];
        (0..rows).for_each(|key| table.replace(&Key::from(key), Some(RowRef::new(&row))));
        let mut blocks = Vec::new();
        table.each_block(|rows| blocks.push((rows.slots(), rows.memory())));
        blocks
    }

    /// The first blocks stay small, and those of long rows do.
    #[test]
    fn blocks_grow_up_to_a_number_of_rows_or_bytes() {
        let slots = |blocks: &[(usize, usize)]| blocks.iter().map(|(slots, _)| *slots).collect::<Vec<_>>();
        assert_eq!(slots(&blocks(10 * 1024 + 1, 8)), [[1024; 10].as_slice(), &[16]].concat());
        assert_eq!(slots(&blocks(17 * 1024 + 2 * 16_384, 8)), [[1024; 16].as_slice(), &[16_384; 2], &[1024]].concat());
        for (bytes, rows, expected) in [(900, 20 * 1024, 2048), (10_000, 20 * 128, 128), (100_000, 20 * 16, 16)] {
            let long = blocks(rows, bytes);
            let (last, full) = long.split_last().expect("some");
            assert!(last.0 <= expected && full.iter().all(|(_, memory)| *memory < MOST_BYTES * 5 / 4));
            assert!(full[16..].iter().all(|(slots, _)| *slots == expected), "{bytes}: {full:?}");
        }
    }

    /// A row that comes and goes in a table that was large: its block does not grow to its last slot each time.
    #[test]
    fn a_place_in_a_shrunk_block_is_taken_last() {
        const ROWS: u64 = 16 * 1024 + 16_384;
        let (table, _) = table(Schema::bytes("t").u64_key().build().expect("a good schema"), 16_384);
        let row = RowRef::new(b"row");
        (0..ROWS).for_each(|key| table.replace(&Key::from(key), Some(row)));
        (0..ROWS).for_each(|key| table.replace(&Key::from(key), None));
        let slots = || {
            let mut slots = 0;
            table.each_block(|rows| slots += rows.slots());
            slots
        };
        assert_eq!(slots(), 17 * 16, "all have shrunk");
        for key in 0..100 {
            table.replace(&Key::from(key), Some(row));
            assert_eq!(slots(), 17 * 16, "{key}");
            table.replace(&Key::from(key), None);
        }
    }

    /// Rows that became long make their block so large that no others come there.
    #[test]
    fn no_place_is_taken_in_a_block_with_too_many_bytes() {
        let (table, _) = table(Schema::bytes("t").u64_key().build().expect("a good schema"), 16_384);
        let put = |keys: Range<u64>, row: Option<&[u8]>| {
            keys.for_each(|key| table.replace(&Key::from(key), row.map(RowRef::new)));
        };
        let first = 16 * 1024 + 2048; // The slots below are another block's, or low ones.
        put(0..16 * 1024 + 16_384, Some(b"short"));
        put(first..first + 4000, Some(&[7; 1000]));
        put(first..first + 100, None);
        put(100_000..100_100, Some(b"short"));
        let mut counts = Vec::new();
        table.each_block(|rows| counts.push((0..rows.slots()).filter(|&slot| rows.is_in_place(slot)).count()));
        assert_eq!(counts[16..], [16_284, 100]);
        put(first + 100..first + 4000, Some(b"short"));
        put(first + 100..first + 200, None);
        put(200_000..200_100, Some(b"short"));
        assert_eq!(table.blocks.count(), 18);
    }

    /// Places of rows that have gone are noted in memory that counts, until the table goes.
    #[test]
    fn lists_of_places_are_counted() {
        let (table, meter) = table(Schema::bytes("t").u64_key().build().expect("a good schema"), 16);
        let places: Vec<Place> = (0..2000).map(|_| table.new_place()).collect();
        let before = meter.used();
        places.iter().for_each(|place| table.free_place(*place));
        assert!(meter.used() - before >= size_of_val(&*places));
        drop(table);
        assert_eq!(meter.used(), 0);
    }
}
