//! The environment of an engine: clock, disk, randomness and threads. Each has a real form and a simulated one, and the
//! simulated ones follow from one seed, so that a failure found in a simulation can be replayed.
//!
//! - [`clock`]: [`SystemClock`] (the CPU's counter where it can be trusted, the monotonic clock elsewhere) and [`SimClock`],
//!   which can stall, step back and jump on demand. Static dispatch: reading the clock is on every transaction's path.
//!   [`clock::Skew`] makes the clocks of a whole process wrong, for tests of several.
//! - [`disk`]: the [`Disk`] and [`DiskFile`] traits, [`RealDisk`], and [`SimDisk`], which knows what an `fdatasync` has made
//!   durable and shows, after a power cut, every state that a disk may be left in; [`WatchedDisk`] tells of each operation.
//! - [`futex`]: sleeping on a word of memory.
//! - [`moment`]: [`Moment`], a point in time passed in by the caller, for code that reads no clock.
//! - [`memory()`]: memory limit of this process.
//! - [`process`]: holders of locks, and whether they are ending.
//! - [`random`]: a small seeded generator and jittered back-off; [`Retries`] follows a policy of retries with them.
//! - [`thread`] and [`time`]: names for the pieces of `std` that the engines use. Other crates name `std::{fs, time}`,
//!   `std::thread::spawn` and `std::thread::sleep` only through here, so that a search for what depends on real time ends here.
//!
//! Deliberately absent: an async runtime and real sockets (the crates that serve own theirs).

#![deny(unsafe_code)]

pub mod clock;
pub mod disk;
#[cfg(target_os = "linux")]
pub mod futex;
mod memory;
pub mod moment;
pub mod process;
pub mod random;
mod retry;
pub mod thread;
pub mod time;

pub use clock::{Clock, ClockChoice, ClockError, MonotonicClock, SimClock, SystemClock};
pub use disk::{
    Disk, DiskError, DiskFile, DiskLock, DurableWrites, Operation, RealDisk, SimDisk, SimDiskOptions, Survival,
    WatchedDisk,
};
pub use memory::memory;
pub use moment::Moment;
pub use random::{Backoff, Randomness};
pub use retry::Retries;
