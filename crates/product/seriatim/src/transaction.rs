//! Transactions that the caller holds open.

use crate::snapshot::{Pending, Snapshot};
use crate::{Durability, Receipt, Result, SerialPoint};
use model::Finish;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A transaction: a [`Snapshot`] that can also write and sees its own writes.
///
/// Most code uses [`Database::run`](crate::Database::run), which passes a transaction to its body and runs the body again after
/// a conflict. [`Database::begin`](crate::Database::begin) returns one to the caller: it owns a handle of the database, has no
/// lifetime, may move between threads, and is rolled back when it is dropped without a commit.
///
/// Reads borrow it shared and writes borrow it exclusively: a loop over a range can read other tables, and the compiler refuses
/// a loop that writes while it iterates.
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
/// drop(txn); // rolls back
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

    /// Commits, and waits for what the transaction's [`Durability`] requires.
    ///
    /// # Errors
    /// [`Error::Aborted`](crate::Error::Aborted) with the conflict: the transaction had no effect and may be tried again.
    /// [`Error::Fault`](crate::Error::Fault) if the log failed; [`Error::is_outcome_unknown`](crate::Error::is_outcome_unknown)
    /// tells whether it may have committed nevertheless.
    pub fn commit(self) -> Result<Receipt> {
        self.commit_unsynced()?.wait()
    }

    /// Commits without waiting for the disk: the writes are visible to others, and [`PendingCommit::wait`] returns when a crash can
    /// no longer undo them. Many transactions can share one wait in this way.
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
    ///     commit.wait()?; // durable: may be acknowledged to others
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of [`Transaction::commit`].
    pub fn commit_unsynced(self) -> Result<PendingCommit> {
        Ok(PendingCommit(self.view.end()?))
    }

    /// Sets what this transaction's acknowledgement waits for.
    ///
    /// ```
    /// # use seriatim::{BytesTable, Database, Durability, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let clicks: BytesTable<u64> = db.bytes_table("clicks")?;
    /// db.run(|txn| {
    ///     txn.set_durability(Durability::Async); // losing a click is acceptable
    ///     clicks.put(txn, 1, "home")
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_durability(&mut self, durability: Durability) {
        self.view.engine().set_durability(durability);
    }

    /// Rolls back, and waits until everything that the transaction has read is durable, so that it may be disclosed to others.
    /// Dropping the transaction does the same, but cannot report a failure.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the log failed first: what was read may be lost after a restart.
    pub fn rollback(self) -> Result<()> {
        self.view.abort()
    }

    /// Rolls back before another attempt.
    pub(crate) fn forget(self) {
        self.view.forget();
    }

    /// Sets a savepoint, to which [`Transaction::rollback_to`] returns.
    ///
    /// ```
    /// # use seriatim::{Database, BytesTable, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// let table: BytesTable = db.bytes_table("names")?;
    /// db.run(|txn| {
    ///     table.put(txn, "a", "kept")?;
    ///     let before = txn.savepoint()?;
    ///     table.put(txn, "b", "rolled back")?;
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

    /// Undoes the writes since the savepoint, which stays valid. Reads since then still count: they can cause conflicts.
    ///
    /// # Errors
    /// [`Invalid::UnknownSavepoint`](crate::Invalid::UnknownSavepoint) if the transaction was rolled back to an earlier savepoint in
    /// between, or if the savepoint is another transaction's.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        Ok(self.view.engine().rollback_to(&savepoint.0)?)
    }

    /// Runs `body`, and undoes its writes if it fails: a statement of several steps that takes effect wholly or not at all.
    ///
    /// # Errors
    /// Errors of the body.
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

/// A savepoint of a transaction.
#[derive(Clone, Debug)]
pub struct Savepoint(model::Savepoint);

/// A transaction that is visible to others, but that a crash may still undo. [`PendingCommit::wait`] waits until it cannot, or a
/// task awaits it. Dropping it does not wait.
#[derive(Debug)]
#[must_use = "until `wait` has returned, a crash may undo the transaction"]
pub struct PendingCommit(Pending);

impl PendingCommit {
    /// Returns the transaction's place in the serial order, as in [`Receipt::serial_point`].
    pub fn serial_point(&self) -> Option<SerialPoint> {
        self.0.committed.serial_point
    }

    /// Waits for what the transaction's [`Durability`] requires.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if the log failed first: the outcome is unknown.
    pub fn wait(self) -> Result<Receipt> {
        self.0.wait()
    }
}

/// Awaits the same as [`PendingCommit::wait`], without blocking a thread, on any runtime.
impl IntoFuture for PendingCommit {
    type Output = Result<Receipt>;
    type IntoFuture = DurableCommit;

    fn into_future(self) -> DurableCommit {
        DurableCommit(self.0.later())
    }
}

/// The future of a [`PendingCommit`]. Dropping it does not wait.
#[derive(Debug)]
#[must_use = "until it has ended, a crash may undo the transaction"]
pub struct DurableCommit(model::Pending<Result<Receipt>>);

impl Future for DurableCommit {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Receipt>> {
        Pin::new(&mut self.0).poll(context)
    }
}
