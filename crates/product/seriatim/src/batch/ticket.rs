//! Tickets: results that come when a procedure's batch has run.

use crate::batch::inside::Inside;
use crate::batch::procedure::Failed;
use crate::{Error, Result, SerialPoint};
use env::time::{Duration, Instant};
use model::{Committed, Pending};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// The result of a submitted procedure: to be waited for, called back with, or awaited on any runtime. Dropping it loses the
/// result, and does not withdraw the procedure.
#[derive(Debug)]
#[must_use = "the result is lost unless somebody waits for it"]
pub struct Ticket<T, E = Error>(Pending<Result<(T, SerialPoint), E>>);

impl<T: 'static, E: 'static> Ticket<T, E> {
    pub(crate) fn new(completed: Pending<std::result::Result<(T, Committed), Failed<E>>>) -> Ticket<T, E> {
        Ticket(completed.map(|completed| match completed {
            Ok((output, committed)) => Ok((output, committed.claimed())),
            Err(Failed(error)) => Err(error),
        }))
    }

    pub(crate) fn failed(error: E) -> Ticket<T, E> {
        Ticket(Pending::ready(Err(error)))
    }

    /// Blocks until the procedure has ended, and is as durable as the database requires. Not to be called by bodies and callbacks.
    ///
    /// # Errors
    /// The body's own error; [`Invalid::Undeclared`](crate::Invalid::Undeclared) outside the declared footprint;
    /// [`Error::Aborted`] if the body panicked (rule `panicked`) or its guessed footprints missed again and again (rule
    /// `footprint-missed`); [`Error::Limit`]; [`Error::Fault`].
    pub fn wait(self) -> Result<T, E> {
        without_position(self.0.wait())
    }

    /// Same as [`Ticket::wait`], for at most so long. `Err` is the ticket: the procedure goes on, and its result can still be
    /// waited for.
    ///
    /// # Errors
    /// The ticket.
    pub fn wait_for(mut self, limit: Duration) -> std::result::Result<Result<T, E>, Ticket<T, E>> {
        let deadline = Instant::now() + limit;
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(done) = pin!(&mut self.0).poll(&mut context) {
                return Ok(without_position(done));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self);
            }
            thread::park_timeout(left);
        }
    }

    /// Calls `callback` with the result: on the thread that executed the procedure, or on this one if the result is there. It
    /// must be short, and must not wait for tickets, since others wait behind it. It may submit: where a submission would have to
    /// wait for room, it fails with [`LimitKind::Queue`](crate::LimitKind::Queue) instead. A panic in it is caught.
    pub fn on_done(self, callback: impl FnOnce(Result<T, E>) + Send + 'static) {
        self.0.on_resolved(move |done| {
            let _inside = Inside::enter();
            // The engine's thread has other calls to end; the panic has been reported by its hook.
            let _ = catch_unwind(AssertUnwindSafe(|| callback(without_position(done))));
        });
    }

    /// The ticket of the result with its place in the serial order: the position in the log. Executed one after the other in the
    /// order of their positions, procedures give the same results.
    pub fn with_position(self) -> Ticket<(T, SerialPoint), E> {
        Ticket(self.0.map(|done| done.map(|(output, position)| ((output, position), position))))
    }
}

fn without_position<T, E>(done: Result<(T, SerialPoint), E>) -> Result<T, E> {
    done.map(|(output, _)| output)
}

/// Awaits the same as [`Ticket::wait`].
impl<T, E> Future for Ticket<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, E>> {
        Pin::new(&mut self.0).poll(context).map(without_position)
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
