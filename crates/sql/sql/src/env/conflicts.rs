//! The last conflicts of transactions, for `seriatim_aborts`.

use model::Abort;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Conflicts that are kept: the oldest are forgotten.
const KEPT: usize = 1000;

/// The last conflicts of all sessions. Whoever commits does not come here.
#[derive(Debug, Default)]
pub struct Conflicts(Mutex<VecDeque<Conflict>>);

/// A transaction that was aborted because of another one.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// When. Microseconds since 1970.
    pub at: i64,
    /// Its session.
    pub process: i32,
    /// Its database's identifier.
    pub database: u32,
    /// Whether the server has repeated it.
    pub is_repeated: bool,
    /// The statement, or COMMIT.
    pub query: String,
    /// What the engine says of it.
    pub abort: Box<Abort>,
}

impl Conflicts {
    /// Notes a conflict.
    pub fn note(&self, conflict: Conflict) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = if kept.len() < KEPT { None } else { kept.pop_front() };
        kept.push_back(conflict);
        drop(kept);
        drop(oldest); // Without the latch.
    }

    /// The conflicts of a database's sessions, the oldest first.
    pub fn of_database(&self, database: u32) -> Vec<Conflict> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().filter(|conflict| conflict.database == database).cloned().collect()
    }
}
