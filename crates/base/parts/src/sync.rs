//! Synchronization, imported from here only, so that a model checker can stand in for the hardware.
//!
//! `--cfg loom` replaces everything by loom's types (two- and three-thread kernels, all interleavings and
//! reorderings); the feature `shuttle` by shuttle's (whole engines, random schedules); otherwise it is `std`.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, atomic, atomic::fence},
    thread,
};

#[cfg(all(feature = "shuttle", not(loom)))]
pub use shuttle::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, atomic, atomic::fence},
    thread,
};

#[cfg(not(any(loom, feature = "shuttle")))]
pub use std::{
    hint::spin_loop,
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, atomic, atomic::fence},
    thread,
};
