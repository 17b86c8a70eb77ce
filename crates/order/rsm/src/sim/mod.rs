//! The simulation of whole nodes and clients: the product's code with all I/O replaced. Sockets are a [`sim::SimNetwork`], disks
//! [`env::SimDisk`]s, clocks numbers, threads an event queue; everything follows from one seed. (`paxos::bare` simulates cores alone.)
//!
//! | file | what it does |
//! | --- | --- |
//! | `setting.rs` | draws a run: sizes, limits, delays, faults |
//! | `cluster.rs` | the loop from one happening to the next, and the end |
//! | `cluster/nodes.rs`, `wires.rs`, `access.rs` | what happens in a node, between nodes, between nodes and clients |
//! | `cluster/faults.rs` | what goes wrong, and how it ends |
//! | `host.rs`, `client.rs` | one node, one client |
//! | `registers.rs` | the service, which notes what it was made to execute |
//! | `judge.rs` | what every run is held against |
//!
//! Beside what `judge.rs` lists, a run demands: instances come in order and without holes within each life of a replica; nothing is kept
//! beyond the limits; equal prefixes make equal snapshots, byte for byte; a journal is never refused by its replica; and once the faults
//! are over, every client gets an answer and every replica all instances, within a bounded time.

mod client;
mod cluster;
mod host;
mod judge;
mod registers;
pub mod setting;

pub use cluster::simulate;
pub use setting::{FaultLevel, FixedSettings};
pub use sim::{Outcome, Tally, Violation};
