//! The declared door: procedures are submitted with their footprints, and their tickets are resolved by the threads
//! that execute.

use crate::Bohm;
use crate::call::Call;
use crate::job::{Job, Task};
use crate::memory::Submission;
use crate::read::{Boundary, Trial};
use model::{BatchEntry, Begin, Committed, Declared, LogPosition, Mode, Pending, Procedure, Retry, Ticket};
use parts::promise::promise;

impl Bohm {
    /// Makes a call of a procedure, with its footprint; or resolves its ticket at once.
    fn prepare<P: Procedure>(
        &self,
        procedure: P,
        how: Begin,
        retry: Box<dyn Retry + Send>,
        with: &mut Submission,
    ) -> (Option<Call>, Ticket<P>) {
        if how.mode == Mode::Snapshot {
            return (None, self.read_snapshot(procedure, how));
        }
        if let Some(Err(error)) = self.shared.log().map(|input| input.check(&procedure)) {
            return (None, Pending::ready(Err(error.into())));
        }
        let (promise, ticket) = promise();
        let job: Box<dyn Job> = Box::new(Task::new(procedure, how, retry, promise));
        let is_due = how.mode != Mode::ReadOnly && job.guesses();
        let call = if how.mode == Mode::ReadOnly {
            Ok(self.shared.reading(job))
        } else if is_due {
            self.shared.weighed(job, with)
        } else {
            match self.shared.footprint_of(&*job) {
                (Ok(footprint), is_guess) => self.shared.call(job, footprint, is_guess),
                (Err(error), _) => Err((job, error)),
            }
        };
        let call = call.and_then(|call| match self.shared.admit(&call, with) {
            Ok(()) => Ok(call),
            Err(error) => Err((call.into_job(), error)),
        });
        let call = call.map(|call| if is_due { call.due_first() } else { call });
        let call = call.map_err(|(job, error)| job.give_up(error)).ok();
        (call, ticket)
    }

    /// Runs a procedure at the end of the last complete batch, in the calling thread. It waits for nobody.
    fn read_snapshot<P: Procedure>(&self, mut procedure: P, how: Begin) -> Ticket<P> {
        let mut trial = Trial::new(Boundary::new(&self.shared), how.draws);
        let place = match trial.state.pin() {
            Ok(pinned) => self.shared.pipeline.readers.place(pinned),
            Err(error) => return Pending::ready(Err(error.into())),
        };
        let outcome = procedure.run(&mut trial);
        let committed = Committed { serial_point: Some(place.serial_point()), log_position: LogPosition::ZERO };
        Pending::ready(outcome.map(|output| (output, committed)))
    }
}

impl Declared for Bohm {
    /// Procedures that only read need no footprint, and are not asked for one: no guess of theirs misses. Mode [`Mode::ReadOnly`]
    /// reads in its place, like all others: it sees what was submitted before, and executes of that what it reads. Mode
    /// [`Mode::Snapshot`] reads the state at the end of the last complete batch, in the call, and waits for nobody. The wait limit has no
    /// effect: what is waited for is executed.
    ///
    /// The footprint of a procedure that guesses ([`Procedure::guesses`]) is found when its batch is sealed, and so is one that
    /// missed, for which the thread that executed it asks `retry` before: others may wait behind that. Procedures of one caller keep
    /// their order if their footprints do not miss.
    ///
    /// A callback on a ticket is called by a thread that executes: it must not submit, since it may wait for room that
    /// it makes itself.
    ///
    /// At the limit on memory a procedure that may need more is refused before it has a place: [`crate::Options::memory_bytes`].
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        let mut with = Submission::default();
        let (call, ticket) = self.prepare(procedure, how, retry, &mut with);
        self.shared.submit(call, with);
        ticket
    }

    /// One place behind the other. There is no limit: what does not fit into the queue waits for room.
    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        let mut with = Submission::default();
        let prepare = |BatchEntry { procedure, how, retry }| self.prepare(procedure, how, retry, &mut with);
        let (calls, tickets): (Vec<_>, Vec<_>) = batch.into_iter().map(prepare).unzip();
        self.shared.submit(calls.into_iter().flatten(), with);
        tickets
    }
}
