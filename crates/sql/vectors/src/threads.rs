//! Threads that work for an operator.

use std::sync::Arc;

/// Threads that may work for an operator.
#[derive(Clone)]
pub struct Threads {
    /// How many, with the one that asks.
    pub count: usize,
    /// Prepares one.
    pub enter: Arc<dyn Fn() + Send + Sync>,
}

impl Threads {
    /// The one that asks.
    pub fn one() -> Threads {
        Threads { count: 1, enter: Arc::new(|| {}) }
    }
}
