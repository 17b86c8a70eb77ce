//! Synchronization, imported from here only, so that a model checker can stand in for the hardware.
//!
//! `--cfg loom` replaces everything by loom's types (two- and three-thread kernels, all interleavings and
//! reorderings); the feature `shuttle` by shuttle's (whole engines, random schedules); otherwise it is `std`.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, atomic::fence},
    thread,
};

#[cfg(all(feature = "shuttle", not(loom)))]
pub use shuttle::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, atomic::fence},
    thread,
};

#[cfg(not(any(loom, feature = "shuttle")))]
pub use std::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, atomic::fence},
    thread,
};

/// Set once, then read. Always `std`'s: whoever reads has learned from another word, which a model checker sees, that it is set.
pub use std::sync::OnceLock;

/// A cell whose user keeps accesses apart; loom checks that.
pub mod cell {
    #[cfg(loom)]
    pub use loom::cell::UnsafeCell;

    /// A cell that gives a pointer to what it holds.
    #[cfg(not(loom))]
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    #[cfg(not(loom))]
    impl<T> UnsafeCell<T> {
        /// Returns a cell that holds a value.
        pub fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Calls a function with a pointer to the value, for an exclusive access.
        #[inline]
        pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}
