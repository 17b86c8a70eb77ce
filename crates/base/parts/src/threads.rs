//! A small number for each thread, to spread threads over what is padded against each other.

// Not from `sync`: a number publishes nothing and orders nothing, so a model checker has nothing to find.
use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The calling thread's number: threads are counted as they ask for the first time.
#[inline]
pub fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<usize> = Cell::new(NEXT.fetch_add(1, Relaxed)));
    // A thread that is ending has no number any more.
    NUMBER.try_with(Cell::get).unwrap_or(0)
}
