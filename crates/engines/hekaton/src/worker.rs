//! Workers: what a transaction works with, kept from one transaction to the next, so that a steady load allocates
//! versions and nothing else.

use crate::Options;
use crate::reclaim::Garbage;
use crate::record::{RecordRef, VersionRef};
use crate::slots::Standing;
use crate::store::TableRef;
use crate::words::Id;
use model::{Key, Limit, LimitKind, Result, RowBuf, Savepoint};
use parts::sync::Arc;
use std::ops::Bound;

/// Entries of a set whose memory is kept from one transaction to the next.
const KEPT_ENTRIES: usize = 4096;

/// Buffers and identity of one transaction at a time.
#[derive(Debug)]
pub(crate) struct Worker {
    /// The transaction, as its versions name it.
    pub id: Id,
    /// Versions that it has read, and must find again when it commits.
    pub reads: Vec<Read>,
    /// Keys that it has found absent.
    pub absent: Vec<(TableRef, Key)>,
    /// Ranges that it has scanned.
    pub ranges: Vec<Range>,
    /// What it has put into chains, in order.
    pub writes: Vec<Write>,
    savepoints: Vec<Mark>,
    next_savepoint: u64,
    /// Rows that it changes.
    pub changed: u64,
    /// Bytes of keys and rows, each write counted.
    pub bytes: u64,
    /// The transactions on which its commit depends, and how they stand; none in most transactions.
    pub speculated: Vec<Id>,
    pub standing: Option<Arc<Standing>>,
    /// Versions and records that it leaves to be looked after.
    pub garbage: Vec<Garbage>,
    /// A row after it was changed.
    pub after: RowBuf,
    pub batch: Vec<RecordRef>,
}

/// A version that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub table: TableRef,
    pub record: RecordRef,
    pub version: VersionRef,
}

/// A range that was scanned.
#[derive(Debug)]
pub(crate) struct Range {
    pub table: TableRef,
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
}

/// A version that was put into a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub table: TableRef,
    pub record: RecordRef,
    pub version: VersionRef,
    /// The transaction's own version that it took the place of: out of the chain, and back if this is undone.
    pub instead_of: Option<VersionRef>,
}

/// An open savepoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    number: u64,
    pub writes: usize,
    changed: u64,
    bytes: u64,
}

impl Worker {
    pub fn new(id: Id) -> Worker {
        Worker {
            id,
            reads: Vec::new(),
            absent: Vec::new(),
            ranges: Vec::new(),
            writes: Vec::new(),
            savepoints: Vec::new(),
            next_savepoint: 0,
            changed: 0,
            bytes: 0,
            speculated: Vec::new(),
            standing: None,
            garbage: Vec::new(),
            after: RowBuf::new(),
            batch: Vec::new(),
        }
    }

    /// Fails if the read set is full.
    #[inline]
    pub fn check_room(&self, options: &Options) -> Result<()> {
        let read = (self.reads.len() + self.absent.len() + self.ranges.len()) as u64;
        if read < options.read_set {
            return Ok(());
        }
        Err(Limit { kind: LimitKind::ReadSet, limit: options.read_set, actual: read + 1 }.into())
    }

    /// Opens a savepoint.
    pub fn savepoint(&mut self, transaction: u64) -> Savepoint {
        let number = self.next_savepoint;
        self.next_savepoint += 1;
        self.savepoints.push(Mark { number, writes: self.writes.len(), changed: self.changed, bytes: self.bytes });
        Savepoint { number, transaction }
    }

    /// Goes back to the counts of a savepoint, which stays open; later ones are released. `None` if it was released itself.
    pub fn back_to(&mut self, number: u64) -> Option<Mark> {
        let place = self.savepoints.iter().position(|mark| mark.number == number)?;
        self.savepoints.truncate(place + 1);
        let mark = self.savepoints[place];
        (self.changed, self.bytes) = (mark.changed, mark.bytes);
        Some(mark)
    }

    /// Forgets a savepoint and later ones. What was written stays written.
    pub fn release(&mut self, number: u64) {
        if let Some(place) = self.savepoints.iter().position(|mark| mark.number == number) {
            self.savepoints.truncate(place);
        }
    }

    /// Empties the sets for the next transaction.
    pub fn clear(&mut self) {
        empty(&mut self.reads);
        empty(&mut self.absent);
        empty(&mut self.ranges);
        empty(&mut self.writes);
        self.savepoints.clear();
        (self.next_savepoint, self.changed, self.bytes) = (0, 0, 0);
        self.speculated.clear();
        self.standing = None;
    }
}

/// Empties a list, and gives back the memory of an unusually long one.
#[inline]
fn empty<T>(list: &mut Vec<T>) {
    list.clear();
    if list.capacity() > KEPT_ENTRIES {
        list.shrink_to(KEPT_ENTRIES);
    }
}
