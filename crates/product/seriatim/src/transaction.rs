//! Transactions that the caller holds open.

use crate::snapshot::{Pending, Snapshot};
use crate::{Durability, Receipt, Result, SerialPoint};
use model::Finish;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A transaction: a [`Snapshot`] that can also write, and sees its own writes.
///
/// [`Database::run`](crate::Database::run) gives one to its body and is what most code wants, since it runs the body again
/// after a conflict. [`Database::begin`](crate::Database::begin) gives one to hold: it owns a handle of the database, has
/// no lifetime, may move between threads, and takes everything back when it is dropped without a commit.
///
/// Reads borrow it shared and writes borrow it exclusively, so a loop over a range may read other tables, and the compiler
/// refuses one that writes to what it walks over.
///
/// ```
/// # use seriatim::{Database, BytesTable, Error};
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let stock: BytesTable<u64> = db.bytes_table("stock")?;
///
/// let mut txn = db.begin()?;
/// stock.put(&mut txn, 1, "39")?;
/// let receipt = txn.commit()?;
/// assert_eq!(receipt.attempts, 1);
///
/// let mut txn = db.begin()?;
/// stock.put(&mut txn, 1, "0")?;
/// drop(txn); // takes it back
/// assert_eq!(db.read(|snapshot| stock.get(snapshot, 1))?.unwrap(), b"39");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Transaction {
    view: Snapshot,
}

impl Transaction {
    pub(crate) fn new(view: Snapshot) -> Transaction {
        Transaction { view }
    }

    /// Commits, and waits as long as the transaction's [`Durability`] asks.
    ///
    /// # Errors
    /// [`Error::Aborted`](crate::Error::Aborted) with the conflict: nothing happened, begin again.
    /// [`Error::Fault`](crate::Error::Fault) if the log failed; [`Error::is_outcome_unknown`](crate::Error::is_outcome_unknown)
    /// tells whether it may have happened nevertheless.
    pub fn commit(self) -> Result<Receipt> {
        self.commit_unsynced()?.wait()
    }

    /// Commits without waiting for the disk: others see the writes, and [`PendingCommit::wait`] says when a crash cannot
    /// undo them. Many transactions can so share one wait.
    ///
    /// ```
    /// # use seriatim::{Database, BytesTable, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let log: BytesTable<u64> = db.bytes_table("log")?;
    /// let mut pending = Vec::new();
    /// for number in 0..100u64 {
    ///     let mut txn = db.begin()?;
    ///     log.put(&mut txn, number, "entry")?;
    ///     pending.push(txn.commit_unsynced()?);
    /// }
    /// for commit in pending {
    ///     commit.wait()?; // durable, and may be told to others
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_unsynced(self) -> Result<PendingCommit> {
        Ok(PendingCommit(self.view.end()?))
    }

    /// What this transaction's acknowledgement waits for.
    ///
    /// ```
    /// # use seriatim::{BytesTable, Database, Durability, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let clicks: BytesTable<u64> = db.bytes_table("clicks")?;
    /// db.run(|txn| {
    ///     txn.set_durability(Durability::Async); // a click more or less
    ///     clicks.put(txn, 1, "home")
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_durability(&mut self, durability: Durability) {
        self.view.engine().set_durability(durability);
    }

    /// Takes everything back, and waits until what it has read is durable: then that may be told to others. Dropping the
    /// transaction does the same, and cannot say if it failed.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the log failed first: what was read may be gone after a restart.
    pub fn rollback(self) -> Result<()> {
        self.view.abort()
    }

    /// Takes everything back before another attempt.
    pub(crate) fn forget(self) {
        self.view.forget();
    }

    /// Marks this point, to come back to.
    ///
    /// ```
    /// # use seriatim::{Database, BytesTable, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// let table: BytesTable = db.bytes_table("names")?;
    /// db.run(|txn| {
    ///     table.put(txn, "a", "kept")?;
    ///     let before = txn.savepoint()?;
    ///     table.put(txn, "b", "taken back")?;
    ///     txn.rollback_to(&before)
    /// })?;
    /// assert_eq!(db.read(|snapshot| table.len(snapshot))?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Aborted`](crate::Error::Aborted) if the transaction already is.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        Ok(Savepoint(self.view.engine().savepoint()?))
    }

    /// Takes back everything since the savepoint; it stays, and can be come back to again. What was read stays read: it
    /// can still conflict.
    ///
    /// # Errors
    /// [`Invalid::UnknownSavepoint`](crate::Invalid::UnknownSavepoint) if an earlier one was come back to in between,
    /// or it is another transaction's.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        Ok(self.view.engine().rollback_to(&savepoint.0)?)
    }

    /// Runs `body`, and takes back what it wrote if it fails: a statement of several steps that happens as a whole or not.
    ///
    /// # Errors
    /// The body's.
    pub fn atomically<T, E: From<crate::Error>>(
        &mut self,
        body: impl FnOnce(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.savepoint()?;
        let outcome = body(self);
        // An aborted transaction has nothing left to take back.
        if outcome.is_err() && self.view.poison().is_none() {
            self.rollback_to(&before)?;
        }
        outcome
    }
}

impl Deref for Transaction {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.view
    }
}

/// A point of a transaction to come back to.
#[derive(Clone, Debug)]
pub struct Savepoint(model::Savepoint);

/// A transaction that others see, and that a crash may still undo. Dropping it waits for nothing. It is waited for by
/// [`PendingCommit::wait`], or awaited by a task.
#[derive(Debug)]
#[must_use = "until `wait` has returned, a crash may undo the transaction"]
pub struct PendingCommit(Pending);

impl PendingCommit {
    /// The transaction's place in the serial order, as in [`Receipt::serial_point`].
    pub fn serial_point(&self) -> Option<SerialPoint> {
        self.0.committed.serial_point
    }

    /// Waits as long as the transaction's [`Durability`] asks.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the log failed first: the outcome is unknown.
    pub fn wait(self) -> Result<Receipt> {
        self.0.wait()
    }
}

/// Awaits what [`PendingCommit::wait`] waits for, without a thread, on any runtime or none.
impl IntoFuture for PendingCommit {
    type Output = Result<Receipt>;
    type IntoFuture = DurableCommit;

    fn into_future(self) -> DurableCommit {
        DurableCommit(self.0.later())
    }
}

/// The future of a [`PendingCommit`]. Dropping it waits for nothing.
#[derive(Debug)]
#[must_use = "until it has ended, a crash may undo the transaction"]
pub struct DurableCommit(model::Pending<Result<Receipt>>);

impl Future for DurableCommit {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Receipt>> {
        Pin::new(&mut self.0).poll(context)
    }
}
