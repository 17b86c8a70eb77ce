//! Transactions that are drawn before the clock runs, as the authors of BOHM measure it: no client competes with the engine.
//!
//! A run for a time goes round by round: its transactions are drawn, then the clock runs until they have ended. The first rounds are
//! short, since nobody knows yet how long transactions take.
//!
//! An engine with threads of its own gets a whole round while it holds it back ([`Engine::hold`]): what is measured is the time from its
//! release to the end of the last transaction. On any other engine each client runs its own, on a thread of its own; where the round
//! may be cut short it ends for all with the first client that has none left, and the others keep theirs for the next. There are no
//! latencies: a transaction has none that waited for the others to be prepared.

use super::worker::{Worker, in_serial_order};
use super::{Extent, Performed, RunError, Stage, Tally};
use crate::control::{COUNTING, Control};
use crate::driver::Quota;
use crate::engines::Engine;
use crate::machine::OtherPrograms;
use crate::workloads::{Client, Submission, Workload};
use env::time::{Duration, Instant};
use model::{Begin, Completed, Reexecutable, Ticket};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

type CallOf<W> = <<W as Workload>::Client as Client>::Call;

/// Time that a round takes: long against filling and emptying an engine's stages, short against what its transactions need of memory.
const ROUND: Duration = Duration::from_millis(200);
/// Transactions of each client in the first round, and the least of a later one.
const FIRST_ROUND: u64 = 64;
/// A round has at most so many times the transactions of the one before.
const GROWTH: u64 = 4;

/// A transaction that was drawn.
struct Drawn<W: Workload> {
    call: CallOf<W>,
    how: Begin,
    kind: Option<&'static str>,
}

/// Transactions as a door for batches takes them, and their kinds.
type Calls<W> = Vec<(CallOf<W>, Submission)>;
type Kinds = Vec<Option<&'static str>>;

/// What becomes of a transaction, with its kind.
type Kinded<T> = (T, Option<&'static str>);

/// A client with what it has drawn.
struct Seat<'s, E, W: Workload> {
    worker: Worker<'s, E, W>,
    drawn: VecDeque<Drawn<W>>,
}

impl<E: Engine, W: Workload> Stage<'_, E, W> {
    /// Runs the clients' transactions to the end of the run's extent.
    pub(super) fn perform_prepared(&self) -> Result<Performed<W::Client>, RunError> {
        if self.run.is_recorded || self.run.long_readers > 0 || self.run.streams > 1 {
            return Err(RunError::OnlyPrepared);
        }
        let control = Arc::new(Control::new());
        control.advance_to(COUNTING);
        let seat = |number| Seat { worker: self.worker(number, Quota::Unlimited, &control), drawn: VecDeque::new() };
        let mut seats: Vec<_> = (1..=self.run.clients).map(seat).collect();
        let others = match self.run.extent {
            Extent::Transactions(total) => self.run_all(&mut seats, total)?,
            Extent::Time { warm_up, measured } => self.run_rounds(&mut seats, warm_up, measured)?,
            Extent::Operations(_) => return Err(RunError::OnlyPrepared),
        };
        let (mut tally, mut left) = (Tally::new(), Vec::new());
        for Seat { mut worker, .. } in seats {
            worker.count_aborts();
            tally.merge(&worker.tally);
            left.push(worker.client);
        }
        let other_cores = others.and_then(OtherPrograms::cores);
        Ok(Performed { clients: left, tally, long_tally: Tally::new(), records: Vec::new(), other_cores })
    }

    /// Runs so many transactions in one round.
    fn run_all(&self, seats: &mut [Seat<'_, E, W>], total: u64) -> Result<Option<OtherPrograms>, RunError> {
        let clients = seats.len() as u64;
        let share = |number: u64| total / clients + u64::from(number < total % clients);
        let others = OtherPrograms::observe();
        let took = self.round(seats, share, false)?;
        note_time(seats, took);
        Ok(others)
    }

    /// Runs rounds until the clock has run for so long.
    fn run_rounds(
        &self,
        seats: &mut [Seat<'_, E, W>],
        warm_up: Duration,
        measured: Duration,
    ) -> Result<Option<OtherPrograms>, RunError> {
        let mut size = FIRST_ROUND;
        let mut run_for = |seats: &mut [Seat<'_, E, W>], least: Duration| {
            let mut all = Duration::ZERO;
            while all < least {
                let took = self.round(seats, |_| size, true)?;
                all += took;
                let fitting = (size as f64 * ROUND.as_secs_f64() / took.as_secs_f64().max(1e-9)) as u64;
                size = fitting.clamp(FIRST_ROUND, size * GROWTH);
            }
            Ok::<Duration, RunError>(all)
        };
        run_for(seats, warm_up)?;
        seats.iter_mut().for_each(|seat| seat.worker.restart_tally());
        let others = OtherPrograms::observe();
        let took = run_for(seats, measured)?;
        note_time(seats, took);
        Ok(others)
    }

    /// Has each client draw up to so many transactions, and runs them. Returns how long that took, without the drawing.
    fn round(
        &self,
        seats: &mut [Seat<'_, E, W>],
        size: impl Fn(u64) -> u64 + Sync,
        may_be_cut: bool,
    ) -> Result<Duration, RunError> {
        let is_held = self.engine.hold();
        let drawn = on_threads(seats.iter_mut().zip(0..), |(seat, number): (&mut Seat<'_, E, W>, u64)| {
            seat.draw_up_to(size(number))?;
            if is_held { seat.submit() } else { Ok(Vec::new()) }
        })?;
        if is_held { self.release(seats, drawn) } else { self.run_beside_each_other(seats, may_be_cut) }
    }

    /// Releases what the engine holds back.
    fn release(
        &self,
        seats: &mut [Seat<'_, E, W>],
        submitted: Vec<Vec<Kinded<Ticket<CallOf<W>>>>>,
    ) -> Result<Duration, RunError> {
        let start = Instant::now();
        self.engine.release();
        let took = start.elapsed();
        for (seat, tickets) in seats.iter_mut().zip(submitted) {
            for (ticket, kind) in tickets {
                seat.worker.conclude(ticket.wait(), kind)?;
            }
        }
        Ok(took)
    }

    /// Has each client run what it has drawn, all beginning at once.
    fn run_beside_each_other(&self, seats: &mut [Seat<'_, E, W>], may_be_cut: bool) -> Result<Duration, RunError> {
        let (begin, is_over) = (Barrier::new(seats.len()), AtomicBool::new(false));
        let times = on_threads(seats.iter_mut(), |seat: &mut Seat<'_, E, W>| {
            let mut completed = Vec::with_capacity(seat.drawn.len());
            begin.wait();
            let start = Instant::now();
            let mut has_more = true;
            // Relaxed: nothing but the end of the round depends on it.
            while has_more && !is_over.load(Relaxed) {
                has_more = seat.run_next(&mut completed)?;
            }
            is_over.store(may_be_cut, Relaxed);
            let end = Instant::now();
            for (completed, kind) in in_serial_order(completed.into_iter()) {
                seat.worker.conclude(completed, kind)?;
            }
            Ok((start, end))
        })?;
        let start = times.iter().map(|(start, _)| *start).min();
        let end = times.iter().map(|(_, end)| *end).max();
        Ok(start.zip(end).map_or(Duration::ZERO, |(start, end)| end.saturating_duration_since(start)))
    }
}

/// Does something for each, on a thread of its own.
fn on_threads<I: Send, T: Send>(
    all: impl Iterator<Item = I>,
    task: impl Fn(I) -> Result<T, RunError> + Sync,
) -> Result<Vec<T>, RunError> {
    let task = &task;
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.map(|it| scope.spawn(move || task(it))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T, RunError>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// The clock has run for so long: pauses, in which transactions were drawn, do not count.
fn note_time<E: Engine, W: Workload>(seats: &mut [Seat<'_, E, W>], took: Duration) {
    let start = Instant::now();
    for Seat { worker, .. } in seats {
        (worker.tally.start, worker.tally.end) = (Some(start), Some(start + took));
    }
}

impl<E: Engine, W: Workload> Seat<'_, E, W> {
    fn draw_up_to(&mut self, count: u64) -> Result<(), RunError> {
        let durability = Some(self.worker.stage.run.durability);
        let client = &mut self.worker.client;
        while (self.drawn.len() as u64) < count {
            let how = Begin { mode: client.draw(), durability, ..Begin::default() };
            let call = client.put_aside().ok_or(RunError::NoFootprint)?;
            self.drawn.push_back(Drawn { call, how, kind: client.kind() });
        }
        Ok(())
    }

    /// Takes so many of what was drawn.
    fn take(&mut self, count: usize) -> (Calls<W>, Kinds) {
        let retrying = &self.worker.submitted;
        let taken = self.drawn.drain(..count.min(self.drawn.len()));
        let submission = |how| Submission { how, retrying: retrying.clone(), attempts: None };
        taken.map(|Drawn { call, how, kind }| ((call, submission(how)), kind)).unzip()
    }

    /// Submits everything.
    fn submit(&mut self) -> Result<Vec<Kinded<Ticket<CallOf<W>>>>, RunError> {
        let (calls, kinds) = self.take(usize::MAX);
        let tickets = self.worker.client.submit_batch(self.worker.stage.engine.declared(), calls);
        let tickets = tickets.ok_or(RunError::NoFootprint)?;
        Ok(tickets.into_iter().zip(kinds).collect())
    }

    /// Runs the next transaction, or the next few where a footprint helps and several are submitted together. False: there is none.
    fn run_next(&mut self, completed: &mut Vec<Kinded<Completed<CallOf<W>>>>) -> Result<bool, RunError> {
        let stage = self.worker.stage;
        if stage.engine.uses_footprints() {
            let (calls, kinds) = self.take(stage.run.batch as usize);
            if calls.is_empty() {
                return Ok(false);
            }
            let ended = stage.submit_batch(&mut self.worker.client, calls, None)?;
            completed.extend(ended.into_iter().zip(kinds));
            return Ok(true);
        }
        let Some(Drawn { mut call, how, kind }) = self.drawn.pop_front() else { return Ok(false) };
        let ended = stage.engine.programs().execute(&mut call, how, &mut self.worker.retrying);
        let ended = ended.and_then(|(output, committed)| {
            stage.acknowledge(committed.log_position)?;
            Ok((output, committed))
        });
        completed.push((ended, kind));
        Ok(true)
    }
}
