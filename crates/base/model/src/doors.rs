//! The three doors, by strength: how a transaction enters an engine.
//!
//! An engine implements the strongest door that it supports; the adapters derive the weaker ones. They are newtypes and
//! not blanket impls, so that an engine can implement a weaker door better than its adapter. What an engine may offer beyond a
//! door is a capability: a method that returns an `Option`.

mod capabilities;
pub mod columns;
mod declared;
mod footprint;
mod footprint_bytes;
mod interactive;
mod object;
mod pending;
mod reexecutable;
mod registry;
mod transaction;

pub use capabilities::{
    Extremes, LogUsage, OpenTransaction, ReadView, Savepoint, Savepoints, SharedReads, SkipsLocked, Snapshots,
    Supervised, Tables, Usage,
};
pub use declared::{AsDeclared, BatchEntry, Completed, Declared, FootprintChecked, Procedure, Ticket};
pub use footprint::{Footprint, FootprintEntry, FootprintRange, Guarded, Touch};
pub use footprint_bytes::{decode_bound, encode_bound};
pub use interactive::{Got, Interactive, read_alone};
pub use object::{Engine, Store, Transaction};
pub use pending::{Later, Pending};
pub use reexecutable::{AsReexecutable, Reexecutable, run_interactively};
pub use registry::{AnyProcedure, LoggedCall, NameTaken, Registry, encode_call};
pub use transaction::{Begin, Committed, Finish, Mode};
