//! Counts of a run.

use crate::counts::Counts;
use env::time::{Duration, Instant};
use hdrhistogram::Histogram;

/// A client's counts during the measured phase.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Transactions that committed.
    pub commits: u64,
    /// The same by kind, where the workload has several.
    pub kinds: Counts,
    /// Attempts that did not commit, by reason.
    pub aborts: Counts,
    /// Nanoseconds from the first attempt of a transaction to its acknowledgement.
    pub latency_ns: Histogram<u64>,
    /// Every how many transactions one was timed (the rarest of the clients).
    pub timed_every: u64,
    pub(super) start: Option<Instant>,
    pub(super) end: Option<Instant>,
}

impl Tally {
    pub(super) fn new() -> Tally {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let latency_ns = Histogram::new_with_bounds(1, HOUR_NS, 3).expect("valid bounds");
        Tally {
            commits: 0,
            kinds: Counts::default(),
            aborts: Counts::default(),
            latency_ns,
            timed_every: 1,
            start: None,
            end: None,
        }
    }

    /// From the first client's start to the last one's end.
    pub fn elapsed(&self) -> Duration {
        match (self.start, self.end) {
            (Some(start), Some(end)) => end.saturating_duration_since(start),
            _ => Duration::ZERO,
        }
    }

    /// Committed transactions in a second.
    pub fn per_second(&self) -> f64 {
        let seconds = self.elapsed().as_secs_f64();
        if seconds > 0.0 { self.commits as f64 / seconds } else { 0.0 }
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        self.commits += other.commits;
        self.kinds.add(&other.kinds);
        self.aborts.add(&other.aborts);
        self.latency_ns.add(&other.latency_ns).expect("all histograms have the same bounds");
        self.timed_every = self.timed_every.max(other.timed_every);
        self.start = [self.start, other.start].into_iter().flatten().min();
        self.end = [self.end, other.end].into_iter().flatten().max();
    }

    pub(super) fn restart(&mut self, timed_every: u64) {
        self.commits = 0;
        self.kinds.clear();
        self.aborts.clear();
        self.latency_ns.reset();
        self.timed_every = timed_every;
        self.start = Some(Instant::now());
    }
}
