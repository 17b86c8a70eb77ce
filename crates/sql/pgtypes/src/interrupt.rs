//! Interruption of long functions: they count their work here and check now and then whether their statement must stop. A pure
//! function has no other access to its statement.

use crate::error::Result;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Units of work between two looks: some milliseconds.
const BETWEEN_LOOKS: usize = 1 << 20;

/// Bytes of a long value that are worked on at once.
const PIECE: usize = 64 << 10;

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

/// Splits a long text into pieces. Each is counted as work, `cost` units a byte, before it is shown.
pub fn text_pieces(text: &str, cost: usize) -> impl Iterator<Item = Result<&str>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let piece = (!rest.is_empty()).then(|| &rest[..rest.floor_char_boundary(PIECE)])?;
        rest = &rest[piece.len()..];
        Some(work(piece.len() * cost).map(|()| piece))
    })
}

/// The counterpart of [`text_pieces`] for bytes.
pub fn byte_pieces(bytes: &[u8], cost: usize) -> impl Iterator<Item = Result<&[u8]>> {
    bytes.chunks(PIECE).map(move |piece| work(piece.len() * cost).map(|()| piece))
}

/// Repeats a text.
///
/// # Errors
/// Errors of [`Interrupt::check`].
pub fn repeated(text: &str, times: usize) -> Result<String> {
    let mut out = String::with_capacity(text.len().saturating_mul(times));
    let in_block = (PIECE / text.len().max(1)).clamp(1, times.max(1));
    let block = text.repeat(in_block);
    for _ in 0..times / in_block {
        work(block.len())?;
        out.push_str(&block);
    }
    out.push_str(&block[..times % in_block * text.len()]);
    Ok(out)
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
