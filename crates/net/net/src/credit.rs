//! Limit of the bytes of requests that the I/O thread may hand to the core: the back-pressure that ends at the clients'
//! sockets.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::mailbox::Closed;

/// A limit on a sum that only grows: all bytes ever submitted. The core raises it as it takes requests in and gets rid of them.
#[derive(Debug)]
pub struct Credit {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    submitted: u64,
    limit: u64,
    closed: bool,
    waiting: Vec<Waker>,
}

impl Credit {
    /// Creates a credit with this number of bytes to spend.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { state: Mutex::new(State { submitted: 0, limit, closed: false, waiting: Vec::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records submitted bytes. They may exceed the limit by the bytes that were read while there was still credit.
    pub fn spend(&self, bytes: usize) {
        self.lock().submitted += bytes as u64;
    }

    /// Is there any?
    pub fn is_available(&self) -> bool {
        let state = self.lock();
        state.submitted < state.limit && !state.closed
    }

    /// Waits until there is credit.
    pub async fn available(&self) -> Result<(), Closed> {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.closed {
                return Poll::Ready(Err(Closed));
            }
            if state.submitted < state.limit {
                return Poll::Ready(Ok(()));
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Records that `taken` of all submitted bytes have reached the core, and that the core takes `room` more.
    pub fn grant(&self, taken: u64, room: usize) {
        let mut state = self.lock();
        state.limit = taken + room as u64;
        if state.submitted < state.limit {
            Self::wake(state);
        }
    }

    /// Nothing is taken any more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        Self::wake(state);
    }

    fn wake(mut state: MutexGuard<'_, State>) {
        if !state.waiting.is_empty() {
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Context;

    fn is_available(credit: &Credit) -> Option<Result<(), Closed>> {
        match pin!(credit.available()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    #[test]
    fn what_was_spent_comes_back_when_the_core_has_room_again() {
        let credit = Credit::new(100);
        assert_eq!(is_available(&credit), Some(Ok(())));
        credit.spend(150);
        assert_eq!(is_available(&credit), None);
        credit.grant(50, 100);
        assert_eq!(is_available(&credit), None, "100 are on their way still");
        credit.grant(150, 1);
        assert_eq!(is_available(&credit), Some(Ok(())));
        credit.grant(150, 0);
        assert_eq!(is_available(&credit), None);
        credit.close();
        assert_eq!(is_available(&credit), Some(Err(Closed)));
    }
}
