//! The simulation: everything from one seed, in virtual time, on one thread.

pub mod bare;
pub mod chronicle;

pub use chronicle::{Outcome, Tally, Violation};
