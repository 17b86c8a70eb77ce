//! What can be chosen for a transaction.

use crate::Durability;
use model::Mode;
use std::time::Duration;

/// How a transaction runs. The defaults are the database's.
///
/// ```
/// # use seriatim::{Database, Durability, Error, TransactionOptions};
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let relaxed = TransactionOptions::new().durability(Durability::Async);
/// let (_, receipt) = db.run_with(&relaxed, |_txn| Ok::<_, Error>(()))?;
/// assert_eq!(receipt.attempts, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct TransactionOptions {
    pub(crate) mode: Mode,
    pub(crate) durability: Option<Durability>,
    pub(crate) wait_limit: Option<Duration>,
    pub(crate) retry: Option<RetryPolicy>,
}

impl TransactionOptions {
    /// The database's defaults.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Reads only: meets no conflict. It can end at a limit: on waiting, or on its age.
    pub fn read_only(mut self) -> TransactionOptions {
        self.mode = Mode::ReadOnly;
        self
    }

    /// Reads only, at a point before which every transaction has ended: waits for those at the beginning, and then neither
    /// delays nor is delayed by anybody. For long reports.
    pub fn settled(mut self) -> TransactionOptions {
        self.mode = Mode::Snapshot;
        self
    }

    /// Takes hold of a row at the statement that writes it, so that on hot rows younger transactions of this kind queue instead of
    /// failing at commit. Transactions of other kinds read beside it; it then takes a later place in the order, if what it has
    /// read is the same there. [`Database::run`](crate::Database::run) turns to it by itself after some conflicts
    /// ([`RetryPolicy::own_after_attempts`]).
    pub fn own_at_statement(mut self) -> TransactionOptions {
        self.mode = Mode::OwnAtStatement;
        self
    }

    /// What the acknowledgement waits for.
    pub fn durability(mut self, durability: Durability) -> TransactionOptions {
        self.durability = Some(durability);
        self
    }

    /// The longest wait for one other transaction; beyond it the transaction is aborted.
    pub fn wait_limit(mut self, limit: Duration) -> TransactionOptions {
        self.wait_limit = Some(limit);
        self
    }

    /// When [`Database::run_with`](crate::Database::run_with) gives up.
    pub fn retry(mut self, policy: RetryPolicy) -> TransactionOptions {
        self.retry = Some(policy);
        self
    }
}

/// How often and how long a transaction is run again after conflicts.
///
/// The delay before the next attempt is drawn uniformly between zero and a ceiling that starts at `first_delay`, doubles
/// with each attempt and ends at `longest_delay`, so that transactions that met once do not meet again in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts at most; 1 never retries. Default 1,000.
    pub max_attempts: u32,
    /// No new attempt begins later than this after the first. Default 30 s.
    pub max_elapsed: Duration,
    /// Ceiling of the first delay. Default 20 µs, the order of a short transaction: shorter and the same two meet again,
    /// longer and a hot row idles.
    pub first_delay: Duration,
    /// Ceiling of every delay. Default 5 ms.
    pub longest_delay: Duration,
    /// After this many failed attempts the next ones take hold of rows at the statement
    /// ([`TransactionOptions::own_at_statement`]), so that a transaction on a hot row gets its turn. Default 3.
    pub own_after_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            max_attempts: 1_000,
            max_elapsed: Duration::from_secs(30),
            first_delay: Duration::from_micros(20),
            longest_delay: Duration::from_millis(5),
            own_after_attempts: 3,
        }
    }
}

impl RetryPolicy {
    /// Gives up at the first conflict.
    pub fn never() -> RetryPolicy {
        RetryPolicy { max_attempts: 1, ..RetryPolicy::default() }
    }

    /// The default with another limit on attempts.
    pub fn attempts(max_attempts: u32) -> RetryPolicy {
        RetryPolicy { max_attempts, ..RetryPolicy::default() }
    }

    /// The default with another limit on time.
    pub fn elapsed(max_elapsed: Duration) -> RetryPolicy {
        RetryPolicy { max_elapsed, ..RetryPolicy::default() }
    }
}
