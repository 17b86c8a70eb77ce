//! Jobs: procedures of any type behind one interface, with their tickets.

use crate::attempt::Attempt;
use crate::position::Position;
use model::{
    Access, Begin, Committed, Completed, Draws, Durability, Error, Footprint, LogPosition, Procedure, Result, Retry,
};
use parts::promise::Promise;

/// A procedure that waits to be executed.
pub(crate) trait Job: Send {
    /// Runs the body. Returns whether it wants to commit; what it returned is kept until [`Job::complete`].
    fn run(&mut self, attempt: &mut Attempt<'_, '_>) -> bool;

    /// Resolves the ticket with what the last run returned.
    fn complete(self: Box<Self>, position: Position);

    /// Resolves the ticket with an error of the engine.
    fn give_up(self: Box<Self>, error: Error);

    /// What its answer waits for; `None`: as the engine's answers do.
    fn durability(&self) -> Option<Durability>;

    // What follows is for procedures. The engine's own jobs are made with their footprints, run once, draw nothing, and
    // stand in no log as calls.

    /// Finds the footprint, by a trial run if the procedure has one.
    fn footprint(&self, _: &mut dyn Access) -> Result<Footprint> {
        Ok(Footprint::default())
    }

    /// Returns whether the footprint may be found by a trial run.
    fn guesses(&self) -> bool {
        false
    }

    /// Asks whether to run again after a footprint that missed.
    fn again(&mut self, _: &Error) -> bool {
        false
    }

    /// Returns its draws, from the beginning.
    fn draws(&self) -> Option<Draws> {
        None
    }

    /// Runs the body of a call that has no footprint, and only reads.
    fn read(&mut self, _: &mut dyn Access) {}

    /// Appends what an input log holds of it.
    fn encode(&self, _: &mut Vec<u8>) {}
}

/// A procedure with its ticket.
pub(crate) struct Task<P: Procedure> {
    pub procedure: P,
    pub how: Begin,
    pub retry: Box<dyn Retry + Send>,
    pub failed: u32,
    pub outcome: Option<std::result::Result<P::Output, P::Error>>,
    pub promise: Promise<Completed<P>>,
}

impl<P: Procedure> Task<P> {
    pub fn new(procedure: P, how: Begin, retry: Box<dyn Retry + Send>, promise: Promise<Completed<P>>) -> Task<P> {
        Task { procedure, how, retry, failed: 0, outcome: None, promise }
    }
}

impl<P: Procedure> Job for Task<P> {
    fn run(&mut self, attempt: &mut Attempt<'_, '_>) -> bool {
        let outcome = self.procedure.run(attempt);
        let wants_commit = outcome.is_ok();
        self.outcome = Some(outcome);
        wants_commit
    }

    fn complete(self: Box<Self>, position: Position) {
        let Task { outcome, promise, .. } = *self;
        let committed = Committed { serial_point: Some(position.serial_point()), log_position: LogPosition::ZERO };
        promise.resolve(outcome.expect("it has run").map(|output| (output, committed)));
    }

    fn give_up(self: Box<Self>, error: Error) {
        self.promise.resolve(Err(error.into()));
    }

    fn footprint(&self, mut access: &mut dyn Access) -> Result<Footprint> {
        self.procedure.footprint(&mut access)
    }

    fn guesses(&self) -> bool {
        self.procedure.guesses()
    }

    fn again(&mut self, error: &Error) -> bool {
        self.failed = self.failed.saturating_add(1);
        self.retry.again(self.failed, error)
    }

    fn draws(&self) -> Option<Draws> {
        self.how.draws.map(Draws::restarted)
    }

    fn read(&mut self, mut state: &mut dyn Access) {
        self.outcome = Some(self.procedure.run(&mut state));
    }

    fn durability(&self) -> Option<Durability> {
        self.how.durability
    }

    fn encode(&self, out: &mut Vec<u8>) {
        model::encode_call(&self.procedure, self.how.draws, out);
    }
}

/// A place in the log: its promise is resolved with the batch.
pub(crate) struct Marker(pub Promise<u64>);

impl Job for Marker {
    fn run(&mut self, _: &mut Attempt<'_, '_>) -> bool {
        true
    }

    fn complete(self: Box<Self>, position: Position) {
        self.0.resolve(position.batch());
    }

    fn give_up(self: Box<Self>, error: Error) {
        unreachable!("a marker touches nothing: {error}")
    }

    /// Whoever waits for it waits for its batch to be complete.
    fn durability(&self) -> Option<Durability> {
        Some(Durability::None)
    }
}
