//! Rows of others: waits for their owners, and starts that move.
//!
//! The paper aborts whoever wants to write a row that another transaction owns, or has changed since. Beyond it:
//! - in [`Mode::OwnAtStatement`] a transaction waits for the owner's end, unless the owner waits for it, over others
//!   or not: one edge leaves each waiter, so a cycle is found by following them ([`Waits`]). Waiters wake together, and whoever comes first
//!   takes the row; so many at once as [`crate::Options::waiters`] says. They look again, too, when the owner goes back to a savepoint:
//!   the row may be free;
//! - a transaction whose reads all hold of the present moment moves its start there ([`Transaction::advance`]): the
//!   validation of its commit, made early. So a row that was changed meanwhile refuses nobody who has not read it.

use crate::begin::{Conflict, Transaction};
use crate::stop::LOOKS_BEFORE_SLEEP;
use crate::writer::{Seen, Writer};
use crate::{Hyper, Reason, Validation};
use env::time::{Duration, Instant};
use model::{Abort, Error, Limit, LimitKind, Mode, Result, Supervisor, TableId, Timestamp};
use parts::sync::{Mutex, MutexGuard, spin_loop, thread};
use parts::wait::Waited;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, PoisonError};

/// Why a row cannot be changed now.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// An open transaction owns it, whose status was this.
    Owned(Arc<Writer>, Seen),
    /// Its owner is about to end.
    Ending(Arc<Writer>),
    /// It was changed since the transaction started.
    Newer(Arc<Writer>),
    /// None of the row: the statement must stop.
    Stopped(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Stopped(error)
    }
}

impl Refusal {
    /// The error of a statement whose reads stop at no row.
    pub fn statement(self) -> Error {
        match self {
            Refusal::Stopped(error) => error,
            refusal => unreachable!("it stops at no row: {refusal:?}"),
        }
    }
}

/// What a sleep ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slept {
    /// The writer goes on, has ended, or has given rows back.
    Released,
    /// The limit is reached.
    Over,
    /// It is time to look whether the writer is too old.
    Looks,
}

/// Who waits for whom.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Edges>);

#[derive(Debug, Default)]
struct Edges {
    /// By the waiter.
    others: HashMap<Timestamp, Arc<Writer>>,
    /// How many wait for one, by its name.
    waiters: HashMap<Timestamp, u64>,
}

/// Why a transaction cannot wait for another one.
#[derive(Debug)]
enum NoWait {
    /// That one waits for it, perhaps over others.
    Deadlock,
    /// As many wait for it as may.
    Full(Limit),
}

impl Waits {
    /// Notes that a transaction waits for another one.
    ///
    /// # Errors
    /// It cannot.
    fn enter(&self, waiter: Timestamp, other: &Arc<Writer>, limit: u64) -> std::result::Result<(), NoWait> {
        let mut edges = self.edges();
        let mut next = Some(other);
        while let Some(writer) = next {
            if writer.name == waiter {
                return Err(NoWait::Deadlock);
            }
            next = edges.others.get(&writer.name);
        }
        let waiters = edges.waiters.get(&other.name).map_or(1, |waiters| waiters + 1);
        if waiters > limit {
            return Err(NoWait::Full(Limit { kind: LimitKind::Waiters, limit, actual: waiters }));
        }
        edges.waiters.insert(other.name, waiters);
        edges.others.insert(waiter, other.clone());
        Ok(())
    }

    fn leave(&self, waiter: Timestamp) {
        let mut edges = self.edges();
        let Some(other) = edges.others.remove(&waiter) else { return };
        let waiters = edges.waiters.get_mut(&other.name).expect("whoever waits is counted");
        *waiters -= 1;
        if *waiters == 0 {
            edges.waiters.remove(&other.name);
        }
    }

    fn edges(&self) -> MutexGuard<'_, Edges> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that is known to others, until it is dropped.
struct Entered<'e>(&'e Hyper, Timestamp);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.waits.leave(self.1);
    }
}

/// A wait that a supervisor watches, until it is dropped.
pub(crate) struct Watched<'e>(pub Option<&'e dyn Supervisor>);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.inspect(|supervisor| supervisor.wait_ends());
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Waits, or moves the start, until a row that refused may be looked at again.
    ///
    /// # Errors
    /// It cannot: the transaction is aborted, or its statement given up.
    pub(super) fn overcome(&mut self, refusal: Refusal, table: TableId, key: &[u8]) -> Result<()> {
        match refusal {
            Refusal::Ending(writer) if self.engine.take_back(table, key, &writer) => Ok(()),
            Refusal::Owned(writer, _) if self.engine.take_if_old(&writer) => Ok(()),
            Refusal::Ending(writer) => {
                self.core.stop(&self.engine).await_decision(&writer)?;
                // What was aborted is undone row by row.
                thread::yield_now();
                Ok(())
            }
            Refusal::Newer(writer) => match self.advance()? {
                Advance::Moved => Ok(()),
                Advance::Stays => Err(self.fail(Self::conflict(Reason::RowChanged, table, key, &writer))),
                // It could not commit either.
                Advance::Met(conflict) => Err(self.fail(*conflict)),
            },
            Refusal::Owned(writer, seen) if self.core.how.mode == Mode::OwnAtStatement => {
                self.wait_for(&writer, seen, table, key)
            }
            Refusal::Owned(writer, _) => Err(self.fail(Self::conflict(Reason::RowOwned, table, key, &writer))),
            Refusal::Stopped(error) => Err(error),
        }
    }

    /// Waits until a writer has ended, or has given rows back since it was seen.
    fn wait_for(&mut self, writer: &Arc<Writer>, seen: Seen, table: TableId, key: &[u8]) -> Result<()> {
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if !writer.status.holds(seen) {
                return Ok(());
            }
            spin_loop();
        }
        let about = |reason| Self::conflict(reason, table, key, writer);
        match self.engine.waits.enter(self.core.name, writer, self.engine.options.waiters) {
            Ok(()) => {}
            Err(NoWait::Deadlock) => return Err(self.fail(about(Reason::Deadlock))),
            // The statement has changed nothing.
            Err(NoWait::Full(limit)) => return Err(limit.into()),
        }
        let entered = Entered(&self.engine, self.core.name);
        let (began, mut slept) = (Instant::now(), Slept::Looks);
        while slept == Slept::Looks && !self.engine.take_if_old(writer) {
            slept = self.sleep((writer, seen), began, || self.abort_of(about(Reason::WaitLimit)));
        }
        drop(entered);
        if slept == Slept::Over { Err(self.give_up(about)) } else { Ok(()) }
    }

    /// Sleeps until a writer has ended, or has given rows back since it was seen, in a wait that began at `began`.
    fn sleep(&self, (writer, seen): (&Writer, Seen), began: Instant, abort: impl FnOnce() -> Abort) -> Slept {
        let (address, called) = (writer.status.address(), Instant::now());
        let (supervisor, until_too_old) = (self.core.supervisor.as_deref(), self.engine.until_too_old(writer));
        let mut is_over = false;
        let remaining = || {
            let own = self.core.wait_limit.saturating_sub(began.elapsed());
            let limit = supervisor.and_then(Supervisor::wait_limit).map_or(own, |it| it.min(own));
            is_over = limit.is_zero();
            Some(until_too_old.map_or(limit, |until| limit.min(until.saturating_sub(called.elapsed()))))
        };
        if self.core.wait_limit.is_zero() {
            return Slept::Over;
        }
        if !writer.status.await_change(seen) {
            return Slept::Released;
        }
        if let Some(supervisor) = supervisor {
            supervisor.wait_begins(&abort(), self.engine.sleepers.waker(address));
        }
        let _watched = Watched(supervisor);
        match self.engine.sleepers.wait(address, remaining, || writer.status.is_slept_on(seen)) {
            Waited::Released => Slept::Released,
            Waited::TimedOut if is_over => Slept::Over,
            Waited::TimedOut => Slept::Looks,
        }
    }

    /// The error of a wait that ended without what it was for.
    fn give_up(&mut self, about: impl Fn(Reason) -> Conflict) -> Error {
        let limit = self.core.supervisor.as_ref().map(|supervisor| supervisor.wait_limit());
        let is_interrupted = limit == Some(Some(Duration::ZERO));
        let conflict = about(if is_interrupted { Reason::Interrupted } else { Reason::WaitLimit });
        if self.core.supervisor.is_some() {
            return Error::Unavailable(Box::new(self.abort_of(conflict)));
        }
        self.fail(conflict)
    }

    /// Waits, or moves the start, for a read at a row that could not be changed now. Returns whether to stop at such rows again: not
    /// once the start has to stay, for then the old version is all that can be read.
    ///
    /// # Errors
    /// Its wait ended without what it was for.
    pub(super) fn make_way(&mut self, refusal: Refusal, table: TableId, key: &[u8]) -> Result<bool> {
        match refusal {
            Refusal::Newer(_) => Ok(matches!(self.advance()?, Advance::Moved)),
            refusal => self.overcome(refusal, table, key).map(|()| true),
        }
    }

    /// Moves the start to the present, if everything that was read holds there.
    ///
    /// # Errors
    /// The log could not raise its ceiling above the present, or the statement must stop: the start has not moved.
    pub(super) fn advance(&mut self) -> Result<Advance> {
        // Without a log of reads nobody can say whether they hold now: a snapshot must stay one.
        if !self.engine.options.moves_starts || self.engine.options.validation == Validation::Snapshots {
            return Ok(Advance::Stays);
        }
        let (engine, core) = (&self.engine, &mut self.core);
        let start = core.start();
        let now = if engine.options.claims { engine.order.draw() } else { engine.order.now() };
        // It may be answered as a place in the serial order, like the one before.
        engine.check_ceiling(core, now)?;
        if let Some(conflict) = engine.validate(core, engine.order.since(start), now + 1)? {
            return Ok(Advance::Met(Box::new(conflict)));
        }
        core.start = Some(now);
        engine.starts.enter(core.worker().slot, now, false);
        Ok(Advance::Moved)
    }
}

/// What became of an attempt to move a start.
#[derive(Debug)]
pub(crate) enum Advance {
    Moved,
    /// It may not move.
    Stays,
    /// Something that was read has changed.
    Met(Box<Conflict>),
}
