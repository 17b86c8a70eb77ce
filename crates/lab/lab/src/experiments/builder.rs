//! Points of sweeps, from systems, places and workloads.

use super::{Point, Points, System};
use crate::driver::Extent;
use crate::engines::{DoorName, RedoLog, Settings};
use crate::trial::{DurabilityName, Plan, WorkloadPlan};
use env::time::Duration;

/// Collects points; systems that the lab lacks become a note.
pub(super) struct Builder {
    pub points: Points,
}

/// Where a point stands, and with how many threads.
pub(super) struct Place {
    pub panel: &'static str,
    pub x: f64,
    pub label: String,
    pub threads: u32,
    /// See [`Plan::streams`].
    pub streams: u32,
    pub long_readers: u32,
    pub long_reader_interval: Duration,
}

impl Place {
    pub fn new(panel: &'static str, x: f64, label: impl Into<String>, threads: u32) -> Place {
        let long_reader_interval = Duration::ZERO;
        Place { panel, x, label: label.into(), threads, streams: 1, long_readers: 0, long_reader_interval }
    }
}

impl Builder {
    pub fn new() -> Builder {
        Builder { points: Points::default() }
    }

    pub fn add(&mut self, system: System, series: &str, place: Place, workload: WorkloadPlan) {
        let Some(engine) = system.engine() else {
            let note = format!("there is no engine {} yet: its points are missing", system.engine);
            return self.note(note);
        };
        let Place { panel, x, label, threads, streams, long_readers, long_reader_interval } = place;
        let plan = Plan {
            settings: Settings {
                ladder: system.ladder,
                hyper: system.hyper,
                keeps_versions: system.keeps_versions,
                stages: system.stages,
                ..Settings::default()
            },
            threads,
            streams,
            long_readers,
            long_reader_interval,
            door: match (system.is_prepared, streams) {
                (true, _) => DoorName::Prepared,
                (false, 1) => DoorName::Program,
                (false, _) => DoorName::Interactive,
            },
            durability: if system.hyper.log == RedoLog::None { DurabilityName::None } else { DurabilityName::Async },
            ..Plan::new(engine, workload, Extent::Transactions(1))
        };
        self.points.points.push(Point { panel, series: series.to_owned(), x, label, plan });
    }

    pub fn forced(&mut self, what: &str, paper: u64, here: impl Into<u64>) {
        let here = here.into();
        if here != paper {
            self.note(format!("{what}: {here} here, {paper} in the paper"));
        }
    }

    /// Notes something once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.points.notes.contains(&note) {
            self.points.notes.push(note);
        }
    }
}

/// Those numbers of threads for which the machine has cores.
pub(super) fn thread_counts(all: &[u32], cores: usize) -> impl Iterator<Item = u32> {
    let most = all.iter().copied().max().unwrap_or(1);
    all.iter().copied().filter(move |count| *count <= threads(most, cores))
}

/// Names those for which it has none.
pub(super) fn left_out(all: &[u32], cores: usize) -> Option<String> {
    let here: Vec<u32> = thread_counts(all, cores).collect();
    let left_out: Vec<String> = all.iter().filter(|count| !here.contains(count)).map(u32::to_string).collect();
    let note = || format!("{} threads are left out: this machine has {cores} core(s)", left_out.join(", "));
    (!left_out.is_empty()).then(note)
}

/// As many threads as the paper has, or as the machine has cores.
pub(super) fn threads(paper: u32, cores: usize) -> u32 {
    paper.min(u32::try_from(cores).unwrap_or(u32::MAX)).max(1)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cli::Scale;
    use crate::experiments::Sweep;
    use crate::experiments::figures::{Figure, Figures};
    use crate::report::Row;
    use crate::trial::{Figures as Counted, Measurement};

    /// A figure of each point, with the throughput that `rate` gives it.
    pub fn measured(points: &Points, rate: impl Fn(&Point) -> f64) -> Vec<Figure> {
        let figure = |point: &Point| {
            let clients = Counted {
                seconds: 1.0,
                commits: 1,
                commits_by_kind: std::collections::BTreeMap::new(),
                txn_per_s: rate(point),
                aborts: std::collections::BTreeMap::new(),
                p50_us: 1.0,
                p99_us: 2.0,
                p999_us: 3.0,
                timed_every: 1,
            };
            let (other_cores, kept_versions) = (None, None);
            let measurement = Measurement {
                clients,
                long_readers: None,
                rss_mb: 1.0,
                other_cores,
                kept_versions,
                log_bytes: Some(80.0),
                bare_ns: Some(10.0),
            };
            Figure::new(point, Row::new(&point.plan, &[measurement], None))
        };
        points.points.iter().map(figure).collect()
    }

    /// What the shape test of a sweep says on a machine with so many cores, if each point is as fast as `rate` says.
    pub fn outcome(sweep: &Sweep, cores: usize, rate: impl Fn(&Point) -> f64) -> String {
        outcome_with(sweep, cores, rate, |_| 0.0)
    }

    /// The same, if so many of the attempts at each point abort.
    pub fn outcome_with(
        sweep: &Sweep,
        cores: usize,
        rate: impl Fn(&Point) -> f64,
        abort_ratio: impl Fn(&Point) -> f64,
    ) -> String {
        let points = (sweep.points)(Scale::Full, cores);
        let mut all = measured(&points, rate);
        let ratios = points.points.iter().map(abort_ratio);
        all.iter_mut().zip(ratios).for_each(|(figure, ratio)| figure.abort_ratio = ratio);
        (sweep.outcome)(&Figures { all: &all, cores })
    }
}
