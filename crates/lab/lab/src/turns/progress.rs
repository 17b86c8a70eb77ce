//! Progress of trials in turns, on standard error.

use crate::report::grouped;
use crate::trial::{Measurement, Plan, Subject};
use env::time::{Duration, Instant};

/// How far the trials of a command are.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    /// Trials that need not be run again.
    passed: usize,
    run: usize,
    start: Instant,
}

impl Progress {
    /// Nothing done of so many trials.
    pub fn new(total: usize) -> Progress {
        Progress { total, passed: 0, run: 0, start: Instant::now() }
    }

    /// A trial was measured before.
    pub(super) fn pass_over(&mut self) {
        self.passed += 1;
        if self.passed + self.run == self.total && self.run == 0 {
            eprintln!("[{0}/{0}] all trials were measured before", self.total);
        }
    }

    /// A trial has no measurement.
    pub(super) fn show_failure<S: Subject>(&mut self, plan: &Plan<S>, reason: &str) {
        self.run += 1;
        let done = self.passed + self.run;
        let (workload, engine, threads) = (plan.workload.name(), plan.engine, plan.threads);
        eprintln!("[{done}/{}] {workload} on {engine}, {threads} thread(s): {reason}", self.total);
    }

    /// A trial has been measured.
    pub(super) fn show<S: Subject>(&mut self, plan: &Plan<S>, measurement: &Measurement) {
        self.run += 1;
        let (done, clients) = (self.passed + self.run, &measurement.clients);
        let left = match self.total.saturating_sub(done) {
            0 => String::new(),
            trials => format!("; {} left", rounded(self.start.elapsed() / self.run as u32 * trials as u32)),
        };
        eprintln!(
            "[{done}/{}] {} on {}, {} thread(s): {} txn/s, p99 {:.1} us{left}",
            self.total,
            plan.workload.name(),
            plan.engine,
            plan.threads,
            grouped(clients.txn_per_s),
            clients.p99_us
        );
    }
}

/// A duration for people.
pub(crate) fn rounded(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded() {
        assert_eq!(
            [0, 99, 100, 149, 150].map(|it| rounded(Duration::from_secs(it))),
            ["0 s", "99 s", "2 min", "2 min", "3 min"]
        );
    }
}
