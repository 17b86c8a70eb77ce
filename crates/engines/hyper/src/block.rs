//! Blocks: rows in place, the chains of what stood there before, and where chains are.
//!
//! ```text
//!          columns              chain of undo entries, newest first
//! slot 0   7  'a'  12           -
//! slot 1   8  'b'  15  <------- {12: was 14, writer T9} <- {was 11, writer T4}
//! slot 2   9  'c'  31           -
//!          versioned slots: 0 1 0
//! ```
//!
//! One latch for each block: it is held for a look at a row or a pass over the block, never while a thread waits for
//! anything else or a caller's code runs. A row's chain is its block's, so whoever has the latch follows it without
//! further ado (Y4). Source: sections 2.1, 2.2 and 2.6.

use crate::collect::Collectable;
use crate::node::NodeRef;
use crate::patch::Patch;
use crate::store::Store;
use crate::table::Layout;
use crate::undo::{ColumnSet, Image, Undecided, Undo};
use crate::writer::Writer;
use model::{Columns, Key, LogPosition, RawValue, RowBuf, RowRef};
use parts::index::prefetch::prefetch;
use parts::memory::Meter;
use parts::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

/// Slots that a new block has room for at most. It doubles up to its full size.
const FIRST_SLOTS: usize = 16;
/// A block that would take more bytes does not double any more: a column that grows is copied into one piece, which the system must have.
/// Texts have room for a quarter more than they take ([`Rows::is_full`]).
pub(crate) const MOST_BYTES: usize = 2 << 20;

/// Keys whose lengths tell those of all in a block.
const MOST_WEIGHED: usize = 1024;

/// Slots that a new block has room for: half of a small one, so that each block grows.
fn first_slots(layout: &Layout) -> usize {
    FIRST_SLOTS.min(layout.block_rows.div_ceil(2))
}

/// Returns whether a slot is the first one for which its block may have to grow.
pub(crate) fn is_first_of_more(slot: usize, layout: &Layout) -> bool {
    let first = first_slots(layout);
    slot >= first && slot.is_multiple_of(first) && (slot / first).is_power_of_two()
}

/// A block of rows.
#[derive(Debug)]
pub(crate) struct Block(RwLock<Rows>);

/// The rows of a block, under its latch.
#[derive(Debug)]
pub(crate) struct Rows {
    store: Store,
    /// Which slots have a row in place.
    there: Vec<u64>,
    /// The version vector, and the index entries beside it: whoever looks at one looks at the other.
    slots: Vec<Slot>,
    /// Number of slots that are taken.
    taken: usize,
    /// Which slots have a chain: the synopsis, by which scans tell them from the others without a look at them.
    chained: Vec<u64>,
    /// Number of chains.
    versioned: usize,
    /// Number of rows in place.
    in_place: usize,
    meter: Arc<Meter>,
    /// The bytes that the meter has of it, without its chains.
    counted: usize,
}

/// What belongs to a row beside its values.
#[derive(Debug, Default)]
struct Slot {
    /// Its index entry, if the slot is taken.
    node: Option<NodeRef>,
    /// Its versions.
    chain: Option<Box<Undo>>,
}

impl Block {
    /// An empty block.
    pub fn new(layout: &Layout) -> Block {
        Block(RwLock::new(Rows::new(layout, first_slots(layout))))
    }

    /// Asks for the latch, and for what stands beside it.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self, size_of::<Block>());
    }

    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its rows, unless somebody changes one now.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, Rows>> {
        self.0.try_read().ok()
    }

    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A version of a row: what stands in place, with some entries of its chain undone.
#[derive(Debug)]
pub(crate) struct Version<'r> {
    rows: &'r Rows,
    slot: usize,
    undone: SmallVec<[&'r Undo; 4]>,
    is_there: bool,
    /// The entry above which nothing was undone: its writer's record is what the version rests on.
    made_by: Option<&'r Undo>,
}

impl<'r> Version<'r> {
    /// Where the record of its writer ends in the log; zero once that is durable for sure (Y10), and for own versions.
    #[inline]
    pub fn position(&self) -> LogPosition {
        self.made_by.map_or(LogPosition::ZERO, |undo| undo.writer().position())
    }

    /// Returns whether there is a row.
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// The value of a column of a row that is there; of a row that is stored whole, its bytes.
    #[inline]
    pub fn value(&self, column: u16) -> RawValue<'r> {
        let before = self.undone.iter().rev().find_map(|undo| undo.image.get(column));
        before.unwrap_or_else(|| self.rows.store.get(column, self.slot))
    }

    /// The value of a column of a typed row that is there, however it is stored.
    #[inline]
    pub fn column(&self, column: u16) -> RawValue<'r> {
        match (self.rows.store(), self.value(if self.rows.store.is_by_row() { 0 } else { column })) {
            (Store::Rows(_), RawValue::Bytes(bytes)) => RowRef::new(bytes).raw(usize::from(column)),
            (_, value) => value,
        }
    }

    /// Copies columns of a row that is there.
    #[inline]
    pub fn copy(&self, columns: Columns<'_>, row: &mut RowBuf) {
        if self.undone.is_empty() {
            self.rows.store.copy(self.slot, columns, row);
        } else {
            self.rows.store.copy_with(columns, row, |column| self.value(column));
        }
    }

    fn undo(&mut self, undo: &'r Undo) {
        self.undone.push(undo);
        self.is_there = undo.was_there;
    }
}

impl Rows {
    fn new(layout: &Layout, slots: usize) -> Rows {
        let mut rows = Rows {
            store: Store::new(&layout.schema, layout.by_row, slots),
            there: vec![0; slots.div_ceil(64)],
            slots: (0..slots).map(|_| Slot::default()).collect(),
            taken: 0,
            chained: vec![0; slots.div_ceil(64)],
            versioned: 0,
            in_place: 0,
            meter: layout.meter.clone(),
            counted: 0,
        };
        rows.count();
        rows
    }

    /// Has the meter count what it takes now.
    fn count(&mut self) {
        let now = self.memory();
        self.meter.add(now as isize - self.counted as isize);
        self.counted = now;
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns whether no slot is taken.
    pub fn is_free(&self) -> bool {
        self.taken == 0
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether a slot is that of an index entry.
    #[inline]
    pub fn is_of(&self, slot: usize, node: NodeRef) -> bool {
        self.slots.get(slot).is_some_and(|it| it.node == Some(node))
    }

    /// The key of a slot that is taken.
    pub fn key(&self, slot: usize) -> Option<&Key> {
        self.slots.get(slot)?.node.as_ref().map(NodeRef::key)
    }

    /// Returns whether a slot has a row in place.
    #[inline]
    pub fn is_in_place(&self, slot: usize) -> bool {
        self.there[slot / 64] >> (slot % 64) & 1 != 0
    }

    fn set_in_place(&mut self, slot: usize, is_there: bool) {
        let (word, at) = (&mut self.there[slot / 64], slot % 64);
        let was_there = *word >> at & 1 != 0;
        *word = *word & !(1 << at) | u64::from(is_there) << at;
        self.in_place = self.in_place + usize::from(is_there) - usize::from(was_there);
    }

    /// Which of 64 slots, from a multiple of 64 on, have a row in place.
    pub fn there(&self, word: usize) -> u64 {
        self.there.get(word).copied().unwrap_or(0)
    }

    /// Returns whether every slot has a row in place: then nobody need look where they are.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.in_place == self.slots.len()
    }

    /// Which of 64 slots, from a multiple of 64 on, have a row in place and no versions: everybody sees it.
    #[inline]
    pub fn unversioned(&self, word: usize) -> u64 {
        self.there(word) & !self.chained.get(word).copied().unwrap_or(0)
    }

    /// Notes whether a slot has a chain.
    fn set_chained(&mut self, slot: usize, is_chained: bool) {
        let bit = 1 << (slot % 64);
        let word = &mut self.chained[slot / 64];
        if is_chained {
            *word |= bit;
            self.versioned += 1;
        } else {
            *word &= !bit;
            self.versioned -= 1;
        }
    }

    /// What stands in place.
    pub fn newest(&self, slot: usize) -> Version<'_> {
        Version { rows: self, slot, undone: SmallVec::new(), is_there: self.is_in_place(slot), made_by: None }
    }

    /// The version that a transaction of this start reads: section 2.2.
    ///
    /// # Errors
    /// Somebody's decision must be awaited.
    #[inline]
    pub fn visible(&self, slot: usize, start: u64, own: Option<&Arc<Writer>>) -> Result<Version<'_>, Undecided> {
        let mut version = self.newest(slot);
        let mut next = self.slots[slot].chain.as_deref();
        while let Some(undo) = next
            && !undo.is_visible(start, own)?
        {
            version.undo(undo);
            next = undo.older.as_deref();
        }
        version.made_by = next;
        Ok(version)
    }

    /// The versions after and before a committed writer's changes of a row, which must still be in its chain.
    pub fn around(&self, slot: usize, writer: &Arc<Writer>) -> Option<(Version<'_>, Version<'_>)> {
        let is_its = |undo: &Undo| Arc::ptr_eq(undo.writer(), writer);
        let mut after = self.newest(slot);
        let mut next = self.slots[slot].chain.as_deref();
        while let Some(undo) = next.filter(|undo| !is_its(undo)) {
            after.undo(undo);
            next = undo.older.as_deref();
        }
        next?;
        let mut before = Version { undone: after.undone.clone(), ..after };
        while let Some(undo) = next.filter(|undo| is_its(undo)) {
            before.undo(undo);
            next = undo.older.as_deref();
        }
        Some((after, before))
    }

    /// Copies columns of a row that has no versions: everybody sees what stands in place. Returns whether there is a row; `None` if
    /// it has versions.
    #[inline]
    pub fn copy_unversioned(&self, slot: usize, columns: Columns<'_>, row: &mut RowBuf) -> Option<bool> {
        if self.slots[slot].chain.is_some() {
            return None;
        }
        let is_there = self.is_in_place(slot);
        if is_there {
            self.store.copy(slot, columns, row);
        } else {
            row.clear();
        }
        Some(is_there)
    }

    /// Returns whether the newest entry of a row's chain is a writer's.
    #[inline]
    pub fn is_owned_by(&self, slot: usize, writer: Option<&Arc<Writer>>) -> bool {
        self.slots.get(slot).and_then(|it| it.chain.as_deref()).is_some_and(|head| head.is_of(writer))
    }

    /// The newest entry of a row's chain.
    #[inline]
    pub fn head(&self, slot: usize) -> Option<&Undo> {
        self.slots[slot].chain.as_deref()
    }

    /// The slots of a range that have chains, in their order. The range begins at a multiple of 64, and ends at one or with the last slot.
    pub fn versioned(&self, range: Range<usize>) -> impl Iterator<Item = usize> + Clone {
        debug_assert!(range.start.is_multiple_of(64) && (range.end.is_multiple_of(64) || range.end == self.slots()));
        // Most blocks have none.
        let words = if self.versioned == 0 { 0..0 } else { range.start / 64..range.end.div_ceil(64) };
        let some = |bits: u64| (bits != 0).then_some(bits);
        (words.start..).zip(&self.chained[words]).filter(|(_, bits)| **bits != 0).flat_map(move |(word, bits)| {
            let rest = std::iter::successors(some(*bits), move |bits| some(bits & (bits - 1)));
            rest.map(move |bits| 64 * word + bits.trailing_zeros() as usize)
        })
    }

    /// Asks for the slots of a range that have chains.
    pub fn prefetch_slots(&self, range: Range<usize>) {
        self.versioned(range).for_each(|slot| prefetch(&self.slots[slot], size_of::<Slot>()));
    }

    /// Asks for the newest entries of the chains of a range, whose slots should be near.
    pub fn prefetch_chains(&self, range: Range<usize>) {
        let heads = self.versioned(range).filter_map(|slot| self.head(slot));
        heads.for_each(|undo| prefetch(undo, size_of::<Undo>()));
    }

    /// Asks for the writers of the newest entries of a range, and for the entries behind those, which should be near.
    pub fn prefetch_writers(&self, range: Range<usize>) {
        for undo in self.versioned(range).filter_map(|slot| self.head(slot)) {
            prefetch(&raw const **undo.writer(), size_of::<Writer>());
            undo.older.iter().for_each(|older| prefetch(&raw const **older, size_of::<Undo>()));
        }
    }

    /// Asks for the memory of a slot, and of columns of its row.
    pub fn prefetch(&self, slot: usize, columns: ColumnSet) {
        if let Some(it) = self.slots.get(slot) {
            prefetch(it, size_of::<Slot>());
            self.store.prefetch(slot, columns);
        }
    }

    /// Returns whether it has more than [`MOST_BYTES`]: rows have become longer since it grew.
    pub fn is_full(&self) -> bool {
        self.counted > MOST_BYTES * 5 / 4
    }

    /// Returns whether it may double: with a row in each slot it would still take [`MOST_BYTES`] at most, if all are like those there.
    pub fn may_grow(&self) -> bool {
        2 * self.memory() / self.taken.max(1) * self.slots() <= MOST_BYTES
    }

    /// Makes room for a slot.
    pub fn make_room(&mut self, slot: usize, layout: &Layout) {
        let slots = self.slots();
        if slot < slots {
            return;
        }
        let more = (2 * slots).max(slot + 1).min(layout.block_rows);
        assert!(slot < more, "a slot lies in its block");
        self.store.grow(more, |slot| self.slots[slot].node.is_some());
        self.there.resize(more.div_ceil(64), 0);
        self.chained.resize(more.div_ceil(64), 0);
        self.slots.resize_with(more, Slot::default);
        self.count();
    }

    /// Puts a row into a slot, or none, without a version: in recovery, when nobody else has the database.
    pub fn put(&mut self, slot: usize, row: Option<RowRef<'_>>) {
        self.change(slot, ColumnSet::ALL, row);
    }

    /// Takes a free slot for a row that its writer inserts.
    pub fn take(&mut self, slot: usize, node: NodeRef) {
        let Slot { node: taken, chain } = &mut self.slots[slot];
        assert!(taken.is_none() && chain.is_none(), "Y6: a slot is one row's");
        *taken = Some(node);
        self.taken += 1;
    }

    /// Lets go of a slot without a row and without a chain: its node leaves the index next. What stood there is given back, and with
    /// the last one the slots.
    pub fn leave(&mut self, slot: usize, layout: &Layout) -> Option<NodeRef> {
        if self.is_in_place(slot) || self.slots[slot].chain.is_some() {
            return None;
        }
        let node = self.slots[slot].node.take()?;
        self.taken -= 1;
        if self.taken == 0 && self.slots() > first_slots(layout) {
            *self = Rows::new(layout, first_slots(layout));
        } else if self.store.vacate(slot) {
            self.count();
        }
        Some(node)
    }

    /// Puts an entry in front of a row's chain. The columns that will change are copied if anybody may need them. Returns the bytes
    /// that the entry takes more than before.
    pub fn push(&mut self, slot: usize, mut undo: Box<Undo>, copied: ColumnSet) -> isize {
        let before = undo.memory();
        undo.was_there = self.is_in_place(slot);
        undo.older = self.slots[slot].chain.take();
        if undo.older.is_none() {
            self.set_chained(slot, true);
        }
        let needs = needed(&undo);
        undo.image.clear();
        if needs {
            undo.image.fill(&self.store, slot, self.store.stored(copied));
        }
        let grown = undo.memory() as isize - before as isize;
        self.slots[slot].chain = Some(undo);
        grown
    }

    /// Adds columns to the newest entry, its writer's own, before they change again. Returns the bytes that the entry takes more than
    /// before.
    pub fn extend(&mut self, slot: usize, changed: ColumnSet, copied: ColumnSet) -> isize {
        let Rows { store, slots, .. } = self;
        let undo = slots[slot].chain.as_deref_mut().expect("its writer has put it there");
        let before = undo.memory();
        undo.changed = undo.changed.with(changed);
        if needed(undo) {
            undo.image.extend(store, slot, store.stored(copied));
        }
        undo.memory() as isize - before as isize
    }

    /// Changes a row in place: columns of it, or whether it is there. Its writer has put an entry.
    pub fn change(&mut self, slot: usize, columns: ColumnSet, new: Option<RowRef<'_>>) {
        if let Some(row) = new
            && self.store.replace(slot, columns, row)
        {
            self.count();
        }
        self.set_in_place(slot, new.is_some());
    }

    /// Changes columns of a row that is there, in place. Its writer has put an entry.
    pub fn patch(&mut self, slot: usize, patch: &Patch<'_>) {
        if patch.apply(&mut self.store, slot) {
            self.count();
        }
    }

    /// Undoes the newest entry of a row, which is its writer's, and returns it.
    pub fn undo(&mut self, slot: usize) -> Box<Undo> {
        let mut undo = self.slots[slot].chain.take().expect("its writer has put it there");
        if undo.image.restore(&mut self.store, slot) {
            self.count();
        }
        self.set_in_place(slot, undo.was_there);
        self.slots[slot].chain = undo.older.take();
        if self.slots[slot].chain.is_none() {
            self.set_chained(slot, false);
        }
        undo
    }

    /// Puts back what stood in a slot, in the mode of single versions.
    pub fn put_back(&mut self, slot: usize, was_there: bool, image: &Image) {
        if image.restore(&mut self.store, slot) {
            self.count();
        }
        self.set_in_place(slot, was_there);
    }

    /// Cuts off the entries that nobody reads any more: from the first one that is committed below the bounds on.
    /// Returns them.
    pub fn cut(&mut self, slot: usize, collectable: Collectable) -> Option<Box<Undo>> {
        let mut link = &mut self.slots[slot].chain;
        while link.as_ref().is_some_and(|undo| !undo.is_over(collectable)) {
            link = &mut link.as_mut().expect("looked at").older;
        }
        let over = link.take();
        if over.is_some() && self.slots[slot].chain.is_none() {
            self.set_chained(slot, false);
        }
        over
    }

    /// Empties the block. Returns its index entries with their slots.
    pub fn clear(&mut self, layout: &Layout) -> Vec<(u32, NodeRef)> {
        let slots = (0_u32..).zip(&self.slots);
        let gone = slots.filter_map(|(slot, it)| Some((slot, it.node?))).collect();
        *self = Rows::new(layout, 0);
        gone
    }

    /// Returns the bytes of memory that it takes without its chains.
    pub fn memory(&self) -> usize {
        let bits = (self.there.capacity() + self.chained.capacity()) * size_of::<u64>();
        let slots = self.slots.capacity() * size_of::<Slot>() + bits;
        self.store.memory() + slots
    }

    /// Returns the bytes of memory that its chains take.
    pub fn memory_of_chains(&self) -> usize {
        self.entries().map(Undo::memory).sum()
    }

    /// About the bytes of its rows' keys, from those of some: each lies elsewhere in memory.
    pub fn key_bytes(&self) -> usize {
        let step = self.slots().div_ceil(MOST_WEIGHED).max(1);
        let keys = (0..self.slots()).step_by(step).filter_map(|slot| self.key(slot));
        step * keys.map(|key| key.len()).sum::<usize>()
    }

    /// Returns the number of entries in its chains.
    pub fn versions(&self) -> u64 {
        self.entries().count() as u64
    }

    fn entries(&self) -> impl Iterator<Item = &Undo> {
        let some = if self.versioned == 0 { &[] } else { &self.slots[..] };
        some.iter().filter_map(|slot| slot.chain.as_deref()).flat_map(Undo::chain)
    }

    /// Returns the number of chains.
    pub fn chains(&self) -> usize {
        self.versioned
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.meter.credit(self.counted + self.memory_of_chains());
    }
}

/// Returns whether anybody may need the values before an entry.
fn needed(undo: &Undo) -> bool {
    undo.was_there || undo.older.is_some()
}
