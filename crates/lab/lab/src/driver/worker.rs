//! One client's thread.

use super::streams::{GivesWay, Patience, Pause};
use super::tally::Tally;
use super::{RunError, Stage};
use crate::control::{Control, STOPPED, StopsOnPanic, WAITING};
use crate::engines::{DoorName, Engine};
use crate::record::{Attempts, Log};
use crate::retry::{Retrying, SharedRetrying, reason};
use crate::workloads::{Client, Submission, Workload};
use check::Record;
use env::Randomness;
use env::time::{Duration, Instant};
use model::{Begin, Committed, Completed, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a client leaves behind.
pub(super) struct Done<C> {
    pub client: C,
    pub tally: Tally,
    pub records: Vec<Record>,
}

/// Work left for one client.
#[derive(Debug)]
pub(super) enum Quota<'a> {
    Unlimited,
    Transactions(u64),
    Operations { done: &'a AtomicU64, total: u64 },
}

/// Transactions that a client times in a second, at most about: 25 ms of a second, at 250 ns for two looks at the clock
/// in a stream of cache misses, and enough for the 99.9th percentile of a second.
const TIMED_PER_SECOND: f64 = 50_000.0;

/// One client's thread.
pub(super) struct Worker<'s, E, W: Workload> {
    pub stage: &'s Stage<'s, E, W>,
    pub number: u32,
    pub client: W::Client,
    pub quota: Quota<'s>,
    pub control: Arc<Control>,
    pub retrying: Retrying,
    /// The same for what is submitted to the declared door.
    pub submitted: SharedRetrying,
    /// How long it gives way after a conflict, if it shares a thread.
    pub turns: Randomness,
    pub log: Option<Log<'s>>,
    pub tally: Tally,
    /// Time from the begin of one transaction to the begin of the next, at least.
    pub interval: Duration,
}

impl<E: Engine, W: Workload> Worker<'_, E, W> {
    /// Runs transactions until its quota is done or the run stops, and gives way before each access if there is a pause. A failure
    /// stops the whole run.
    pub(super) fn work(mut self, pause: Option<&Pause>) -> Result<Done<W::Client>, RunError> {
        let control = self.control.clone();
        let _others_do_not_wait = StopsOnPanic(&control);
        self.control.wait_for_start();
        let is_client = self.number <= self.stage.all_clients();
        let outcome = match self.stage.run.rate {
            Some(rate) if is_client => self.run_at_rate(rate / f64::from(self.stage.all_clients())),
            _ => self.run_transactions(pause),
        };
        self.tally.end = Some(Instant::now());
        if outcome.is_err() {
            self.control.stop();
        }
        outcome?;
        self.count_aborts();
        let records = self.log.map(Log::into_records).unwrap_or_default();
        Ok(Done { client: self.client, tally: self.tally, records })
    }

    /// Takes over the failures that were counted by those who asked whether to try again.
    pub(super) fn count_aborts(&mut self) {
        self.tally.aborts = std::mem::take(&mut self.retrying.reasons);
        self.submitted.with(|submitted| self.tally.aborts.add(&submitted.reasons));
    }

    fn run_transactions(&mut self, pause: Option<&Pause>) -> Result<(), RunError> {
        let mut seen = WAITING;
        let mut until_timed = 0;
        loop {
            let phase = self.control.phase();
            if phase == STOPPED || self.is_done() {
                return Ok(());
            }
            if phase != seen {
                seen = phase;
                until_timed = 0;
                self.restart_tally();
            }
            let start = (until_timed == 0 || !self.interval.is_zero()).then(Instant::now);
            let committed = if self.stage.run.door == DoorName::Batch {
                self.run_batch()?
            } else {
                u64::from(self.run_transaction(pause)?)
            };
            let Some(start) = start else {
                until_timed -= 1;
                continue;
            };
            until_timed = self.tally.timed_every - 1;
            let elapsed = start.elapsed();
            // All of a batch are acknowledged with the last of them.
            self.tally.latency_ns.saturating_record_n(elapsed.as_nanos() as u64, committed);
            if let Some(pause) = self.interval.checked_sub(elapsed).filter(|pause| !pause.is_zero()) {
                self.control.let_pass(pause);
            }
        }
    }

    /// Starts counting from zero; the earlier counts decide how rarely to time.
    pub(super) fn restart_tally(&mut self) {
        let rate = self.tally.start.map_or(0.0, |start| self.tally.commits as f64 / start.elapsed().as_secs_f64());
        let timed_every = if self.log.is_some() { 1 } else { (rate / TIMED_PER_SECOND).ceil().max(1.0) as u64 };
        self.retrying.reasons.clear();
        self.submitted.with(|submitted| submitted.reasons.clear());
        self.tally.restart(timed_every);
    }

    /// Returns whether the quota is used up; otherwise takes one transaction off it.
    pub(super) fn is_done(&mut self) -> bool {
        match &mut self.quota {
            Quota::Unlimited => false,
            Quota::Transactions(0) => true,
            Quota::Transactions(left) => {
                *left -= 1;
                false
            }
            // Relaxed: a count of what is in the logs, which are handed over when the threads are joined.
            Quota::Operations { done, total } => done.load(Ordering::Relaxed) >= *total,
        }
    }

    /// Draws and runs one transaction; returns whether it committed.
    fn run_transaction(&mut self, pause: Option<&Pause>) -> Result<bool, RunError> {
        let stage = self.stage;
        let how = Begin {
            mode: stage.engine.mode_of(self.client.draw()),
            durability: Some(stage.run.durability),
            ..Begin::default()
        };
        let before = self.log.as_ref().map_or(0, Log::committed_operations);
        let kind = self.client.kind();
        let completed = if stage.run.door == DoorName::Declared {
            stage.submit(&mut self.client, how, &self.submitted, self.log.as_mut())?
        } else {
            let acknowledge = |committed: Committed| stage.acknowledge(committed.log_position);
            let door = stage.run.door;
            let door = if self.client.reads_one_row() { door } else { door.of_transactions() };
            let (call, log) = (self.client.call(), self.log.as_mut());
            match pause {
                None => stage.execute(call, door, how, &mut self.retrying, log, acknowledge),
                Some(pause) => {
                    let mut program = GivesWay { program: call, pause: || pause.suspend(()) };
                    let mut patience = Patience { retrying: &mut self.retrying, pause, turns: &mut self.turns };
                    stage.execute(&mut program, door, how, &mut patience, log, acknowledge)
                }
            }
        };
        let is_committed = self.conclude(completed, kind)?;
        self.count_operations(before);
        Ok(is_committed)
    }

    /// Draws transactions, submits them together, and returns how many of them committed. The first has been taken off the quota.
    fn run_batch(&mut self) -> Result<u64, RunError> {
        let stage = self.stage;
        let before = self.log.as_ref().map_or(0, Log::committed_operations);
        let (mut batch, mut kinds) = (Vec::new(), Vec::new());
        while batch.is_empty() || batch.len() < stage.run.batch as usize && !self.is_done() {
            let how = Begin {
                mode: stage.engine.mode_of(self.client.draw()),
                durability: Some(stage.run.durability),
                ..Begin::default()
            };
            let attempts = self.log.as_ref().map(|_| Attempts::new(stage.clock));
            let call = self.client.put_aside().ok_or(RunError::NoFootprint)?;
            batch.push((call, Submission { how, retrying: self.submitted.clone(), attempts }));
            kinds.push(self.client.kind());
        }
        let completed = stage.submit_batch(&mut self.client, batch, self.log.as_mut())?;
        let mut committed = 0;
        for (completed, kind) in in_serial_order(completed.into_iter().zip(kinds)) {
            committed += u64::from(self.conclude(completed, kind)?);
        }
        self.count_operations(before);
        Ok(committed)
    }

    /// Counts what the log has beyond `before` against the quota.
    fn count_operations(&self, before: u64) {
        if let (Quota::Operations { done, .. }, Some(log)) = (&self.quota, &self.log) {
            done.fetch_add(log.committed_operations() - before, Ordering::Relaxed);
        }
    }

    /// Checks and counts a transaction that has ended; returns whether it committed.
    pub(super) fn conclude(
        &mut self,
        completed: Completed<<W::Client as Client>::Call>,
        kind: Option<&'static str>,
    ) -> Result<bool, RunError> {
        match completed {
            Ok((output, _)) => {
                self.client.check(output).map_err(RunError::Wrong)?;
                self.tally.commits += 1;
                kind.into_iter().for_each(|kind| self.tally.kinds.count(kind));
                Ok(true)
            }
            // Counted when it was asked whether to try again.
            Err(error) if error.is_retryable() => Ok(false),
            Err(error @ (Error::Aborted(_) | Error::Limit(_))) => {
                self.retrying.reasons.count(reason(&error));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// A transaction that has ended, with its kind.
type Ended<T> = (Result<(T, Committed), Error>, Option<&'static str>);

/// What was submitted together, in the order in which it took effect where the engine claims one: a client's books go by it, and only
/// engines that fix the order in advance keep that of submission.
pub(super) fn in_serial_order<T>(ended: impl Iterator<Item = Ended<T>>) -> Vec<Ended<T>> {
    let mut ended: Vec<_> = ended.collect();
    ended.sort_by_key(|(completed, _)| completed.as_ref().ok().and_then(|(_, committed)| committed.serial_point));
    ended
}
