//! The doors: procedures enter the queue and are executed by the node's threads; programs are executed by their callers. Both are run
//! again after a conflict with another node, as long as their retry allows.

use crate::Dur;
use crate::job::{Job, Task, committed};
use crate::snapshot::Snapshot;
use model::{
    BatchEntry, Begin, Committed, Declared, Error, FootprintChecked, LogPosition, Mode, Pending, Procedure, Program,
    Reexecutable, Retry, Ticket,
    retry::{self, Failure},
};
use parts::promise::promise;
use total::TotalOrder;

/// How a program ends.
type Ended<P> = Result<(<P as Program>::Output, Committed), <P as Program>::Error>;

impl<O: TotalOrder + 'static> Dur<O> {
    /// Runs a program once, on a snapshot or in a turn.
    fn try_program<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
    ) -> Result<(P::Output, Committed), Failure<Error, P::Error>> {
        if how.mode == Mode::Snapshot
            && let Some(done) = self.read_snapshot(program, how)
        {
            return done.map_err(Failure::Final);
        }
        let is_read_only = matches!(how.mode, Mode::ReadOnly | Mode::Snapshot);
        let (returned, decision) = if self.core.speculates() {
            let turn = self.core.line.admit(&self.core.slots)?;
            self.core.execute_program(turn, program, how.draws, is_read_only)
        } else {
            self.core.execute_held_program(program, how.draws, is_read_only)?
        };
        let place = decision.wait()?;
        returned.map(|output| (output, committed(place))).map_err(Failure::Final)
    }

    /// Runs a program on the state that this node has applied. `None`: the serial points of its place are used up.
    fn read_snapshot<P: Program>(&self, program: &mut P, how: Begin) -> Option<Ended<P>> {
        let mut snapshot = Snapshot::begin(&self.core, how.draws);
        let serial_point = Some(snapshot.serial_point()?);
        let outcome = program.run(&mut snapshot);
        Some(outcome.map(|output| (output, Committed { serial_point, log_position: LogPosition::ZERO })))
    }
}

impl<O: TotalOrder + 'static> Dur<O> {
    /// Queues a program, to be executed by the threads of the node: as [`Declared::submit`], without a footprint. Snapshots are read in
    /// place.
    pub fn enqueue<P>(&self, mut program: P, how: Begin, mut retry: Box<dyn Retry + Send>) -> Ticket<P>
    where
        P: Program<Output: Send + 'static, Error: Send + 'static> + Send + 'static,
    {
        if how.mode == Mode::Snapshot {
            return Pending::ready(self.execute(&mut program, how, &mut *retry));
        }
        let (promise, ticket) = promise();
        let job: Box<dyn Job> = Box::new(Task::new(program, how, retry, promise));
        for late in self.core.queue.submit([job]) {
            late.complete(Err(self.core.failure()));
        }
        ticket
    }
}

impl<O: TotalOrder + 'static> Reexecutable for Dur<O> {
    /// The body's own error comes when what it had read is certified. A body that a turn before overtakes runs again without asking
    /// `retry`, in the same turn; `retry` is asked after a conflict with another node. Mode [`Mode::Snapshot`] reads the state that
    /// this node has applied: serializable, not strictly. The wait limit has no effect: what is waited for are earlier turns.
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> Result<(P::Output, Committed), P::Error> {
        retry::run(retry, |_| self.try_program(program, how)).map_err(Failure::into_error)
    }
}

impl<O: TotalOrder + 'static> Declared for Dur<O> {
    /// As programs, by the threads of the node. A callback on a ticket is called by the thread that delivers: it must not submit.
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        self.submit_batch(vec![BatchEntry { procedure, how, retry }]).pop().expect("one for each")
    }

    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        let mut jobs: Vec<Box<dyn Job>> = Vec::new();
        let mut tickets = Vec::new();
        for BatchEntry { procedure, how, mut retry } in batch {
            if how.mode == Mode::Snapshot {
                let mut program = FootprintChecked::new(procedure);
                tickets.push(Pending::ready(self.execute(&mut program, how, &mut *retry)));
                continue;
            }
            let (promise, ticket) = promise();
            jobs.push(Box::new(Task::new(FootprintChecked::new(procedure), how, retry, promise)));
            tickets.push(ticket);
        }
        for late in self.core.queue.submit(jobs) {
            late.complete(Err(self.core.failure()));
        }
        tickets
    }
}
