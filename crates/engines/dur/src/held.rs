//! Execution under [`crate::Policy::ConflictAware`]: without turns, on committed rows. A transaction that has run checks that what it
//! has read is still so, holds what it writes, and gets its turn, all at once under the latch of the line. It holds until it is delivered.
//!
//! ```text
//!   executes, on committed rows   | pending, in flight: holds what it writes   | delivered: releases
//!   meets a row that is held: ends, and runs again when the holder is delivered
//! ```
//!
//! *Deviation:* the thesis' competitor locks what it has read, too. Here a read is only refused where a row is held: the order keeps
//! turns, so who writes a row later than it was read is certified later (decision 0144).

use crate::Core;
use crate::attempt::{Attempt, check_limit};
use crate::execute::Returned;
use crate::host::Step;
use crate::job::Job;
use crate::line::{Outcome, Ready, Told};
use crate::object::{Met, Object};
use crate::payload::{self, CROSSES};
use crate::turn::{Place, Turn};
use model::{Direction, Draws, Error, LimitKind, Pending, Program, Result};
use parts::promise::promise;
use parts::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// A transaction that runs. Dropped, by a panic of its body too, it leaves what it has entered.
struct Running<'e>(Attempt<'e>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<'e> Running<'e> {
    fn begin(core: &'e Core, draws: Option<Draws>, is_read_only: bool) -> Running<'e> {
        Running(Attempt::new(core, Turn::default(), draws, is_read_only))
    }

    /// What it has read is still so, and nobody on its way will write what it accesses.
    fn check(&self) -> std::result::Result<(), Met> {
        let Running(attempt) = self;
        for entry in attempt.entries.values() {
            entry.object.check(entry.read.as_ref().map(|(seen, _)| *seen))?;
        }
        for scanned in &attempt.ranges {
            let Ok(table) = attempt.core().tables.find(scanned.table) else { continue };
            let mut rows = 0;
            for object in table.range(&scanned.range, Direction::Forward, usize::MAX) {
                object.check(None)?;
                rows += u64::from(object.committed().row.is_some());
            }
            if rows != scanned.rows {
                return Err(Met::Changed);
            }
        }
        Ok(())
    }

    /// Holds what it writes, in a turn that it gets.
    fn hold(&mut self, turn: Turn) -> std::result::Result<(Vec<u8>, Vec<Arc<Object>>), Refusal> {
        self.check()?;
        let Running(attempt) = self;
        let core = attempt.core();
        attempt.set_turn(turn);
        let flags = if core.is_local(attempt) { 0 } else { CROSSES };
        let encoded = payload::encode(attempt, flags, |origin| core.origins.get(origin));
        check_limit(LimitKind::WriteSetBytes, core.payload_limit, encoded.len() as u64).map_err(Refusal::TooLong)?;
        let written = attempt.entries.values().filter(|entry| entry.write.is_some());
        let writes: Vec<Arc<Object>> = written.map(|entry| entry.object.clone()).collect();
        writes.iter().for_each(|object| object.hold(turn));
        Ok((encoded, writes))
    }

    /// Holds what it writes, and is pending.
    ///
    /// # Errors
    /// It has met something, and must run again; `outcome` comes back.
    fn commit(mut self, outcome: Outcome) -> std::result::Result<Told, (Outcome, Met)> {
        let core = self.0.core();
        let mut outcome = Some(outcome);
        let (met, accessed) = (self.0.met.take(), self.0.entries.len());
        let mut hold = |turn| {
            let (encoded, writes) = self.hold(turn)?;
            let empty = Ready::without_effect(turn, outcome.take().expect("it is taken once"));
            Ok(Ready { encoded, writes, holds: true, ..empty })
        };
        let committed = match met {
            Some(met) => Err(Refusal::Met(met)),
            None => core.metered.step(Step::Commit, accessed, || core.line.commit_held(&mut hold)),
        };
        let mut left = || outcome.take().expect("it is taken by who holds");
        match committed {
            Ok(refused) => Ok(refused.into_iter().map(|(ready, error)| (ready, Err(error))).collect()),
            Err(Refusal::TooLong(error)) => Ok(vec![(Ready::without_effect(Turn::default(), left()), Err(error))]),
            Err(Refusal::Met(met)) => {
                core.counts.overtaken.fetch_add(1, Relaxed);
                Err((left(), met))
            }
        }
    }
}

/// Why a transaction holds nothing.
enum Refusal {
    Met(Met),
    TooLong(Error),
}

impl From<Met> for Refusal {
    fn from(met: Met) -> Refusal {
        Refusal::Met(met)
    }
}

impl Core {
    /// Executes a procedure once. If it meets something, it is queued again when that is gone.
    pub fn execute_held_job(&self, mut job: Box<dyn Job>) {
        if let Err(error) = self.line.admit_without_turn() {
            return job.complete(Err(error));
        }
        let mut running = Running::begin(self, job.draws(), job.is_read_only());
        if !job.run(&mut running.0) {
            running.0.forget_writes();
        }
        match running.commit(Outcome::Queued(job)) {
            Ok(told) => self.tell(told),
            Err((Outcome::Queued(job), Met::Held(turn))) => self.run_again(self.line.park(job, turn)),
            Err((Outcome::Queued(job), Met::Changed)) => self.run_again([job]),
            Err((Outcome::Caller(_), _)) => unreachable!("its own outcome comes back"),
        }
    }

    /// Queues procedures again.
    pub fn run_again(&self, jobs: impl IntoIterator<Item = Box<dyn Job>>) {
        for job in jobs {
            if let Some(late) = self.queue.submit_again(job) {
                late.complete(Err(self.failure()));
            }
        }
    }

    /// Executes a program in the thread of the caller, until it meets nothing. Returns what its body returned, and the decision to come.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn execute_held_program<P: Program>(
        &self,
        program: &mut P,
        draws: Option<Draws>,
        is_read_only: bool,
    ) -> Result<(Returned<P>, Pending<Result<Place>>)> {
        let (promise, decision) = promise();
        let mut outcome = Outcome::Caller(promise);
        loop {
            self.line.admit_without_turn()?;
            let mut running = Running::begin(self, draws, is_read_only);
            let returned = program.run(&mut running.0);
            if returned.is_err() {
                running.0.forget_writes();
            }
            match running.commit(outcome) {
                Ok(told) => {
                    self.tell(told);
                    return Ok((returned, decision));
                }
                Err((again, Met::Changed)) => outcome = again,
                Err((again, Met::Held(turn))) => {
                    outcome = again;
                    self.line.await_delivery(turn)?;
                }
            }
        }
    }
}
