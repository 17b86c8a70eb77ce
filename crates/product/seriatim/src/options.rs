//! Options of a transaction.

use crate::Durability;
use model::{Mode, RetryPolicy};
use std::time::Duration;

/// Options of one transaction. What is not set here is as the database's [`Builder`](crate::Builder) has it.
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
    /// Creates options in which everything is as the database has it.
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Makes the transaction read-only: it has no conflicts. It can still end at a limit, on waiting or on age.
    pub fn read_only(mut self) -> TransactionOptions {
        self.mode = Mode::ReadOnly;
        self
    }

    /// Makes the transaction read-only, at a point in the serial order before which every transaction has ended. It waits for
    /// those when it begins; afterwards it neither delays other transactions nor waits for them. For long reports.
    pub fn settled(mut self) -> TransactionOptions {
        self.mode = Mode::Snapshot;
        self
    }

    /// Owns a row from the statement on that writes it, so that younger transactions of this kind queue on hot rows instead of
    /// failing at commit. Other transactions can still read the row; this one then commits at a later place in the serial order,
    /// if what it has read is unchanged there. [`Database::run`](crate::Database::run) switches to it after some conflicts
    /// ([`RetryPolicy::own_after_attempts`]).
    pub fn own_at_statement(mut self) -> TransactionOptions {
        self.mode = Mode::OwnAtStatement;
        self
    }

    /// Sets what the acknowledgement waits for.
    pub fn durability(mut self, durability: Durability) -> TransactionOptions {
        self.durability = Some(durability);
        self
    }

    /// Sets the longest wait for one other transaction; beyond it the transaction is aborted.
    pub fn wait_limit(mut self, limit: Duration) -> TransactionOptions {
        self.wait_limit = Some(limit);
        self
    }

    /// Sets when [`Database::run_with`](crate::Database::run_with) gives up.
    pub fn retry(mut self, policy: RetryPolicy) -> TransactionOptions {
        self.retry = Some(policy);
        self
    }
}
