//! Epoch-based reclamation: a guard keeps what was reachable when it was pinned from being freed.
//!
//! While it is pinned, a guard delays the release of everything that is retired in the whole process. So it is held for one
//! lookup only: never while its thread sleeps, and never while a caller's code runs. [`waiting_bytes`] shows the delayed bytes.

use crate::memory::Meter;
use std::sync::LazyLock;

pub use crossbeam_epoch::is_pinned;

/// A pinned guard of the one collector that everything here is freed through: a guard of another one would keep none of it.
#[derive(Debug)]
pub struct Guard(crossbeam_epoch::Guard);

/// Pins the calling thread.
#[inline]
pub fn pin() -> Guard {
    Guard(crossbeam_epoch::pin())
}

impl Guard {
    /// Runs `free` once every guard that is pinned now is gone.
    ///
    /// # Safety
    /// `free` may run on any thread, and its captures must be valid until then.
    pub unsafe fn defer_unchecked<R>(&self, free: impl FnOnce() -> R) {
        // SAFETY: the caller's promise.
        unsafe { self.0.defer_unchecked(free) };
    }

    /// Hands what this thread has retired to the collector, and frees some of what can be.
    pub fn flush(&self) {
        self.0.flush();
    }
}

/// Bytes that have been retired and not been freed yet.
static WAITING: LazyLock<Meter> = LazyLock::new(Meter::default);

/// Bytes that were retired by [`retire`] and not freed yet. Exact while no thread retires or frees.
pub fn waiting_bytes() -> usize {
    WAITING.used()
}

/// Runs `free`, which gives `bytes` bytes back, once every guard that is pinned now is gone.
///
/// # Safety
/// Same as [`Guard::defer_unchecked`]: `free` may run on any thread, and its captures must be valid until then.
pub unsafe fn retire(guard: &Guard, bytes: usize, free: impl FnOnce()) {
    WAITING.charge(bytes);
    let free = move || {
        WAITING.credit(bytes);
        free();
    };
    // SAFETY: the caller's promise.
    unsafe { guard.defer_unchecked(free) };
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn what_is_retired_waits_for_the_guards_of_that_moment() {
        let guard = pin();
        let freed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flag = freed.clone();
        // SAFETY: the closure owns what it uses.
        unsafe { retire(&guard, 1000, move || flag.store(true, std::sync::atomic::Ordering::SeqCst)) };
        guard.flush();
        assert!(waiting_bytes() >= 1000 && !freed.load(std::sync::atomic::Ordering::SeqCst));
        drop(guard);
        while !freed.load(std::sync::atomic::Ordering::SeqCst) {
            pin().flush(); // Guards of other tests come and go.
        }
    }
}
