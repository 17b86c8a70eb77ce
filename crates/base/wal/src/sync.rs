//! The one place of this crate from which synchronization is imported.

pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Takes a latch of this crate. No foreign code runs under one, so a poisoned latch is a bug here, and going on would be
/// worse than stopping.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this latch panics")
}
