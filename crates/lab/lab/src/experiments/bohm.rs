//! BOHM's experiments: section 4 of the paper, figures 4 to 9.
//!
//! The paper's numbers are those that its text gives: where it shows only a curve, there is nothing to draw beside ours. Our `mvto` and
//! `hyper` stand beside the five systems of the paper.

mod long_readers;
mod smallbank;
mod stages;
mod ycsb;

pub(super) use long_readers::LONG_READERS;
pub(super) use smallbank::SMALLBANK;
pub(super) use stages::STAGES;
pub(super) use ycsb::{RMW, RMW_READS, THETA};

use super::builder::{Builder, Place, left_out, thread_counts};
use super::figures::Figures;
use super::{PaperSeries, Stages, System};
use crate::cli::Scale;
use crate::trial::WorkloadPlan;
use crate::workloads::parameters::Presets;
use crate::workloads::ycsb as ycsb_workload;
use serde_json::{Value, json};

const BOHM: System = System { batch: BATCH, ..System::whole("bohm") };
const HEKATON: System = System::whole("hekaton");
const SI: System = System::whole("si");
const SILO: System = System::whole("silo");
const TWOPL: System = System::whole("twopl");
const MVTO: System = System::whole("mvto");
const HYPER: System = System::whole("hyper");
/// As the paper's authors ran them.
const KEEPING: [System; 2] = [
    System { name: "hekaton, keeping", keeps_versions: true, ..HEKATON },
    System { name: "si, keeping", keeps_versions: true, ..SI },
];

/// The paper's, and ours.
const SYSTEMS: [System; 7] = [BOHM, HEKATON, SI, SILO, TWOPL, MVTO, HYPER];
/// The paper's.
const PAPER_SYSTEMS: [System; 5] = [BOHM, HEKATON, SI, SILO, TWOPL];

/// Procedures that a client of BOHM submits together.
const BATCH: u32 = 500;

/// The paper's threads, each on a core of its own.
const PAPER_THREADS: u32 = 40;
const THREAD_COUNTS: &[u32] = &[1, 2, 4, 8, 16, 32, PAPER_THREADS];

/// Number of threads with which figures over threads end here.
fn most(cores: usize) -> f64 {
    thread_counts(THREAD_COUNTS, cores).last().map_or(1.0, f64::from)
}

/// BOHM with so many threads in all: a quarter of them plans.
fn bohm_with(threads: u32) -> System {
    let planners = (threads / 4).max(1);
    System { stages: Stages { planners, executors: (threads - planners).max(1) }, ..BOHM }
}

/// Clients that keep so many threads of BOHM busy: one draws while the other's procedures run.
fn bohm_clients(threads: u32) -> u32 {
    (threads / 8).max(2)
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
fn add_all(it: &mut Builder, systems: &[System], place: &dyn Fn(u32) -> Place, threads: u32, workload: &WorkloadPlan) {
    for &system in systems {
        if system.engine != BOHM.engine {
            it.add(system, system.name, place(threads), workload.clone());
        } else if threads > 1 {
            it.add(bohm_with(threads), system.name, place(bohm_clients(threads)), workload.clone());
        }
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
    let first = if scale == Scale::Smoke { most(cores) as u32 } else { 1 };
    for threads in thread_counts(THREAD_COUNTS, cores).filter(|threads| *threads >= first) {
        let place = |clients| Place::new(panel, f64::from(threads), threads.to_string(), clients);
        add_all(it, systems, &place, threads, workload);
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
    it.note(format!(
        "threads of bohm plan (a quarter, at least one) or execute: it needs two. Its clients, which submit {BATCH} procedures at a time, \
         run beside them, here on the same cores"
    ));
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
    use super::*;
    use crate::experiments::Sweep;

    const ALL: [&Sweep; 6] = [&STAGES, &RMW, &RMW_READS, &THETA, &LONG_READERS, &SMALLBANK];

    #[test]
    fn no_point_has_more_threads_than_cores() {
        for sweep in ALL {
            for cores in [2, 4, 16, 64] {
                let points = (sweep.points)(Scale::Full, cores).points;
                assert!(!points.is_empty());
                for point in points {
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
            for point in points.iter().filter(|point| point.label != "1") {
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
