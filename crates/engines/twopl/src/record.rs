//! Records: a lock word, a row and a key in one allocation. The row is changed in place by the one transaction that
//! holds the lock exclusively, and read by those for which nobody can (I1, I4).
//!
//! A row that is longer than the first one stands in a block of its own.

use crate::locks::LockWord;
use parts::epoch::{self, Guard};
use parts::index::{Entry, prefetch::prefetch};
use parts::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes behind a record's first line that are asked for ahead: a short row.
const ROW_AHEAD: usize = 2 * LINE;

/// A key, its row if it has one, and its lock. Followed by the bytes of the key, which are mostly in the word's cache line,
/// and by `capacity` bytes for the row.
#[repr(C)]
pub(crate) struct Record {
    pub word: LockWord,
    body: UnsafeCell<Body>,
    /// Bytes of the row; zero without one. `Relaxed`: for estimates, and otherwise read as the body is.
    length: AtomicU32,
    capacity: u32,
    key_length: u32,
}

/// What the lock guards, beside the bytes of the row.
#[derive(Default)]
struct Body {
    has_row: bool,
    /// The exclusive holder has changed the row, and its undo log has what was there.
    is_changed: bool,
    /// The row, if it is longer than the bytes behind the record.
    long: Option<Box<[u8]>>,
}

// SAFETY: the body is only changed by the exclusive holder of the lock, and read when nobody else can be that (I1, I4).
unsafe impl Sync for Record {}
// SAFETY: as for Sync; nothing in it belongs to a thread.
unsafe impl Send for Record {}

/// A record by its address. Whoever has one holds its lock, waits for it, holds a range in which the record has a row,
/// or is pinned since it has found it: so the record is in its index, or not yet freed (I3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRef(NonNull<Record>);

// SAFETY: a record is Send and Sync.
unsafe impl Send for RecordRef {}
// SAFETY: as for Send.
unsafe impl Sync for RecordRef {}

impl Deref for RecordRef {
    type Target = Record;

    #[inline]
    fn deref(&self) -> &Record {
        // SAFETY: I3, as the type says.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: the key is written before the record is shared, and never again.
unsafe impl Entry for Record {
    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: written by `allocate`, at this place, with this length.
        unsafe { std::slice::from_raw_parts(self.tail(), self.key_length as usize) }
    }
}

impl Record {
    /// A record without a row, with room for one of so many bytes.
    pub fn allocate(key: &[u8], row_bytes: usize, word: LockWord) -> RecordRef {
        let layout = layout(row_bytes, key.len());
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }.cast::<Record>()) else { handle_alloc_error(layout) };
        // The tail is reached from shared references to the head: by the address, exposed here.
        memory.as_ptr().expose_provenance();
        // SAFETY: fresh memory of that layout, nobody else's.
        unsafe {
            memory.write(Record {
                word,
                body: UnsafeCell::default(),
                length: AtomicU32::new(0),
                capacity: row_bytes as u32,
                key_length: key.len() as u32,
            });
            let record = memory.as_ref();
            record.tail().copy_from_nonoverlapping(key.as_ptr(), key.len());
        }
        RecordRef(memory)
    }

    /// The record as transactions keep it.
    pub fn handle(&self) -> RecordRef {
        let address = ptr::with_exposed_provenance_mut(ptr::from_ref(self).addr());
        RecordRef(NonNull::new(address).expect("the address of a reference"))
    }

    /// Asks for the record's lines.
    pub fn prefetch(&self) {
        prefetch(ptr::from_ref(self), size_of::<Record>() + self.capacity as usize);
    }

    /// Asks for the first lines of the row, before the word is locked: loads behind a compare-and-swap wait for it.
    #[inline]
    pub fn prefetch_row(&self) {
        prefetch(ptr::from_ref(self).wrapping_byte_add(LINE), ROW_AHEAD);
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let row = self.capacity.max(self.length.load(Relaxed));
        size_of::<Record>() + self.key_length as usize + row as usize
    }

    /// The first byte of the room for the row.
    fn room(&self) -> *mut u8 {
        self.tail().wrapping_add(self.key_length as usize)
    }

    /// The byte behind the head.
    fn tail(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(ptr::from_ref(self).addr() + size_of::<Record>())
    }
}

/// The row and what is said of it, for a transaction that holds the lock, or a range in which nobody else holds it
/// exclusively (I1, I4).
impl RecordRef {
    fn body(&self) -> &Body {
        // SAFETY: nobody changes the body meanwhile: this transaction keeps the others away, and runs on one thread.
        unsafe { &*self.body.get() }
    }

    /// Returns whether there is a row.
    #[inline]
    pub fn has_row(&self) -> bool {
        self.body().has_row
    }

    /// The bytes of the row.
    #[inline]
    pub fn row(&self) -> Option<&[u8]> {
        let body = self.body();
        if !body.has_row {
            return None;
        }
        if let Some(long) = &body.long {
            return Some(long);
        }
        let length = self.length.load(Relaxed) as usize;
        // SAFETY: `set_row` has written so many bytes there; nobody changes them meanwhile, as in `body`.
        Some(unsafe { std::slice::from_raw_parts(self.room(), length) })
    }

    /// Returns whether the exclusive holder has changed the row.
    pub fn is_changed(&self) -> bool {
        self.body().is_changed
    }

    /// Notes whether the row is changed. By the exclusive holder.
    pub fn set_changed(self, is_changed: bool) {
        // SAFETY: the exclusive holder is the only one that looks at the body.
        unsafe { (*self.body.get()).is_changed = is_changed };
    }

    /// Changes the row, or takes it away. By the exclusive holder.
    pub fn set_row(self, row: Option<&[u8]>) {
        // SAFETY: as in `set_changed`. `row` is no part of this record: `row()` lends from it for shorter than a change.
        let body = unsafe { &mut *self.body.get() };
        let bytes = row.unwrap_or_default();
        body.has_row = row.is_some();
        body.long = (bytes.len() > self.capacity as usize).then(|| bytes.into());
        self.length.store(bytes.len() as u32, Relaxed);
        if body.long.is_none() {
            // SAFETY: so much room was allocated, and only the exclusive holder looks there.
            unsafe { self.room().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// The record as an index takes it.
    pub fn pointer(self) -> NonNull<Record> {
        self.0
    }

    /// Frees a record once every guard that is pinned now is gone.
    ///
    /// # Safety
    /// The record is gone and out of its index, and this is said of it once.
    pub unsafe fn free_later(self, guard: &Guard) {
        // SAFETY: the caller's promise.
        unsafe { epoch::retire(guard, self.size(), move || self.free()) };
    }

    /// Frees a record.
    ///
    /// # Safety
    /// Nobody else has or finds its address.
    pub unsafe fn free(self) {
        let layout = layout(self.capacity as usize, self.key_length as usize);
        // SAFETY: allocated with this layout; the caller's promise.
        unsafe {
            self.0.as_ptr().drop_in_place();
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

fn layout(row_bytes: usize, key_length: usize) -> Layout {
    Layout::from_size_align(size_of::<Record>() + row_bytes + key_length, align_of::<Record>())
        .expect("rows and keys are far shorter than the address space")
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::locks::{LockMode, OwnerNumber};

    #[test]
    fn rows_of_any_length_come_and_go() {
        let word = LockWord::held(OwnerNumber(1), LockMode::Exclusive);
        let record = Record::allocate(b"a key", 20, word);
        assert!(record.key() == b"a key" && record.row().is_none());
        for length in [3, 20, 0, 21, 1000, 8] {
            let row: Vec<u8> = (0..length).map(|n| n as u8).collect();
            record.set_row(Some(&row));
            assert_eq!(record.row(), Some(&row[..]));
            assert_eq!(record.size(), size_of::<Record>() + 5 + length.max(20));
            record.set_row(None);
            assert!(record.row().is_none() && !record.has_row() && record.key() == b"a key");
        }
        // SAFETY: nobody else has it.
        unsafe { record.free() };
    }
}
