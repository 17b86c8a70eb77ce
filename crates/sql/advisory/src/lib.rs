//! Advisory locks: locks on numbers, whose meaning the applications agree on.
//!
//! One [`Locks`] serves all sessions of a database. A session requests a lock ([`Locks::lock`], [`Locks::try_lock`]), and is granted it,
//! denied it, or queued. A queued session chooses how to sleep: the grant calls its waker, and [`Locks::poll`] returns the result of
//! the wait. `table.rs` holds the rules, `cycle.rs` the search for deadlocks.
//!
//! - **A1** Holders of one lock never conflict: several sessions share it, or one has it exclusively.
//! - **A2** A request is granted as soon as neither a holder nor an earlier request of the queue conflicts with it: no session
//!   sleeps for a lock that could be granted. Asserted after every change of a lock (debug builds).
//! - **A3** The two levels are counted separately: a session's locks outlive its transactions; a transaction's locks end with it.
//! - **A4** A cycle of waits is found by the request that closes it. Sessions also wait for rows; the caller passes the transaction
//!   waited for, and calls [`Locks::search`] when such a wait begins.
//! - **A5** A grant carries the highest log position at which a lock was released: what the previous holder committed under its
//!   lock is durable before an answer reveals the grant.
//!
//! Deviation from PostgreSQL: the queue is not rearranged to resolve a deadlock. A cycle in which a request only waits for an
//! earlier request of the same queue fails, too.
//!
//! Absent: how a thread sleeps, timeouts, and the functions of SQL.

#![forbid(unsafe_code)]

mod cycle;
mod sync;
mod table;

pub use cycle::Edge;
pub use table::{Full, Holding, Key, Level, Mode, Owner, Request};

use std::sync::PoisonError;
use std::task::Waker;
use sync::{Mutex, MutexGuard};
use table::{Table, Waiting};

/// The advisory locks of a database.
#[derive(Debug)]
pub struct Locks(Mutex<Table>);

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The lock is held.
    Granted(Grant),
    /// Another session has it, or comes first.
    Denied,
    /// The request is queued: [`Locks::poll`] it whenever its waker is called, and [`Locks::withdraw`] it at last.
    Queued,
}

/// A lock that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whether the session did not hold it before, at this level and in this mode.
    pub is_new: bool,
    /// Highest log position at which a lock was given back.
    pub rests_on: u64,
}

/// A queued request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It waits still.
    Queued,
    /// The lock is held.
    Granted(Grant),
    /// It was taken out of the queue since it was part of this cycle, which begins with it.
    Deadlock(Vec<Edge>),
}

/// Whom a session waits for in ways that this crate does not know: for rows.
pub type Others<'a> = &'a dyn Fn(Owner) -> Vec<Owner>;

impl Locks {
    /// No locks yet, and at most `limit` at once, requests that wait included.
    pub fn new(limit: usize) -> Locks {
        Locks(Mutex::new(Table::new(limit)))
    }

    /// Grants the lock, or queues the request.
    ///
    /// # Errors
    /// There are too many locks.
    pub fn lock(&self, request: Request, waker: Waker) -> Result<Answer, Full> {
        self.latch().ask(request, Some(waker))
    }

    /// Grants the lock, or denies it.
    ///
    /// # Errors
    /// There are too many locks.
    pub fn try_lock(&self, request: Request) -> Result<Answer, Full> {
        self.latch().ask(request, None)
    }

    /// What became of a session's queued request.
    pub fn poll(&self, owner: Owner) -> Wait {
        self.latch().poll(owner)
    }

    /// Takes a session's request out of the queue. If the lock was granted meanwhile, it is held, and this says so.
    pub fn withdraw(&self, owner: Owner) -> Option<Grant> {
        let (granted, wakers) = self.latch().withdraw(owner);
        wake(wakers);
        granted
    }

    /// Searches for a cycle of waits through this session, which has just begun to wait. The request of the cycle that comes
    /// first from there is taken out of its queue, and its session woken. `others` is called under this object's latch.
    pub fn search(&self, owner: Owner, others: Others<'_>) {
        let mut table = self.latch();
        let victim = table.break_cycle(owner, others);
        drop(table);
        wake(victim);
    }

    /// Whether some request waits: only then a wait for a row can close a cycle.
    pub fn has_waiting(&self) -> bool {
        self.latch().has_waiting()
    }

    /// Gives back one lock of a session's own level. `false` if it is not held so. `position` is what the session's answers rest
    /// on.
    pub fn unlock(&self, owner: Owner, key: Key, mode: Mode, position: u64) -> bool {
        self.gives_back(position, |table| table.unlock(owner, key, mode))
    }

    /// Gives back all locks of a session's own level.
    pub fn unlock_all(&self, owner: Owner, position: u64) {
        self.gives_back(position, |table| ((), table.unlock_level(owner, Level::Session, None)));
    }

    /// Gives back locks of a session's transaction; without `keys`, all.
    pub fn end_transaction(&self, owner: Owner, keys: Option<&[(Key, Mode)]>, position: u64) {
        self.gives_back(position, |table| ((), table.unlock_level(owner, Level::Transaction, keys)));
    }

    /// All locks and requests, in order.
    pub fn all(&self) -> Vec<Holding> {
        self.latch().all()
    }

    /// The sessions that a session's request waits for.
    pub fn blocking(&self, owner: Owner) -> Vec<Owner> {
        self.latch().blocking(owner)
    }

    fn gives_back<T>(&self, position: u64, change: impl FnOnce(&mut Table) -> (T, Vec<Waker>)) -> T {
        let mut table = self.latch();
        table.rests_on(position);
        let (done, wakers) = change(&mut table);
        drop(table);
        wake(wakers);
        done
    }

    fn latch(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Outside of the latch: who is woken takes it.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

impl Waiting {
    fn shown(&self) -> Wait {
        match &self.state {
            table::State::Queued => Wait::Queued,
            table::State::Granted(grant) => Wait::Granted(*grant),
            table::State::Deadlock(cycle) => Wait::Deadlock(cycle.clone()),
        }
    }
}
