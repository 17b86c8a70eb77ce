//! Results that come later: the decision about a commit, the durability of a log position, the end of a procedure.
//!
//! One value serves every kind of caller: [`Pending::wait`] blocks, [`Pending::on_resolved`] calls back, and it is a [`Future`]
//! for a caller that must not block a thread, such as a parked session. No runtime is assumed: whoever resolves it wakes the
//! waker.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A value that an engine has promised. Dropping it loses the value, not the work behind it.
#[must_use = "the value is lost unless somebody waits for it"]
pub struct Pending<T>(State<T>);

enum State<T> {
    Ready(T),
    Later(Box<dyn Later<T>>),
    Taken,
}

/// Source of a pending value. The value is taken once, by one of the three methods.
pub trait Later<T>: Send {
    /// Blocks until it is there.
    fn wait(self: Box<Self>) -> T;

    /// Calls `callback` once: on the thread that resolves it, or on this one if the value is there. The callback must be short
    /// and must not panic, since others wait behind it.
    fn on_resolved(self: Box<Self>, callback: Box<dyn FnOnce(T) + Send>);

    /// The value, or the promise to wake the context's waker. As [`Future::poll`]; not called again after the value.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T>;
}

impl<T> Pending<T> {
    /// A value that is there already. Allocates nothing.
    pub fn ready(value: T) -> Pending<T> {
        Pending(State::Ready(value))
    }

    /// A value that `source` will have.
    pub fn later(source: impl Later<T> + 'static) -> Pending<T> {
        Pending(State::Later(Box::new(source)))
    }

    /// Returns whether the value is known to be there, without a query to its source.
    pub fn is_ready(&self) -> bool {
        matches!(self.0, State::Ready(_))
    }

    /// Blocks until the value is there.
    ///
    /// # Panics
    /// If it was polled to its end before.
    pub fn wait(self) -> T {
        match self.0 {
            State::Ready(value) => value,
            State::Later(source) => source.wait(),
            State::Taken => panic!("{TAKEN}"),
        }
    }

    /// Calls `callback` with the value: at once on this thread if it is there, else on the thread that resolves it. It must be
    /// short and must not panic.
    ///
    /// # Panics
    /// If it was polled to its end before.
    pub fn on_resolved(self, callback: impl FnOnce(T) + Send + 'static) {
        match self.0 {
            State::Ready(value) => callback(value),
            State::Later(source) => source.on_resolved(Box::new(callback)),
            State::Taken => panic!("{TAKEN}"),
        }
    }

    /// Maps the value. `change` runs once, on the thread that takes the value or is called back with it.
    pub fn map<U>(self, change: impl FnOnce(T) -> U + Send + 'static) -> Pending<U>
    where
        T: 'static,
        U: 'static,
    {
        match self.0 {
            State::Ready(value) => Pending::ready(change(value)),
            State::Later(source) => Pending::later(Mapped { source: Some(source), change: Some(Box::new(change)) }),
            State::Taken => panic!("{TAKEN}"),
        }
    }
}

const TAKEN: &str = "a pending value is taken once";

/// Never self-referential: a ready value is moved out, and a source is polled through its box.
impl<T> Unpin for Pending<T> {}

impl<T> Future for Pending<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let value = match std::mem::replace(&mut self.0, State::Taken) {
            State::Ready(value) => value,
            State::Later(mut source) => match source.poll(context) {
                Poll::Ready(value) => value,
                Poll::Pending => {
                    self.0 = State::Later(source);
                    return Poll::Pending;
                }
            },
            State::Taken => panic!("{TAKEN}"),
        };
        Poll::Ready(value)
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("is_ready", &self.is_ready()).finish_non_exhaustive()
    }
}

type Change<T, U> = Box<dyn FnOnce(T) -> U + Send>;

/// A promise whose value is changed when it arrives. Both are there until the value is.
struct Mapped<T, U> {
    source: Option<Box<dyn Later<T>>>,
    change: Option<Change<T, U>>,
}

impl<T, U> Mapped<T, U> {
    fn take(&mut self) -> (Box<dyn Later<T>>, Change<T, U>) {
        self.source.take().zip(self.change.take()).expect(TAKEN)
    }
}

impl<T: 'static, U: 'static> Later<U> for Mapped<T, U> {
    fn wait(mut self: Box<Self>) -> U {
        let (source, change) = self.take();
        change(source.wait())
    }

    fn on_resolved(mut self: Box<Self>, callback: Box<dyn FnOnce(U) + Send>) {
        let (source, change) = self.take();
        source.on_resolved(Box::new(move |value| callback(change(value))));
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<U> {
        let value = std::task::ready!(self.source.as_mut().expect(TAKEN).poll(context));
        let (_, change) = self.take();
        Poll::Ready(change(value))
    }
}
