//! The thesis' experiments on deferred update, figures 4.1 to 4.12: on 3 to 23 nodes, in virtual time.
//!
//! This machine cannot run 23 nodes. The engine runs as it is, all its threads, on a schedule of virtual time ([`sim::Schedule`]): which
//! transactions meet, abort, rest on others and are skipped is decided by the engine, no formula says it. What is modelled is what a step
//! takes, the cores of the machines, and the link. The model's parameters are measured on this machine in the same command, and
//! the model is held against a real cluster of three nodes (decision 0142).
//!
//! - [`gauge`]: what steps take; [`calibration`] measures it.
//! - [`link`]: the order between simulated nodes.
//! - [`cluster`], [`clients`]: nodes, clients, loading and audits, the same for [`simulated`] and [`real`] clusters.
//! - [`run`]: one experiment.
//!
//! The thesis gives no table, and its figures are not in its text: the points that stand beside ours are those that the text names.

mod bank;
mod calibration;
mod clients;
mod cluster;
mod gauge;
mod link;
mod real;
mod remote;
pub(super) mod run;
mod simulated;
mod tpcc;
mod vacation;

pub(super) use bank::BANK;
pub(super) use remote::REMOTE;
pub(super) use tpcc::TPCC;
pub(super) use vacation::VACATION;

use super::bohm::claims::Claims;
use super::figures::Figures;
use super::{Chart, Measure, PaperSeries, Style};
use crate::cli::Scale;
use crate::trial::WorkloadPlan;
use crate::workloads::parameters::Presets;
use serde::de::DeserializeOwned;

/// An experiment in virtual time.
#[derive(Debug)]
pub struct Simulation {
    /// What is run, by each system; and notes.
    pub places: fn(Scale) -> (Vec<Place>, Vec<String>),
    /// How it is drawn.
    pub charts: &'static [Chart],
    /// What came out: `reproduced`, `partly: why`, or `not here: why`.
    pub outcome: fn(&Figures<'_>) -> String,
}

/// A place of a figure, where each system has a point.
#[derive(Clone, Debug)]
pub struct Place {
    /// Part of the figure.
    pub panel: &'static str,
    /// Where it stands.
    pub x: f64,
    /// How that is called.
    pub label: String,
    /// Nodes.
    pub nodes: u64,
    /// Clients of all nodes.
    pub clients: u32,
    /// What is run.
    pub workload: WorkloadPlan,
    /// The same divided among three nodes: what steps take is measured with it.
    pub calibrated_on: WorkloadPlan,
    /// Nanoseconds that a body computes at each access, if not what was measured.
    pub access_ns: Option<f64>,
}

/// Cores of a node, as in the thesis: four sockets with 16 cores each.
pub const CORES: usize = 64;

/// Nodes of the thesis' figures.
const NODES: [u64; 6] = [3, 7, 11, 15, 19, 23];
/// The same at smoke scale.
const FEW_NODES: [u64; 2] = [3, 7];

fn nodes(scale: Scale) -> &'static [u64] {
    if scale == Scale::Smoke { &FEW_NODES } else { &NODES }
}

/// Places by number of nodes.
fn by_nodes(
    panel: &'static str,
    scale: Scale,
    clients: u32,
    workload: impl Fn(u64) -> WorkloadPlan,
) -> impl Iterator<Item = Place> {
    nodes(scale).iter().map(move |&nodes| Place {
        panel,
        x: nodes as f64,
        label: nodes.to_string(),
        nodes,
        clients,
        workload: workload(nodes),
        calibrated_on: workload(3),
        access_ns: None,
    })
}

fn preset<P: DeserializeOwned>(name: &'static str, file: &str, preset: &str, changes: &serde_json::Value) -> P {
    Presets::read(name, file).and_then(|it| it.parameters(preset, changes)).expect("a preset of the workload")
}

const PXDUR: &str = "PXDUR";
const XDUR: &str = "XDUR";
const CONFLICT_AWARE: &str = "conflict-aware";

const OVER_XDUR: &str = "PXDUR / XDUR";
const OVER_CONFLICT_AWARE: &str = "PXDUR / conflict-aware";
const RATIOS: Measure = Measure::Ratio(&[(OVER_XDUR, PXDUR, XDUR), (OVER_CONFLICT_AWARE, PXDUR, CONFLICT_AWARE)]);

const fn rates(title: &'static str, panel: &'static str) -> Chart {
    Chart { title, panel, measure: Measure::TxnPerS, style: Style::Lines, x: "nodes", paper: &[] }
}

const fn ratios(title: &'static str, panel: &'static str, paper: &'static [PaperSeries]) -> Chart {
    Chart { title, panel, measure: RATIOS, style: Style::Lines, x: "nodes", paper }
}

const MISSING: &str = "not compared: figures are missing";

/// What the engine is to the others at a place.
#[derive(Clone, Copy, Debug)]
struct Compared {
    xdur: f64,
    conflict_aware: f64,
}

fn compared(figures: &Figures<'_>, panel: &str, x: f64) -> Option<Compared> {
    let xdur = figures.ratio(panel, PXDUR, XDUR, x)?;
    Some(Compared { xdur, conflict_aware: figures.ratio(panel, PXDUR, CONFLICT_AWARE, x)? })
}

/// The same at all places of a panel.
fn all_compared(figures: &Figures<'_>, panel: &str) -> Vec<(f64, Compared)> {
    let mut xs: Vec<f64> = figures.all.iter().filter(|it| it.panel == panel).map(|it| it.x).collect();
    xs.dedup();
    xs.into_iter().filter_map(|x| Some((x, compared(figures, panel, x)?))).collect()
}

/// The greatest lead over XDUR in a panel, and where it is.
fn best_lead(figures: &Figures<'_>, panel: &str) -> Option<(f64, f64)> {
    let leads = all_compared(figures, panel).into_iter().map(|(x, it)| (it.xdur, x));
    leads.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Claims that virtual time decides: its machines have the thesis' cores.
fn claims() -> Claims {
    Claims::new(CORES)
}

#[cfg(test)]
mod tests {
    use super::cluster::{Measured, Setting, System};
    use super::gauge::{Cost, Costs};
    use super::link::LinkCosts;
    use super::simulated::{Model, simulate};
    use super::*;
    use crate::workloads::bank::{self, Bank};
    use ::dur::Step;
    use std::sync::Arc;

    pub(super) fn costs() -> Costs {
        let step = |step, ns| (Cost::Step(step), ns);
        let engine = [step(Step::Encode, 200.0), step(Step::Commit, 200.0), step(Step::Decode, 2.0)];
        let applied = [step(Step::Certify, 100.0), step(Step::Apply, 300.0), step(Step::Deliver, 500.0)];
        let client = [(Cost::Submit, 1_000.0), (Cost::Access, 2_000.0)];
        Costs::new(engine.into_iter().chain(applied).chain(client))
    }

    fn run(system: System, accounts: u64, remote: f64) -> Measured {
        let changes = serde_json::json!({ "accounts": accounts, "partitions": 3, "remote": remote });
        let workload = Arc::new(Bank::new(preset(bank::NAME, bank::PRESETS, "dur-low", &changes)));
        let (latency_ns, payload_ns, node_payload_ns) = (100_000.0, 2_000.0, 1_000.0);
        let link = LinkCosts { latency_ns, payload_ns, byte_ns: 0.1, node_payload_ns, node_byte_ns: 0.1 };
        let (costs, is_one_machine) = (costs(), false);
        let model = Model { costs, link, cores: 64, is_one_machine, warm_up_ns: 500_000, measured_ns: 3_000_000 };
        simulate(&workload, Setting { system, nodes: 3, clients: 60 }, &model).expect("the audit passes")
    }

    /// The same model takes the same steps: virtual time, commits and aborts are equal.
    #[test]
    fn a_simulation_is_a_function_of_its_model() {
        for system in System::ALL {
            let (one, other) = (run(system, 60, 10.0), run(system, 60, 10.0));
            assert!(one.commits > 0, "{system:?}");
            assert_eq!((one.commits, &one.aborts), (other.commits, &other.aborts), "{system:?}");
            assert_eq!((one.p50_us, one.p999_us), (other.p50_us, other.p999_us), "{system:?}");
        }
    }

    /// Section 3.1.3: "under fully partitioned access ... all the contention maps stay empty", and nobody aborts in certification.
    #[test]
    fn fully_partitioned_transactions_are_not_validated() {
        for system in System::ALL {
            let partitioned = run(system, 60, 0.0);
            assert!(partitioned.skipped_percent > 95.0, "{system:?}: {partitioned:?}");
            assert!(!partitioned.aborts.contains_key("certification"), "{system:?}: {partitioned:?}");
            let crossing = run(system, 60, 30.0);
            assert!(crossing.skipped_percent < partitioned.skipped_percent, "{system:?}: {crossing:?}");
            assert!(crossing.aborts.contains_key("certification"), "{system:?}: {crossing:?}");
        }
    }

    /// Chapter 4: parallel speculation is ahead of one executor where transactions rarely meet; who waits for the order before the next
    /// one may read falls with contention.
    #[test]
    fn the_thesis_order_of_systems() {
        let rate = |system, accounts| run(system, accounts, 0.0).per_second();
        let (low, high) = (3_000, 9);
        assert!(rate(System::Pxdur, low) > rate(System::Xdur, low));
        assert!(rate(System::ConflictAware, high) < rate(System::ConflictAware, low) / 2.0);
        assert!(rate(System::Xdur, high) > rate(System::ConflictAware, high));
    }

    /// Figures with a throughput for each system at each place.
    pub(super) fn outcome_of(simulation: &Simulation, rate: impl Fn(&Place, System) -> f64) -> String {
        let (places, _) = (simulation.places)(Scale::Full);
        let mut all = Vec::new();
        for place in &places {
            for system in System::ALL {
                let measured = Measured {
                    seconds: 1.0,
                    commits: rate(place, system) as u64,
                    p50_us: 1.0,
                    p99_us: 2.0,
                    p999_us: 3.0,
                    aborts: std::collections::BTreeMap::new(),
                    skipped_percent: 0.0,
                };
                all.push(run::figure(place, system, &measured));
            }
        }
        (simulation.outcome)(&Figures { all: &all, cores: CORES })
    }

    #[test]
    fn outcomes_can_do_without_any_figure() {
        for simulation in [&BANK, &TPCC, &VACATION, &REMOTE] {
            assert!(!(simulation.outcome)(&Figures { all: &[], cores: CORES }).is_empty());
            let outcome = outcome_of(simulation, |_, _| 1000.0);
            assert!(outcome.starts_with("partly") || outcome.starts_with("reproduced"), "{outcome}");
        }
    }
}
