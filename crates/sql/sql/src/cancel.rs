//! Cancellation of a session's statement from outside, and its waits.
//!
//! A statement checks from time to time whether it is cancelled ([`Cancel::check`]). Before it sleeps it registers its wait
//! ([`Cancel::wait`], and for the engine [`model::Supervisor`]), so that a canceller can wake it. The flag is set before the
//! lock on the wait is taken: either the sleeper sees the flag, or the canceller sees the sleeper.

use crate::error::{Result, SqlError, state};
use crate::store::Store;
use model::{Abort, LogPosition, Schema, Supervisor, Timestamp};
use pgtypes::interrupt::Interrupt;
use pgtypes::memory;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Cancellation of a session's statement or of the session: flags that another thread sets, and a deadline. Also publishes the
/// session's transaction and waits.
#[derive(Debug)]
pub struct Cancel {
    raised: AtomicBool,
    /// Whether the session is to end: no later statement runs either.
    ended: AtomicBool,
    origin: Instant,
    /// Microseconds after `origin`; `u64::MAX` means none.
    deadline: AtomicU64,
    /// The engine's timestamp of the open transaction; zero means none.
    transaction: AtomicU64,
    /// Time since which the open transaction may write. Microseconds since 1970; zero if it may not, or if there is none.
    writes_since: AtomicI64,
    waiting: Mutex<Option<Waiting>>,
    /// Called when a wait in the engine begins.
    on_wait: OnceLock<Hook>,
    /// Called when a wait for another transaction's row begins.
    on_row_wait: OnceLock<Hook>,
    /// Number of the session's wait for the log; odd while it lasts. Only the end of the session ends such a wait: visible
    /// changes cannot be undone.
    log_wait: AtomicU64,
    /// Whether a wait for the log that holds a thread is to give it back.
    parks: AtomicBool,
    /// Called when the session is to end.
    on_end: OnceLock<Hook>,
}

/// A wait in progress.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Reason of the wait.
    pub reason: Wait,
    /// Start of the wait. Microseconds since 1970.
    pub since: i64,
    waker: Waker,
}

/// Reason of a session's wait.
#[derive(Clone, Debug)]
pub enum Wait {
    /// Another transaction, which owns the row of this table; without a table, all older transactions.
    Transaction {
        /// The other transaction.
        other: Option<Timestamp>,
        /// The engine's table.
        table: Option<Arc<Schema>>,
    },
    /// The client, to send more input of the statement.
    ClientRead,
    /// The client, to receive output.
    ClientWrite,
    /// The log, by a session that holds no thread meanwhile.
    Log,
    /// The log's disk, to take what came before or to make room.
    LogRoom,
    /// Another session, which has an advisory lock.
    Advisory,
    /// Other sessions, to end.
    Sessions,
    /// The end of a sleep.
    Sleep,
}

/// A callback.
struct Hook(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// A thread that sleeps outside of the engine.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A wait for the log, counted until it is dropped.
struct LogWait<'c>(&'c Cancel);

/// A registered wait, visible to other sessions until it is dropped.
#[must_use]
pub struct Waits<'c>(&'c Cancel);

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel {
            raised: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            origin: Instant::now(),
            deadline: AtomicU64::new(u64::MAX),
            transaction: AtomicU64::new(0),
            writes_since: AtomicI64::new(0),
            waiting: Mutex::default(),
            on_wait: OnceLock::new(),
            on_row_wait: OnceLock::new(),
            log_wait: AtomicU64::new(0),
            parks: AtomicBool::new(false),
            on_end: OnceLock::new(),
        }
    }
}

impl Cancel {
    /// Cancels the statement.
    pub fn raise(&self) {
        // Relaxed: the lock on the wait orders it before the sleeper's look; who does not sleep looks again soon.
        self.raised.store(true, Ordering::Relaxed);
        let waker = self.latch().as_ref().map(|waiting| waiting.waker.clone());
        waker.iter().for_each(Waker::wake_by_ref);
    }

    /// Ends the session.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.raise();
        if let Some(Hook(call)) = self.on_end.get() {
            call();
        }
    }

    /// Returns whether the session is to end.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Starts a statement: clears late requests for the previous one, and sets its deadline if it has a limit (`timeout`
    /// milliseconds; 0 means none).
    pub fn start(&self, timeout: u64) {
        // A session that is to end starts no statement.
        self.raised.store(self.ended.load(Ordering::Relaxed), Ordering::Relaxed);
        self.set_timeout(timeout);
    }

    /// Sets the deadline from now on; 0 means none.
    pub fn set_timeout(&self, timeout: u64) {
        let deadline = match timeout {
            0 => u64::MAX,
            _ => self.elapsed().saturating_add(timeout.saturating_mul(1000)),
        };
        self.deadline.store(deadline, Ordering::Relaxed);
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Checks whether a statement that works may go on.
    ///
    /// # Errors
    /// As [`Cancel::check`]; 53200 if the system is out of memory.
    pub fn check_work(&self) -> Result<()> {
        self.check()?;
        Ok(memory::check_reserve()?)
    }

    /// # Errors
    /// 57014 if the statement is cancelled or past its deadline; 57P01 if the session is to end.
    pub fn check(&self) -> Result<()> {
        if self.raised.load(Ordering::Relaxed) {
            if self.is_ended() {
                return Err(terminated());
            }
            return Err(SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request"));
        }
        let deadline = self.deadline.load(Ordering::Relaxed);
        if deadline != u64::MAX && self.elapsed() >= deadline {
            return Err(SqlError::new(state::QUERY_CANCELED, "canceling statement due to statement timeout"));
        }
        Ok(())
    }

    /// Returns the reason for which a wait ended, as an error.
    pub fn reason(&self) -> SqlError {
        // The flag was set when the wait ended, and cleared before this call. Only the end of a session is never cleared.
        let cancelled = || SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request");
        self.check().err().unwrap_or_else(cancelled)
    }

    /// Returns the engine's timestamp of the open transaction, once it has one.
    pub fn transaction(&self) -> Option<Timestamp> {
        Some(Timestamp(self.transaction.load(Ordering::Relaxed))).filter(|&at| at > Timestamp::ZERO)
    }

    /// Records the end of the transaction.
    pub fn end_transaction(&self) {
        self.transaction.store(0, Ordering::Relaxed);
        self.writes_since.store(0, Ordering::Relaxed);
    }

    /// Records the start of a transaction that may write. Microseconds since 1970.
    pub fn begin_writing(&self, at: i64) {
        self.writes_since.store(at, Ordering::Relaxed);
    }

    /// Returns whether the open transaction may write and has been open since before `at`. Microseconds since 1970.
    pub fn has_written_since_before(&self, at: i64) -> bool {
        (1..at).contains(&self.writes_since.load(Ordering::Relaxed))
    }

    /// Sets a callback for the moment when a statement begins to wait for another session. The client's server may check there
    /// whether the client is still connected. The callback must neither wait nor call a method of this object that locks. Can
    /// be set once.
    pub fn on_wait(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_wait.set(Hook(Box::new(call)));
    }

    /// Sets a callback for the moment when a statement begins to wait for another transaction's row. It may look at the waits of
    /// all sessions, and must not wait. Can be set once.
    pub fn on_row_wait(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_row_wait.set(Hook(Box::new(call)));
    }

    /// Sets a callback for the end of the session. It must wake any thread that checks [`Cancel::is_ended`] under a latch of
    /// its own. Can be set once.
    pub fn on_end(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_end.set(Hook(Box::new(call)));
    }

    /// Calls the callback of [`Cancel::on_wait`]: a wait for the log is long.
    pub fn notify_long_wait(&self) {
        if let Some(Hook(call)) = self.on_wait.get() {
            call();
        }
    }

    /// Returns the session's current wait.
    pub fn waiting(&self) -> Option<Waiting> {
        self.latch().clone()
    }

    /// Registers a wait, which a set flag ends through `waker`.
    pub fn wait(&self, reason: Wait, waker: Waker) -> Waits<'_> {
        *self.latch() = Some(Waiting { reason, since: crate::clock::now(), waker });
        Waits(self)
    }

    /// Blocks until the log is durable up to `position`, and shows the session as waiting for the log. Every commit calls it,
    /// so it takes no lock and writes no cache line that another session writes.
    ///
    /// # Errors
    /// 08007 if the log failed; 57P01 if the session is to end: whether the position becomes durable is unknown.
    pub fn wait_durable(&self, store: &dyn Store, position: LogPosition) -> Result<()> {
        let _wait = LogWait::begin(self);
        if store.wait_durable_unless(position, &|| self.is_ended())? { Ok(()) } else { Err(not_awaited()) }
    }

    /// Same as [`Cancel::wait_durable`], but returns `false` once the session is to wait without a thread ([`Cancel::park`]).
    ///
    /// # Errors
    /// Same as [`Cancel::wait_durable`].
    pub fn wait_or_park(&self, store: &dyn Store, position: LogPosition) -> Result<bool> {
        // A request for the wait before does not count. One for this wait that comes before its first look is made again.
        self.parks.store(false, Ordering::Relaxed);
        let _wait = LogWait::begin(self);
        let is_over = || self.is_ended() || self.parks.load(Ordering::Relaxed);
        let is_durable = store.wait_durable_unless(position, &is_over)?;
        if !is_durable && self.is_ended() { Err(not_awaited()) } else { Ok(is_durable) }
    }

    /// Has the session's wait for the log give its thread back, once the store was told to ask again
    /// ([`model::Interactive::recheck_waits`]).
    pub fn park(&self) {
        self.parks.store(true, Ordering::Relaxed);
    }

    /// Same as [`Cancel::wait_durable`], without a thread: the end of the session wakes the task.
    ///
    /// # Errors
    /// Same as [`Cancel::wait_durable`].
    pub async fn durable(&self, store: &dyn Store, position: LogPosition) -> Result<()> {
        let _wait = LogWait::begin(self);
        let pending = store.durable(position);
        match self.unless(Wait::Log, Cancel::is_ended, pending).await {
            Some(synced) => Ok(synced?),
            None => Err(not_awaited()),
        }
    }

    /// Returns the number of the current wait for the log, if there is one: equal numbers are the same wait.
    pub fn log_wait(&self) -> Option<u64> {
        Some(self.log_wait.load(Ordering::Relaxed)).filter(|wait| wait % 2 == 1)
    }

    /// Returns whether the session has a wait that other sessions can see.
    pub fn is_waiting(&self) -> bool {
        self.log_wait().is_some() || self.latch().is_some()
    }

    /// Sleeps for a time, unless cancelled.
    ///
    /// # Errors
    /// Errors of [`Cancel::check`].
    pub fn sleep(&self, duration: Duration) -> Result<()> {
        self.sleep_until(Wait::Sleep, Some(duration), || None::<()>).map(drop)
    }

    /// Sleeps until `poll` gives something, for at most `limit`: then it gives `None`. Whoever changes what `poll` looks at wakes
    /// [`this_thread`].
    ///
    /// # Errors
    /// Errors of [`Cancel::check`].
    pub fn sleep_until<T>(
        &self,
        reason: Wait,
        limit: Option<Duration>,
        mut poll: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>> {
        let begun = Instant::now();
        let _waits = self.wait(reason, this_thread());
        loop {
            if let Some(found) = poll() {
                return Ok(Some(found));
            }
            self.check()?;
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            match [left, self.wait_limit()].into_iter().flatten().min() {
                Some(time) => std::thread::park_timeout(time),
                None => std::thread::park(),
            }
        }
    }

    /// Waits for `event` as a registered wait; `None` if `is_over` returns true first, which is checked whenever the flag is
    /// set. Deadlines are the caller's.
    pub async fn unless<T>(
        &self,
        reason: Wait,
        is_over: impl Fn(&Cancel) -> bool,
        event: impl Future<Output = T>,
    ) -> Option<T> {
        let mut event = pin!(event);
        let mut shown = None;
        std::future::poll_fn(|context| {
            let waits = shown.get_or_insert_with(|| self.wait(reason.clone(), context.waker().clone()));
            waits.wake_task(context.waker());
            if is_over(self) {
                return Poll::Ready(None);
            }
            event.as_mut().poll(context).map(Some)
        })
        .await
    }

    fn latch(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the calling thread from [`Cancel::sleep_until`].
pub fn this_thread() -> Waker {
    Waker::from(Arc::new(Sleeper(std::thread::current())))
}

impl<'c> LogWait<'c> {
    fn begin(cancel: &'c Cancel) -> LogWait<'c> {
        // One wait at a time, of the session itself: others only look.
        cancel.log_wait.store(cancel.log_wait.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
        LogWait(cancel)
    }
}

impl Drop for LogWait<'_> {
    fn drop(&mut self) {
        self.0.log_wait.store(self.0.log_wait.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Waits<'_> {
    /// A task is woken by its last waker.
    fn wake_task(&self, waker: &Waker) {
        self.0.latch().iter_mut().for_each(|waiting| waiting.waker.clone_from(waker));
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        *self.0.latch() = None;
    }
}

/// A statement's waits in the engine.
impl Supervisor for Cancel {
    fn transaction_begins(&self, transaction: Timestamp) {
        self.transaction.store(transaction.0, Ordering::Relaxed);
    }

    fn wait_limit(&self) -> Option<Duration> {
        if self.raised.load(Ordering::Relaxed) {
            return Some(Duration::ZERO);
        }
        let deadline = Some(self.deadline.load(Ordering::Relaxed)).filter(|&deadline| deadline != u64::MAX)?;
        Some(Duration::from_micros(deadline.saturating_sub(self.elapsed())))
    }

    fn wait_begins(&self, wait: &Abort, waker: Waker) {
        let reason = Wait::Transaction { other: wait.other, table: wait.table.clone() };
        *self.latch() = Some(Waiting { reason, since: crate::clock::now(), waker });
        self.notify_long_wait();
        if let Some(Hook(call)) = self.on_row_wait.get() {
            call();
        }
    }

    fn log_wait_begins(&self, waker: Waker) {
        *self.latch() = Some(Waiting { reason: Wait::LogRoom, since: crate::clock::now(), waker });
        self.notify_long_wait();
    }

    fn wait_ends(&self) {
        *self.latch() = None;
    }
}

/// The checks of a long-running function.
impl Interrupt for Cancel {
    fn check(&self) -> pgtypes::Result<()> {
        self.check_work().map_err(|error| pgtypes::Error::new(error.code(), error.message()))
    }
}

/// 57P01 for a session that ends before its results are durable.
fn not_awaited() -> SqlError {
    terminated().detail(
        "The session did not wait for the log any longer. What it has committed, and what it has read, is visible to others, but \
         may not be durable: a crash of the server can still undo it.",
    )
}

/// 57P01
pub fn terminated() -> SqlError {
    SqlError::new(state::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
}
