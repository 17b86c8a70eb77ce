//! BOHM's experiments: section 4 of the paper, figures 4 to 9.
//!
//! The paper's numbers are those that its text gives: where it shows only a curve, there is nothing to draw beside ours. Our `mvto` and
//! `hyper` stand beside the five systems of the paper.

pub(super) mod claims;
mod long_readers;
mod smallbank;
mod stages;
mod ycsb;

pub(super) use long_readers::LONG_READERS;
pub(super) use smallbank::SMALLBANK;
pub(super) use stages::STAGES;
pub(super) use ycsb::{RMW, RMW_READS, THETA};

use claims::Claims;

use super::builder::{Builder, Place, left_out, thread_counts};
use super::figures::Figures;
use super::{PaperSeries, Stages, System};
use crate::cli::Scale;
use crate::trial::WorkloadPlan;
use crate::workloads::parameters::Presets;
use crate::workloads::ycsb as ycsb_workload;
use serde_json::{Value, json};

const BOHM: System = System::prepared("bohm");
const HEKATON: System = System::prepared("hekaton");
const SI: System = System::prepared("si");
const SILO: System = System::prepared("silo");
const TWOPL: System = System::prepared("twopl");
const MVTO: System = System::prepared("mvto");
const HYPER: System = System::prepared("hyper");
/// As the paper's authors ran them.
const KEEPING: [System; 2] = [
    System { name: "hekaton, keeping", keeps_versions: true, ..HEKATON },
    System { name: "si, keeping", keeps_versions: true, ..SI },
];

/// The paper's, and ours.
const SYSTEMS: [System; 7] = [BOHM, HEKATON, SI, SILO, TWOPL, MVTO, HYPER];
/// The paper's.
const PAPER_SYSTEMS: [System; 5] = [BOHM, HEKATON, SI, SILO, TWOPL];

/// The paper's threads, each on a core of its own.
const PAPER_THREADS: u32 = 40;
/// One thread compares nothing: BOHM plans on one and executes on another.
const THREAD_COUNTS: &[u32] = &[2, 4, 8, 16, 32, PAPER_THREADS];

/// Number of threads with which figures over threads end here.
fn most(cores: usize) -> f64 {
    thread_counts(THREAD_COUNTS, cores).last().map_or(2.0, f64::from)
}

/// BOHM with so many threads in all: a quarter of them plans.
fn bohm_with(threads: u32) -> System {
    let planners = (threads / 4).max(1);
    System { stages: Stages { planners, executors: (threads - planners).max(1) }, ..BOHM }
}

fn ycsb_plan(scale: Scale, preset: &str, mut changes: Value) -> WorkloadPlan {
    if scale == Scale::Smoke {
        changes["records"] = json!(2_000);
        changes["long_reader_keys"] = json!(100);
    }
    let presets = Presets::read(ycsb_workload::NAME, ycsb_workload::PRESETS);
    WorkloadPlan::Ycsb(presets.and_then(|it| it.parameters(preset, &changes)).expect("a preset of the workload"))
}

/// Adds a point of each system with so many threads.
fn add_all(it: &mut Builder, systems: &[System], place: &dyn Fn() -> Place, workload: &WorkloadPlan) {
    for &system in systems {
        let Place { threads, .. } = place();
        let system = if system.engine == BOHM.engine { bohm_with(threads) } else { system };
        it.add(system, system.name, place(), workload.clone());
    }
}

/// Adds the points of a panel over numbers of threads; at smoke scale the last of them.
fn add_by_threads(
    it: &mut Builder,
    systems: &[System],
    (panel, scale): (&'static str, Scale),
    cores: usize,
    workload: &WorkloadPlan,
) {
    let first = if scale == Scale::Smoke { most(cores) as u32 } else { 0 };
    for threads in thread_counts(THREAD_COUNTS, cores.max(2)).filter(|threads| *threads >= first) {
        add_all(it, systems, &|| Place::new(panel, f64::from(threads), threads.to_string(), threads), workload);
    }
}

/// A builder with what is to be said of the systems, and of numbers of threads.
fn builder_by_threads(cores: usize) -> Builder {
    let mut it = builder();
    it.points.notes.extend(left_out(THREAD_COUNTS, cores));
    it
}

/// A builder with what is to be said of the systems.
fn builder() -> Builder {
    let mut it = Builder::new();
    it.note(
        "transactions are drawn before the clock runs, and for bohm their footprints too; threads of bohm plan (a quarter, at least one) \
         or execute, those of the others run transactions. No transaction has a latency",
    );
    it.note(
        "twopl and mvto compute footprints while the clock runs, and use them; silo, hekaton, si and hyper do without",
    );
    it.note(
        "hekaton and si free replaced versions, which the paper's do not (\"keeping\"), and find rows by the same indexes as all others, \
         where the paper's have an array",
    );
    it
}

fn on_cores(figures: &Figures<'_>) -> String {
    match figures.cores < PAPER_THREADS as usize {
        true => format!(" ({} cores, {PAPER_THREADS} in the paper)", figures.cores),
        false => String::new(),
    }
}

const MISSING: &str = "partly: points are missing";

/// Ratios as an outcome shows them.
fn listed(ratios: &[(&str, f64)]) -> String {
    let shown: Vec<String> = ratios.iter().map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
    shown.join(", ")
}

/// Ratios of BOHM to each other system of the paper, at a place.
fn bohm_over(figures: &Figures<'_>, panel: &str, x: f64) -> Option<[(&'static str, f64); 4]> {
    let over = |system: System| Some((system.name, figures.ratio(panel, BOHM.name, system.name, x)?));
    Some([over(HEKATON)?, over(SI)?, over(SILO)?, over(TWOPL)?])
}

/// Ratios up to which systems are alike.
const ALIKE: f64 = 1.3;

fn is_alike(ratio: f64) -> bool {
    (1.0 / ALIKE..=ALIKE).contains(&ratio)
}

/// Whether a system of the paper is ahead of the others, by BOHM's ratios to them.
fn is_first(system: System, over: [(&str, f64); 4]) -> bool {
    let bohm = [(BOHM.name, 1.0)];
    let least = over.iter().chain(&bohm).map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min);
    over.iter().chain(&bohm).any(|(name, ratio)| *name == system.name && *ratio <= least)
}

const BOHM_OVER: &[(&str, &str, &str)] = &[
    ("bohm / hekaton", "bohm", "hekaton"),
    ("bohm / si", "bohm", "si"),
    ("bohm / silo", "bohm", "silo"),
    ("bohm / twopl", "bohm", "twopl"),
    ("bohm / mvto", "bohm", "mvto"),
    ("bohm / hyper", "bohm", "hyper"),
];

const NO_PAPER: &[PaperSeries] = &[];

#[cfg(test)]
mod tests {
    use super::smallbank::BESIDE;
    use super::*;
    use crate::experiments::Sweep;

    const ALL: [&Sweep; 6] = [&STAGES, &RMW, &RMW_READS, &THETA, &LONG_READERS, &SMALLBANK];

    #[test]
    fn no_point_has_more_threads_than_cores() {
        for sweep in ALL {
            for cores in [2, 4, 16, 64] {
                let points = (sweep.points)(Scale::Full, cores).points;
                assert!(!points.is_empty());
                for point in points.iter().filter(|point| point.series != BESIDE) {
                    let Stages { planners, executors } = point.plan.settings.stages;
                    assert!(point.plan.threads as usize <= cores && (planners + executors) as usize <= cores);
                }
            }
        }
    }

    #[test]
    fn every_system_of_the_paper_is_at_every_place() {
        for sweep in &ALL[1..] {
            let points = (sweep.points)(Scale::Full, 40).points;
            for point in &points {
                let has = |system: System| {
                    points.iter().any(|it| (it.panel, it.x, &it.series[..]) == (point.panel, point.x, system.name))
                };
                assert!(SYSTEMS.iter().all(|system| has(*system)), "{} at {}", point.panel, point.label);
            }
        }
    }

    #[test]
    fn what_the_machine_forces_down_is_noted() {
        for sweep in ALL {
            let is_forced = |cores| {
                let notes = (sweep.points)(Scale::Full, cores).notes;
                notes.iter().any(|note| note.contains("in the paper") || note.contains("left out"))
            };
            assert!(is_forced(2) && !is_forced(64));
        }
    }
}
