//! What statements and other sessions see of a session: `state.rs` (user, times, what the transaction has left to do),
//! `settings.rs`, `registry.rs` (the open sessions).

mod deferred;
mod registry;
pub(crate) mod settings;
mod state;

pub use deferred::Deferred;
pub(crate) use deferred::{Check, Side};
pub use registry::{Activity, Entry, LockMode, Registry};
pub use state::{Noted, State};
