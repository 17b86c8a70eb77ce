//! Execution: bodies run in any order that their reads allow, and fill their placeholders.

use crate::attempt::{Attempt, panicked};
use crate::call::{Call, CallRef};
use crate::job::Job;
use crate::pipeline::{Batch, Next};
use crate::position::Position;
use crate::read::{Evaluated, Trial};
use crate::state::Begun;
use crate::version::{Content, VersionRef};
use crate::{Shared, ensure};
use env::time::Instant;
use model::Error;
use parts::sync::atomic::Ordering::Relaxed;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls ahead of the one that is executed, whose slots are fetched: planning has just written them. The versions of
/// the next call are, too.
const SLOTS_AHEAD: usize = 3;

/// One executing thread.
pub(crate) struct Executor<'e> {
    pub shared: &'e Shared,
    number: usize,
    /// The batch that it is in.
    batch: u64,
    /// Calls of that batch that it has completed, and not counted yet.
    finished: u64,
    /// Evaluations under way, one within the other.
    depth: usize,
    /// Calls to run before others can: an evaluation that was too deep goes on here.
    stack: Vec<CallRef>,
    missed: Vec<Missed>,
    /// Answers that wait for the log, about in the order of their batches.
    held: VecDeque<Held>,
    executed: u64,
    /// Bytes of long rows that it has made, less those that it has freed, since they were counted.
    pub made: isize,
}

/// A call that has ended, and whose answer waits for the log.
struct Held {
    job: Box<dyn Job>,
    position: Position,
    /// The engine's own error; else the job has its outcome.
    error: Option<Error>,
}

/// A procedure whose footprint has missed. Its batch is not complete before it is submitted again or has failed.
struct Missed {
    job: Box<dyn Job>,
    error: Error,
    /// Where it missed.
    position: Position,
    awaits_log: bool,
}

/// How an attempt ended.
enum Ended {
    Commit,
    Fail,
    Miss(Error),
    Panic,
}

impl Held {
    fn answer(self) {
        match self.error {
            None => self.job.complete(self.position),
            Some(error) => self.job.give_up(error),
        }
    }
}

impl<'e> Executor<'e> {
    pub fn new(shared: &'e Shared, number: usize) -> Executor<'e> {
        Executor {
            shared,
            number,
            batch: 0,
            finished: 0,
            depth: 0,
            stack: Vec::new(),
            missed: Vec::new(),
            held: VecDeque::new(),
            executed: 0,
            made: 0,
        }
    }

    /// Executes batches until the engine is closed.
    pub fn run(mut self) {
        self.shared.memory.add_thread();
        loop {
            let next = self.shared.pipeline.enter_next(self.number, self.batch, self.oldest_held());
            if !self.follow(next) {
                return;
            }
        }
    }

    /// Executes a batch, or waits until there may be something to plan, `seen` being [`crate::pipeline::Pipeline::pokes`] when there was
    /// nothing. Returns whether there may be more to do.
    pub fn execute_or_plan(&mut self, seen: u64) -> bool {
        let next = self.shared.pipeline.enter_or_plan(self.number, self.batch, self.oldest_held(), seen);
        let has_more = next.is_none_or(|next| self.follow(next));
        self.shared.pipeline.leave_batch(self.number);
        has_more
    }

    /// The batch of the oldest answer that it holds.
    fn oldest_held(&self) -> Option<u64> {
        self.held.front().map(|held| held.position.batch())
    }

    /// Does what is next. Returns whether there may be more.
    fn follow(&mut self, next: Next) -> bool {
        match next {
            Next::Execute(batch) => self.execute(&batch),
            Next::Release => self.release(),
            Next::End => return false,
        }
        true
    }

    fn execute(&mut self, batch: &Batch) {
        self.batch = batch.number;
        let (begun, executed) = (Instant::now(), self.executed);
        let mut deferred: Vec<CallRef> = Vec::new();
        loop {
            let calls = batch.take();
            if calls.is_empty() {
                break;
            }
            calls.iter().take(SLOTS_AHEAD).for_each(Call::prefetch_slots);
            for (at, call) in calls.iter().map(|call| CallRef::new(call)).enumerate() {
                if let Some(later) = calls.get(at + SLOTS_AHEAD) {
                    later.prefetch_slots();
                }
                if let Some(next) = calls.get(at + 1) {
                    next.prefetch_versions();
                }
                if self.drive(call).is_some() {
                    deferred.push(call);
                }
            }
        }
        while !deferred.is_empty() {
            let mut blocked_on = None;
            deferred.retain(|&call| {
                let blocked = self.drive(call);
                blocked_on = blocked.or(blocked_on);
                blocked.is_some()
            });
            if let Some(on) = blocked_on {
                self.count_finished();
                on.state.wait(&self.shared.waits);
            }
        }
        self.run_missed_again();
        self.count_finished();
        let procedures = self.executed - executed;
        self.shared.length.executed(procedures, self.shared.options.executing_threads(), begun.elapsed());
        self.shared.counts.executed[self.number].store(self.executed, Relaxed);
    }

    /// Evaluates a call, and first what it rests on. Returns who executes what it must wait for.
    fn drive(&mut self, call: CallRef) -> Option<CallRef> {
        self.stack.push(call);
        while let Some(&top) = self.stack.last() {
            match self.evaluate(top) {
                None => _ = self.stack.pop(),
                Some(on) if on.state.is_complete() => {}
                Some(on) if on.state.is_unprocessed() => self.stack.push(on),
                Some(on) => {
                    self.stack.clear();
                    return Some(on);
                }
            }
        }
        None
    }

    /// Sees to it that a version that is read at a position has its row. Fails with the call that must run first.
    #[inline]
    pub fn make_ready(&mut self, version: VersionRef, position: Position) -> Result<(), CallRef> {
        if version.content() != Content::Empty {
            return Ok(());
        }
        self.evaluate_producer(version, position)
    }

    #[cold]
    fn evaluate_producer(&mut self, version: VersionRef, position: Position) -> Result<(), CallRef> {
        let producer = version.producer();
        ensure(producer.position <= position, "B7: only what stands before a call is evaluated for it");
        if self.depth >= self.shared.options.depth {
            return Err(producer);
        }
        self.depth += 1;
        let blocked_on = self.evaluate(producer);
        self.depth -= 1;
        match blocked_on {
            Some(on) => Err(on),
            None => {
                ensure(version.content() != Content::Empty, "B6: a complete call has filled its placeholders");
                Ok(())
            }
        }
    }

    /// Executes a call that nobody has. Returns `None` if it is complete, else the call that must run first.
    fn evaluate(&mut self, call: CallRef) -> Option<CallRef> {
        match call.state.begin() {
            Begun::Complete => return None,
            Begun::Busy => return Some(call),
            Begun::Mine => {}
        }
        let (ended, blocked_on) = self.attempt(call);
        let commits = matches!(ended, Ended::Commit);
        if let Some(on) = blocked_on.or_else(|| self.fill(call, commits)) {
            call.written().for_each(|slot| slot.forget_draft(&mut self.made));
            call.state.put_back(&self.shared.waits);
            return Some(on);
        }
        call.written().for_each(|slot| slot.placeholder().publish(slot.draft()));
        // SAFETY: begun above, and neither completed nor put back.
        let job = unsafe { call.take_job() };
        call.state.complete(&self.shared.waits);
        self.executed += 1;
        self.end(call, job, ended);
        None
    }

    /// Runs the body once. Returns how it ended, and what it must wait for if it has stopped.
    fn attempt(&mut self, call: CallRef) -> (Ended, Option<CallRef>) {
        let run = |job: &mut dyn Job| {
            let mut attempt = Attempt::new(self, call, job.draws());
            let outcome = catch_unwind(AssertUnwindSafe(|| job.run(&mut attempt)));
            let Attempt { poison, blocked_on, .. } = attempt;
            let ended = match (poison, outcome) {
                (Some(error), _) => Ended::Miss(error),
                (None, Ok(true)) => Ended::Commit,
                (None, Ok(false)) => Ended::Fail,
                (None, Err(_)) => Ended::Panic,
            };
            (ended, blocked_on)
        };
        if call.is_read {
            return self.attempt_read(call);
        }
        // SAFETY: begun by the caller, and neither completed nor put back.
        unsafe { call.with_job(run) }
    }

    /// Runs the body of a call that only reads: it finds by its position what it reads.
    fn attempt_read(&mut self, call: CallRef) -> (Ended, Option<CallRef>) {
        let run = |job: &mut dyn Job| {
            let state = Evaluated { executor: self, position: call.position, blocked_on: None };
            let mut trial = Trial::new(state, job.draws());
            let outcome = catch_unwind(AssertUnwindSafe(|| job.read(&mut trial)));
            (if outcome.is_ok() { Ended::Commit } else { Ended::Panic }, trial.state.blocked_on)
        };
        // SAFETY: as the caller says.
        unsafe { call.with_job(run) }
    }

    /// Has the placeholders that the body left, and all of a body that does not commit, repeat the row below. Returns
    /// what that must wait for.
    fn fill(&mut self, call: CallRef, commits: bool) -> Option<CallRef> {
        for slot in call.written() {
            if commits && slot.draft() != Content::Empty {
                continue;
            }
            let Some(below) = slot.below() else {
                slot.set_draft(None, &mut self.made);
                continue;
            };
            if let Err(on) = self.make_ready(below, call.position) {
                return Some(on);
            }
            slot.set_draft(below.row(below.content()), &mut self.made);
        }
        None
    }

    /// Ends a call whose versions are there.
    fn end(&mut self, call: CallRef, job: Box<dyn Job>, ended: Ended) {
        let position = call.position;
        match ended {
            Ended::Commit | Ended::Fail => self.answer(Held { job, position, error: None }, call.awaits_log),
            Ended::Panic => {
                self.answer(Held { job, position, error: Some(panicked(position)) }, call.awaits_log);
            }
            // It counts as finished once it is submitted again.
            Ended::Miss(error) => {
                return self.missed.push(Missed { job, error, position, awaits_log: call.awaits_log });
            }
        }
        self.finish(position.batch());
    }

    /// Answers a call that has ended, or holds the answer until what it rests on is durable: all up to its batch (B11).
    fn answer(&mut self, held: Held, awaits_log: bool) {
        if !awaits_log || held.position.batch() <= self.shared.pipeline.durable() {
            held.answer();
        } else {
            self.held.push_back(held);
        }
    }

    /// Releases the answers whose batches are durable; all, as unknown, if the log has failed.
    fn release(&mut self) {
        let (durable, failure) = (self.shared.pipeline.durable(), self.shared.pipeline.failure());
        while let Some(held) = self.held.pop_front_if(|held| held.position.batch() <= durable) {
            held.answer();
        }
        if let Some(failure) = failure {
            self.held.drain(..).for_each(|held| held.job.give_up(failure.clone()));
        }
    }

    fn finish(&mut self, batch: u64) {
        self.shared.memory.count(&mut self.made);
        if batch == self.batch {
            self.finished += 1;
        } else {
            self.shared.pipeline.finish(batch, 1);
        }
    }

    fn count_finished(&mut self) {
        self.shared.pipeline.finish(self.batch, std::mem::take(&mut self.finished));
    }

    /// Submits again what has missed. Its footprint is found when it is sealed.
    fn run_missed_again(&mut self) {
        while let Some(Missed { mut job, error, position, awaits_log }) = self.missed.pop() {
            self.shared.counts.missed.fetch_add(1, Relaxed);
            match catch_unwind(AssertUnwindSafe(|| job.again(&error))) {
                Ok(true) => self.shared.submit_again(job),
                Ok(false) => self.answer(Held { job, position, error: Some(error) }, awaits_log),
                Err(_) => self.answer(Held { job, position, error: Some(panicked(position)) }, awaits_log),
            }
            self.finish(position.batch());
        }
    }
}
