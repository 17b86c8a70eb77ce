//! Waits for the end of another transaction, and early ends of such a wait.
//!
//! A wait ends when its condition holds, at its limit, or because the transaction's supervisor ends it (a cancel request, a
//! deadline, a client that is gone). An early end fails the whole transaction, unless it has a supervisor: then only the
//! statement fails, which has changed nothing yet (`write.rs` owns before it buffers), and the transaction continues with what
//! it holds.

use crate::begin::thread_number;
use crate::catalog::Table;
use crate::engine::{Mvto, log_fault};
use crate::ownership::Holder;
use crate::reason::Reason;
use crate::store::{Pinned, Tuple};
use crate::view::View;
use env::Clock;
use env::time::{Duration, Instant};
use model::{Abort, Error, Result, Supervisor, Timestamp};
use parts::epoch;
use parts::index::Entry;
use parts::spin::Backoff;
use parts::sync::spin_loop;
use parts::wait::Waited;
use std::cell::OnceCell;
use std::sync::Arc;
use std::task::Waker;
use wal::{CallersWaitLimit, Log, LogError};

/// Looks at the owner before a waiter sleeps: commits are short.
#[cfg(not(feature = "shuttle"))]
const LOOKS_BEFORE_SLEEP: u32 = 200;
#[cfg(feature = "shuttle")]
const LOOKS_BEFORE_SLEEP: u32 = 2;

/// Bounds on the interval at which a waiter checks the age of an owner.
const SHORTEST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// Returns whether `blocks` holds of the tuple's holder for longer than most commits take. Spins meanwhile.
#[inline]
pub(crate) fn is_held(view: &View, tuple: &Tuple, blocks: impl Fn(Holder) -> bool) -> bool {
    blocks(tuple.ownership.holder()) && stays_held(view, tuple, blocks)
}

#[cold]
fn stays_held(view: &View, tuple: &Tuple, blocks: impl Fn(Holder) -> bool) -> bool {
    let mut looks = 0;
    while blocks(tuple.ownership.holder()) {
        looks += 1;
        if looks >= LOOKS_BEFORE_SLEEP || view.wait_limit.is_zero() {
            return true;
        }
        spin_loop();
    }
    false
}

/// Returns whether M7 allows the wait: for older transactions and, while executing, for all that commit.
fn may_wait(view: &View, holder: Holder) -> bool {
    match holder {
        Holder::Executing(owner) => owner < view.name,
        Holder::Committing(owner) => view.moves || owner < view.at,
        Holder::Undated => true,
        Holder::Free | Holder::Dead => false,
    }
}

/// A wait registered with the transaction's supervisor, until it is dropped.
struct SupervisedWait<'view>(Option<&'view dyn Supervisor>);

impl Drop for SupervisedWait<'_> {
    fn drop(&mut self) {
        self.0.inspect(|supervisor| supervisor.wait_ends());
    }
}

/// A supervisor of waits only: of an inner transaction, whose timestamp is not the session's.
#[derive(Debug)]
pub(crate) struct WaitsOnly(pub Arc<dyn Supervisor>);

impl Supervisor for WaitsOnly {
    fn transaction_begins(&self, _: Timestamp) {}

    fn wait_limit(&self) -> Option<Duration> {
        self.0.wait_limit()
    }

    fn wait_begins(&self, wait: &Abort, waker: Waker) {
        self.0.wait_begins(wait, waker);
    }

    fn log_wait_begins(&self, waker: Waker) {
        self.0.log_wait_begins(waker);
    }

    fn wait_ends(&self) {
        self.0.wait_ends();
    }
}

impl View {
    /// Returns whether it takes free tuples only and never waits.
    pub fn never_waits(&self) -> bool {
        self.supervisor.is_some() && self.wait_limit.is_zero()
    }

    /// Returns how long a wait that began at `started` may go on. Takes no lock.
    fn wait_limit(&self, started: Instant) -> Duration {
        let left = self.wait_limit.saturating_sub(started.elapsed());
        let supervised = self.supervisor.as_ref().and_then(|supervisor| supervisor.wait_limit());
        supervised.map_or(left, |limit| limit.min(left))
    }

    /// The error of a wait that ends without what it was for.
    pub fn unavailable(&self, at: Option<(&Table, &[u8])>, owner: Timestamp) -> Error {
        let limit = self.supervisor.as_ref().map(|supervisor| supervisor.wait_limit());
        let is_interrupted = limit == Some(Some(Duration::ZERO));
        let reason = if is_interrupted { Reason::Interrupted } else { Reason::WaitLimit };
        let abort = reason.abort(self.name, at, Some(owner));
        if self.supervisor.is_some() { Error::Unavailable(Box::new(abort)) } else { abort.into() }
    }

    /// Calls the log, which may wait for its disk for no longer than the supervisor lets it. The supervisor is told when a wait
    /// begins: most calls do not wait.
    pub fn log_wait<T>(
        &self,
        log: &Log,
        call: impl FnOnce(CallersWaitLimit<'_>) -> std::result::Result<T, LogError>,
    ) -> std::result::Result<T, LogError> {
        let Some(supervisor) = &self.supervisor else { return call(&|| None) };
        let attended = OnceCell::new();
        call(&|| {
            attended.get_or_init(|| {
                supervisor.log_wait_begins(log.waker());
                SupervisedWait(Some(&**supervisor))
            });
            supervisor.wait_limit()
        })
    }

    /// The error of a call of the log that appended nothing.
    pub fn log_error(&self, error: LogError) -> Error {
        if let LogError::Interrupted = error {
            let abort = Reason::Interrupted.abort(self.name, None, None);
            return if self.supervisor.is_some() { Error::Unavailable(Box::new(abort)) } else { abort.into() };
        }
        log_fault(error)
    }

    /// Tells the supervisor, if there is one, of a wait.
    fn register_wait(
        &self,
        at: Option<(&Table, &[u8])>,
        owner: Timestamp,
        waker: impl FnOnce() -> Waker,
    ) -> SupervisedWait<'_> {
        let supervisor = self.supervisor.as_deref();
        if let Some(supervisor) = supervisor {
            supervisor.wait_begins(&Reason::WaitLimit.abort(self.name, at, Some(owner)), waker());
        }
        SupervisedWait(supervisor)
    }
}

impl<C: Clock> Mvto<C> {
    /// Waits while `blocks` holds of the tuple's holder. M7 says which transaction may wait for which.
    ///
    /// # Errors
    /// The wait has ended before.
    pub(crate) fn wait_while(
        &self,
        view: &View,
        table: &Table,
        tuple: &Pinned,
        blocks: impl Fn(Holder) -> bool,
    ) -> Result<()> {
        if is_held(view, tuple, &blocks) { self.sleep_while(view, table, tuple, blocks) } else { Ok(()) }
    }

    /// [`Mvto::wait_while`], after it was looked at for long enough. The tuple is pinned, and no guard is held: a wait may last
    /// for as long as a client thinks (M11).
    ///
    /// # Errors
    /// Same as [`Mvto::wait_while`].
    pub(crate) fn sleep_while(
        &self,
        view: &View,
        table: &Table,
        tuple: &Pinned,
        blocks: impl Fn(Holder) -> bool,
    ) -> Result<()> {
        debug_assert!(cfg!(feature = "shuttle") || !epoch::is_pinned(), "M11: no guard is held during a wait");
        let (started, mut awake) = (Instant::now(), Backoff::new());
        loop {
            let holder = tuple.ownership.holder();
            if !blocks(holder) {
                return Ok(());
            }
            if holder == Holder::Undated {
                awake.pause(); // It waits for nobody, and draws between two instructions.
                continue;
            }
            debug_assert!(may_wait(view, holder), "M7: {:?} waits for {holder:?}", view.owner());
            if !self.take_if_doomed(tuple, holder) && tuple.ownership.announce_waiter(holder) {
                self.sleep_until_released(view, table, tuple, holder, started)?;
            }
        }
    }

    /// Sleeps while `holder`, to whom the wait is announced, owns the tuple. The wait began at `started`.
    fn sleep_until_released(
        &self,
        view: &View,
        table: &Table,
        tuple: &Pinned,
        holder: Holder,
        started: Instant,
    ) -> Result<()> {
        let address = tuple.address().as_ptr().addr();
        let at = Some((table, tuple.key()));
        let Some(owner) = holder.owner() else { return Ok(()) };
        let _attended = view.register_wait(at, owner, || self.waits.waker(address));
        let (called, until_too_old, mut is_over) = (Instant::now(), self.until_too_old(owner), false);
        let remaining = || {
            let limit = view.wait_limit(started);
            is_over = limit.is_zero();
            Some(until_too_old.map_or(limit, |limit| limit.min(limit.saturating_sub(called.elapsed()))))
        };
        match self.waits.wait(address, remaining, || tuple.ownership.is_awaited(holder)) {
            Waited::TimedOut if is_over => Err(view.unavailable(at, owner)),
            Waited::Released | Waited::TimedOut => Ok(()),
        }
    }

    /// Takes the tuple from an owner that is doomed, or is now, because it is too old and between two statements (M12).
    pub(crate) fn take_if_doomed(&self, tuple: &Pinned, holder: Holder) -> bool {
        let Holder::Executing(owner) = holder else { return false };
        let is_doomed = self.age_limit_ticks.is_some() && self.sites.doom(owner, self.oldest_allowed());
        if is_doomed {
            self.take_from(tuple, owner);
        }
        is_doomed
    }

    /// Transactions below are too old. Zero where ages have no limit.
    fn oldest_allowed(&self) -> u64 {
        self.age_limit_ticks.map_or(0, |limit| self.time.now().saturating_sub(limit))
    }

    /// When to look at `owner` again at the latest: when it becomes too old or, if it is and a statement of it runs still, from
    /// time to time. `None` where ages have no limit.
    fn until_too_old(&self, owner: Timestamp) -> Option<Duration> {
        let limit = self.age_limit_ticks?;
        let left = owner.0.saturating_add(limit).saturating_sub(self.time.now());
        let ticks = if left == 0 { limit / 8 } else { left };
        Some(self.time.clock().duration_of(ticks).clamp(SHORTEST_LOOK, LONGEST_LOOK))
    }

    /// A snapshot begins when no older transaction can write any more; younger ones are no concern of it.
    ///
    /// # Errors
    /// The wait has ended before.
    pub(crate) fn wait_for_older_writers(&self, view: &View) -> Result<()> {
        let started = Instant::now();
        let mut attended = SupervisedWait(None);
        let attend = |oldest, site| {
            drop(std::mem::replace(&mut attended, SupervisedWait(None)));
            attended = view.register_wait(None, oldest, || self.sites.waker(site));
        };
        let limit = |oldest| {
            let limit = view.wait_limit(started);
            Some(self.until_too_old(oldest).map_or(limit, |limit| limit.min(limit)))
        };
        let waited = self.sites.wait_for_older_writers(view.at, || self.oldest_allowed(), limit, attend);
        waited.map_err(|oldest| {
            // A session's thread says nothing: who serves many lends any of its threads to any of them.
            if view.supervisor.is_none() && self.sites.has_older_writer_of(thread_number(), view.at) {
                return Reason::OwnWriter.abort(view.name, None, Some(oldest)).into();
            }
            view.unavailable(None, oldest)
        })
    }
}
