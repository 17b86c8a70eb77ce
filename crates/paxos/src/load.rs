//! A load: many logical clients on few connections and one thread, so that what is measured is the order and not the clients.
//!
//! [`crowd`] is the clients of one connection, without I/O.

pub mod crowd;

pub use crowd::{Crowd, Pace};
