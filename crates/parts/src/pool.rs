//! Byte blocks that are used again and again: no call of the allocator where versions come and go.
//!
//! A pool belongs to one site, under the site's own mutex, so it has no synchronization. Blocks are of classes of
//! 16 bytes up to 1 KiB, each with a list of free blocks that runs through the blocks themselves; larger blocks go
//! to the allocator. A block may be freed into another pool than the one it came from: versions are made by the
//! site that writes and retired by the one that collects.
//!
//! Invariants:
//! - **P1** A free block is in one list, was allocated with the layout of that list's class, and belongs to the pool.
//! - **P2** The free blocks never have more bytes in all than the pool's limit; what exceeds it goes back to the
//!   allocator.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    ptr::NonNull,
};

/// Sizes are rounded up to a multiple of this many bytes, and blocks are aligned to it.
const CLASS_BYTES: usize = 16;
/// Up to this many bytes a block is kept for the next one of its class.
const MAX_POOLED_BYTES: usize = 1024;
const CLASSES: usize = MAX_POOLED_BYTES / CLASS_BYTES;

/// Free lists of byte blocks by size class, for one owner at a time.
#[derive(Debug)]
pub struct Pool {
    /// `free[i]` is the list of the blocks of `(i + 1) * CLASS_BYTES` bytes.
    free: [Option<NonNull<Free>>; CLASSES],
    free_bytes: usize,
    limit_bytes: usize,
}

/// What a block holds while it is free.
#[derive(Debug)]
struct Free {
    next: Option<NonNull<Free>>,
}

// SAFETY: the pool owns its free blocks (P1), and nothing of them depends on a thread.
unsafe impl Send for Pool {}

impl Pool {
    /// An empty pool that keeps at most `limit_bytes` of free blocks.
    pub fn new(limit_bytes: usize) -> Self {
        Self { free: [None; CLASSES], free_bytes: 0, limit_bytes }
    }

    /// A block of at least `size` bytes (zero counts as one), aligned to 16, with arbitrary contents.
    ///
    /// Whoever gets it owns it, until [`Self::free`] with the same size; a pool that is dropped leaves it alone.
    ///
    /// # Panics
    /// If `size` exceeds `isize::MAX` less some bytes. Memory that runs out is the process's end, as for any `Box`.
    #[inline]
    pub fn alloc(&mut self, size: usize) -> NonNull<u8> {
        let layout = layout(size);
        match class(layout).and_then(|class| self.free[class].map(|block| (class, block))) {
            Some((class, block)) => {
                // SAFETY: in the list, hence initialized as `Free` and ours (P1).
                self.free[class] = unsafe { block.as_ref() }.next;
                self.free_bytes -= layout.size();
                block.cast()
            }
            None => allocate(layout),
        }
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from [`Self::alloc`] of any pool with the same `size`, and is not used from here on.
    #[inline]
    pub unsafe fn free(&mut self, block: NonNull<u8>, size: usize) {
        let layout = layout(size);
        match class(layout) {
            Some(class) if self.free_bytes + layout.size() <= self.limit_bytes => {
                let block = block.cast::<Free>();
                // SAFETY: by contract the block is ours now; it is large and aligned enough for a `Free`.
                unsafe { block.write(Free { next: self.free[class] }) };
                self.free[class] = Some(block);
                self.free_bytes += layout.size();
            }
            // SAFETY: by contract allocated with this layout, and no longer used.
            _ => unsafe { dealloc(block.as_ptr(), layout) },
        }
    }

    /// How many bytes of free blocks it keeps.
    pub fn free_bytes(&self) -> usize {
        self.free_bytes
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for class in 0..CLASSES {
            let layout = layout((class + 1) * CLASS_BYTES);
            while let Some(block) = self.free[class] {
                // SAFETY: in the list, hence initialized as `Free`, ours, and of this layout (P1).
                unsafe {
                    self.free[class] = block.as_ref().next;
                    dealloc(block.as_ptr().cast(), layout);
                }
            }
        }
    }
}

/// The layout of every block of `size` bytes: its class's up to the largest, rounded up to the alignment beyond.
#[inline]
fn layout(size: usize) -> Layout {
    let rounded = size.max(1).checked_next_multiple_of(CLASS_BYTES).expect("a size that fits the address space");
    Layout::from_size_align(rounded, CLASS_BYTES).expect("a size that fits the address space")
}

/// The class of a layout, if there is one for its size.
#[inline]
fn class(layout: Layout) -> Option<usize> {
    (layout.size() <= MAX_POOLED_BYTES).then(|| layout.size() / CLASS_BYTES - 1)
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is at least one class's.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Move {
        Alloc(usize),
        /// The block at this place among those that are in use, into the first or the second pool.
        Free(prop::sample::Index, bool),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let sizes = prop_oneof![0..200_usize, 900..1200_usize];
        let one = prop_oneof![
            sizes.prop_map(Move::Alloc),
            (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(which, first)| Move::Free(which, first)),
        ];
        proptest::collection::vec(one, 0..300)
    }

    fn fill(block: NonNull<u8>, size: usize, pattern: u8) {
        // SAFETY: a block of at least this size that the test owns.
        unsafe { block.write_bytes(pattern, size) };
    }

    fn holds(block: NonNull<u8>, size: usize, pattern: u8) -> bool {
        // SAFETY: as above, and filled.
        unsafe { std::slice::from_raw_parts(block.as_ptr(), size) }.iter().all(|byte| *byte == pattern)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// Each block keeps what was written to it, to its last byte, whatever happens to the others.
        #[test]
        fn blocks_in_use_never_overlap(moves in moves()) {
            const LIMIT_BYTES: usize = 2_000;
            let mut pools = [Pool::new(LIMIT_BYTES), Pool::new(LIMIT_BYTES)];
            let mut used: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
            for (pattern, step) in moves.into_iter().enumerate() {
                let pattern = pattern as u8;
                match step {
                    Move::Alloc(size) => {
                        let block = pools[0].alloc(size);
                        prop_assert_eq!(block.addr().get() % CLASS_BYTES, 0);
                        fill(block, size, pattern);
                        used.push((block, size, pattern));
                    }
                    Move::Free(which, first) if !used.is_empty() => {
                        let (block, size, pattern) = used.swap_remove(which.index(used.len()));
                        prop_assert!(holds(block, size, pattern));
                        // SAFETY: from `alloc` with this size, and forgotten.
                        unsafe { pools[usize::from(!first)].free(block, size) };
                    }
                    Move::Free(..) => {}
                }
                prop_assert!(pools.iter().all(|pool| pool.free_bytes() <= LIMIT_BYTES), "P2");
            }
            for (block, size, pattern) in used {
                prop_assert!(holds(block, size, pattern));
                // SAFETY: as above.
                unsafe { pools[0].free(block, size) };
            }
        }
    }

    #[test]
    fn a_freed_block_is_the_next_of_its_class() {
        let mut pool = Pool::new(1 << 16);
        let (small, large) = (pool.alloc(17), pool.alloc(1024));
        // SAFETY: from `alloc` with these sizes, and no longer used.
        unsafe {
            pool.free(small, 17);
            pool.free(large, 1024);
        }
        assert_eq!(pool.free_bytes(), 32 + 1024);
        assert_eq!(pool.alloc(1009), large);
        assert_eq!(pool.alloc(32), small);
        assert_eq!(pool.free_bytes(), 0);
        // SAFETY: as above.
        unsafe {
            pool.free(small, 32);
            pool.free(large, 1009);
        }
    }

    #[test]
    fn nothing_is_kept_beyond_the_limit_or_the_largest_class() {
        let mut pool = Pool::new(64);
        let blocks = [(pool.alloc(64), 64), (pool.alloc(16), 16), (pool.alloc(1025), 1025)];
        for (block, size) in blocks {
            // SAFETY: from `alloc` with this size, and no longer used.
            unsafe { pool.free(block, size) };
        }
        assert_eq!(pool.free_bytes(), 64);
    }

    #[test]
    #[should_panic(expected = "fits the address space")]
    fn an_impossible_size_is_a_panic_not_an_overflow() {
        Pool::new(0).alloc(usize::MAX);
    }
}
