//! Ends long functions: they count their work here, and look now and then whether their statement is to stop. A pure function
//! has no other way to the statement.

use crate::error::Result;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Units of work between two looks: some milliseconds.
const BETWEEN_LOOKS: usize = 1 << 20;

/// Says whether a statement is to stop.
pub trait Interrupt: Send + Sync {
    /// Looks whether the statement is to stop.
    ///
    /// # Errors
    /// It is: cancelled, out of time, or its session ends.
    fn check(&self) -> Result<()>;
}

thread_local! {
    /// Stops the statement on this thread.
    static INTERRUPT: RefCell<Option<Arc<dyn Interrupt>>> = const { RefCell::new(None) };
    /// Units since the last look.
    static DONE: Cell<usize> = const { Cell::new(0) };
}

/// Begins a statement on this thread, which `interrupt` stops.
pub fn begin_statement(interrupt: Arc<dyn Interrupt>) {
    INTERRUPT.set(Some(interrupt));
}

/// Counts work, a unit for about each nanosecond.
///
/// # Errors
/// As [`Interrupt::check`].
pub fn work(units: usize) -> Result<()> {
    let done = DONE.get().saturating_add(units);
    if done < BETWEEN_LOOKS {
        DONE.set(done);
        return Ok(());
    }
    DONE.set(0);
    look()
}

/// Looks whether the statement is to stop.
///
/// # Errors
/// As [`Interrupt::check`].
pub fn look() -> Result<()> {
    INTERRUPT.with_borrow(|interrupt| interrupt.as_ref().map_or(Ok(()), |interrupt| interrupt.check()))
}
