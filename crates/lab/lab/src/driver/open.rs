//! An open loop: transactions come at a rate, whether or not earlier ones have ended, and their latency counts from when they were due.
//! So a database that lags shows it, and a client that is late itself makes the figures worse, not better.

use super::worker::Worker;
use super::{RunError, Stage};
use crate::control::{COUNTING, STOPPED};
use crate::engines::Engine;
use crate::workloads::{Client, Submission, Workload};
use env::thread;
use env::time::{Duration, Instant};
use model::{Begin, Committed, Error, Program};
use std::sync::{Arc, Mutex, PoisonError};

/// A transaction that has ended.
struct Ended<O> {
    /// Phase in which it was due.
    phase: u8,
    kind: Option<&'static str>,
    latency: Duration,
    completed: Result<(O, Committed), Error>,
}

type Endings<W> = Arc<Mutex<Vec<Ended<<<<W as Workload>::Client as Client>::Call as Program>::Output>>>>;

/// How long a client sleeps for what is under way at its end.
const GLANCE: Duration = Duration::from_micros(200);

impl<E: Engine, W: Workload> Worker<'_, E, W> {
    /// Submits transactions at a rate of its own, each second so many, at random distances, until the run stops; and waits for all.
    pub(super) fn run_at_rate(&mut self, per_second: f64) -> Result<(), RunError> {
        let endings: Endings<W> = Endings::<W>::default();
        let (mut due, mut phase, mut under_way) = (Instant::now(), self.control.phase(), 0);
        self.tally.restart(1);
        loop {
            let now = self.control.phase();
            if now == STOPPED || self.is_done() {
                break;
            }
            if now != phase {
                phase = now;
                self.restart_tally();
                self.tally.timed_every = 1;
            }
            // Exponential distances: as of many independent users.
            due += Duration::from_secs_f64(-(1.0 - self.turns.next_f64()).ln() / per_second);
            if let Some(early) = due.checked_duration_since(Instant::now()) {
                under_way -= self.take_endings(&endings)?;
                thread::sleep(early);
            }
            self.submit_due(due, phase, &endings)?;
            under_way += 1;
        }
        while under_way > 0 {
            match self.take_endings(&endings)? {
                0 => thread::sleep(GLANCE),
                ended => under_way -= ended,
            }
        }
        Ok(())
    }

    fn submit_due(&mut self, due: Instant, phase: u8, endings: &Endings<W>) -> Result<(), RunError> {
        let stage: &Stage<'_, E, W> = self.stage;
        let how = Begin {
            mode: stage.engine.mode_of(self.client.draw()),
            durability: Some(stage.run.durability),
            ..Begin::default()
        };
        let submission = Submission { how, retrying: self.submitted.clone(), attempts: None };
        let kind = self.client.kind();
        let ticket = self.client.submit(stage.engine.declared(), submission).ok_or(RunError::NoFootprint)?;
        let endings = endings.clone();
        ticket.on_resolved(move |completed| {
            let ended = Ended { phase, kind, latency: due.elapsed(), completed };
            endings.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        });
        Ok(())
    }

    /// Checks what has ended, and counts what was due while the run counts. Returns how many it was.
    fn take_endings(&mut self, endings: &Endings<W>) -> Result<usize, RunError> {
        let ended = std::mem::take(&mut *endings.lock().unwrap_or_else(PoisonError::into_inner));
        let count = ended.len();
        for Ended { phase, kind, latency, completed } in ended {
            if phase != COUNTING {
                if let Ok((output, _)) = completed {
                    self.client.check(output).map_err(RunError::Wrong)?;
                }
                continue;
            }
            let committed = self.conclude(completed, kind)?;
            self.tally.latency_ns.saturating_record_n(latency.as_nanos() as u64, u64::from(committed));
        }
        Ok(count)
    }
}
