//! The engine as SQL sees it: door 1 as an object, since a statement is planned at run time. SQL needs an engine with savepoints
//! and with tables that come and go.

mod recorded;

pub use model::{Engine, Store, Transaction};
pub use recorded::Recorded;
