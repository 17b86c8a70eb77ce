//! What steps of a node take: measured on this machine, then charged in virtual time.

use dur::{Meter, Step};
use env::time::Instant;
use sim::Schedule;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A step that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cost {
    /// A client draws a transaction and queues it.
    Submit,
    /// A body reads or writes an object, and computes until the next.
    Access,
    /// A step of the engine.
    Step(Step),
}

impl Cost {
    /// Its name in notes.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Submit => "submission of a transaction",
            Cost::Access => "access of an object",
            Cost::Step(Step::Encode) => "record, for each object",
            Cost::Step(Step::Commit) => "speculative commit, for each object",
            Cost::Step(Step::Decode) => "byte of a payload that is delivered",
            Cost::Step(Step::Certify) => "certification of a read",
            Cost::Step(Step::Apply) => "application of a write",
            Cost::Step(Step::Deliver) => "answer to a client",
        }
    }
}

/// Nanoseconds of each step, for one of what it is counted by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs(BTreeMap<Cost, f64>);

impl Costs {
    /// Costs that are given.
    #[cfg(test)]
    pub fn new(costs: impl IntoIterator<Item = (Cost, f64)>) -> Costs {
        Costs(costs.into_iter().collect())
    }

    /// The same, but for what an access takes.
    pub fn with_access(mut self, nanoseconds: Option<f64>) -> Costs {
        if let Some(nanoseconds) = nanoseconds {
            self.0.insert(Cost::Access, nanoseconds);
        }
        self
    }

    /// Nanoseconds of a step.
    pub fn of(&self, cost: Cost, count: u64) -> u64 {
        (self.0.get(&cost).copied().unwrap_or(0.0) * count as f64) as u64
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(cost, ns)| format!("{} {ns:.1}", cost.name()));
        write!(f, "ns: {}", shown.collect::<Vec<_>>().join(", "))
    }
}

/// Measures steps, or charges for them.
#[derive(Debug)]
pub enum Gauge {
    /// In virtual time, when it is on: a database is loaded for nothing.
    Charging {
        /// Whose time.
        schedule: Schedule,
        /// What steps take.
        costs: Costs,
        /// Whether it charges.
        is_on: AtomicBool,
    },
    /// By the clock.
    Measuring {
        /// Where the clock begins.
        start: Instant,
        /// Nanoseconds of each step, divided by its count.
        samples: Mutex<BTreeMap<Cost, Vec<f64>>>,
    },
}

/// Samples of a step that are kept.
const MOST_SAMPLES: usize = 200_000;
/// Samples that are left out: threads that were kept from running.
const SLOWEST: f64 = 0.05;

impl Gauge {
    /// One that measures.
    pub fn measuring() -> Arc<Gauge> {
        Arc::new(Gauge::Measuring { start: Instant::now(), samples: Mutex::default() })
    }

    /// One that charges, but not yet.
    pub fn charging(schedule: Schedule, costs: Costs) -> Arc<Gauge> {
        Arc::new(Gauge::Charging { schedule, costs, is_on: AtomicBool::new(false) })
    }

    /// Charges from now on, or no more. `Relaxed`: one thread of a schedule runs at a time.
    pub fn set(&self, charges: bool) {
        if let Gauge::Charging { is_on, .. } = self {
            is_on.store(charges, Relaxed);
        }
    }

    /// A step begins.
    pub fn start(&self, cost: Cost, count: u64) -> u64 {
        match self {
            Gauge::Charging { schedule, costs, is_on } => {
                let nanoseconds = costs.of(cost, count);
                if is_on.load(Relaxed) && nanoseconds > 0 {
                    schedule.compute(nanoseconds);
                }
                0
            }
            Gauge::Measuring { start, .. } => start.elapsed().as_nanos() as u64,
        }
    }

    /// The step has ended.
    pub fn stop(&self, cost: Cost, count: u64, begun: u64) {
        let Gauge::Measuring { start, samples } = self else { return };
        let taken = start.elapsed().as_nanos() as u64 - begun;
        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = samples.entry(cost).or_default();
        if count > 0 && samples.len() < MOST_SAMPLES {
            samples.push(taken as f64 / count as f64);
        }
    }

    /// What was measured, without the time that looking at the clock takes: means of all samples but the slowest.
    pub fn costs(&self) -> Costs {
        let Gauge::Measuring { samples, .. } = self else { return Costs::default() };
        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = |samples: &mut Vec<f64>| {
            samples.sort_unstable_by(f64::total_cmp);
            let kept = &samples[..((samples.len() as f64 * (1.0 - SLOWEST)).ceil() as usize).min(samples.len())];
            kept.iter().sum::<f64>() / kept.len().max(1) as f64
        };
        Costs(samples.iter_mut().map(|(cost, samples)| (*cost, mean(samples))).collect())
    }
}

impl Meter for Gauge {
    fn begin(&self, step: Step, count: u64) -> u64 {
        self.start(Cost::Step(step), count)
    }

    fn end(&self, step: Step, count: u64, begun: u64) {
        self.stop(Cost::Step(step), count, begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_samples_are_left_out() {
        let gauge = Gauge::measuring();
        let Gauge::Measuring { samples, .. } = &*gauge else { unreachable!("it measures") };
        let mut all = vec![10.0; 95];
        all.extend([1e9; 5]);
        samples.lock().unwrap().insert(Cost::Access, all);
        assert_eq!(gauge.costs().of(Cost::Access, 3), 30);
        assert_eq!(gauge.costs().of(Cost::Submit, 3), 0, "it was not measured");
    }

    #[test]
    fn a_step_takes_virtual_time() {
        let schedule = Schedule::new(&[1]);
        let gauge = Gauge::charging(schedule.clone(), Costs::new([(Cost::Access, 100.0)]));
        let own = gauge.clone();
        schedule.spawn(0, move || {
            own.start(Cost::Access, 2);
            own.set(true);
            own.start(Cost::Access, 2);
        });
        assert_eq!(schedule.run(199), 1, "it computes");
        assert_eq!(schedule.run(200), 0);
    }
}
