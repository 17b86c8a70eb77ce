//! Barriers that callers share: those that ask while one is under way get the next one, together (C6).

use crate::error::{behind, order_failed};
use env::time::{Duration, Instant};
use model::Result;
use std::sync::{Condvar, Mutex, PoisonError};
use total::{OrderError, Position, TotalOrder};

/// The barriers of a node.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the barrier that was begun last.
    begun: u64,
    /// Whether it is under way.
    is_running: bool,
    /// The number of the last one that ended, and how.
    ended: Option<(u64, std::result::Result<Position, OrderError>)>,
}

impl Barriers {
    /// Returns a position at or behind everything that was delivered anywhere before the call.
    ///
    /// # Errors
    /// None came in time.
    pub fn ask(&self, order: &dyn TotalOrder, longest: Duration) -> Result<Position> {
        let asked = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is under way was begun before this call.
        let mut wanted = state.begun + 1;
        loop {
            if let Some((number, ended)) = &state.ended
                && *number >= wanted
            {
                // Who has begun it may have had less time than this caller.
                let may_go_on = *ended == Err(OrderError::TimedOut) && asked.elapsed() < longest;
                if !may_go_on {
                    return ended.clone().map_err(|error| failed(&error, longest));
                }
                wanted = number + 1;
            }
            if !state.is_running {
                state.begun += 1;
                state.is_running = true;
                drop(state);
                let ended = order.barrier(longest.saturating_sub(asked.elapsed()));
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.is_running = false;
                state.ended = Some((state.begun, ended));
                self.changed.notify_all();
                continue;
            }
            let left = longest.saturating_sub(asked.elapsed());
            if left.is_zero() {
                return Err(failed(&OrderError::TimedOut, longest));
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn failed(error: &OrderError, longest: Duration) -> model::Error {
    match error {
        OrderError::TimedOut | OrderError::Busy => behind(format!("the order did not answer within {longest:.1?}")),
        error => order_failed(error),
    }
}
