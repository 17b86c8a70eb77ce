//! NOT IN: whether a row that has found no equal is known to have none. Unknown is whether NULL equals a value, on either side; of no values
//! at all nothing is unknown.

use crate::keys::Keys;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is known of all built rows together, of whichever part of the keys. Relaxed: it is read when the threads that set it have been
/// joined.
#[derive(Default)]
pub(super) struct Seen {
    has_rows: AtomicBool,
    has_null: AtomicBool,
}

impl Seen {
    /// Takes notice of built rows.
    pub fn note(&self, keys: &Keys) {
        self.has_rows.fetch_or(keys.count() > 0, Relaxed);
        if !self.has_null.load(Relaxed) && (0..keys.count()).any(|row| keys.has_null(row)) {
            self.has_null.store(true, Relaxed);
        }
    }

    /// Returns whether it is unknown that a row without an equal has none.
    pub fn is_unknown(&self, is_null: bool) -> bool {
        self.has_rows.load(Relaxed) && (is_null || self.has_null.load(Relaxed))
    }
}
