//! What a transaction has written: buffered until it commits.

use crate::record::RecordRef;
use crate::store::TableRef;
use crate::tid::{Tid, Word};
use crate::worker::empty;
use model::{Direction, Key, Savepoint, TableId};
use parts::marks::{Marks, mark};
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

/// Write sets up to this size are searched from front to back, by marks.
const LINEAR: usize = 64;

/// The writes of one transaction, in the order of first writing.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    pub entries: Vec<Write>,
    /// Marks of the first [`LINEAR`] entries.
    marks: Marks,
    /// The rows, one behind the other.
    rows: Vec<u8>,
    /// The entries by table and key, once there are more than [`LINEAR`].
    order: BTreeMap<(TableId, Key), u32>,
    /// Earlier values, newest last, while a savepoint is open: of entries that existed when it was opened.
    undo: Vec<(u32, Value)>,
    savepoints: Vec<Mark>,
    next_savepoint: u64,
    /// Rows that it changes.
    pub changed: u64,
    /// Bytes of keys and rows, each write counted.
    pub bytes: u64,
}

/// One written key.
#[derive(Debug)]
pub(crate) struct Write {
    pub table: TableRef,
    pub key: Key,
    /// Its record; `None` if there was none when last looked at.
    pub record: Option<RecordRef>,
    pub value: Value,
    /// Whether this transaction has put the record into the index.
    pub is_made: bool,
    /// The record's word before this transaction locked it.
    pub before: Word,
}

/// Buffered value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// The stored one: rolled back to before it was written.
    Unchanged,
    /// The bytes from here, so many.
    Row(usize, u32),
    /// Absent.
    Absent,
}

/// An open savepoint.
#[derive(Clone, Copy, Debug)]
struct Mark {
    number: u64,
    undo: usize,
    entries: usize,
    changed: u64,
    bytes: u64,
}

impl WriteSet {
    /// Returns the index of a key's entry, if there is one.
    #[inline]
    pub fn find(&self, table: TableId, key: &[u8]) -> Option<usize> {
        if self.entries.len() <= LINEAR {
            let is_sought = |at: usize| self.entries[at].table.id == table && self.entries[at].key[..] == *key;
            return self.marks.find(mark(table, key), is_sought);
        }
        self.order.get(&(table, Key::from_bytes(key))).map(|&at| at as usize)
    }

    /// Returns the transaction's own value: `None` if there is none, `Some(None)` for a delete.
    #[inline]
    pub fn own(&self, table: TableId, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.entries.is_empty() {
            return None;
        }
        self.value(self.find(table, key)?)
    }

    /// The value of an entry, as [`WriteSet::own`].
    pub fn value(&self, at: usize) -> Option<Option<&[u8]>> {
        match self.entries[at].value {
            Value::Unchanged => None,
            Value::Row(start, length) => Some(Some(&self.rows[start..start + length as usize])),
            Value::Absent => Some(None),
        }
    }

    /// Appends the entries of a table that change something within the bounds, in the order of their keys.
    pub fn in_range(
        &self,
        table: TableId,
        (lower, upper): (&Bound<Key>, &Bound<Key>),
        direction: Direction,
        found: &mut Vec<u32>,
    ) {
        let bounds = (lower.as_ref(), upper.as_ref());
        if self.entries.len() <= LINEAR {
            let is_in = |write: &Write| write.table.id == table && bounds.contains(&write.key);
            found.extend((0..self.entries.len()).filter(|&at| is_in(&self.entries[at])).map(|at| at as u32));
            found.sort_unstable_by(|&a, &b| self.entries[a as usize].key.cmp(&self.entries[b as usize].key));
        } else {
            let lower = match lower {
                Bound::Unbounded => Bound::Included((table, Key::new())),
                bound => bound.clone().map(|key| (table, key)),
            };
            let from = self.order.range((lower, Bound::Unbounded));
            let same = from.take_while(|((of, key), _)| *of == table && (Bound::Unbounded, bounds.1).contains(key));
            found.extend(same.map(|(_, at)| *at));
        }
        found.retain(|&at| self.entries[at as usize].value != Value::Unchanged);
        if direction == Direction::Backward {
            found.reverse();
        }
    }

    /// Adds the entry of a key that has none. Returns its index.
    pub fn add(&mut self, table: TableRef, key: &[u8], record: Option<RecordRef>) -> usize {
        if self.entries.len() < LINEAR {
            self.marks.push(mark(table.id, key));
        }
        let (key, before) = (Key::from_bytes(key), Word::new(Tid::ZERO, true));
        self.entries.push(Write { table, key, record, value: Value::Unchanged, is_made: false, before });
        if self.entries.len() > LINEAR {
            self.index_last();
        }
        self.entries.len() - 1
    }

    fn index_last(&mut self) {
        let first = if self.entries.len() == LINEAR + 1 { 0 } else { self.entries.len() - 1 };
        let keys = self.entries.iter().enumerate().skip(first);
        self.order.extend(keys.map(|(at, write)| ((write.table.id, write.key.clone()), at as u32)));
    }

    /// Returns the rows and bytes that the transaction will have written with this write of the entry at an index, or of
    /// a key that has none yet.
    pub fn sizes_with(&self, at: Option<usize>, key: &[u8], row: Option<&[u8]>) -> (u64, u64) {
        let is_new = at.is_none_or(|at| self.entries[at].value == Value::Unchanged);
        (self.changed + u64::from(is_new), self.bytes + (key.len() + row.map_or(0, <[u8]>::len)) as u64)
    }

    /// Buffers a value.
    #[inline]
    pub fn buffer(&mut self, at: usize, row: Option<&[u8]>) {
        let is_open = self.savepoints.last().is_some_and(|mark| at < mark.entries);
        let entry = &mut self.entries[at];
        self.bytes += (entry.key.len() + row.map_or(0, <[u8]>::len)) as u64;
        self.changed += u64::from(entry.value == Value::Unchanged);
        let before = entry.value;
        entry.value = match (row, before) {
            (None, _) => Value::Absent,
            // In place, unless a rollback may want what was there.
            (Some(row), Value::Row(start, length)) if length as usize == row.len() && self.savepoints.is_empty() => {
                self.rows[start..start + row.len()].copy_from_slice(row);
                before
            }
            (Some(row), _) => {
                let start = self.rows.len();
                self.rows.extend_from_slice(row);
                Value::Row(start, row.len() as u32)
            }
        };
        if is_open {
            self.undo.push((at as u32, before));
        }
    }

    /// Opens a savepoint.
    pub fn savepoint(&mut self, transaction: u64) -> Savepoint {
        let number = self.next_savepoint;
        self.next_savepoint += 1;
        let WriteSet { changed, bytes, .. } = *self;
        self.savepoints.push(Mark { number, undo: self.undo.len(), entries: self.entries.len(), changed, bytes });
        Savepoint { number, transaction }
    }

    /// Rolls back to a savepoint, which stays open; later ones are released. `false` if it was released itself.
    pub fn rollback_to(&mut self, number: u64) -> bool {
        let Some(place) = self.savepoints.iter().position(|mark| mark.number == number) else { return false };
        let mark = self.savepoints[place];
        self.savepoints.truncate(place + 1);
        self.entries[mark.entries..].iter_mut().for_each(|write| write.value = Value::Unchanged);
        for (at, before) in self.undo.drain(mark.undo..).rev().filter(|(at, _)| (*at as usize) < mark.entries) {
            self.entries[at as usize].value = before;
        }
        (self.changed, self.bytes) = (mark.changed, mark.bytes);
        true
    }

    /// Forgets a savepoint and later ones. What was written stays written.
    pub fn release(&mut self, number: u64) {
        if let Some(place) = self.savepoints.iter().position(|mark| mark.number == number) {
            self.savepoints.truncate(place);
        }
        if self.savepoints.is_empty() {
            self.undo.clear();
        }
    }

    /// Ready for the next transaction; memory up to these capacities is kept.
    pub fn clear(&mut self, kept_entries: usize, kept_bytes: usize) {
        if self.entries.is_empty() && self.next_savepoint == 0 {
            return; // Without an entry there is nothing else.
        }
        empty(&mut self.entries, kept_entries);
        self.marks.clear();
        empty(&mut self.rows, kept_bytes);
        if !self.order.is_empty() {
            self.order.clear();
        }
        empty(&mut self.undo, kept_entries);
        self.savepoints.clear();
        (self.next_savepoint, self.changed, self.bytes) = (0, 0, 0);
    }
}
