//! Execution: a body in its turn, again and again until no earlier turn has overtaken it; then its speculative commit.

use crate::Core;
use crate::attempt::{Attempt, Entry, check_limit};
use crate::host::Step;
use crate::job::Job;
use crate::line::{Outcome, Ready, Told};
use crate::options::Policy;
use crate::payload::{self, CROSSES};
use crate::turn::{Place, Turn};
use model::{Error, LimitKind, Pending, Program, Result};
use parts::promise::promise;
use parts::sync::atomic::Ordering::Relaxed;

/// What a body has returned.
pub(crate) type Returned<P> = std::result::Result<<P as Program>::Output, <P as Program>::Error>;

/// A transaction in its turn. Dropped before it has ended, by a panic of its body, its turn passes without effect.
pub(crate) struct InTurn<'e> {
    attempt: Attempt<'e>,
    has_ended: bool,
}

impl<'e> InTurn<'e> {
    fn begin(core: &'e Core, turn: Turn, draws: Option<model::Draws>, is_read_only: bool) -> InTurn<'e> {
        InTurn { attempt: Attempt::new(core, turn, draws, is_read_only), has_ended: false }
    }

    /// Ends an attempt that was overtaken. The next one begins in the same turn.
    fn end_attempt(mut self) {
        self.attempt.leave();
        self.has_ended = true;
        self.attempt.core().counts.overtaken.fetch_add(1, Relaxed);
    }

    /// Algorithm 3. What the transaction has written is there for later turns, and it will be proposed.
    ///
    /// # Errors
    /// It was overtaken, and runs again; `outcome` comes back.
    fn commit(mut self, outcome: Outcome) -> std::result::Result<Told, Outcome> {
        let core = self.attempt.core();
        let (active, turn) = (self.attempt.active(), self.attempt.turn());
        let flags = if core.is_local(&self.attempt) { 0 } else { CROSSES };
        let accessed = self.attempt.entries.len();
        let encoded = core
            .metered
            .step(Step::Encode, accessed, || payload::encode(&self.attempt, flags, |origin| core.origins.get(origin)));
        if let Err(error) = check_limit(LimitKind::WriteSetBytes, core.payload_limit, encoded.len() as u64) {
            drop(self);
            return Ok(vec![(Ready::without_effect(turn, outcome), Err(error))]);
        }
        let mut outcome = Some(outcome);
        if core.metered.0.is_some() {
            // The step begins when the turn has come.
            core.line.await_turn_only(active);
        }
        let install = || {
            let mut writes = Vec::new();
            for entry in self.attempt.entries.values_mut() {
                if let Some(row) = entry.write.take() {
                    entry.object.install(active, row);
                    writes.push(entry.object.clone());
                }
            }
            self.attempt.leave();
            self.has_ended = true;
            let rests_on = std::mem::take(&mut self.attempt.rests_on);
            let outcome = outcome.take().expect("it is taken once");
            Ready { turn, encoded, writes, rests_on, holds: false, outcome, is_doomed: false }
        };
        let committed = core.metered.step(Step::Commit, accessed, || core.line.commit(active, install));
        match committed {
            Ok(refused) => Ok(refused.into_iter().map(|(ready, error)| (ready, Err(error))).collect()),
            Err(()) => {
                self.end_attempt();
                Err(outcome.expect("it was not taken"))
            }
        }
    }
}

impl Drop for InTurn<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let (core, active) = (self.attempt.core(), self.attempt.active());
            core.line.abandon(active, || self.attempt.leave());
        }
    }
}

impl Core {
    /// Whether everything that an attempt accesses is at home on this node.
    pub fn is_local(&self, attempt: &Attempt<'_>) -> bool {
        let Some(partition) = self.options.partition.as_deref() else { return false };
        let own = self.origins.own().node;
        let is_local = |(table, key): &(_, model::Key), entry: &Entry| match partition.home(*table, key) {
            None => entry.write.is_none(),
            home => home == Some(own),
        };
        attempt.entries.iter().all(|(place, entry)| is_local(place, entry))
            && attempt.ranges.iter().all(|scanned| {
                partition.home_of_range(scanned.table, &scanned.range.lower, &scanned.range.upper) == Some(own)
            })
    }

    /// Whether transactions have turns before they execute, and read speculative versions.
    pub fn speculates(&self) -> bool {
        self.options.policy == Policy::Speculative
    }

    /// Executes a procedure in its turn.
    pub fn execute_job(&self, turn: Turn, mut job: Box<dyn Job>) {
        loop {
            let mut running = InTurn::begin(self, turn, job.draws(), job.is_read_only());
            if !job.run(&mut running.attempt) {
                running.attempt.forget_writes();
            }
            match running.commit(Outcome::Queued(job)) {
                Ok(told) => return self.tell(told),
                Err(Outcome::Queued(again)) => job = again,
                Err(Outcome::Caller(_)) => unreachable!("its own outcome comes back"),
            }
        }
    }

    /// Executes a program in its turn, in the thread of the caller. Returns what its body returned, and the decision to come.
    pub fn execute_program<P: Program>(
        &self,
        turn: Turn,
        program: &mut P,
        draws: Option<model::Draws>,
        is_read_only: bool,
    ) -> (Returned<P>, Pending<Result<Place>>) {
        let (promise, decision) = promise();
        let mut outcome = Outcome::Caller(promise);
        loop {
            let mut running = InTurn::begin(self, turn, draws, is_read_only);
            let returned = program.run(&mut running.attempt);
            if returned.is_err() {
                running.attempt.forget_writes();
            }
            match running.commit(outcome) {
                Ok(told) => {
                    self.tell(told);
                    return (returned, decision);
                }
                Err(again) => outcome = again,
            }
        }
    }

    /// Tells decisions to whom they concern, without any latch.
    pub fn tell(&self, told: Told) {
        for (ready, decision) in told {
            let Ready { writes, outcome, .. } = ready;
            writes.into_iter().for_each(|object| self.sweep(object.table, object));
            match (outcome, decision) {
                (Outcome::Caller(promise), decision) => promise.resolve(decision),
                (Outcome::Queued(mut job), Err(conflict)) if conflict.is_retryable() => {
                    job.set_conflict(conflict);
                    self.run_again([job]);
                }
                (Outcome::Queued(job), decision) => job.complete(decision),
            }
        }
    }

    /// Why the node has stopped.
    pub fn failure(&self) -> Error {
        self.line.failure().unwrap_or(Error::Fault(model::Fault::Closed))
    }
}
