//! Sleeping until another transaction has ended, and how such a wait ends before.
//!
//! A wait ends with what it is for, at its limit, or because the transaction's supervisor ends it (a cancel request, a
//! deadline, a client that is gone). The end without a result fails the whole transaction, unless somebody supervises it: then
//! only the statement fails, which has changed nothing yet (`write.rs` owns before it buffers), and the transaction goes on
//! with what it holds.

use crate::begin::View;
use crate::catalog::Place;
use crate::engine::Mvto;
use crate::ownership::Holder;
use crate::reason::Reason;
use crate::store::Tuple;
use env::Clock;
use env::time::{Duration, Instant};
use model::{Error, Result, Supervisor, Timestamp};
use parts::index::Entry;
use parts::wait::Waited;
use std::task::Waker;

/// A wait that its transaction's supervisor knows of, until it is dropped.
struct Attended<'view>(Option<&'view dyn Supervisor>);

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        self.0.inspect(|supervisor| supervisor.goes_on());
    }
}

impl View {
    /// Whether it takes what is free, and nothing else.
    pub fn never_waits(&self) -> bool {
        self.supervisor.is_some() && self.wait_limit.is_zero()
    }

    /// How long a wait that began at `started` may go on. Takes no lock.
    fn patience(&self, started: Instant) -> Duration {
        let left = self.wait_limit.saturating_sub(started.elapsed());
        let supervised = self.supervisor.as_ref().and_then(|supervisor| supervisor.patience());
        supervised.map_or(left, |patience| patience.min(left))
    }

    /// The error of a wait that ends without what it was for.
    pub fn unavailable(&self, at: Option<(&Place<'_>, &[u8])>, owner: Timestamp) -> Error {
        let patience = self.supervisor.as_ref().map(|supervisor| supervisor.patience());
        let is_interrupted = patience == Some(Some(Duration::ZERO));
        let reason = if is_interrupted { Reason::Interrupted } else { Reason::WaitLimit };
        let abort = reason.abort(self.name, at, Some(owner));
        if self.supervisor.is_some() { Error::Unavailable(Box::new(abort)) } else { abort.into() }
    }

    /// Tells the supervisor, if there is one, of a wait.
    fn attend(&self, at: Option<(&Place<'_>, &[u8])>, owner: Timestamp, waker: impl FnOnce() -> Waker) -> Attended<'_> {
        let supervisor = self.supervisor.as_deref();
        if let Some(supervisor) = supervisor {
            supervisor.waits(&Reason::WaitLimit.abort(self.name, at, Some(owner)), waker());
        }
        Attended(supervisor)
    }
}

impl<C: Clock> Mvto<C> {
    /// Sleeps while `holder`, who knows of it, has the tuple. The wait began at `started`.
    ///
    /// # Errors
    /// The wait has ended before.
    pub(crate) fn sleep_behind(
        &self,
        view: &View,
        place: Place<'_>,
        tuple: &Tuple,
        holder: Holder,
        started: Instant,
    ) -> Result<()> {
        let address = std::ptr::from_ref(tuple).addr();
        let at = Some((&place, tuple.key()));
        let Some(owner) = holder.owner() else { return Ok(()) };
        let _attended = view.attend(at, owner, || self.waits.waker(address));
        let remaining = || Some(view.patience(started));
        match self.waits.wait(address, remaining, || tuple.ownership.is_awaited(holder)) {
            Waited::Released => Ok(()),
            Waited::TimedOut => Err(view.unavailable(at, owner)),
        }
    }

    /// A snapshot begins when no older transaction can write any more; younger ones are no concern of it.
    ///
    /// # Errors
    /// The wait has ended before.
    pub(crate) fn wait_for_older_writers(&self, view: &View) -> Result<()> {
        let started = Instant::now();
        let mut attended = Attended(None);
        let attend = |oldest, site| {
            drop(std::mem::replace(&mut attended, Attended(None)));
            attended = view.attend(None, oldest, || self.sites.waker(site));
        };
        let waited = self.sites.wait_for_older_writers(view.at, || Some(view.patience(started)), attend);
        waited.map_err(|oldest| view.unavailable(None, oldest))
    }
}
