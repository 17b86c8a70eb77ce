//! Records: a word, a row and a key in one allocation; and the versions that snapshots may still read.
//!
//! A row is overwritten in place under the record's lock (S1), in words that readers copy at the same time. A row
//! longer than the first one stands in a block of its own, which is replaced as a whole.

use crate::tid::{TidWord, Word};
use parts::epoch::{self, Guard};
use parts::index::{Entry, prefetch::prefetch};
use parts::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::{self, NonNull};

const WORD: usize = size_of::<u64>();

/// A key with its row. Followed by `capacity` words for the row, and by the bytes of the key.
#[repr(C)]
pub(crate) struct Record {
    /// Publishes the row and the versions: see `tid.rs`.
    pub word: TidWord,
    /// The newest replaced version, if a snapshot may need it. Stored with `Release` under the record's lock, before
    /// the word.
    versions: AtomicPtr<Version>,
    /// The row, if it is longer than the words of this record. As `versions`.
    long: AtomicPtr<Box<[u8]>>,
    /// Bytes of the row. Changed under the lock; `Relaxed`: a wrong one is repaired by the word.
    length: AtomicU32,
    capacity: u32,
    key_length: u32,
    /// Whether a list has the record (S9).
    queued: AtomicBool,
}

/// A row that was replaced, with the transaction that had written it.
pub(crate) struct Version {
    word: Word,
    /// Epoch of the transaction that replaced it: snapshots from here on do not see it.
    until: u64,
    /// The version before it. Cut off under the record's lock.
    previous: AtomicPtr<Version>,
    /// As it was copied: an exact length would be another allocation.
    row: Vec<u8>,
}

/// A record by its address. Whoever has one is a transaction that began before the record left its index, the list of
/// the worker that takes it out, or the owner of the table (S8): so the record is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordRef(NonNull<Record>);

// SAFETY: a record consists of atomics and of a key that is immutable.
unsafe impl Send for RecordRef {}
// SAFETY: as for Send.
unsafe impl Sync for RecordRef {}

impl Deref for RecordRef {
    type Target = Record;

    #[inline]
    fn deref(&self) -> &Record {
        // SAFETY: S8, as the type says.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: the key is written before the record is shared, and never again.
unsafe impl Entry for Record {
    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: written by `allocate`, at this place, with this length.
        unsafe { std::slice::from_raw_parts(self.at(self.key_offset()), self.key_length as usize) }
    }
}

impl Record {
    /// A record whose row may have `row_bytes` bytes before it needs a block of its own.
    pub fn allocate(key: &[u8], row_bytes: usize, word: Word) -> RecordRef {
        let capacity = row_bytes.div_ceil(WORD).max(1);
        let layout = layout(capacity, key.len());
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }.cast::<Record>()) else { handle_alloc_error(layout) };
        // The tail is reached from shared references to the head: by the address, exposed here.
        memory.as_ptr().expose_provenance();
        // SAFETY: fresh memory of that layout, nobody else's.
        unsafe {
            memory.write(Record {
                word: TidWord::new(word),
                versions: AtomicPtr::default(),
                long: AtomicPtr::default(),
                length: AtomicU32::new(0),
                capacity: capacity as u32,
                key_length: key.len() as u32,
                queued: AtomicBool::new(false),
            });
            let record = memory.as_ref();
            let words = record.at(size_of::<Record>()).cast::<AtomicU64>().cast_mut();
            (0..capacity).for_each(|at| words.add(at).write(AtomicU64::new(0)));
            record.at(record.key_offset()).cast_mut().copy_from_nonoverlapping(key.as_ptr(), key.len());
        }
        RecordRef(memory)
    }

    /// The record as transactions keep it.
    pub fn handle(&self) -> RecordRef {
        let address = ptr::with_exposed_provenance_mut(ptr::from_ref(self).addr());
        RecordRef(NonNull::new(address).expect("the address of a reference"))
    }

    /// Copies the row as it is at one instant; returns the word of that instant. `into` is empty if there is no row.
    #[inline]
    pub fn read(&self, into: &mut Vec<u8>) -> Word {
        loop {
            let seen = self.word.stable();
            into.clear();
            if seen.is_absent() || (self.copy(into) && self.word.is_still(seen)) {
                return seen;
            }
        }
    }

    /// Copies the row that a snapshot of an epoch sees; false if it sees none.
    pub fn read_at(&self, epoch: u64, into: &mut Vec<u8>) -> bool {
        let word = self.read(into);
        if word.tid().epoch() <= epoch {
            return !word.is_absent();
        }
        into.clear();
        let _guard = epoch::pin();
        let mut next = &self.versions;
        // SAFETY: null, or a version that is retired once no snapshot stops behind it, and freed through the epoch.
        while let Some(version) = unsafe { next.load(Acquire).as_ref() } {
            if version.word.tid().epoch() <= epoch {
                into.extend_from_slice(&version.row);
                return !version.word.is_absent();
            }
            next = &version.previous;
        }
        false
    }

    /// Copies the row, or some nonsense if it changes meanwhile. False if it cannot be a row.
    #[inline]
    fn copy(&self, into: &mut Vec<u8>) -> bool {
        let length = self.length.load(Relaxed) as usize;
        if length > self.capacity as usize * WORD {
            return self.copy_long(into);
        }
        let words = length.div_ceil(WORD);
        into.reserve(words * WORD);
        let to = into.as_mut_ptr().cast::<u64>();
        for (at, word) in self.words()[..words].iter().enumerate() {
            // SAFETY: so much was reserved.
            unsafe { to.add(at).write_unaligned(word.load(Relaxed)) };
        }
        // SAFETY: written above.
        unsafe { into.set_len(length) };
        true
    }

    #[cold]
    fn copy_long(&self, into: &mut Vec<u8>) -> bool {
        let _guard = epoch::pin();
        // SAFETY: null, or a block that is never changed, and freed through the epoch when it is replaced.
        let long = unsafe { self.long.load(Acquire).as_ref() };
        long.inspect(|row| into.extend_from_slice(row)).is_some()
    }

    /// Replaces the row. Under the lock (S1).
    pub fn install(&self, row: &[u8], guard: &Guard) {
        debug_assert!(self.word.load().is_locked(), "S1: a row is changed under its lock");
        let is_long = row.len() > self.capacity as usize * WORD;
        let block = if is_long { Box::into_raw(Box::new(Box::from(row))) } else { ptr::null_mut() };
        if is_long || !self.long.load(Relaxed).is_null() {
            let before = self.long.swap(block, Release);
            // SAFETY: taken out here, by the one holder of the lock.
            unsafe { retire_block(before, guard) };
        }
        if !is_long {
            let (whole, rest) = row.as_chunks::<WORD>();
            let words = self.words();
            for (word, bytes) in words.iter().zip(whole) {
                word.store(u64::from_ne_bytes(*bytes), Relaxed);
            }
            if !rest.is_empty() {
                let mut last = [0; WORD];
                last[..rest.len()].copy_from_slice(rest);
                words[whole.len()].store(u64::from_ne_bytes(last), Relaxed);
            }
        }
        self.length.store(row.len() as u32, Relaxed);
    }

    /// Keeps the present state for snapshots below `until`. Under the lock, before the row is replaced.
    pub fn preserve(&self, word: Word, until: u64) {
        let mut row = Vec::new();
        if !word.is_absent() {
            let is_row = self.copy(&mut row);
            assert!(is_row, "S1: under the lock a row is whole");
        }
        let previous = AtomicPtr::new(self.versions.load(Relaxed));
        let version = Version { word, until, previous, row };
        self.versions.store(Box::into_raw(Box::new(version)), Release);
    }

    /// Returns whether no replaced version is kept.
    pub fn has_no_versions(&self) -> bool {
        self.versions.load(Relaxed).is_null()
    }

    /// Gives up the versions that no snapshot from `oldest` on sees. Under the lock.
    pub fn prune(&self, oldest: u64, guard: &Guard) {
        let mut link = &self.versions;
        // SAFETY: null, or a version that is in the chain: only the holder of the lock takes some out.
        while let Some(version) = unsafe { link.load(Relaxed).as_ref() } {
            if version.until <= oldest {
                let rest = link.swap(ptr::null_mut(), Release);
                // SAFETY: taken out here, with all behind it.
                unsafe { retire_chain(rest, guard) };
                return;
            }
            link = &version.previous;
        }
    }

    /// Returns the epoch in which the newest replaced version was replaced: with [`Record::prune`] from there on, none
    /// is kept.
    pub fn newest_until(&self) -> Option<u64> {
        // SAFETY: as in `prune`.
        unsafe { self.versions.load(Relaxed).as_ref() }.map(|version| version.until)
    }

    /// Notes that a list has the record; false if one had it already (S9).
    pub fn enter_queue(&self) -> bool {
        !self.queued.swap(true, Relaxed)
    }

    /// Notes that no list has the record any more. Under the lock, by the list that has it.
    pub fn leave_queue(&self) {
        self.queued.store(false, Relaxed);
    }

    /// Asks for the record's lines.
    pub fn prefetch(&self) {
        prefetch(ptr::from_ref(self), size_of::<Record>() + self.capacity as usize * WORD);
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: written by `allocate`, at this place, so many.
        unsafe { std::slice::from_raw_parts(self.at(size_of::<Record>()).cast(), self.capacity as usize) }
    }

    fn key_offset(&self) -> usize {
        size_of::<Record>() + self.capacity as usize * size_of::<AtomicU64>()
    }

    /// The byte at an offset of the allocation.
    fn at(&self, offset: usize) -> *const u8 {
        ptr::with_exposed_provenance(ptr::from_ref(self).addr() + offset)
    }
}

impl RecordRef {
    /// The record as an index takes it.
    pub fn pointer(self) -> NonNull<Record> {
        self.0
    }

    /// Frees a record with its versions once every guard that is pinned now is gone.
    ///
    /// # Safety
    /// The record is out of its index, no transaction that began before that is open, and this is said of it once (S8).
    pub unsafe fn free_later(self, guard: &Guard) {
        let bytes = layout(self.capacity as usize, self.key_length as usize).size();
        // SAFETY: the caller's promise.
        unsafe { epoch::retire(guard, bytes, move || self.free()) };
    }

    /// Frees a record with its versions.
    ///
    /// # Safety
    /// Nobody else has or finds its address.
    pub unsafe fn free(self) {
        let layout = layout(self.capacity as usize, self.key_length as usize);
        let mut next = self.versions.load(Acquire);
        while !next.is_null() {
            // SAFETY: the chain belongs to the record.
            let version = unsafe { Box::from_raw(next) };
            next = version.previous.load(Acquire);
        }
        let long = self.long.load(Acquire);
        if !long.is_null() {
            // SAFETY: as the chain.
            drop(unsafe { Box::from_raw(long) });
        }
        // SAFETY: allocated with this layout; the caller's promise. Atomics need no drop, but a model checker's may.
        unsafe {
            let words = self.at(size_of::<Record>()).cast::<AtomicU64>().cast_mut();
            (0..self.capacity as usize).for_each(|at| words.add(at).drop_in_place());
            self.0.as_ptr().drop_in_place();
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

/// # Safety
/// The block is null, or was taken out of its record by the caller.
unsafe fn retire_block(block: *mut Box<[u8]>, guard: &Guard) {
    // SAFETY: as above; readers that look at it are pinned.
    let Some(row) = (unsafe { block.as_ref() }) else { return };
    // SAFETY: as above.
    unsafe { epoch::retire(guard, row.len(), move || drop(Box::from_raw(block))) };
}

/// # Safety
/// The chain was taken out of its record by the caller.
unsafe fn retire_chain(mut next: *mut Version, guard: &Guard) {
    // SAFETY: as above; readers that look at it are pinned.
    while let Some(version) = unsafe { next.as_ref() } {
        let this = next;
        next = version.previous.load(Relaxed);
        // SAFETY: as above.
        unsafe {
            epoch::retire(guard, size_of::<Version>() + version.row.capacity(), move || drop(Box::from_raw(this)))
        };
    }
}

fn layout(capacity: usize, key_length: usize) -> Layout {
    let words = capacity * size_of::<AtomicU64>();
    Layout::from_size_align(size_of::<Record>() + words + key_length, align_of::<Record>())
        .expect("rows and keys are far shorter than the address space")
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::tid::{SEQUENCE_BITS, Tid};

    fn word(epoch: u64) -> Word {
        Word::new(Tid::from_number(epoch << SEQUENCE_BITS | 1), false)
    }

    fn write(record: &Record, row: &[u8], epoch: u64) {
        let before = record.word.lock();
        record.preserve(before, epoch);
        record.install(row, &epoch::pin());
        record.word.unlock_as(word(epoch));
    }

    #[test]
    fn rows_of_any_length_come_back_now_and_in_snapshots() {
        let record = Record::allocate(b"a key", 20, Word::new(Tid::ZERO, true));
        let mut row = Vec::new();
        assert!(record.read(&mut row).is_absent() && record.key() == b"a key");
        let rows: Vec<Vec<u8>> = [3, 24, 0, 25, 1000, 8].map(|length| (0..length).map(|n| n as u8).collect()).into();
        for (epoch, bytes) in (1..).zip(&rows) {
            write(&record, bytes, epoch);
            assert_eq!((record.read(&mut row), &row), (word(epoch), bytes));
        }
        for (epoch, bytes) in (1..).zip(&rows) {
            assert!(record.read_at(epoch, &mut row) && row == *bytes, "epoch {epoch}");
        }
        assert!(!record.read_at(0, &mut row));
        let before = record.word.lock();
        record.prune(4, &epoch::pin());
        record.word.unlock_as(before);
        assert!(record.read_at(4, &mut row) && row == rows[3] && !record.read_at(3, &mut row));
        assert_eq!(record.newest_until(), Some(6));
        // SAFETY: nobody else has it.
        unsafe { record.free() };
    }
}
