//! Records and versions. A record is a key with a chain of versions, newest first; a version is a row that never changes, and two
//! words that say from when to when it is the row.
//!
//! The pointer to the newest version is also the record's latch: a version is put on top, or taken off, by whoever holds it, and
//! nobody else waits for it (K2).

use crate::words::NEVER;
use model::Key;
use parts::epoch::{self, Guard};
use parts::index::{Entry, prefetch::prefetch};
use parts::spin::Backoff;
use parts::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// In the pointer to the newest version: somebody changes the chain.
const LATCHED: usize = 1;
/// Instead of it: the record has left its index.
const DEAD: usize = 2;

/// A key with its versions.
#[derive(Debug)]
pub(crate) struct Record {
    /// The newest version, and the latch. Null: none yet. Published with `Release`, with the version behind it.
    head: AtomicPtr<Version>,
    /// Whether a list has the record (K8).
    queued: AtomicBool,
    key: Key,
}

/// A row, or the absence of one, from one timestamp to another. Followed by the bytes of the row.
#[derive(Debug)]
pub(crate) struct Version {
    /// From when; the id of its maker while that is undecided; [`NEVER`] once it is rolled back. Publishes nothing: the phase of the
    /// maker does.
    pub begin: AtomicU64,
    /// Until when; the id of whoever replaces it; [`NEVER`]: nobody has.
    pub end: AtomicU64,
    /// The version that it replaced. Only followed by transactions that may need that one: its memory may be gone for the others (K7).
    pub previous: Option<VersionRef>,
    length: u32,
    is_row: bool,
}

/// A record by its address. Whoever has one is a transaction that began before the record left its index, the list that takes it out,
/// or the owner of the table (K7): so the record is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordRef(NonNull<Record>);

/// A version by its address. Whoever has one is a transaction that may see it, its maker, or the list that frees it (K7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionRef(NonNull<Version>);

// SAFETY: a record consists of atomics and of a key that is immutable.
unsafe impl Send for RecordRef {}
// SAFETY: as for Send.
unsafe impl Sync for RecordRef {}
// SAFETY: a version consists of atomics and of a row that is immutable.
unsafe impl Send for VersionRef {}
// SAFETY: as for Send.
unsafe impl Sync for VersionRef {}

impl Deref for RecordRef {
    type Target = Record;

    #[inline]
    fn deref(&self) -> &Record {
        // SAFETY: K7, as the type says.
        unsafe { self.0.as_ref() }
    }
}

impl Deref for VersionRef {
    type Target = Version;

    #[inline]
    fn deref(&self) -> &Version {
        // SAFETY: K7, as the type says.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: the key is written before the record is shared, and never again.
unsafe impl Entry for Record {
    #[inline]
    fn key(&self) -> &[u8] {
        &self.key
    }
}

/// The latch of a record. It is given back when this is dropped, over the newest version of that moment.
pub(crate) struct Latched {
    record: RecordRef,
    newest: Option<VersionRef>,
    is_dead: bool,
}

impl Record {
    /// A record without a version.
    pub fn allocate(key: &[u8]) -> NonNull<Record> {
        let record = Record { head: AtomicPtr::default(), queued: AtomicBool::new(false), key: Key::from_bytes(key) };
        let record = Box::into_raw(Box::new(record));
        // The index gives references; transactions keep the address.
        record.expose_provenance();
        // SAFETY: a box is not null.
        unsafe { NonNull::new_unchecked(record) }
    }

    /// The record as transactions keep it.
    #[inline]
    pub fn handle(&self) -> RecordRef {
        let address = ptr::with_exposed_provenance_mut(ptr::from_ref(self).addr());
        RecordRef(NonNull::new(address).expect("the address of a reference"))
    }

    /// The newest version, whoever made it.
    #[inline]
    pub fn newest(&self) -> Option<VersionRef> {
        let head = self.head.load(Acquire).map_addr(|address| address & !(LATCHED | DEAD));
        NonNull::new(head).map(VersionRef)
    }

    /// Notes that a list has the record; false if one had it already (K8).
    pub fn enter_queue(&self) -> bool {
        !self.queued.swap(true, AcqRel)
    }

    /// Notes that the list has taken the record off: from here on, another one may take it on.
    pub fn leave_queue(&self) {
        self.queued.swap(false, AcqRel);
    }

    /// Asks for the record's line.
    pub fn prefetch(&self) {
        prefetch(ptr::from_ref(self), size_of::<Record>());
    }
}

impl RecordRef {
    /// The record as an index takes it.
    pub fn pointer(self) -> NonNull<Record> {
        self.0
    }

    /// Takes the latch, which is held for a few instructions; `None`: the record has left its index.
    #[inline]
    pub fn latch(self) -> Option<Latched> {
        let mut backoff = Backoff::new();
        loop {
            let head = self.head.load(Relaxed);
            if head.addr() == DEAD {
                return None;
            }
            let latched = head.map_addr(|address| address | LATCHED);
            if head != latched && self.head.compare_exchange_weak(head, latched, Acquire, Relaxed).is_ok() {
                return Some(Latched { record: self, newest: NonNull::new(head).map(VersionRef), is_dead: false });
            }
            backoff.pause();
        }
    }

    /// Frees a record once every guard that is pinned now is gone.
    ///
    /// # Safety
    /// The record is out of its index, no transaction that began before that is open, and this is said of it once (K7).
    pub unsafe fn free_later(self, guard: &Guard) {
        // SAFETY: the caller's promise. A dead record has no version.
        unsafe { epoch::retire(guard, size_of::<Record>(), move || drop(Box::from_raw(self.0.as_ptr()))) };
    }

    /// Frees a record with the versions that are its own: all, or the newest one alone if lists have those that were replaced.
    ///
    /// # Safety
    /// Nobody else has or finds its address, and no transaction that has written it is open.
    pub unsafe fn free(self, has_replaced_ones: bool) {
        let mut next = self.newest();
        while let Some(version) = next {
            next = version.previous.filter(|_| has_replaced_ones);
            // SAFETY: the chain belongs to the record.
            unsafe { version.free() };
        }
        // SAFETY: made by `allocate`; the caller's promise.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Latched {
    pub fn newest(&self) -> Option<VersionRef> {
        self.newest
    }

    /// Makes another version the newest one, or none.
    pub fn set(&mut self, newest: Option<VersionRef>) {
        self.newest = newest;
    }

    /// Takes the record out of use, for good.
    pub fn kill(&mut self) {
        (self.newest, self.is_dead) = (None, true);
    }
}

impl Drop for Latched {
    #[inline]
    fn drop(&mut self) {
        let head = if self.is_dead {
            ptr::without_provenance_mut(DEAD)
        } else {
            self.newest.map_or(ptr::null_mut(), |version| version.0.as_ptr())
        };
        self.record.head.store(head, Release);
    }
}

impl VersionRef {
    /// A version that some transaction is about to put on top of another one. `None`: the absence of a row.
    pub fn allocate(maker: u64, previous: Option<VersionRef>, row: Option<&[u8]>) -> VersionRef {
        let bytes = row.unwrap_or_default();
        let layout = layout(bytes.len());
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }.cast::<Version>()) else { handle_alloc_error(layout) };
        let (begin, end) = (AtomicU64::new(maker), AtomicU64::new(NEVER));
        // SAFETY: fresh memory of that layout, nobody else's.
        unsafe {
            memory.write(Version { begin, end, previous, length: bytes.len() as u32, is_row: row.is_some() });
            memory.add(1).cast::<u8>().copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        VersionRef(memory)
    }

    /// The row; `None`: there is none.
    #[inline]
    pub fn row(&self) -> Option<&[u8]> {
        // SAFETY: written by `allocate`, at this place, so many bytes, and never changed.
        self.is_row
            .then(|| unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(1).cast::<u8>(), self.length as usize) })
    }

    /// The word of its begin: a timestamp, or its maker's id.
    #[inline]
    pub fn begin_word(self) -> u64 {
        self.begin.load(Acquire)
    }

    /// Asks for the version's lines.
    pub fn prefetch(self) {
        // Its length is not known before its first line is here: as many lines as rows of a few hundred bytes have.
        prefetch(self.0.as_ptr(), 4 * 64);
    }

    /// Frees the version.
    ///
    /// # Safety
    /// No transaction that may see it, or have its address, is open; and this is said of it once (K7).
    pub unsafe fn free(self) {
        let layout = layout(self.length as usize);
        // SAFETY: allocated with this layout; the caller's promise. Atomics need no drop, but a model checker's may.
        unsafe {
            self.0.as_ptr().drop_in_place();
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

fn layout(length: usize) -> Layout {
    Layout::from_size_align(size_of::<Version>() + length, align_of::<Version>())
        .expect("rows are far shorter than the address space")
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_newest_first_and_keep_their_rows() {
        // SAFETY: as `RecordRef` wants: this test owns the record.
        let record = unsafe { Record::allocate(b"a key").as_ref() }.handle();
        assert!(record.newest().is_none() && record.key() == b"a key");
        let rows: [Option<&[u8]>; 4] = [Some(b"one"), None, Some(b""), Some(&[7; 1000])];
        for row in rows {
            let mut latched = record.latch().expect("in use");
            let version = VersionRef::allocate(5, latched.newest(), row);
            latched.set(Some(version));
        }
        let mut next = record.newest();
        for row in rows.iter().rev() {
            let version = next.expect("as many as were put there");
            assert_eq!(version.row(), *row);
            next = version.previous;
        }
        assert!(next.is_none());
        // SAFETY: nobody else has it.
        unsafe { record.free(true) };
    }

    #[test]
    fn a_dead_record_has_no_latch() {
        // SAFETY: as above.
        let record = unsafe { Record::allocate(b"k").as_ref() }.handle();
        record.latch().expect("in use").kill();
        assert!(record.latch().is_none() && record.newest().is_none());
        // SAFETY: as above.
        unsafe { record.free(true) };
    }
}
