//! `lab run` of a simulation: measures what the model needs, then runs all points in virtual time.

use super::calibration::calibrate;
use super::cluster::{Measured, Setting, System};
use super::gauge::Costs;
use super::link::LinkCosts;
use super::simulated::{Model, simulate};
use super::{CORES, Place, Simulation, real};
use crate::cli::Scale;
use crate::experiments::figures::{Figure, Figures, Outcome};
use crate::machine;
use crate::trial::WorkloadPlan;
use crate::workloads::{bank::Bank, tpcc::Tpcc, vacation::Vacation};
use env::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was measured on this machine: once for all experiments of a command.
#[derive(Debug, Default)]
pub struct Measurements {
    link: Option<LinkCosts>,
    by_workload: BTreeMap<&'static str, (Costs, Vec<String>)>,
}

/// Lengths of runs: real ones, and virtual ones with their warm-up.
struct Lengths {
    real: Duration,
    warm_up_ns: u64,
    measured_ns: u64,
}

impl Lengths {
    fn new(scale: Scale) -> Lengths {
        match scale {
            Scale::Smoke => Lengths { real: Duration::from_millis(40), warm_up_ns: 1_000_000, measured_ns: 4_000_000 },
            Scale::Full => Lengths { real: Duration::from_secs(2), warm_up_ns: 20_000_000, measured_ns: 60_000_000 },
        }
    }
}

/// Does something with the workload of a plan.
macro_rules! with_workload {
    ($plan:expr, $workload:ident => $task:expr) => {
        match $plan {
            WorkloadPlan::Bank(parameters) => {
                let $workload = Arc::new(Bank::new(parameters.clone()));
                $task
            }
            WorkloadPlan::Tpcc(parameters) => {
                let $workload = Arc::new(Tpcc::new(parameters.clone()));
                $task
            }
            WorkloadPlan::Vacation(parameters) => {
                let $workload = Arc::new(Vacation::new(parameters.clone()));
                $task
            }
            other => Err(format!("workload {} is not divided among nodes", other.name())),
        }
    };
}

impl Measurements {
    fn link(&mut self, length: Duration) -> Result<LinkCosts, String> {
        match self.link {
            Some(link) => Ok(link),
            None => Ok(*self.link.insert(real::link_costs(length)?)),
        }
    }

    /// Costs of a workload's steps, with notes. Measured where it is divided among three nodes.
    fn costs(&mut self, plan: &WorkloadPlan, length: Duration) -> Result<&(Costs, Vec<String>), String> {
        let (name, link) = (plan.name(), self.link(length)?);
        if !self.by_workload.contains_key(name) {
            eprintln!("{name}: measures on this machine");
            let measured = with_workload!(plan, workload => calibrate(name, &workload, link, length))?;
            self.by_workload.insert(name, measured);
        }
        Ok(&self.by_workload[name])
    }
}

/// Runs a simulation.
///
/// # Errors
/// What the model needs could not be measured: a sentence. A point that fails is named in the outcome.
pub fn perform(
    (name, simulation): (&str, &Simulation),
    scale: Scale,
    measurements: &mut Measurements,
) -> Result<Outcome, String> {
    let lengths = Lengths::new(scale);
    let (places, mut notes) = (simulation.places)(scale);
    let link = measurements.link(lengths.real)?;
    notes.push(format!(
        "the order, measured on three replicas of this machine: {:.0} us from a proposal to its delivery; its busiest thread takes {:.0} \
         ns for a payload and {:.2} ns for a byte, for each follower; each node takes {:.0} and {:.2} ns of processors",
        link.latency_ns / 1e3,
        link.payload_ns,
        link.byte_ns,
        link.node_payload_ns,
        link.node_byte_ns
    ));
    // First of all, so that only the begin of a run needs a quiet machine.
    for place in &places {
        measurements.costs(&place.calibrated_on, lengths.real)?;
    }
    let (mut figures, mut failed) = (Vec::new(), Vec::new());
    for (number, place) in places.iter().enumerate() {
        let (costs, measured) = measurements.costs(&place.calibrated_on, lengths.real)?;
        for note in measured.iter().filter(|note| !notes.contains(note)).cloned().collect::<Vec<_>>() {
            notes.push(note);
        }
        let model = Model {
            costs: costs.clone().with_access(place.access_ns),
            link,
            cores: CORES,
            is_one_machine: false,
            warm_up_ns: lengths.warm_up_ns,
            measured_ns: lengths.measured_ns,
        };
        for system in System::ALL {
            eprintln!("{name} [{}/{}] {} at {}, {}", number + 1, places.len(), place.panel, place.label, system.name());
            let setting = Setting { system, nodes: place.nodes, clients: place.clients };
            match with_workload!(&place.workload, workload => simulate(&workload, setting, &model)) {
                Ok(measured) => figures.push(figure(place, system, &measured)),
                Err(problem) => {
                    failed.push(format!("{} at {}, {}: {problem}", place.panel, place.label, system.name()))
                }
            }
        }
    }
    let shape = (simulation.outcome)(&Figures { all: &figures, cores: CORES });
    let outcome = match (scale, failed.len()) {
        (Scale::Smoke, _) => format!("smoke scale decides nothing; its figures alone would say: {shape}"),
        (Scale::Full, 0) => shape,
        (Scale::Full, failed) => format!("undecided: {failed} point(s) failed; the figures would say: {shape}"),
    };
    Ok(Outcome {
        experiment: name.to_owned(),
        scale,
        cores: machine::cores(),
        build: machine::BUILD.to_owned(),
        allocator: machine::ALLOCATOR.to_owned(),
        commit: machine::commit(),
        notes,
        failed,
        outcome,
        figures,
    })
}

pub(super) fn figure(place: &Place, system: System, measured: &Measured) -> Figure {
    let aborted: u64 = measured.aborts.values().sum();
    let attempts = (aborted + measured.commits).max(1);
    let mut parameters = place.workload.parameters();
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.insert("nodes".to_owned(), place.nodes.into());
        if let Some(nanoseconds) = place.access_ns {
            parameters.insert("access_ns".to_owned(), nanoseconds.into());
        }
        parameters.insert("skipped_percent".to_owned(), measured.skipped_percent.into());
    }
    Figure {
        panel: place.panel.to_owned(),
        series: system.name().to_owned(),
        x: place.x,
        label: place.label.clone(),
        engine: "dur, in virtual time".to_owned(),
        threads: place.clients,
        long_readers: 0,
        txn_per_s: measured.per_second(),
        txn_per_s_min: measured.per_second(),
        txn_per_s_max: measured.per_second(),
        txn_per_s_by_kind: BTreeMap::new(),
        bare_ns: None,
        over_bare_ns: None,
        long_reader_txn_per_s: None,
        long_reader_aborts: BTreeMap::new(),
        abort_ratio: aborted as f64 / attempts as f64,
        aborts: measured.aborts.clone(),
        p50_us: measured.p50_us,
        p99_us: measured.p99_us,
        p999_us: measured.p999_us,
        rss_mb: None,
        kept_versions: None,
        log_bytes: None,
        other_cores: None,
        isolation: "strict serializable".to_owned(),
        durability: "in memory, none".to_owned(),
        repeats: 1,
        seconds: measured.seconds,
        parameters,
    }
}
