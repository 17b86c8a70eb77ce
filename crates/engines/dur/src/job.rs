//! Programs of any type behind one interface, with their tickets; and the queue that they wait in.

use crate::Core;
use crate::attempt::Attempt;
use crate::turn::Place;
use model::{
    Abort, AbortClass, Begin, Committed, Completed, Draws, Error, LogPosition, Mode, Program, Result, Retry, Target,
    Timestamp,
};
use parts::bell::{Bell, Threads};
use parts::promise::Promise;
use parts::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

/// A program that is to be executed.
pub(crate) trait Job: Send {
    /// Runs the body. Returns whether it wants to commit; what it returned is kept until [`Job::complete`].
    fn run(&mut self, attempt: &mut Attempt<'_>) -> bool;

    /// Asks whether to run again, after the conflict that has put it back into the queue.
    fn may_run(&mut self) -> bool;

    /// Notes a conflict.
    fn set_conflict(&mut self, conflict: Error);

    /// Resolves the ticket: with what the last run returned, or with an error of the engine.
    fn complete(self: Box<Self>, decision: Result<Place>);

    /// Resolves the ticket with the conflict that was noted.
    fn give_up(self: Box<Self>);

    fn draws(&self) -> Option<Draws>;

    fn is_read_only(&self) -> bool;
}

/// A program with its ticket.
pub(crate) struct Task<P: Program> {
    program: P,
    how: Begin,
    retry: Box<dyn Retry + Send>,
    failed: u32,
    conflict: Option<Error>,
    outcome: Option<std::result::Result<P::Output, P::Error>>,
    promise: Promise<Completed<P>>,
}

impl<P: Program> Task<P> {
    pub fn new(program: P, how: Begin, retry: Box<dyn Retry + Send>, promise: Promise<Completed<P>>) -> Task<P> {
        Task { program, how, retry, failed: 0, conflict: None, outcome: None, promise }
    }
}

impl<P: Program<Output: Send, Error: Send> + Send> Job for Task<P> {
    fn run(&mut self, attempt: &mut Attempt<'_>) -> bool {
        let run = catch_unwind(AssertUnwindSafe(|| self.program.run(attempt)));
        let outcome = run.unwrap_or_else(|_| Err(panicked().into()));
        let wants_commit = outcome.is_ok();
        self.outcome = Some(outcome);
        wants_commit
    }

    fn may_run(&mut self) -> bool {
        let Some(conflict) = &self.conflict else { return true };
        self.failed = self.failed.saturating_add(1);
        let asked = catch_unwind(AssertUnwindSafe(|| self.retry.again(self.failed, conflict)));
        asked.unwrap_or(false)
    }

    fn set_conflict(&mut self, conflict: Error) {
        self.conflict = Some(conflict);
    }

    fn complete(self: Box<Self>, decision: Result<Place>) {
        let Task { outcome, promise, .. } = *self;
        promise.resolve(match decision {
            Ok(place) => outcome.expect("it has run").map(|output| (output, committed(place))),
            Err(error) => Err(error.into()),
        });
    }

    fn give_up(mut self: Box<Self>) {
        let conflict = self.conflict.take().expect("it gives up after a conflict");
        self.complete(Err(conflict));
    }

    fn draws(&self) -> Option<Draws> {
        self.how.draws
    }

    fn is_read_only(&self) -> bool {
        self.how.mode == Mode::ReadOnly
    }
}

/// A transaction that was certified at a place.
pub(crate) fn committed(place: Place) -> Committed {
    Committed { serial_point: Some(place.serial_point()), log_position: LogPosition::ZERO }
}

fn panicked() -> Error {
    let abort = Abort {
        class: AbortClass::Requested,
        rule: "panicked",
        explanation: "the procedure panicked: it has no effect",
        table: None,
        target: Target::None,
        transaction: Timestamp::ZERO,
        other: None,
        met: None,
    };
    abort.into()
}

/// The queue of requests (Figure 3.1).
pub(crate) struct Queue {
    state: Mutex<State>,
    work: Bell,
    room: Bell,
    limit: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<dyn Job>>,
    /// Those that met a conflict: they come first.
    again: VecDeque<Box<dyn Job>>,
    is_closed: bool,
}

impl Queue {
    pub fn new(limit: usize, threads: Option<&Arc<dyn Threads>>) -> Queue {
        Queue { state: Mutex::default(), work: Bell::new(threads), room: Bell::new(threads), limit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds jobs in their order; waits while the queue is full. Returns those that come too late.
    pub fn submit(&self, jobs: impl IntoIterator<Item = Box<dyn Job>>) -> Vec<Box<dyn Job>> {
        let mut state = self.lock();
        let mut late = Vec::new();
        for job in jobs {
            while state.jobs.len() >= self.limit && !state.is_closed {
                state = self.room.wait(&self.state, state);
            }
            if state.is_closed {
                late.push(job);
                continue;
            }
            state.jobs.push_back(job);
            self.work.ring_one();
        }
        late
    }

    /// Adds a job that met a conflict. Never waits: the thread that delivers must not. Returns it if it comes too late.
    pub fn submit_again(&self, job: Box<dyn Job>) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        if state.is_closed {
            return Some(job);
        }
        state.again.push_back(job);
        self.work.ring_one();
        None
    }

    /// Waits for a job. `None`: the queue is closed.
    pub fn take(&self) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.again.pop_front() {
                return Some(job);
            }
            if let Some(job) = state.jobs.pop_front() {
                self.room.ring_one();
                return Some(job);
            }
            state = self.work.wait(&self.state, state);
        }
    }

    /// Takes no more. Returns what waits.
    pub fn close(&self) -> Vec<Box<dyn Job>> {
        let mut state = self.lock();
        state.is_closed = true;
        self.work.ring();
        self.room.ring();
        let State { jobs, again, .. } = &mut *state;
        again.drain(..).chain(jobs.drain(..)).collect()
    }
}

impl Core {
    /// Executes procedures until the queue is closed.
    pub fn execute_queue(&self) {
        while let Some(mut job) = self.queue.take() {
            if !job.may_run() {
                job.give_up();
                continue;
            }
            if !self.speculates() {
                self.execute_held_job(job);
                continue;
            }
            let admitted = self.line.admit(&self.slots);
            match admitted {
                Ok(turn) => self.execute_job(turn, job),
                Err(error) => job.complete(Err(error)),
            }
        }
    }
}
