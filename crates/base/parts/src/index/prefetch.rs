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
