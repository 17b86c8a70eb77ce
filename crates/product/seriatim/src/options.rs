//! Options of a transaction.

use crate::Durability;
use model::{Mode, RetryPolicy};
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
