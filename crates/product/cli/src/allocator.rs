//! The command's allocator: mimalloc, and a reserve for the moment when the system has nothing left.
//!
//! mimalloc, because it gives back what large statements and deleted rows have used, whichever thread freed it (the C library's
//! arenas keep it: docs/decisions/0023). The reserve, because a failed allocation ends the process: large requests are tried
//! before they are made (`sql::memory`, the engine's write buffers), and the small ones that cannot be find the reserve.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// mimalloc with a reserve.
pub struct WithReserve {
    /// The reserve; null before the first large request, and while it is used up. AcqRel: whoever takes it out frees it.
    reserve: AtomicPtr<u8>,
}

/// Bytes of addresses: pages of the reserve are never touched, so it is no memory until it is needed.
const RESERVE: Layout = match Layout::from_size_align(32 << 20, 4096) {
    Ok(layout) => layout,
    Err(_) => panic!("a good layout"),
};
/// Whoever asks for this much also sees to it that there is a reserve.
const LARGE: usize = 256 << 10;
/// Requests up to this size find the reserve.
const SERVED: usize = RESERVE.size() / 2;

/// Number of attempts of a small request before it fails.
const RETRIES: u32 = 1000;

impl WithReserve {
    /// Without a reserve yet.
    pub const fn new() -> WithReserve {
        WithReserve { reserve: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Lays in a reserve, if there is none and the system has one.
    #[cold]
    fn allocate_reserve(&self) {
        // SAFETY: the layout is not of size zero.
        let Some(block) = NonNull::new(unsafe { MiMalloc.alloc(RESERVE) }) else { return };
        let none = ptr::null_mut();
        if self.reserve.compare_exchange(none, block.as_ptr(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: allocated above with this layout, and nobody else has it.
            unsafe { MiMalloc.dealloc(block.as_ptr(), RESERVE) };
        }
    }

    /// Gives the reserve back to the allocator. Whether there was one.
    #[cold]
    fn give_up(&self) -> bool {
        let Some(block) = NonNull::new(self.reserve.swap(ptr::null_mut(), Ordering::AcqRel)) else { return false };
        // SAFETY: allocated by `allocate_reserve` with this layout; taken out by us alone.
        unsafe { MiMalloc.dealloc(block.as_ptr(), RESERVE) };
        true
    }

    #[inline]
    fn with_reserve(&self, bytes: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
        if bytes >= LARGE && self.reserve.load(Ordering::Relaxed).is_null() {
            self.allocate_reserve();
        }
        let block = allocate();
        // Larger requests are tried before they are made: the reserve is for those that cannot fail.
        if block.is_null() && bytes <= SERVED { self.allocate_from_reserve(allocate) } else { block }
    }

    /// Another thread may have given the reserve up a moment ago, or may hold all that is left for a trial: both leave room within
    /// microseconds.
    #[cold]
    fn allocate_from_reserve(&self, allocate: impl Fn() -> *mut u8) -> *mut u8 {
        self.give_up();
        for _ in 0..RETRIES {
            let block = allocate();
            if !block.is_null() {
                return block;
            }
            std::thread::yield_now();
        }
        ptr::null_mut()
    }
}

// SAFETY: every block comes from mimalloc by the layout that it was asked for, and goes back there.
unsafe impl GlobalAlloc for WithReserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with_reserve(layout.size(), || unsafe { MiMalloc.alloc(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.with_reserve(layout.size(), || unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; after a failure the block is as it was.
        self.with_reserve(size, || unsafe { MiMalloc.realloc(block, layout, size) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_small_request_that_fails_finds_the_reserve_once() {
        let allocator = WithReserve::new();
        allocator.allocate_reserve();
        let there = |allocator: &WithReserve| !allocator.reserve.load(Ordering::Relaxed).is_null();
        assert!(there(&allocator));
        let fails_while_there = || if there(&allocator) { ptr::null_mut() } else { NonNull::dangling().as_ptr() };
        assert!(allocator.with_reserve(SERVED + 1, fails_while_there).is_null(), "a large one is refused");
        assert!(there(&allocator));
        assert!(!allocator.with_reserve(100, fails_while_there).is_null(), "a small one gets it");
        assert!(!there(&allocator));
        assert!(allocator.with_reserve(100, ptr::null_mut).is_null(), "there is no second one");
        allocator.with_reserve(LARGE, || NonNull::dangling().as_ptr());
        assert!(there(&allocator), "the next large request lays one in");
        assert!(allocator.give_up());
        let attempts = Cell::new(0);
        let fails_at_first = || {
            attempts.set(attempts.get() + 1);
            if attempts.get() < 5 { ptr::null_mut() } else { NonNull::dangling().as_ptr() }
        };
        assert!(!allocator.with_reserve(100, fails_at_first).is_null(), "a trial of another thread is over soon");
    }
}
