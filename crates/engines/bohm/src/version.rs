//! Versions: a row of a key, or the placeholder for one, followed by room for the row.
//!
//! Planning makes a version and links it (B2); the thread that executes the producer writes its row and publishes it
//! (B5).

use crate::call::{Call, CallRef};
use crate::position::Position;
use parts::index::prefetch::{prefetch, prefetch_to_write};
use parts::sync::atomic::{
    AtomicU8, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::alloc::Layout;
use std::ops::Deref;
use std::ptr::{self, NonNull};

/// Bytes by which the room for a row grows from one class of versions to the next.
const GRAIN: usize = 16;
/// The longest row that stands in its version; longer ones have a block of their own.
const LONGEST_INLINE: usize = 1024;
/// Number of classes.
pub(crate) const CLASSES: usize = LONGEST_INLINE / GRAIN + 1;
/// Bytes of a version that a hint asks for: short rows as a whole.
const PREFETCHED_BYTES: usize = 192;

/// What a version holds, or what an attempt has drafted in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Content {
    /// Nothing yet: a placeholder.
    Empty,
    /// A row in the version itself.
    Row,
    /// A row in a block of its own.
    Long,
    /// No row: the key is absent.
    Absent,
}

impl Content {
    pub fn from_number(number: u8) -> Content {
        match number {
            0 => Content::Empty,
            1 => Content::Row,
            2 => Content::Long,
            _ => Content::Absent,
        }
    }
}

/// The head of a version.
#[repr(C)]
pub(crate) struct Version {
    begin: Position,
    /// Whoever fills it. Looked at only while it is empty.
    producer: *const Call,
    /// The version before, or null. It is gone once the batch of this one is at or below the low-water mark: only
    /// readers below `begin` follow it, and there are none then (B8).
    previous: *mut Version,
    /// Bytes of the row. Published by `content`.
    length: AtomicU32,
    /// A [`Content`]. Stored with `Release` once the row is written; readers acquire it.
    content: AtomicU8,
    class: u8,
}

/// A version by its address. Whoever has one is the planner of its key, or reads at a position at or above its begin
/// while the low-water mark stays below the batch that replaces it (B8): so it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionRef(NonNull<Version>);

// SAFETY: a version is shared as B5 says: its row is written by one thread, and read after it was published.
unsafe impl Send for VersionRef {}
// SAFETY: as for Send.
unsafe impl Sync for VersionRef {}

impl Deref for VersionRef {
    type Target = Version;

    #[inline]
    fn deref(&self) -> &Version {
        // SAFETY: B8, as the type says.
        unsafe { self.0.as_ref() }
    }
}

/// The class of versions that have room for rows of so many bytes, or of those with blocks of their own.
pub(crate) fn class_of(row_bytes: usize) -> usize {
    if row_bytes > LONGEST_INLINE { 1 } else { row_bytes.div_ceil(GRAIN).max(1) }
}

/// Bytes of a version with room for a row, or with a block for it.
pub(crate) fn bytes_with_row(row_bytes: usize) -> usize {
    let block_bytes = if row_bytes > LONGEST_INLINE { row_bytes } else { 0 };
    size_of_class(class_of(row_bytes)) + block_bytes
}

/// Bytes of a version of a class.
#[inline]
pub(crate) fn size_of_class(class: usize) -> usize {
    const { assert!(size_of::<Version>().is_multiple_of(GRAIN), "there is no gap behind the head, nor behind the room") };
    size_of::<Version>() + class * GRAIN
}

/// Memory of a version of a class.
pub(crate) fn layout(class: usize) -> Layout {
    Layout::new::<Version>()
        .extend(Layout::array::<u8>(class * GRAIN).expect("a class is small"))
        .and_then(|(layout, _)| layout.align_to(GRAIN))
        .expect("a version is small")
        .pad_to_align()
}

impl Version {
    #[inline]
    pub fn begin(&self) -> Position {
        self.begin
    }

    /// Whoever fills it, for readers that found it empty: the batch of its producer is not complete then, so the
    /// producer is there.
    pub fn producer(&self) -> CallRef {
        CallRef::new(self.producer)
    }

    /// The version before, for readers below the begin of this one.
    #[inline]
    pub fn previous(&self) -> Option<VersionRef> {
        VersionRef::from_pointer(self.previous)
    }

    #[inline]
    pub fn content(&self) -> Content {
        Content::from_number(self.content.load(Acquire))
    }

    pub fn class(&self) -> usize {
        usize::from(self.class)
    }
}

impl VersionRef {
    #[inline]
    pub fn from_pointer(pointer: *mut Version) -> Option<VersionRef> {
        NonNull::new(pointer).map(VersionRef)
    }

    #[inline]
    pub fn pointer(self) -> *mut Version {
        self.0.as_ptr()
    }

    /// Makes a placeholder in fresh memory of a class.
    ///
    /// # Safety
    /// The memory has the layout of the class, and is nobody else's.
    #[inline]
    pub unsafe fn create(
        memory: NonNull<Version>,
        class: usize,
        producer: &Call,
        previous: Option<VersionRef>,
    ) -> VersionRef {
        let previous = previous.map_or(ptr::null_mut(), VersionRef::pointer);
        let version = Version {
            begin: producer.position,
            producer,
            previous,
            length: AtomicU32::new(0),
            content: AtomicU8::new(Content::Empty as u8),
            class: class as u8,
        };
        // SAFETY: the caller's promise.
        unsafe { memory.write(version) };
        VersionRef(memory)
    }

    /// Ends the version's life, so that its memory can be used again: frees a row with a block of its own.
    ///
    /// # Safety
    /// Nobody else has it (B8).
    pub unsafe fn end_life(self) -> NonNull<Version> {
        self.discard(self.content());
        // SAFETY: the caller's promise. Atomics need no drop, but a model checker's may.
        unsafe { self.0.drop_in_place() };
        self.0
    }

    /// The row of a version whose content is known, or of the caller's own draft.
    #[inline]
    pub fn row(&self, content: Content) -> Option<&[u8]> {
        let length = self.length.load(Relaxed) as usize;
        let bytes = match content {
            Content::Row => self.room().cast_const(),
            // SAFETY: `draft` has written the address of the block there.
            Content::Long => unsafe { self.room().cast::<*const u8>().read_unaligned() },
            Content::Empty | Content::Absent => return None,
        };
        // SAFETY: `draft` has written so many bytes; they do not change while somebody may read them (B5).
        Some(unsafe { std::slice::from_raw_parts(bytes, length) })
    }

    /// Brings the version and its row near.
    #[inline]
    pub fn prefetch(self) {
        prefetch(self.pointer(), PREFETCHED_BYTES);
    }

    /// Brings a placeholder near that is going to be filled: its planner's core has its head.
    #[inline]
    pub fn prefetch_to_fill(self) {
        prefetch_to_write(self.pointer(), PREFETCHED_BYTES);
    }

    /// Brings the head of the version near, which the next placeholder overwrites.
    #[inline]
    pub fn prefetch_head(self) {
        prefetch_to_write(self.pointer(), size_of::<Version>());
    }

    /// Writes a row into a placeholder that the caller executes, unpublished. Returns how it is held.
    #[inline]
    pub fn draft(self, row: &[u8]) -> Content {
        debug_assert_eq!(self.content.load(Relaxed), Content::Empty as u8, "B5: a published version is immutable");
        self.length.store(row.len() as u32, Relaxed);
        if row.len() <= self.class() * GRAIN {
            // SAFETY: so much room follows the head, and only the thread that executes the producer uses it before it
            // is published.
            unsafe { self.room().copy_from_nonoverlapping(row.as_ptr(), row.len()) };
            return Content::Row;
        }
        let block = Box::into_raw(Box::<[u8]>::from(row)).cast::<u8>();
        // SAFETY: as above: every class has room for an address.
        unsafe { self.room().cast::<*mut u8>().write_unaligned(block) };
        Content::Long
    }

    /// Bytes that a draft or a version holds outside of itself.
    #[inline]
    pub fn block_bytes(self, content: Content) -> usize {
        if content == Content::Long { self.length.load(Relaxed) as usize } else { 0 }
    }

    /// Frees what a draft or a version holds outside of itself.
    pub fn discard(self, content: Content) {
        if content == Content::Long {
            let length = self.length.load(Relaxed) as usize;
            // SAFETY: made by `draft` with this length; the caller gives it up.
            unsafe {
                let block = self.room().cast::<*mut u8>().read_unaligned();
                drop(Box::from_raw(ptr::slice_from_raw_parts_mut(block, length)));
            }
        }
    }

    /// Publishes a draft.
    #[inline]
    pub fn publish(self, content: Content) {
        let before = self.content.swap(content as u8, Release);
        assert!(before == Content::Empty as u8 && content != Content::Empty, "B5: a version is published once");
    }

    fn room(self) -> *mut u8 {
        // SAFETY: the room follows the head in the same allocation.
        unsafe { self.0.as_ptr().cast::<u8>().add(size_of::<Version>()) }
    }
}
