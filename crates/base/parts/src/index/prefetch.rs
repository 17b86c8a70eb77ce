//! Hints to the processor, so that the misses of several lookups overlap.

pub use model::SIDE_BY_SIDE;

/// Bytes that come into the cache together.
const LINE: usize = 64;

/// Asks for the lines that hold these bytes, from a line's start on. A hint: the address may be anything, and is not read.
#[inline]
pub fn prefetch<T>(address: *const T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for offset in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>().wrapping_add(offset)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (address, bytes, LINE);
}

/// Same as [`prefetch`], into the second cache only: for bytes that are needed after others that are in the first one.
#[inline]
pub fn prefetch_behind<T>(address: *const T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for offset in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint; it reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast::<i8>().wrapping_add(offset)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    prefetch(address, bytes);
}

/// Same as [`prefetch`], for bytes that are going to be written: no other core keeps the lines, so the write does not wait for them
/// once more.
#[inline]
pub fn prefetch_to_write<T>(address: *const T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for offset in (0..bytes).step_by(LINE) {
        let line = address.cast::<i8>().wrapping_add(offset);
        // SAFETY: a hint, as above; a processor of 64 bits that does not follow it skips it.
        unsafe { std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    prefetch(address, bytes);
}
