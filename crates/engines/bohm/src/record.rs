//! Records: a key and its newest version.

use crate::position::Position;
use crate::version::Version;
use crate::version::VersionRef;
use model::Key;
use parts::epoch::{self, Guard};
use parts::index::Entry;
use parts::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::ops::Deref;
use std::ptr::NonNull;

/// A key with its versions, newest first. Only the planner of the key changes it. One line, as long as the key is short.
#[repr(align(64))]
pub(crate) struct Record {
    /// Stored with `Release` when a version is placed; readers acquire it.
    newest: AtomicPtr<Version>,
    /// Position of the newest version, so that planning need not look at that. `Relaxed`: for the planner.
    placed_at: AtomicU64,
    key: Key,
}

/// A record by its address. Whoever has one is the planner of its key, or reads in a batch that began before the record
/// left its index (B9): so it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRef(NonNull<Record>);

// SAFETY: a record consists of an atomic and of a key that is immutable.
unsafe impl Send for RecordRef {}

impl Deref for RecordRef {
    type Target = Record;

    #[inline]
    fn deref(&self) -> &Record {
        // SAFETY: B9, as the type says.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: the key is never changed.
unsafe impl Entry for Record {
    #[inline]
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Record {
    pub fn create(key: &[u8], first: VersionRef) -> RecordRef {
        let record = Box::new(Record {
            newest: AtomicPtr::new(first.pointer()),
            placed_at: AtomicU64::new(first.begin().number()),
            key: Key::from_bytes(key),
        });
        RecordRef(NonNull::from(Box::leak(record)))
    }

    /// Bytes that a record takes.
    pub fn memory(&self) -> usize {
        size_of::<Record>() + self.key.memory()
    }

    #[inline]
    pub fn newest(&self) -> VersionRef {
        VersionRef::from_pointer(self.newest.load(Acquire)).expect("a record is made with a version")
    }

    /// The newest version as a call reads it that is planned now: it begins below, so it is the one that the call's
    /// position shows (B4). The planner of the key.
    #[inline]
    pub fn newest_below(&self, position: Position) -> VersionRef {
        let placed_at = Position::from_number(self.placed_at.load(Relaxed));
        assert!(placed_at < position, "B2: versions of a key are placed in the order of positions");
        self.newest()
    }

    /// Places a version on top: the planner of the key.
    #[inline]
    pub fn place(&self, version: VersionRef, position: Position) {
        self.placed_at.store(position.number(), Relaxed);
        self.newest.store(version.pointer(), Release);
    }
}

impl RecordRef {
    pub fn of(record: &Record) -> RecordRef {
        RecordRef(NonNull::from(record))
    }

    /// The record as an index takes it.
    pub fn pointer(self) -> NonNull<Record> {
        self.0
    }

    /// Frees a record, without its versions, once every guard that is pinned now is gone.
    ///
    /// # Safety
    /// The record is out of its index, nobody else has it but by such a guard (B9), and this is said of it once.
    pub unsafe fn free_later(self, guard: &Guard) {
        // SAFETY: the caller's promise.
        unsafe { epoch::retire(guard, size_of::<Record>(), move || self.free()) };
    }

    /// Frees a record, without its versions.
    ///
    /// # Safety
    /// Nobody else has it.
    pub unsafe fn free(self) {
        // SAFETY: made by `create`; the caller's promise.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
