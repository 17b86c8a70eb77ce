//! Whether this thread runs a body or a callback: then it may be one of the engine's, which must not wait for the engine.

use std::cell::Cell;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Marks the thread until it is dropped.
#[derive(Debug)]
pub(crate) struct Inside(());

impl Inside {
    pub fn enter() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Returns whether the thread is marked.
pub(crate) fn is_inside() -> bool {
    DEPTH.get() > 0
}
