//! The model's parameters, from runs on this machine in the same command; and how far the model is off where both can be had.

use super::cluster::{Setting, System};
use super::gauge::Costs;
use super::link::LinkCosts;
use super::{real, simulated::Model, simulated::simulate};
use crate::engines::replicas::replicas;
use crate::machine;
use crate::workloads::{Client, Partitioned};
use env::time::Duration;
use std::sync::Arc;

/// Virtual time of the model beside a real run.
const MODEL_NS: u64 = 100_000_000;
/// Clients of the real run.
const CLIENTS: u32 = 96;
/// Its nodes.
const NODES: u64 = 3;

/// Costs of a workload's steps, and a sentence for the notes.
///
/// # Errors
/// A run failed: a sentence.
pub fn calibrate<W: Partitioned + Send>(
    name: &str,
    workload: &Arc<W>,
    link: LinkCosts,
    measured: Duration,
) -> Result<(Costs, Vec<String>), String>
where
    W::Client: Client<Call: 'static> + 'static,
{
    let costs = real::step_costs(workload, measured)?;
    let cores = machine::cores();
    let model = Model {
        costs: costs.clone(),
        link,
        cores,
        is_one_machine: true,
        warm_up_ns: MODEL_NS / 5,
        measured_ns: MODEL_NS.min(measured.as_nanos() as u64),
    };
    let mut beside = Vec::new();
    for system in System::ALL {
        let setting = Setting { system, nodes: NODES, clients: CLIENTS };
        let real = real::measure(workload, setting, replicas(NODES)?, None, measured)?.per_second();
        let modelled = simulate(workload, setting, &model)?.per_second();
        beside.push(format!(
            "{} {real:.0} and {modelled:.0} ({:+.0} %)",
            system.name(),
            (modelled / real - 1.0) * 100.0
        ));
    }
    let notes = vec![
        format!("measured for {name}, {costs}"),
        format!(
            "{name} on {NODES} nodes of this machine ({cores} cores for all of them and {CLIENTS} clients, the proved order on loopback), \
             transactions/s, measured and by the model: {}",
            beside.join(", ")
        ),
    ];
    Ok((costs, notes))
}
