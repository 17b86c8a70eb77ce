//! Transactions that are drawn before the clock runs, as the authors of BOHM measure it: no client competes with the engine.
//!
//! An engine with threads of its own gets all of them while it holds them back ([`Engine::hold`]): what is measured is the time from
//! their release to the end of the last. On any other engine each client submits its own in batches, on a thread of its own. There
//! are no latencies: a transaction has none that waited for the others to be prepared.

use super::worker::Worker;
use super::{Performed, Quota, RunError, Stage, Tally};
use crate::control::{COUNTING, Control};
use crate::engines::Engine;
use crate::machine::OtherPrograms;
use crate::workloads::{Client, Submission, Workload};
use env::time::Instant;
use model::{Begin, Completed};
use std::sync::{Arc, Barrier};

type CallOf<W> = <<W as Workload>::Client as Client>::Call;
type CompletedOf<W> = Completed<CallOf<W>>;

/// The clients that have ended, and what observed other programs meanwhile.
type Ran<W> = (Option<OtherPrograms>, Vec<W>);

/// Transactions of a client, with their kinds.
struct Drawn<W: Workload> {
    calls: Vec<(CallOf<W>, Submission)>,
    kinds: Vec<Option<&'static str>>,
}

impl<E: Engine, W: Workload> Stage<'_, E, W> {
    /// Runs so many transactions, evenly drawn by the clients.
    pub(super) fn perform_prepared(&self, transactions: u64) -> Result<Performed<W::Client>, RunError> {
        if self.run.is_recorded || self.run.long_readers > 0 || self.run.streams > 1 {
            return Err(RunError::OnlyPrepared);
        }
        let control = Arc::new(Control::new());
        control.advance_to(COUNTING);
        let clients = u64::from(self.run.clients);
        let workers: Vec<_> = (1..=self.run.clients).map(|it| self.worker(it, Quota::Unlimited, &control)).collect();
        let share = |number: u64| transactions / clients + u64::from(number < transactions % clients);
        let mut prepared = Vec::new();
        for (number, mut worker) in (0..).zip(workers) {
            let drawn = worker.draw_all(share(number))?;
            prepared.push((worker, drawn));
        }
        let (others, done) = match self.engine.hold() {
            true => self.release(prepared)?,
            false => self.run_beside_each_other(prepared)?,
        };
        let (mut tally, mut left) = (Tally::new(), Vec::new());
        for worker in done {
            tally.merge(&worker.tally);
            left.push(worker.client);
        }
        let other_cores = others.and_then(OtherPrograms::cores);
        Ok(Performed { clients: left, tally, long_tally: Tally::new(), records: Vec::new(), other_cores })
    }

    /// Submits everything to an engine that holds it back, and releases it.
    fn release<'s>(&self, prepared: Vec<(Worker<'s, E, W>, Drawn<W>)>) -> Result<Ran<Worker<'s, E, W>>, RunError> {
        let mut submitted = Vec::new();
        for (mut worker, Drawn { calls, kinds }) in prepared {
            let tickets = worker.client.submit_batch(self.engine.declared(), calls).ok_or(RunError::NoFootprint)?;
            submitted.push((worker, tickets, kinds));
        }
        let (others, start) = (OtherPrograms::observe(), Instant::now());
        self.engine.release();
        let end = Instant::now();
        let conclude = |(mut worker, tickets, kinds): (Worker<'s, E, W>, Vec<_>, Vec<_>)| {
            let completed: Vec<CompletedOf<W>> = tickets.into_iter().map(|it: model::Pending<_>| it.wait()).collect();
            worker.conclude_all(completed, kinds, (start, end))?;
            Ok(worker)
        };
        Ok((others, submitted.into_iter().map(conclude).collect::<Result<_, RunError>>()?))
    }

    /// Has each client submit what it has drawn, all beginning at once.
    fn run_beside_each_other<'s>(
        &self,
        prepared: Vec<(Worker<'s, E, W>, Drawn<W>)>,
    ) -> Result<Ran<Worker<'s, E, W>>, RunError> {
        let begin = Barrier::new(prepared.len() + 1);
        let run = |(mut worker, Drawn { calls, kinds }): (Worker<'s, E, W>, Drawn<W>)| {
            begin.wait();
            let (start, mut completed) = (Instant::now(), Vec::with_capacity(calls.len()));
            let mut calls = calls.into_iter().peekable();
            while calls.peek().is_some() {
                let batch = calls.by_ref().take(self.run.batch as usize).collect();
                let tickets = worker.client.submit_batch(self.engine.declared(), batch).ok_or(RunError::NoFootprint)?;
                completed.extend(tickets.into_iter().map(|ticket| ticket.wait()));
            }
            worker.conclude_all(completed, kinds, (start, Instant::now()))?;
            Ok(worker)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = prepared.into_iter().map(|it| scope.spawn(|| run(it))).collect();
            let others = OtherPrograms::observe();
            begin.wait();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Worker<'s, E, W>, RunError>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            Ok((others, threads.into_iter().map(join).collect::<Result<_, RunError>>()?))
        })
    }
}

impl<E: Engine, W: Workload> Worker<'_, E, W> {
    fn draw_all(&mut self, count: u64) -> Result<Drawn<W>, RunError> {
        let mut drawn = Drawn { calls: Vec::with_capacity(count as usize), kinds: Vec::new() };
        for _ in 0..count {
            let how =
                Begin { mode: self.client.draw(), durability: Some(self.stage.run.durability), ..Begin::default() };
            let call = self.client.put_aside().ok_or(RunError::NoFootprint)?;
            drawn.calls.push((call, Submission { how, retrying: self.submitted.clone(), attempts: None }));
            drawn.kinds.push(self.client.kind());
        }
        Ok(drawn)
    }

    /// Checks and counts what has ended between two times.
    fn conclude_all(
        &mut self,
        completed: Vec<CompletedOf<W>>,
        kinds: Vec<Option<&'static str>>,
        (start, end): (Instant, Instant),
    ) -> Result<(), RunError> {
        (self.tally.start, self.tally.end) = (Some(start), Some(end));
        for (completed, kind) in completed.into_iter().zip(kinds) {
            self.conclude(completed, kind)?;
        }
        self.count_aborts();
        Ok(())
    }
}
