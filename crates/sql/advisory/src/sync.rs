//! The one latch, so that the scheduler of models can stand in for the machine's.

#[cfg(feature = "shuttle")]
pub use shuttle::sync::{Mutex, MutexGuard};

#[cfg(not(feature = "shuttle"))]
pub use std::sync::{Mutex, MutexGuard};
