//! Parts of orders that stand on a log which a foreign system keeps: they know positions and payloads, and no system.
//!
//! [`Inbox`] holds what was read and the consumer has not taken, [`Barriers`] the barriers on their way, [`Kept`] says how much of the
//! log is to be forgotten. [`wait`] is how a caller waits for any of them.

mod barriers;
mod inbox;
mod kept;

pub use barriers::Barriers;
pub use inbox::Inbox;
pub use kept::Kept;

use crate::OrderError;
use env::time::{Duration, Instant};
use std::sync::{Condvar, Mutex, PoisonError};

/// Waits until `ready` returns something, or fails. It is asked at once, and whenever `changed` is notified.
///
/// A panic under the latch does not end the wait: whoever holds a state that a panic may leave broken ends the order.
///
/// # Errors
/// What `ready` returns; [`OrderError::TimedOut`].
pub fn wait<S, T>(
    latch: &Mutex<S>,
    changed: &Condvar,
    patience: Duration,
    mut ready: impl FnMut(&mut S) -> Result<Option<T>, OrderError>,
) -> Result<T, OrderError> {
    let give_up = Instant::now().checked_add(patience);
    let mut state = latch.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(value) = ready(&mut state)? {
            return Ok(value);
        }
        let left = give_up.map(|at| at.saturating_duration_since(Instant::now()));
        state = match left {
            Some(left) if left.is_zero() => return Err(OrderError::TimedOut),
            Some(left) => changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
    }
}
