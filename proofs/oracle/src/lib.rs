//! Runs the printed core and the oracle on the same commands, and compares digests.
//!
//! The oracle is an OCaml program (`oracle.ml`) around what Coq extracts from the model. It shares nothing with the printed core but the
//! model: not the printer, not the primitives, whose Coq definitions it runs over stdpp's maps. What both must agree on is a
//! digest of every output and of every state.
//!
//! [`Traffic`] draws commands from a seed: real protocol traffic, in which packets are lost, doubled and reordered, and beside it hostile
//! messages, events out of place, snapshots, truncations and restarts, in configurations from sensible to absurd; and
//! commands that try one primitive each. [`Machine`] runs them on the printed core and says what came out, from which the next
//! are drawn.

#![forbid(unsafe_code)]

mod command;
mod digest;
mod machine;
mod traffic;

pub use command::Command;
pub use digest::Digest;
pub use machine::{Machine, Replica};
pub use traffic::Traffic;
