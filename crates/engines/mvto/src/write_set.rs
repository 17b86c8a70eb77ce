//! The write buffer of a transaction, and the workspace that it borrows from its site.

mod arena;
mod order;
mod read_for_update;

use crate::catalog::Catalog;
use crate::gc::Garbage;
use crate::horizon::Horizon;
use crate::read_set::ReadSet;
use crate::retired::Note;
use crate::store::{Block, Pinned, Replaced, VersionPool, version_size};
use model::{Key, RowBuf, Savepoint, TableId, Timestamp};
use parts::marks::{Marks, mark};
use parts::memory::Meter;
use std::collections::{BTreeMap, TryReserveError};
use std::ops::{Bound, Deref, DerefMut, RangeBounds};
use std::sync::Arc;

use arena::Arena;
use order::Order;
pub(crate) use read_for_update::ReadForUpdate;

/// Write sets up to this size are searched from front to back, by marks.
const LINEAR: usize = 64;

/// Writes of one transaction, in the order of first writing.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    pub entries: Vec<Write>,
    /// Marks of the first [`LINEAR`] entries.
    marks: Marks,
    /// The bytes of all buffered rows.
    arena: Arena,
    /// The entries of each table in the order of their keys, once there are more than [`LINEAR`] in all.
    orders: BTreeMap<TableId, Order>,
    /// Earlier values, newest last, while a savepoint is open: of entries that existed when it was opened.
    undo: Vec<(u32, Buffered)>,
    /// Open savepoints, oldest first.
    savepoints: Vec<Mark>,
    next_savepoint: u64,
    /// Bytes of keys and rows, counted against the limit; overwriting does not give back.
    pub bytes: usize,
    /// Part of [`WriteSet::held_bytes`] that has been counted.
    counted: usize,
}

/// An open savepoint.
#[derive(Clone, Copy, Debug)]
struct Mark {
    number: u64,
    /// Length of `undo`.
    undo: usize,
    /// Number of entries. Later ones are undone by forgetting what they want.
    entries: usize,
}

/// One written key.
#[derive(Debug)]
pub(crate) struct Write {
    pub table: TableId,
    pub key: Key,
    /// Its tuple, pinned; `None` if the key was absent from the index when last looked at.
    pub tuple: Option<Pinned>,
    pub owned: bool,
    /// It was owned before the timestamp was drawn, which lies above whatever has read or written it until then.
    pub is_undated: bool,
    /// Length of the row that it is owned for, if that is known before the row is buffered.
    pub expected_row: Option<u32>,
    pub buffered: Buffered,
}

/// Buffered value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffered {
    /// The stored value: rolled back to before it was written, or owned for a later write.
    Unchanged,
    /// This row in the arena.
    Row(arena::Place),
    /// Absent.
    Absent,
}

/// What a transaction has of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Own<'a> {
    /// A row that it has buffered; `None`: a delete.
    Value(Option<&'a [u8]>),
    /// A row that it has owned since before it drew its timestamp, and has not written.
    Row(&'a Pinned),
}

impl Write {
    /// The length of its row, if that is known by now.
    pub fn row_length(&self) -> Option<usize> {
        match self.buffered {
            Buffered::Row(place) => Some(place.length()),
            Buffered::Unchanged => self.expected_row.map(|length| length as usize),
            Buffered::Absent => Some(0),
        }
    }
}

impl WriteSet {
    /// Returns the index of a key's write, if there is one.
    #[inline]
    pub fn find(&self, table: TableId, key: &[u8]) -> Option<usize> {
        if self.entries.len() <= LINEAR {
            debug_assert!(self.marks.len() == self.entries.len(), "each entry has its mark");
            let is_sought = |at: usize| self.entries[at].table == table && self.entries[at].key[..] == *key;
            return self.marks.find(mark(table, key), is_sought);
        }
        self.orders.get(&table)?.find(&self.entries, key)
    }

    /// Returns the transaction's own write of a key, or the row that it owns for one.
    #[inline]
    pub fn own(&self, table: TableId, key: &[u8]) -> Option<Own<'_>> {
        if self.entries.is_empty() {
            return None;
        }
        let write = &self.entries[self.find(table, key)?];
        match self.value(write.buffered) {
            Some(value) => Some(Own::Value(value)),
            None => write.tuple.as_ref().filter(|_| write.is_undated).map(Own::Row),
        }
    }

    /// Returns the transaction's own write: `None` if there is none, `Some(None)` for a delete.
    pub fn own_value(&self, table: TableId, key: &[u8]) -> Option<Option<&[u8]>> {
        self.value(self.entries[self.find(table, key)?].buffered)
    }

    /// The value of an entry: `None` if it is the stored one, `Some(None)` for a delete.
    pub fn value(&self, buffered: Buffered) -> Option<Option<&[u8]>> {
        match buffered {
            Buffered::Unchanged => None,
            Buffered::Row(place) => Some(Some(self.arena.row(place))),
            Buffered::Absent => Some(None),
        }
    }

    /// The entries of a table that change something, with keys within the bounds, in ascending order of their keys.
    pub fn in_range<'a>(
        &'a self,
        table: TableId,
        lower: Bound<&Key>,
        upper: Bound<&Key>,
    ) -> impl DoubleEndedIterator<Item = usize> + use<'a> {
        let bounds = (lower, upper);
        let (mut few, mut many) = (Vec::new(), None);
        if self.entries.len() > LINEAR {
            many = self.orders.get(&table).map(|order| order.range(&self.entries, lower, upper));
        } else {
            few = (0..self.entries.len()).filter(|&at| self.entries[at].table == table).collect();
            few.retain(|&at| bounds.contains(&self.entries[at].key));
            few.sort_unstable_by(|&a, &b| self.entries[a].key.cmp(&self.entries[b].key));
        }
        let found = few.into_iter().chain(many.into_iter().flatten());
        found.filter(|&at| self.entries[at].buffered != Buffered::Unchanged)
    }

    /// The entry of a key, made if there is none.
    #[inline]
    pub fn entry(&mut self, table: TableId, key: &[u8], find_tuple: impl FnOnce() -> Option<Pinned>) -> usize {
        if let Some(at) = self.find(table, key) {
            return at;
        }
        if self.entries.len() < LINEAR {
            self.marks.push(mark(table, key));
        }
        let (key, tuple) = (Key::from_bytes(key), find_tuple());
        let (owned, is_undated, expected_row, buffered) = (false, false, None, Buffered::Unchanged);
        self.entries.push(Write { table, key, tuple, owned, is_undated, expected_row, buffered });
        self.index_last();
        self.entries.len() - 1
    }

    #[inline]
    fn index_last(&mut self) {
        if self.entries.len() > LINEAR {
            self.index_from_last();
        }
    }

    fn index_from_last(&mut self) {
        let first = match self.entries.len() {
            length if length == LINEAR + 1 => 0,
            length => length - 1,
        };
        for (at, write) in self.entries.iter().enumerate().skip(first) {
            self.orders.entry(write.table).or_default().insert(&self.entries, at as u32);
        }
    }

    /// Makes room for entries, if the system has it.
    ///
    /// # Errors
    /// It has not.
    pub fn reserve(&mut self, entries: usize) -> Result<(), TryReserveError> {
        self.entries.try_reserve(entries)
    }

    /// Buffers a value for an entry.
    #[inline]
    pub fn buffer(&mut self, at: usize, row: Option<&[u8]>) {
        let buffered = match row {
            None => Buffered::Absent,
            Some(row) => Buffered::Row(self.arena.add(row)),
        };
        self.bytes += self.entries[at].key.len() + row.map_or(0, <[u8]>::len);
        if self.savepoints.last().is_some_and(|mark| at < mark.entries) {
            self.undo.push((at as u32, self.entries[at].buffered));
        }
        self.entries[at].buffered = buffered;
    }

    /// Opens a savepoint.
    pub fn savepoint(&mut self, transaction: u64) -> Savepoint {
        let number = self.next_savepoint;
        self.next_savepoint += 1;
        self.savepoints.push(Mark { number, undo: self.undo.len(), entries: self.entries.len() });
        Savepoint { number, transaction }
    }

    /// Rolls back to a savepoint, which stays open; later ones are released. `false` if it was released itself.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> bool {
        let Some(place) = self.savepoints.iter().position(|mark| mark.number == savepoint.number) else {
            return false;
        };
        let mark = self.savepoints[place];
        self.savepoints.truncate(place + 1);
        self.entries[mark.entries..].iter_mut().for_each(|write| write.buffered = Buffered::Unchanged);
        for (at, before) in self.undo.drain(mark.undo..).rev().filter(|(at, _)| (*at as usize) < mark.entries) {
            self.entries[at as usize].buffered = before;
        }
        true
    }

    /// Forgets a savepoint and later ones. What was written stays written.
    pub fn release(&mut self, savepoint: &Savepoint) {
        if let Some(place) = self.savepoints.iter().position(|mark| mark.number == savepoint.number) {
            self.savepoints.truncate(place);
        }
        if self.savepoints.is_empty() {
            self.undo.clear();
        }
    }

    /// Its rows will be installed now, one after another.
    pub fn begin_installing(&mut self) {
        let places = self.entries.iter().filter_map(|write| match write.buffered {
            Buffered::Row(place) => Some(place),
            Buffered::Unchanged | Buffered::Absent => None,
        });
        self.arena.begin_installing(places);
    }

    /// A value was installed, and is not asked for any more.
    pub fn installed(&mut self, buffered: Buffered) {
        if let Buffered::Row(place) = buffered {
            self.arena.installed(place);
        }
    }

    /// Returns whether anything will be installed.
    pub fn changes_anything(&self) -> bool {
        self.entries.iter().any(|write| write.buffered != Buffered::Unchanged)
    }

    /// Returns whether any tuple is owned.
    pub fn owns_anything(&self) -> bool {
        self.entries.iter().any(|write| write.owned)
    }

    /// About how much memory the writes take, and will take when they are installed.
    fn held_bytes(&self) -> usize {
        let installed = self.entries.len() * version_size(0);
        let found = self.entries.len() * 2 * size_of::<u32>(); // Lists are half full, or more.
        // Rows and keys once in the buffer, once in their versions or tuples.
        self.entries.len() * size_of::<Write>() + self.arena.capacity() + found + installed + self.bytes
    }

    /// Counts what has come since the last time, if it is a step.
    #[inline]
    pub fn count(&mut self, meter: &Meter) {
        let held = self.held_bytes();
        if held >= self.counted + meter.step() {
            meter.charge(held - self.counted);
            self.counted = held;
        }
    }

    /// Ready for the next transaction. The entries' tuples have been given up. Returns how many bytes were counted.
    #[inline]
    pub fn clear(&mut self) -> usize {
        debug_assert!(self.entries.is_empty(), "entries are given up one by one");
        // Most transactions have written nothing, and own nothing.
        if self.marks.is_empty() && self.next_savepoint == 0 {
            debug_assert!(self.arena.is_empty() && self.orders.is_empty() && self.undo.is_empty(), "without an entry");
            debug_assert!((self.bytes, self.counted, self.savepoints.len()) == (0, 0, 0), "without an entry");
            return 0;
        }
        self.clear_used()
    }

    fn clear_used(&mut self) -> usize {
        self.arena.clear();
        self.marks.clear();
        if !self.orders.is_empty() {
            self.orders.clear(); // A map takes itself apart even where it is empty.
        }
        self.undo.clear();
        self.savepoints.clear();
        (self.next_savepoint, self.bytes) = (0, 0);
        std::mem::take(&mut self.counted)
    }
}

/// Buffers of a transaction, lent by its site and given back at its end, so that a steady load allocates nothing.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub catalog: Arc<Catalog>,
    pub writes: WriteSet,
    /// Read set, if it owns at the statement.
    pub reads: ReadSet,
    /// Tuples that were read for update.
    pub kept: ReadForUpdate,
    pub pool: VersionPool,
    /// Horizon as last looked up.
    pub horizon: Arc<Horizon>,
    /// Tuples that this transaction leaves to be collected: with kept versions, or with no row.
    pub garbage: Vec<Garbage>,
    /// Versions that it has replaced, and that nobody looks at once the bound has passed it.
    pub retired: Vec<Note<Option<Block>>>,
    /// Versions kept since its user's last survey.
    pub kept_since_survey: usize,
    /// Tuples that can be collected now.
    pub ready: Vec<Garbage>,
    /// Versions replaced since it was lent, for the statistics.
    pub replaced: usize,
    /// Versions taken out since it was lent.
    pub collected: usize,
    /// The redo record.
    pub record: Vec<u8>,
    /// The row before an update.
    pub before: RowBuf,
    /// The row after it.
    pub after: RowBuf,
}

/// A workspace that a transaction has between its first statement and its end.
#[derive(Debug, Default)]
pub(crate) struct BorrowedWorkspace(Option<Box<Workspace>>);

impl BorrowedWorkspace {
    /// Takes a workspace that a site lends.
    pub fn new(work: Box<Workspace>) -> BorrowedWorkspace {
        BorrowedWorkspace(Some(work))
    }

    /// Gives it back.
    pub fn take(&mut self) -> Option<Box<Workspace>> {
        self.0.take()
    }
}

impl Deref for BorrowedWorkspace {
    type Target = Workspace;
    fn deref(&self) -> &Workspace {
        self.0.as_ref().expect("a statement begins by borrowing it")
    }
}

impl DerefMut for BorrowedWorkspace {
    fn deref_mut(&mut self) -> &mut Workspace {
        self.0.as_mut().expect("a statement begins by borrowing it")
    }
}

/// Memory that an outsized transaction grew is not kept.
const KEPT_BYTES: usize = 1 << 20;

impl Workspace {
    /// An empty one, whose versions are counted there.
    pub fn new(meter: &Arc<Meter>) -> Workspace {
        Workspace {
            catalog: Arc::default(),
            writes: WriteSet::default(),
            reads: ReadSet::default(),
            kept: ReadForUpdate::default(),
            pool: VersionPool::new(meter.clone()),
            garbage: Vec::new(),
            retired: Vec::new(),
            kept_since_survey: 0,
            ready: Vec::new(),
            horizon: Arc::default(),
            replaced: 0,
            collected: 0,
            record: Vec::new(),
            before: RowBuf::default(),
            after: RowBuf::default(),
        }
    }

    /// Notes what was replaced at `at`, and returns whether it is the tuple's to collect.
    #[inline]
    pub fn note_replaced(&mut self, replaced: Replaced, at: Timestamp) -> bool {
        self.replaced += usize::from(replaced != Replaced::Nothing);
        match replaced {
            Replaced::Nothing => false,
            Replaced::Retired(what) => {
                self.retired.push(Note { what, at });
                false
            }
            Replaced::Kept => {
                self.kept_since_survey += 1;
                true
            }
        }
    }

    /// Returns whether it is small enough to be kept for another transaction.
    pub fn is_reusable(&self) -> bool {
        let entries = self.writes.entries.capacity().max(self.reads.capacity());
        self.writes.arena.capacity() + self.record.capacity() <= KEPT_BYTES && entries <= 4096
    }
}
