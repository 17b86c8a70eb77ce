//! Simulated clusters: everything from one seed, in virtual time, one step at a time. For replicas of any protocol.
//!
//! - [`event_queue`]: [`EventQueue`], virtual time: future events and their times.
//! - [`network`]: [`SimNetwork`], packets between nodes: delays, losses, duplicates, broken connections, cuts.
//! - [`clock`]: [`DriftingClock`], which starts anywhere and runs fast or slow.
//! - [`cluster`]: [`run`](cluster::run) executes one event after another for the [`Replicas`] in a [`World`].
//! - [`threads`]: [`Schedule`], programs with threads in virtual time, on machines with cores.
//! - [`trace`]: record of a run: always a digest, the steps in words on request; and [`demand!`](crate::demand), which ends
//!   the run.
//!
//! Disks are [`env::SimDisk`]; random numbers come from [`env::Randomness`], by the seed.
//!
//! # Invariants
//! A run is a function of its seed: no clock, no entropy, no order of a hash table. Equal seeds have equal digests.
//!
//! Deliberately absent: protocols, and the checks of their guarantees. The duties of a replica are specified where the replica
//! is.

#![forbid(unsafe_code)]

pub mod clock;
pub mod cluster;
pub mod event_queue;
pub mod network;
pub mod threads;
pub mod trace;

pub use clock::DriftingClock;
pub use cluster::{Replicas, World};
pub use event_queue::EventQueue;
pub use network::{Delay, NetworkCounts, NetworkOptions, Packet, SimNetwork};
pub use threads::Schedule;
pub use trace::{Outcome, Tally, Trace, Violation};

use env::Randomness;

/// A millisecond of virtual time, in nanoseconds.
pub const MILLISECOND: u64 = 1_000_000;

/// A second of virtual time, in nanoseconds.
pub const SECOND: u64 = 1_000 * MILLISECOND;

/// One of some things, each as likely as the others.
///
/// # Panics
/// If there are none.
pub fn one_of<'a, T>(randomness: &mut Randomness, things: &'a [T]) -> &'a T {
    &things[randomness.in_range(0..things.len() as u64) as usize]
}
