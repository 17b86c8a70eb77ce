//! The three doors, by strength: how a transaction enters an engine.
//!
//! An engine implements the strongest door that it truly has; the adapters give the weaker ones. They are newtypes and
//! not blanket impls, so that an engine can still have a better door of its own. What an engine may offer beyond a door is a
//! capability: a method that returns an `Option`.

mod capabilities;
mod declared;
mod interactive;
mod object;
mod reexecutable;
mod transaction;

pub use capabilities::{LogUsage, ReadView, Savepoint, Savepoints, SharedReads, Snapshots, Supervised, Tables, Usage};
pub use declared::{AsDeclared, Declared, Footprint, FootprintEntry, Procedure};
pub use interactive::Interactive;
pub use object::{Engine, Store, Transaction};
pub use reexecutable::{AsReexecutable, Reexecutable};
pub use transaction::{Begin, Committed, Finish, Mode};
