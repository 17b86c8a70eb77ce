//! Supervision of an open transaction from outside: observes its waits, and may end them.

use crate::{Abort, Timestamp};
use std::fmt::Debug;
use std::task::Waker;
use std::time::Duration;

/// Supervisor of an open transaction from outside, such as the server's session that runs it.
///
/// A wait asks for the time that is left to it after it has announced itself, and again whenever it wakes up. So whoever shortens
/// that time wakes the waker *afterwards*, and the wait ends; no wake-up is lost if `wait_begins` and the shortening party take
/// the same lock.
pub trait Supervisor: Debug + Send + Sync {
    /// The transaction has its timestamp, by which others name it when they wait for it.
    fn transaction_begins(&self, transaction: Timestamp);

    /// Returns the limit of its waits: zero ends them now; `None` leaves their own limit. Called with latches held: it takes no
    /// lock.
    fn wait_limit(&self) -> Option<Duration>;

    /// The transaction is about to sleep. `wait` has the facts of the abort that it would be if it did not end. To end it,
    /// shorten the limit and wake `waker`, but not under a lock that this takes: it is called with latches held, too.
    fn wait_begins(&self, wait: &Abort, waker: Waker);

    /// The transaction is about to sleep until the log's disk has taken what came before it. To end the wait, shorten the
    /// limit and wake `waker`, as for [`Supervisor::wait_begins`]. An implementation that does nothing cannot end it early.
    fn log_wait_begins(&self, waker: Waker) {
        drop(waker);
    }

    /// The wait is over, whatever became of it.
    fn wait_ends(&self);
}
