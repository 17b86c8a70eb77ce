//! The engine interface of SQL: `Interactive` as a trait object, since statements are planned at run time. SQL requires an engine with
//! savepoints and with tables that can be created and dropped.

mod recorded;
mod shared;

pub use model::{Engine, Store, Transaction};
pub use recorded::Recorded;
pub use shared::{Elsewhere, Exported, Shared};
