//! A value that one thread resolves and another takes: the engine's side of a [`Pending`].

use crate::sync::{Arc, Condvar, Mutex};
use model::{Later, Pending};
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

/// The side that resolves the value. Dropping it unresolved is a bug: the waiting side panics.
#[derive(Debug)]
#[must_use = "the waiting side panics if this is dropped"]
pub struct Promise<T>(Option<Arc<Cell<T>>>);

/// The side that waits.
struct Promised<T>(Arc<Cell<T>>);

#[derive(Debug)]
struct Cell<T> {
    state: Mutex<State<T>>,
    resolved: Condvar,
}

enum State<T> {
    /// No thread waits or has polled.
    Open,
    /// A thread sleeps until the value is there.
    Awaited,
    /// To be woken when the value is there.
    Polled(Waker),
    /// To be called when the value is there.
    Called(Box<dyn FnOnce(T) + Send>),
    Resolved(T),
    /// The value has been taken.
    Taken,
    /// The promise was dropped.
    Broken,
}

/// A promise, and the pending value that it resolves.
pub fn promise<T: Send + 'static>() -> (Promise<T>, Pending<T>) {
    let cell = Arc::new(Cell { state: Mutex::new(State::Open), resolved: Condvar::new() });
    (Promise(Some(cell.clone())), Pending::later(Promised(cell)))
}

const BROKEN: &str = "a promise was dropped without a value: a bug of the engine that made it";

impl<T> Promise<T> {
    /// Resolves the value: wakes the waiting thread or task, or calls its callback on this thread.
    pub fn resolve(mut self, value: T) {
        let cell = self.0.take().expect("a promise is resolved once");
        let mut state = cell.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            // Outside the latch: the callback may do anything.
            State::Called(callback) => {
                drop(state);
                callback(value);
            }
            before => {
                *state = State::Resolved(value);
                drop(state);
                before.notify(&cell.resolved);
            }
        }
    }
}

impl<T> State<T> {
    /// Notifies whoever waits. A notification of a condition is a call of the system even if nobody waits, so it is made for a
    /// thread that sleeps only.
    fn notify(self, resolved: &Condvar) {
        match self {
            // One at most: the waiting side is one value.
            State::Awaited => resolved.notify_one(),
            State::Polled(waker) => waker.wake(),
            _ => {}
        }
    }
}

/// Breaks the promise, so that the waiting side panics instead of waiting for ever.
impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        let Some(cell) = &self.0 else { return };
        let mut state = cell.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Open | State::Awaited | State::Polled(_)) {
            let before = std::mem::replace(&mut *state, State::Broken);
            drop(state);
            before.notify(&cell.resolved);
        }
    }
}

impl<T: Send> Later<T> for Promised<T> {
    fn wait(self: Box<Self>) -> T {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Resolved(value) => return value,
                State::Broken => panic!("{BROKEN}"),
                _ => *state = State::Awaited,
            }
            state = self.0.resolved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn on_resolved(self: Box<Self>, callback: Box<dyn FnOnce(T) + Send>) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Resolved(value) => {
                drop(state);
                callback(value);
            }
            State::Broken => panic!("{BROKEN}"),
            _ => *state = State::Called(callback),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Resolved(value) => Poll::Ready(value),
            State::Broken => panic!("{BROKEN}"),
            _ => {
                *state = State::Polled(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> std::fmt::Debug for State<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::Open => "open",
            State::Awaited => "awaited",
            State::Polled(_) => "polled",
            State::Called(_) => "called",
            State::Resolved(_) => "resolved",
            State::Taken => "taken",
            State::Broken => "broken",
        })
    }
}
