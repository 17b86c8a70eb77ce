//! How a session is stopped from outside, and what it waits for meanwhile.
//!
//! A statement looks now and then whether it is to stop ([`Cancel::check`]). Where it sleeps it tells of its wait first
//! ([`Cancel::wait`], and for the engine [`model::Supervisor`]), so that whoever raises the flag wakes it. The flag is raised
//! before the lock on the wait is taken: either the sleeper finds it raised, or the raiser finds the sleeper.

use crate::error::{Result, SqlError, state};
use crate::store::Store;
use model::{Abort, LogPosition, Schema, Supervisor, Timestamp};
use pgtypes::interrupt::Interrupt;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// What stops a session's statement, or the session: flags that another thread raises, and a deadline. And what others see of
/// its transaction and of its waits.
#[derive(Debug)]
pub struct Cancel {
    raised: AtomicBool,
    /// Whether the session is to end: no later statement runs either.
    ended: AtomicBool,
    origin: Instant,
    /// Microseconds after `origin`; `u64::MAX`: none.
    deadline: AtomicU64,
    /// The engine's name of the open transaction; zero: none.
    transaction: AtomicU64,
    /// Since when the open transaction may write. Microseconds since 1970; zero: it may not, or there is none.
    writes_since: AtomicI64,
    waiting: Mutex<Option<Waiting>>,
    /// What is called when a wait in the engine begins.
    on_wait: OnceLock<Hook>,
    /// Number of the session's wait for the log; odd while it goes on. Only the end of the session ends such a wait: what is
    /// visible cannot be taken back.
    log_wait: AtomicU64,
    /// What is called when the session is to end.
    on_end: OnceLock<Hook>,
}

/// A wait that is going on.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// What for.
    pub reason: Wait,
    /// Since when. Microseconds since 1970.
    pub since: i64,
    waker: Waker,
}

/// What a session can wait for.
#[derive(Clone, Debug)]
pub enum Wait {
    /// Another transaction, which has the row of this table; or all that are older, if it is no table's.
    Transaction {
        /// The other transaction.
        other: Option<Timestamp>,
        /// The engine's table.
        table: Option<Arc<Schema>>,
    },
    /// The client, to send more of what the statement reads.
    ClientRead,
    /// The client, to take what it is sent.
    ClientWrite,
    /// Time, to pass.
    Sleep,
}

/// What is called when a wait begins.
struct Hook(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// A thread that sleeps by itself.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A wait that others see, until it is dropped.
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
            log_wait: AtomicU64::new(0),
            on_end: OnceLock::new(),
        }
    }
}

impl Cancel {
    /// Asks the statement to stop.
    pub fn raise(&self) {
        // Relaxed: the lock on the wait orders it before the sleeper's look; who does not sleep looks again soon.
        self.raised.store(true, Ordering::Relaxed);
        let waker = self.latch().as_ref().map(|waiting| waiting.waker.clone());
        waker.iter().for_each(Waker::wake_by_ref);
    }

    /// Asks the session to end.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.raise();
        if let Some(Hook(call)) = self.on_end.get() {
            call();
        }
    }

    /// Whether the session is to end.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Before a statement: forgets requests that came too late for the one before, and sets its time, if it has a limit
    /// (`timeout` milliseconds; 0: none).
    pub fn start(&self, timeout: u64) {
        // A session that is to end begins nothing.
        self.raised.store(self.ended.load(Ordering::Relaxed), Ordering::Relaxed);
        self.set_timeout(timeout);
    }

    /// Sets the time of what runs from now on; 0: none.
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

    /// # Errors
    /// 57014 if it was raised, or the time is over; 57P01 if the session is to end.
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

    /// The end of whatever is being waited for, as an error.
    pub fn reason(&self) -> SqlError {
        // Raised when the wait ended, and forgotten before it was asked: only a session's end is not.
        let cancelled = || SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request");
        self.check().err().unwrap_or_else(cancelled)
    }

    /// The engine's name of the open transaction, once it has one.
    pub fn transaction(&self) -> Option<Timestamp> {
        Some(Timestamp(self.transaction.load(Ordering::Relaxed))).filter(|&at| at > Timestamp::ZERO)
    }

    /// The transaction is over.
    pub fn end_transaction(&self) {
        self.transaction.store(0, Ordering::Relaxed);
        self.writes_since.store(0, Ordering::Relaxed);
    }

    /// A transaction that may write begins. Microseconds since 1970.
    pub fn begin_writing(&self, at: i64) {
        self.writes_since.store(at, Ordering::Relaxed);
    }

    /// Whether the open transaction may write, and has been open since before `at`. Microseconds since 1970.
    pub fn has_written_since_before(&self, at: i64) -> bool {
        (1..at).contains(&self.writes_since.load(Ordering::Relaxed))
    }

    /// What is called when a statement begins to wait for another session, by whoever serves the client: it may look whether
    /// the client is still there. It must neither wait nor ask this object for anything that locks. Once.
    pub fn on_wait(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_wait.set(Hook(Box::new(call)));
    }

    /// What is called when the session is to end: it must wake whoever asks [`Cancel::is_ended`] under a latch of its own.
    /// Once.
    pub fn on_end(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_end.set(Hook(Box::new(call)));
    }

    /// Calls what [`Cancel::on_wait`] was given: a wait for the log lasts long.
    pub fn tell_of_wait(&self) {
        if let Some(Hook(call)) = self.on_wait.get() {
            call();
        }
    }

    /// What the session waits for now.
    pub fn waiting(&self) -> Option<Waiting> {
        self.latch().clone()
    }

    /// Shows a wait, which a raised flag ends through `waker`.
    pub fn wait(&self, reason: Wait, waker: Waker) -> Waits<'_> {
        *self.latch() = Some(Waiting { reason, since: crate::clock::now(), waker });
        Waits(self)
    }

    /// Blocks until the log is durable up to `position`, while others see that the session waits for the log. Every commit comes
    /// here, so it takes no lock and writes no line that another session writes.
    ///
    /// # Errors
    /// 08007 if the log failed; 57P01 if the session is to end: whether the position becomes durable is unknown.
    pub fn wait_durable(&self, store: &dyn Store, position: LogPosition) -> Result<()> {
        let wait = self.log_wait.load(Ordering::Relaxed) | 1;
        self.log_wait.store(wait, Ordering::Relaxed);
        let waited = store.wait_durable_unless(position, &|| self.is_ended());
        self.log_wait.store(wait + 1, Ordering::Relaxed);
        if waited? { Ok(()) } else { Err(not_awaited()) }
    }

    /// Number of the wait for the log that goes on, if one does: equal numbers are the same wait.
    pub fn log_wait(&self) -> Option<u64> {
        Some(self.log_wait.load(Ordering::Relaxed)).filter(|wait| wait % 2 == 1)
    }

    /// Whether the session waits for anything that others can see.
    pub fn is_waiting(&self) -> bool {
        self.log_wait().is_some() || self.latch().is_some()
    }

    /// Sleeps for a time, unless it is stopped.
    ///
    /// # Errors
    /// As [`Cancel::check`].
    pub fn sleep(&self, duration: Duration) -> Result<()> {
        let begun = Instant::now();
        let _waits = self.wait(Wait::Sleep, Waker::from(Arc::new(Sleeper(std::thread::current()))));
        loop {
            self.check()?;
            let left = duration.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::park_timeout(self.patience().map_or(left, |patience| patience.min(left)));
        }
    }

    /// Waits for `event` while others see it; `None` if `is_over` says so first, which is asked whenever the flag is raised.
    /// Deadlines are the caller's.
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
            waits.rouse(context.waker());
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

impl Waits<'_> {
    /// A task is woken by its last waker.
    fn rouse(&self, waker: &Waker) {
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
    fn begun(&self, transaction: Timestamp) {
        self.transaction.store(transaction.0, Ordering::Relaxed);
    }

    fn patience(&self) -> Option<Duration> {
        if self.raised.load(Ordering::Relaxed) {
            return Some(Duration::ZERO);
        }
        let deadline = Some(self.deadline.load(Ordering::Relaxed)).filter(|&deadline| deadline != u64::MAX)?;
        Some(Duration::from_micros(deadline.saturating_sub(self.elapsed())))
    }

    fn waits(&self, wait: &Abort, waker: Waker) {
        let reason = Wait::Transaction { other: wait.other, table: wait.table.clone() };
        *self.latch() = Some(Waiting { reason, since: crate::clock::now(), waker });
        self.tell_of_wait();
    }

    fn goes_on(&self) {
        *self.latch() = None;
    }
}

/// A long function's looks.
impl Interrupt for Cancel {
    fn check(&self) -> pgtypes::Result<()> {
        Cancel::check(self).map_err(|error| pgtypes::Error::new(error.code(), error.message()))
    }
}

/// 57P01 for a session that ends while what it answers with is not durable yet.
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
