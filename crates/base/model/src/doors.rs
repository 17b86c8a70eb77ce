//! The three doors, by strength: how a transaction enters an engine.
//!
//! An engine implements the strongest door that it truly has; the adapters give the weaker ones. They are newtypes and
//! not blanket impls, so that an engine can still have a better door of its own.

use crate::{Access, Durability, Error, Key, LogPosition, Program, Result, SerialPoint, Supervisor, TableId};
use std::sync::Arc;
use std::time::Duration;

/// How a transaction begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// What it may do.
    pub mode: Mode,
    /// What its acknowledgement waits for; `None`: the database's default.
    pub durability: Option<Durability>,
    /// The longest wait for one other transaction; `None`: the engine's default.
    pub wait_limit: Option<Duration>,
}

/// What a transaction may do, and when it takes hold of what it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reads and writes; takes hold of what it writes at commit.
    #[default]
    ReadWrite,
    /// Reads and writes; takes hold of a row at the statement that writes it, so that younger transactions of this mode queue on
    /// a hot row instead of failing at commit. An engine may let others read beside it meanwhile, and fix its place in the
    /// serial order when it commits.
    OwnAtStatement,
    /// Reads only; always commits.
    ReadOnly,
    /// Reads only, at a point before which every transaction has ended: it delays nobody and nobody delays it once
    /// begun.
    Snapshot,
}

/// A transaction that committed: it is visible. Whether it is durable yet is another question
/// ([`Interactive::wait_durable`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Its place in the serial order.
    pub serial_point: SerialPoint,
    /// What its acknowledgement must wait for: its own record and every version that it read. Zero: nothing.
    pub log_position: LogPosition,
}

/// How an open transaction ends. Dropping it aborts.
pub trait Finish {
    /// The abort that poisoned it, if one did.
    fn poison(&self) -> Option<&Error>;

    /// What an answer that tells what it has read so far must wait for: the greatest log position among the versions that it
    /// read, also of a transaction that has been aborted. Zero: nothing, since all was durable long ago, or by its durability.
    fn rests_on(&self) -> LogPosition;

    /// Commits, or aborts with the reason.
    ///
    /// # Errors
    /// [`Error::Aborted`] with the reason, [`Error::Fault`] if the log could not take it.
    fn commit(self) -> Result<Committed>;

    /// Drops everything it wrote.
    fn abort(self);
}

/// Door 1: the caller holds the transaction open. SQL needs it.
pub trait Interactive: Send + Sync + 'static {
    /// A transaction that borrows the engine.
    type Transaction<'engine>: Access + Finish + Send
    where
        Self: 'engine;
    /// The same, owning a handle of the engine: it outlives the call that began it and may move between threads.
    type Owned: Access + Finish + Send + 'static;

    /// Begins a transaction. Never waits, except in [`Mode::Snapshot`].
    ///
    /// # Errors
    /// [`Error::Limit`] with too many open transactions, [`Error::Fault`] if the clock or the log has failed.
    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>>;

    /// As [`Interactive::begin`], owned.
    ///
    /// # Errors
    /// As [`Interactive::begin`].
    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned>;

    /// Blocks until the log is durable up to `position`; returns at once if it is.
    ///
    /// # Errors
    /// [`Error::Fault`] if the log failed first: the outcome is unknown.
    fn wait_durable(&self, position: LogPosition) -> Result<()>;

    /// Aborts a transaction, and then waits until everything that it has read is durable: for whoever is about to answer with
    /// an error of its own, which tells of what was read no less than a result does.
    ///
    /// # Errors
    /// As [`Interactive::wait_durable`]: the answer must not be given, since what it rests on may be gone after a restart.
    fn abort_durably(&self, transaction: impl Finish) -> Result<()> {
        let rests_on = transaction.rests_on();
        transaction.abort();
        self.wait_durable(rests_on)
    }
}

/// What to do after an abort that a retry may cure.
pub trait Retry {
    /// Whether to run again after this many failed attempts; it may wait before it says so.
    fn again(&mut self, attempts: u32, error: &Error) -> bool;
}

impl<F: FnMut(u32, &Error) -> bool> Retry for F {
    fn again(&mut self, attempts: u32, error: &Error) -> bool {
        self(attempts, error)
    }
}

/// Door 2: the engine may run the body many times.
pub trait Reexecutable: Send + Sync + 'static {
    /// Runs the program until it commits, its own error stops it, or `retry` gives up.
    ///
    /// # Errors
    /// The program's error, once everything that it read is durable; or the engine's last one as the program's.
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error>;
}

/// Door 2 on an engine with door 1.
#[derive(Clone, Debug)]
pub struct AsReexecutable<E>(pub Arc<E>);

impl<E: Interactive> Reexecutable for AsReexecutable<E> {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        let mut attempts = 0;
        loop {
            let mut transaction = self.0.begin(how)?;
            let output = program.run(&mut transaction);
            let error = match (output, transaction.poison().cloned()) {
                // The engine aborted it, whatever the body made of that.
                (_, Some(error)) => error,
                (Err(error), None) => {
                    self.0.abort_durably(transaction)?;
                    return Err(error);
                }
                (Ok(output), None) => match transaction.commit() {
                    Ok(committed) => return Ok((output, committed)),
                    Err(error) => error,
                },
            };
            attempts += 1;
            if !(error.is_retryable() && retry.again(attempts, &error)) {
                return Err(error.into());
            }
        }
    }
}

/// A program with a name and arguments that can be written down: BOHM's log, replication and re-execution need both.
pub trait Procedure: Program + Sized {
    /// Stable: it stands in logs.
    const NAME: &'static str;

    /// Appends the arguments.
    fn encode_arguments(&self, out: &mut Vec<u8>);

    /// Reads what [`Procedure::encode_arguments`] wrote.
    ///
    /// # Errors
    /// [`crate::Malformed`] if it did not.
    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Self, crate::Malformed>;

    /// What it will access: computed from the arguments, or found by a trial read through `access` (reconnaissance),
    /// which the engine verifies at execution.
    ///
    /// # Errors
    /// What [`Access`] returned.
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint>;
}

/// What a procedure will access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint(pub Vec<FootprintEntry>);

/// One key of a footprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FootprintEntry {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: Key,
    /// Whether it will be written.
    pub writes: bool,
}

impl Footprint {
    /// Adds a key that will be read.
    pub fn reads(mut self, table: TableId, key: impl Into<Key>) -> Footprint {
        self.0.push(FootprintEntry { table, key: key.into(), writes: false });
        self
    }

    /// Adds a key that will be written, and may be read.
    pub fn writes(mut self, table: TableId, key: impl Into<Key>) -> Footprint {
        self.0.push(FootprintEntry { table, key: key.into(), writes: true });
        self
    }
}

/// Door 3: procedures whose footprint is known before they run.
pub trait Declared: Send + Sync + 'static {
    /// Runs the procedure until it commits, its own error stops it, or `retry` gives up (footprints found by
    /// reconnaissance can miss).
    ///
    /// # Errors
    /// The procedure's error, once everything that it read is durable; or the engine's last one as the procedure's.
    fn call<P: Procedure>(
        &self,
        procedure: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error>;
}

/// Door 3 on an engine with door 2, which has no use for the footprint.
#[derive(Clone, Debug)]
pub struct AsDeclared<E>(pub E);

impl<E: Reexecutable> Declared for AsDeclared<E> {
    fn call<P: Procedure>(
        &self,
        procedure: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        self.0.execute(procedure, how, retry)
    }
}

/// A transaction that can go back to where it was. Engines that cannot do without it; SQL needs it.
pub trait Savepoints {
    /// A place to go back to.
    type Savepoint: Send + 'static;

    /// Notes what has been written so far.
    ///
    /// # Errors
    /// The abort that poisoned the transaction.
    fn savepoint(&mut self) -> Result<Self::Savepoint>;

    /// Drops what was written since the savepoint, which stays; later savepoints go. What was read stays read, and what is
    /// owned may stay owned.
    ///
    /// # Errors
    /// [`crate::Invalid::UnknownSavepoint`], or the abort that poisoned the transaction.
    fn rollback_to(&mut self, savepoint: &Self::Savepoint) -> Result<()>;

    /// Forgets a savepoint and later ones; what was written stays written. Savepoints that are kept cost memory for every
    /// write.
    fn release(&mut self, savepoint: Self::Savepoint);

    /// A number of its own, if the engine has given it one already: the timestamp that it began at. Its place in the serial order
    /// is there or, where the engine moves transactions ([`Mode::OwnAtStatement`]), above it.
    fn timestamp(&self) -> Option<crate::Timestamp>;

    /// Sets what its acknowledgement waits for.
    fn set_durability(&mut self, durability: Durability);

    /// Sets how long it waits for one other transaction from now on; `None`: for as long as the engine says.
    fn set_wait_limit(&mut self, limit: Option<Duration>);

    /// Sets who looks after it: sees its waits and may end them. From then on a wait that ends without what it was for fails
    /// its statement ([`Error::Unavailable`]) and not the transaction, in engines that can undo a single statement. With a
    /// limit of zero on waiting, whatever another transaction holds is unavailable.
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>);

    /// Sets whether its reads wait from now on for older transactions that own what they read and still execute. A statement
    /// that goes on to write what it reads wants to: it would read an old version at once, only to fail when it writes. At first
    /// they do in [`Mode::OwnAtStatement`] and in no other mode, where the engine has a choice.
    fn set_reads_wait(&mut self, wait: bool);
}

/// An engine whose tables come and go while it runs.
pub trait Tables {
    /// Creates a table that every transaction may use, those that began before it too: the caller decides who hears of it.
    /// Durable when it returns, if the engine is.
    ///
    /// # Errors
    /// The name is taken, the limit on tables is reached, the log could not take it.
    fn create_table_unlisted(&self, schema: crate::Schema) -> Result<TableId>;

    /// Drops a table and all its rows. Transactions that use it meanwhile abort or go on seeing it.
    ///
    /// # Errors
    /// There is no such table, or the log could not take it.
    fn drop_table(&self, name: &str) -> Result<()>;

    /// All tables.
    fn tables(&self) -> Vec<(TableId, Arc<crate::Schema>)>;

    /// Makes the next start short: writes a checkpoint, after the one that is being written, if there is one. An engine that keeps
    /// nothing on a disk has nothing to do.
    ///
    /// # Errors
    /// The disk could not take it; the checkpoint before stays.
    fn checkpoint(&self) -> Result<()>;
}
