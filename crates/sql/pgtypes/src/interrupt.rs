//! Interruption of long functions: they count their work here and check now and then whether their statement must stop. A pure
//! function has no other access to its statement.

use crate::error::Result;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Units of work between two looks: some milliseconds.
const BETWEEN_LOOKS: usize = 1 << 20;

/// A check whether a statement must stop.
pub trait Interrupt: Send + Sync {
    /// Checks whether the statement must stop.
    ///
    /// # Errors
    /// The statement was cancelled or is out of time, or its session ends.
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
/// Errors of [`Interrupt::check`].
pub fn work(units: usize) -> Result<()> {
    let done = DONE.get().saturating_add(units);
    if done < BETWEEN_LOOKS {
        DONE.set(done);
        return Ok(());
    }
    DONE.set(0);
    look()
}

/// Checks whether the statement must stop.
///
/// # Errors
/// Errors of [`Interrupt::check`].
pub fn look() -> Result<()> {
    INTERRUPT.with_borrow(|interrupt| interrupt.as_ref().map_or(Ok(()), |interrupt| interrupt.check()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, state};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Lets so many looks pass.
    struct After(AtomicU32);

    impl Interrupt for After {
        fn check(&self) -> Result<()> {
            let left = self.0.load(Ordering::Relaxed);
            self.0.store(left.saturating_sub(1), Ordering::Relaxed);
            if left > 0 { Ok(()) } else { Err(Error::new(state::QUERY_CANCELED, "for the test")) }
        }
    }

    #[test]
    fn work_is_looked_at_now_and_then() {
        begin_statement(Arc::new(After(AtomicU32::new(2))));
        let steps = (0..).take_while(|_| work(BETWEEN_LOOKS / 4).is_ok()).count();
        assert!((8..12).contains(&steps), "{steps}: two looks have passed");
        assert!(look().is_err() && work(usize::MAX).is_err());
        begin_statement(Arc::new(After(AtomicU32::new(1))));
        assert!(look().is_ok(), "the next statement is another");
    }
}
