//! The simulation: everything from one seed, in virtual time, on one thread.
//!
//! - [`bare`]: cores without a runtime, in the hands of a scheduler that may do whatever the model permits;
//! - [`cluster`]: whole nodes and clients, that is the product's code with all I/O replaced: sockets by [`env::SimNetwork`], disks by
//!   [`env::SimDisk`], clocks by a number, threads by an agenda.
//!
//! | file | what it does |
//! | --- | --- |
//! | `setting.rs` | draws a run: sizes, limits, delays, weather |
//! | `cluster.rs` | the loop from one happening to the next, and the end |
//! | `cluster/nodes.rs`, `wires.rs`, `access.rs` | what happens in a node, between nodes, between nodes and clients |
//! | `cluster/faults.rs` | what goes wrong, and how it ends |
//! | `host.rs`, `client.rs` | one node, one client |
//! | `registers.rs` | the service, which notes what it was made to execute |
//! | `judge.rs` | what every run is held against |
//! | `chronicle.rs` | digest, counts, and the story of a run that failed |
//!
//! Beside what [`judge`] lists, a run demands: instances come in order and without holes within each life of a replica; nothing is kept
//! beyond the limits; equal prefixes make equal snapshots, byte for byte; a journal is never refused by its replica; and once the faults
//! are over, every client gets an answer and every replica all instances, within a bounded time.

pub mod bare;
pub mod chronicle;
mod client;
pub mod cluster;
mod host;
mod judge;
mod registers;
pub mod setting;

pub use chronicle::{Outcome, Tally, Violation};
pub use cluster::simulate;
pub use setting::{Given, Weather};
