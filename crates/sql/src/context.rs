//! What a running statement has at hand.

use crate::database::Database;
use crate::error::{Result, SqlError, state};
use crate::session::State;
use crate::store::Transaction;
use crate::types::Datum;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

pub use crate::memory::Memory;

/// What a running statement has at hand. Lives for one call into a statement; portals keep their own state between calls.
pub struct Context<'s> {
    /// The transaction.
    pub transaction: &'s mut dyn Transaction,
    /// The database.
    pub database: &'s Arc<Database>,
    /// The session: settings, user, times, what sequences gave it.
    pub session: &'s mut State,
    /// The values of `$1`, `$2`, ...
    pub parameters: &'s [Datum],
    /// The statement's memory.
    pub memory: Memory,
    /// Raised when somebody cancels the statement.
    pub cancel: &'s Cancel,
}

impl Context<'_> {
    /// Looks whether somebody wants the statement to stop. To be called once for every few hundred rows.
    ///
    /// # Errors
    /// 57014.
    pub fn check_cancel(&self) -> Result<()> {
        self.cancel.check()
    }
}

/// What stops a statement: a flag that another thread raises, and a deadline.
#[derive(Debug)]
pub struct Cancel {
    raised: AtomicBool,
    /// Whether the session is to end: no later statement runs either.
    ended: AtomicBool,
    begun: Instant,
    /// Microseconds after `begun`; `u64::MAX`: none.
    deadline: AtomicU64,
}

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel {
            raised: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            begun: Instant::now(),
            deadline: AtomicU64::new(u64::MAX),
        }
    }
}

impl Cancel {
    /// Asks the statement to stop.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Asks the session to end.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.raise();
    }

    /// Before a statement: forgets requests that came too late for the one before, and sets its time, if it has a limit
    /// (`timeout` milliseconds; 0: none).
    pub fn start(&self, timeout: u64) {
        // A session that is to end begins nothing.
        self.raised.store(self.ended.load(Ordering::Relaxed), Ordering::Relaxed);
        let deadline = match timeout {
            0 => u64::MAX,
            _ => self.elapsed().saturating_add(timeout.saturating_mul(1000)),
        };
        self.deadline.store(deadline, Ordering::Relaxed);
    }

    /// Before a further statement of a text: sets a time where none was set, since the statements before may have set a limit.
    pub fn go_on(&self, timeout: u64) {
        if timeout > 0 && self.deadline.load(Ordering::Relaxed) == u64::MAX {
            let deadline = self.elapsed().saturating_add(timeout.saturating_mul(1000));
            self.deadline.store(deadline, Ordering::Relaxed);
        }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// # Errors
    /// 57014 if it was raised, or the time is over; 57P01 if the session is to end.
    pub fn check(&self) -> Result<()> {
        if self.raised.load(Ordering::Relaxed) {
            if self.ended.load(Ordering::Relaxed) {
                let message = "terminating connection due to administrator command";
                return Err(SqlError::new(state::ADMIN_SHUTDOWN, message));
            }
            return Err(SqlError::new(state::QUERY_CANCELED, "canceling statement due to user request"));
        }
        let deadline = self.deadline.load(Ordering::Relaxed);
        if deadline != u64::MAX && self.elapsed() >= deadline {
            return Err(SqlError::new(state::QUERY_CANCELED, "canceling statement due to statement timeout"));
        }
        Ok(())
    }
}

/// The bytes that a row holds, about.
pub fn row_bytes(row: &[Datum]) -> usize {
    24 + row.iter().map(|datum| size_of::<Datum>() + value_bytes(datum)).sum::<usize>()
}

/// The bytes that a value holds beside itself, about.
pub fn value_bytes(datum: &Datum) -> usize {
    match datum {
        Datum::Text(text) if text.is_heap_allocated() => text.len() + 16,
        Datum::Bytea(bytes) => bytes.len() + 16,
        Datum::Numeric(_) => 64,
        Datum::Array(array) => 64 + array.elements.len() * size_of::<Datum>(),
        Datum::Record(fields) => 32 + fields.len() * size_of::<Datum>(),
        _ => 0,
    }
}
