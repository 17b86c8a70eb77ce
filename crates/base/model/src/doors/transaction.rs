//! A transaction's begin options, its guarantees while open, and its end.

use crate::{
    Draws, Durability, Error, LogPosition, Pending, Result, Savepoints, SerialPoint, SharedReads, SkipsLocked,
    Supervised, Timestamp,
};
use std::time::Duration;

/// Options for beginning a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// Permitted operations.
    pub mode: Mode,
    /// Durability of its acknowledgement; `None`: the database's default.
    pub durability: Option<Durability>,
    /// The longest wait for one other transaction; `None`: the engine's default.
    pub wait_limit: Option<Duration>,
    /// Random draws of its body ([`crate::Access::draws`]), the same in every attempt; `None`: no draws.
    pub draws: Option<Draws>,
    /// How old the state may be that a transaction reads which can only read, on a replica; `None`: the replica's default. Zero, and
    /// every engine that has one copy: not at all.
    pub staleness: Option<Duration>,
}

/// Permitted operations of a transaction, and when it locks the rows that it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reads and writes; owns (or locks) the rows that it writes at commit.
    #[default]
    ReadWrite,
    /// Reads and writes; owns a row from the statement on that writes it, so that younger transactions of this mode queue on
    /// a hot row instead of failing at commit. An engine may let others read beside it meanwhile, and fix its place in the
    /// serial order when it commits.
    OwnAtStatement,
    /// Reads only; always commits.
    ReadOnly,
    /// Reads only, at a point before which every transaction has ended: it delays no other transaction, and none delays it once
    /// begun.
    Snapshot,
}

/// A committed transaction: visible, and perhaps not durable yet ([`crate::Interactive::wait_durable`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Its place in the serial order; `None` in an engine that claims none. An engine claims one for each of its transactions, or
    /// for none.
    pub serial_point: Option<SerialPoint>,
    /// Log position that its acknowledgement must wait for: its own record and every version that it read. Zero: no wait.
    pub log_position: LogPosition,
}

impl Committed {
    /// Its place in the serial order, for callers that know that their engine claims one.
    ///
    /// # Panics
    /// If the engine claims none.
    #[must_use]
    pub fn claimed(&self) -> SerialPoint {
        self.serial_point.expect("the engine claims serial points")
    }
}

/// An open transaction: what it stands on, its settings, its optional capabilities, its end. Dropping it aborts.
pub trait Finish {
    /// The abort that poisoned it, if one did.
    fn poison(&self) -> Option<&Error>;

    /// Greatest log position among the versions that it has read: an answer that reports what it read waits for this, also
    /// after an abort. Zero: nothing to wait for, because all of it was durable or the transaction's durability asks for
    /// nothing.
    fn rests_on(&self) -> LogPosition;

    /// Its number, once the engine has given it one: its begin timestamp where the engine has those. Its place in the serial
    /// order is there or, where the engine moves transactions ([`Mode::OwnAtStatement`]), above it.
    fn timestamp(&self) -> Option<Timestamp>;

    /// Begins it now instead of at its first access: the engine draws its timestamp and waits for its snapshot, if it has those.
    ///
    /// # Errors
    /// Same as the first access.
    fn start(&mut self) -> Result<()>;

    /// Checks whether all that it has read holds at one moment: what a caller concludes from its reads, and does not commit,
    /// counts only then. Nothing to do for an engine whose transactions read one state.
    ///
    /// # Errors
    /// The conflict; the transaction is aborted.
    fn check_reads(&mut self) -> Result<()> {
        Ok(())
    }

    /// Sets what its acknowledgement waits for. No effect in an engine without a log.
    fn set_durability(&mut self, durability: Durability);

    /// Sets the longest wait for one other transaction from now on; `None`: the engine's default.
    fn set_wait_limit(&mut self, limit: Option<Duration>);

    /// Sets whether its reads wait from now on for older transactions that own what they read and still execute. A statement
    /// that goes on to write what it reads wants that: it would read an old version at once, only to fail when it writes.
    /// Initially true in [`Mode::OwnAtStatement`] only. No effect where the engine has no choice.
    fn set_reads_wait(&mut self, wait: bool);

    /// Savepoints, if the engine can undo part of a transaction. SQL needs them.
    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        None
    }

    /// Supervision of its waits from outside, if the engine has waits that can be ended.
    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        None
    }

    /// Passing over of rows that others have, if the engine can leave them out of what the transaction reads.
    fn skips_locked(&mut self) -> Option<&mut dyn SkipsLocked> {
        None
    }

    /// Reads from several threads at once, if the engine can share them.
    fn shared_reads(&mut self) -> Option<&mut dyn SharedReads> {
        None
    }

    /// Begins to commit. The decision is the pending value: [`Error::Aborted`] with the reason, [`Error::Fault`] if the log could
    /// not take it. An engine that decides alone has it ready; one that asks other replicas resolves it when they have
    /// answered. Dropping the pending value does not withdraw the commit.
    fn begin_commit(self) -> Pending<Result<Committed>>
    where
        Self: Sized;

    /// Commits, or aborts with the reason; blocks until it is decided.
    ///
    /// # Errors
    /// Same as [`Finish::begin_commit`].
    fn commit(self) -> Result<Committed>
    where
        Self: Sized,
    {
        self.begin_commit().wait()
    }

    /// Drops everything it wrote.
    fn abort(self)
    where
        Self: Sized;
}
