//! State of a session that statements and other sessions use: `state.rs` (user, times, pending work of the transaction),
//! `settings.rs`, `registry.rs` (the open sessions), `statistics.rs` (counts of what they have done),
//! `conflicts.rs` (the last ones).

mod advisory;
mod conflicts;
mod deferred;
mod registry;
pub(crate) mod settings;
mod state;
mod statistics;

pub use advisory::Advisory;
pub use conflicts::{Conflict, Conflicts};
pub use deferred::Deferred;
pub(crate) use deferred::{Check, Side, Timing};
pub use registry::{Activity, Entry, LockMode, Registry};
pub(crate) use state::KnownTypes;
pub use state::{CatalogLookup, CursorInfo, ListsStatements, State, StatementInfo, Vectors};
pub use statistics::{RelationCounts, RunningCounts};
