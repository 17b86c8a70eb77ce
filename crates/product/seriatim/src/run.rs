//! Transactions as closures: run until they commit, or once over a snapshot.

use crate::options::TransactionOptions;
use crate::snapshot::Snapshot;
use crate::{AbortClass, Conflict, Database, Error, Receipt, Result, Transaction};
use env::Retries;
use model::retry::{self, Failure};
use std::cell::RefCell;
use std::time::Duration;

impl Database {
    /// Runs `body` in a transaction, commits, and returns once the commit is as durable as the database requires. After a conflict
    /// the transaction is rolled back, and the body runs again after a short random delay: it must have no effects except through
    /// the transaction.
    ///
    /// To return errors of your own type, wrap them with [`Error::body`], or use [`Database::try_run`].
    ///
    /// A `run` inside the body of another one is a separate transaction, which commits before the outer one and remains if the
    /// outer one fails. If both access the same rows they cannot both succeed, and the error is [`Error::Nested`]: pass `txn` on
    /// instead.
    ///
    /// ```
    /// # use seriatim::{Database, BytesTable, Error};
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::in_memory()?;
    /// let counters: BytesTable = db.bytes_table("counters")?;
    /// let visits = db.run(|txn| {
    ///     let old = counters.get(txn, "visits")?.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    ///     counters.put(txn, "visits", (old + 1).to_le_bytes())?;
    ///     Ok(old + 1)
    /// })?;
    /// assert_eq!(visits, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of the body; [`Error::GaveUp`] at the limits of the [`RetryPolicy`](crate::RetryPolicy); [`Error::Fault`] if the log failed.
    pub fn run<T>(&self, body: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        self.try_run(body)
    }

    /// Same as [`Database::run`], for bodies with an error type of their own. Such an error rolls back, and is
    /// not retried.
    ///
    /// ```
    /// # use seriatim::{Database, Error};
    /// #[derive(Debug)]
    /// enum Refused { OutOfStock, Database(Error) }
    /// impl From<Error> for Refused {
    ///     fn from(error: Error) -> Self { Refused::Database(error) }
    /// }
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::in_memory()?;
    /// let outcome: Result<(), Refused> = db.try_run(|_txn| Err(Refused::OutOfStock));
    /// assert!(matches!(outcome, Err(Refused::OutOfStock)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of [`Database::run`], in the body's type.
    pub fn try_run<T, E: From<Error>>(&self, body: impl FnMut(&mut Transaction) -> Result<T, E>) -> Result<T, E> {
        Ok(self.run_with(&TransactionOptions::new(), body)?.0)
    }

    /// Same as [`Database::read`], with options: [`settled`](TransactionOptions::settled), the wait limit, the durability.
    /// It is always read-only.
    ///
    /// # Errors
    /// Errors of [`Database::read`], in the body's type.
    pub fn read_with<T, E: From<Error>>(
        &self,
        options: &TransactionOptions,
        body: impl FnOnce(&Snapshot) -> Result<T, E>,
    ) -> Result<T, E> {
        finish_reading(self.snapshot_with(options)?, body)
    }

    /// Same as [`Database::try_run`], with options; also returns the receipt.
    ///
    /// # Errors
    /// Errors of [`Database::run`], in the body's type.
    pub fn run_with<T, E: From<Error>>(
        &self,
        options: &TransactionOptions,
        mut body: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<(T, Receipt), E> {
        let policy = options.retry.unwrap_or(self.shared.retry);
        let (mut retries, nest) = (Retries::new(policy), NestingGuard::enter(self.shared.id));
        let mut attempts = 0;
        let done = retry::run(&mut retries, |failed| {
            attempts = failed + 1;
            let mode = policy.mode(options.mode, failed);
            let options = self.limit_wait(&nest, TransactionOptions { mode, ..options.clone() });
            self.attempt(&options, &nest, &mut body)
        });
        match done {
            Ok((output, receipt)) => Ok((output, Receipt { attempts, ..receipt })),
            Err(Failure::Final(error)) => Err(error),
            Err(Failure::Conflict(conflict)) => Err(Error::gave_up(conflict, attempts, retries.elapsed()).into()),
        }
    }

    /// Runs `body` once, and commits.
    fn attempt<T, E: From<Error>>(
        &self,
        options: &TransactionOptions,
        nest: &NestingGuard,
        body: &mut impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<(T, Receipt), Failure<Conflict, E>> {
        let mut transaction = self.begin_with(options).map_err(failed)?;
        let outcome = body(&mut transaction);
        let conflict = match (outcome, transaction.poison()) {
            // The engine aborted it, whatever the body made of that.
            (_, Some(Error::Aborted(conflict))) => {
                transaction.forget();
                conflict
            }
            (_, Some(other)) => return Err(failed(other)),
            (Err(error), None) => {
                transaction.rollback().map_err(failed)?;
                return Err(Failure::Final(error));
            }
            (Ok(output), None) => match transaction.commit() {
                Ok(receipt) => return Ok((output, receipt)),
                Err(Error::Aborted(conflict)) => conflict,
                Err(other) => return Err(failed(other)),
            },
        };
        self.shared.count_retry(&conflict);
        Err(if nest.is_own_doing(&conflict) {
            failed(Error::Nested(conflict))
        } else if conflict.class().is_retryable() {
            Failure::Conflict(conflict)
        } else {
            failed(Error::Aborted(conflict))
        })
    }

    /// Shortens waits inside the body of another transaction, since they may be for that one.
    fn limit_wait(&self, nest: &NestingGuard, mut options: TransactionOptions) -> TransactionOptions {
        if nest.is_inner {
            let limit = options.wait_limit.unwrap_or(self.shared.wait_limit);
            options.wait_limit = Some(limit.min(NESTED_WAIT));
        }
        options
    }

    /// Begins a settled snapshot. Inside the body of another transaction it may wait for that one, which cannot end meanwhile.
    pub(crate) fn settled_snapshot(&self, options: &TransactionOptions) -> Result<Snapshot> {
        let nest = NestingGuard::enter(self.shared.id);
        let options = self.limit_wait(&nest, options.clone());
        match Snapshot::begin(&self.shared, options)?.fix() {
            Err(Error::Aborted(conflict)) if nest.is_own_doing(&conflict) => Err(Error::Nested(conflict)),
            begun => begun,
        }
    }

    /// Runs `body` on one unchanging view of the database, and returns once everything that it has read is durable. It runs once:
    /// no writer can make it abort. (Two limits can end it: the age limit, if one is set, and the wait limit, if it waits for a
    /// writer that is about to commit what it reads.)
    ///
    /// ```
    /// # use seriatim::{Database, BytesTable, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// let names: BytesTable = db.bytes_table("names")?;
    /// let count = db.read(|snapshot| names.len(snapshot))?;
    /// assert_eq!(count, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of the body; [`Error::Limit`] and [`Error::Fault`].
    pub fn read<T>(&self, body: impl FnOnce(&Snapshot) -> Result<T>) -> Result<T> {
        self.try_read(body)
    }

    /// Same as [`Database::read`], for bodies with an error type of their own.
    ///
    /// # Errors
    /// Errors of [`Database::read`], in the body's type.
    pub fn try_read<T, E: From<Error>>(&self, body: impl FnOnce(&Snapshot) -> Result<T, E>) -> Result<T, E> {
        finish_reading(self.snapshot()?, body)
    }
}

fn finish_reading<T, E: From<Error>>(snapshot: Snapshot, body: impl FnOnce(&Snapshot) -> Result<T, E>) -> Result<T, E> {
    match body(&snapshot) {
        Ok(output) => {
            snapshot.finish()?;
            Ok(output)
        }
        Err(error) => {
            snapshot.abort()?;
            Err(error)
        }
    }
}

/// Wait limit of a transaction inside the body of another one.
const NESTED_WAIT: Duration = Duration::from_secs(1);

thread_local! {
    /// The databases whose transactions this thread is running, each inside the body of the one before.
    static RUNNING: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Registers a transaction among those that this thread is running, while its body runs.
struct NestingGuard {
    /// Whether it runs inside the body of another transaction of the same database.
    is_inner: bool,
}

impl NestingGuard {
    fn enter(database: u64) -> NestingGuard {
        RUNNING.with_borrow_mut(|running| {
            let is_inner = running.contains(&database);
            running.push(database);
            NestingGuard { is_inner }
        })
    }

    /// Returns whether a conflict may be with an outer transaction of the same thread, which cannot end while it is waited for. (An
    /// outer transaction that an inner one has overtaken can succeed the next time; if not, it owns its rows at the statement after
    /// some attempts, and the inner one then waits for it.)
    fn is_own_doing(&self, conflict: &Conflict) -> bool {
        self.is_inner && conflict.class() == AbortClass::WaitLimit
    }
}

impl Drop for NestingGuard {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(Vec::pop);
    }
}

/// A failure that a retry would not cure.
fn failed<E: From<Error>>(error: Error) -> Failure<Conflict, E> {
    Failure::Final(error.into())
}
