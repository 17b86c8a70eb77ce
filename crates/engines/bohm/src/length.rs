//! How long a batch may be, so that a procedure's way through the pipeline is short while there is little to do.
//!
//! A procedure waits for the planning of the batch before its own, for that of its own, and for the execution of both: twice what a
//! batch takes in both stages. The length is chosen so that this is half of [`crate::Options::latency`]; the other half is for
//! wake-ups. What takes longer than that to plan or to execute is waiting anyway, so then batches are as long as they may be: each
//! costs some wake-ups, and the latency is that of the queue.

use env::time::Duration;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Share of a new measurement in an average: one in so many.
const WEIGHT: u64 = 8;
/// Batches are not made shorter than this: a thread takes so many calls at a time.
const LEAST: usize = 16;
/// Estimate for a stage before it is measured. Unit: ns.
const FIRST_NS: u64 = 1000;

/// What procedures take in both stages, and the bound. `Relaxed` throughout: estimates, which publish nothing.
#[derive(Debug)]
pub(crate) struct BatchLength {
    latency_ns: u64,
    /// The most that a batch may have.
    most: usize,
    planning: Average,
    execution: Average,
}

/// Nanoseconds for a procedure, as an average that forgets.
#[derive(Debug)]
struct Average(AtomicU64);

impl Average {
    /// Takes a measurement of some procedures into account. Of several at the same time one may be lost.
    fn note(&self, procedures: u64, elapsed: Duration) {
        let Some(now) = (elapsed.as_nanos() as u64).checked_div(procedures) else { return };
        let before = self.0.load(Relaxed);
        self.0.store(before - before / WEIGHT + now / WEIGHT, Relaxed);
    }

    fn ns(&self) -> u64 {
        self.0.load(Relaxed).max(1)
    }
}

impl BatchLength {
    pub fn new(latency: Duration, most: usize) -> BatchLength {
        let average = || Average(AtomicU64::new(FIRST_NS));
        let latency_ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        BatchLength { latency_ns, most, planning: average(), execution: average() }
    }

    /// Notes how long it took to plan some procedures: a planner.
    pub fn planned(&self, procedures: usize, elapsed: Duration) {
        self.planning.note(procedures as u64, elapsed);
    }

    /// Notes how long it took to execute some, all threads together: an executing thread that has executed its share.
    pub fn executed(&self, procedures: u64, executors: usize, elapsed: Duration) {
        self.execution.note(procedures * executors as u64, elapsed);
    }

    /// The length of the next batch, of so many procedures that wait.
    pub fn next(&self, waiting: usize) -> usize {
        let (planning, execution) = (self.planning.ns(), self.execution.ns());
        let is_saturated = (waiting as u64).saturating_mul(planning.max(execution)) > self.latency_ns;
        let short = self.latency_ns / (4 * (planning + execution));
        let most = if is_saturated { self.most } else { (short as usize).clamp(LEAST.min(self.most), self.most) };
        waiting.min(most)
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    fn settled(latency: Duration, planning_ns: u64, execution_ns: u64) -> BatchLength {
        let it = BatchLength::new(latency, 1024);
        for _ in 0..100 {
            it.planned(100, Duration::from_nanos(100 * planning_ns));
            it.executed(50, 2, Duration::from_nanos(100 * execution_ns));
        }
        it
    }

    #[test]
    fn a_batch_is_as_long_as_the_bound_allows() {
        let it = settled(Duration::from_millis(1), 1000, 1500);
        assert_eq!(it.next(10), 10, "what waits");
        let length = it.next(300);
        assert!((95..=105).contains(&length), "a quarter of 1 ms in 2.5 us each: {length}");
        let slow = settled(Duration::from_millis(1), 1000, 40_000);
        assert_eq!(slow.next(20), LEAST, "no shorter than what a thread takes at a time");
    }

    #[test]
    fn a_long_queue_makes_long_batches() {
        let it = settled(Duration::from_millis(1), 1000, 1500);
        assert_eq!((it.next(1000), it.next(5000)), (1000, 1024));
        let none = settled(Duration::ZERO, 1000, 1500);
        assert_eq!(none.next(5000), 1024, "without a bound");
    }
}
