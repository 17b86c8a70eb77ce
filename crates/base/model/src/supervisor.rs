//! Supervision of an open transaction from outside: observes its waits, and may end them.

use crate::{Abort, Timestamp};
use std::fmt::Debug;
use std::task::Waker;
use std::time::Duration;

/// Supervisor of an open transaction from outside, such as the server's session that runs it.
///
/// A waiter first announces its wait (`wait_begins`), then reads `wait_limit`, and reads it again at each wake-up. To end a wait,
/// first shorten the limit and then wake the waker. No wake-up is lost if `wait_begins` and the code that shortens the limit take the
/// same lock.
pub trait Supervisor: Debug + Send + Sync {
    /// The transaction has its timestamp, by which others name it when they wait for it.
    fn transaction_begins(&self, transaction: Timestamp);

    /// Returns the limit of its waits: zero ends them now; `None` leaves their own limit. A long scan that finds nothing asks now and then,
    /// too: zero ends it. Called with latches held: it takes no lock.
    fn wait_limit(&self) -> Option<Duration>;

    /// The transaction is about to sleep. `wait` describes the abort with which the wait would end at its limit. To end it,
    /// shorten the limit and wake `waker`, but not under a lock that this method takes: it is called with latches held.
    fn wait_begins(&self, wait: &Abort, waker: Waker);

    /// The transaction is about to sleep until the log's disk has taken what came before it. To end the wait, shorten the
    /// limit and wake `waker`, as for [`Supervisor::wait_begins`]. An implementation that does nothing cannot end it early.
    fn log_wait_begins(&self, waker: Waker) {
        drop(waker);
    }

    /// The wait is over, with or without success.
    fn wait_ends(&self);
}
