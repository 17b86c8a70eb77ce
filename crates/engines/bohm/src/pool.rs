//! The memory of one planner's versions: pieces of large chunks, used again by class.

use crate::version::{CLASSES, Version, VersionRef, layout, size_of_class};
use parts::index::prefetch::prefetch_to_write;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

const CHUNK_BYTES: usize = 1 << 18;
/// Versions between one that is taken and one whose head is fetched, since it is taken soon.
const TAKEN_AHEAD: usize = 8;

/// Memory for versions. Dropping it frees all of them at once.
#[derive(Debug)]
pub(crate) struct Pool {
    chunks: Vec<NonNull<u8>>,
    /// Bytes of the last chunk that are given out.
    used: usize,
    free: Vec<Vec<NonNull<Version>>>,
    /// Bytes that were taken, less those that came back, since the planner has counted them: with the blocks of long rows, which
    /// executing threads count when they make them.
    pub made: isize,
}

// SAFETY: the pool owns its chunks; what lies in them is moved with it, and is looked at as `version.rs` says.
unsafe impl Send for Pool {}

impl Pool {
    pub fn new() -> Pool {
        Pool { chunks: Vec::new(), used: CHUNK_BYTES, free: vec![Vec::new(); CLASSES], made: 0 }
    }

    /// Memory for a version of a class.
    #[inline]
    pub fn take(&mut self, class: usize) -> NonNull<Version> {
        self.made += size_of_class(class) as isize;
        let free = &mut self.free[class];
        match free.pop() {
            Some(memory) => {
                if let Some(later) = free.len().checked_sub(TAKEN_AHEAD) {
                    prefetch_to_write(free[later].as_ptr(), size_of::<Version>());
                }
                memory
            }
            None => self.carve(layout(class)),
        }
    }

    /// Takes back the memory of a version.
    ///
    /// # Safety
    /// Nobody else has it (B8).
    #[inline]
    pub unsafe fn give_back(&mut self, version: VersionRef) {
        let class = version.class();
        self.made -= (size_of_class(class) + version.block_bytes(version.content())) as isize;
        // SAFETY: the caller's promise.
        self.free[class].push(unsafe { version.end_life() });
    }

    fn carve(&mut self, layout: Layout) -> NonNull<Version> {
        if self.used + layout.size() > CHUNK_BYTES {
            let chunk = chunk_layout();
            // SAFETY: the layout is not empty.
            let memory = unsafe { alloc(chunk) };
            self.chunks.push(NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(chunk)));
            self.used = 0;
        }
        let chunk = self.chunks.last().expect("a chunk was added");
        // SAFETY: within the chunk, by the check above; sizes are multiples of the alignment.
        let piece = unsafe { chunk.add(self.used) };
        debug_assert!(layout.size().is_multiple_of(layout.align()), "the next piece is aligned, too");
        self.used += layout.size();
        piece.cast()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: allocated by `carve` with this layout. The engine has ended the lives of the versions in it.
            unsafe { dealloc(chunk.as_ptr(), chunk_layout()) };
        }
    }
}

fn chunk_layout() -> Layout {
    Layout::from_size_align(CHUNK_BYTES, 64).expect("a chunk is small")
}
