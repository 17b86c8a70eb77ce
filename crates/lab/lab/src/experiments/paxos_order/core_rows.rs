//! Part core: rows of the cost of the cores alone.

use super::arguments::Engine;
use super::bench::Bench;
use super::core_cost::{self, CoreCost};
use crate::machine;
use crate::processes::Failure;
use crate::report::{grouped, median, write_cells};
use serde::Serialize;
use std::io::{self, Write};

/// A row of figures.
#[derive(Clone, Debug, Serialize)]
pub struct CoreRow {
    /// Always `paxos-order`.
    pub experiment: &'static str,
    /// Always `core`.
    pub part: &'static str,
    /// Which core.
    pub engine: Engine,
    /// Number of replicas.
    pub replicas: u64,
    /// Nanoseconds of processor that all replicas together spend on a batch: median of the repeats.
    pub ns_per_batch: f64,
    /// The fastest repeat's.
    pub ns_per_batch_min: f64,
    /// The slowest repeat's.
    pub ns_per_batch_max: f64,
    /// Events that all replicas together take for a batch.
    pub events_per_batch: f64,
    /// Nanoseconds of an event.
    pub ns_per_event: f64,
    /// Cost relative to the plain core in the same repeat: median of the repeats.
    pub of_plain: Option<f64>,
    /// Batches of a repeat.
    pub batches: u64,
    /// Number of repeats.
    pub repeats: usize,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

/// Measures both cores at every number of replicas, in turns.
///
/// # Errors
/// Neither core is among the engines.
pub fn rows(bench: &Bench) -> Result<Vec<CoreRow>, Failure> {
    let cores: Vec<Engine> = bench.engines().iter().copied().filter(|engine| !engine.is_etcd()).collect();
    if cores.is_empty() {
        return Err("part core measures our cores only: name proved or plain".to_owned());
    }
    let mut rows = Vec::new();
    for replicas in bench.replicas(&[3, 5, 7, 9, 11, 13, 15]) {
        let mut repeats: Vec<Vec<CoreCost>> = vec![Vec::new(); cores.len()];
        for _ in 0..bench.arguments().repeat {
            for (engine, costs) in cores.iter().zip(&mut repeats) {
                costs.extend(core_cost::measure(*engine, replicas, batches(bench, replicas), batch_bytes(bench)));
            }
        }
        let plain = cores.iter().position(|engine| *engine == Engine::Plain).map(|at| repeats[at].clone());
        rows.extend(cores.iter().zip(&repeats).map(|(engine, costs)| row(*engine, replicas, costs, plain.as_deref())));
    }
    Ok(rows)
}

/// About a second's worth: the seconds of the command line are for whole clusters.
fn batches(bench: &Bench, replicas: u64) -> u64 {
    let seconds = bench.measured().as_secs_f64();
    (seconds * 1_000_000.0 / replicas as f64) as u64 + 1
}

fn batch_bytes(bench: &Bench) -> usize {
    usize::try_from(bench.arguments().batch_bytes).unwrap_or(usize::MAX)
}

fn row(engine: Engine, replicas: u64, costs: &[CoreCost], plain: Option<&[CoreCost]>) -> CoreRow {
    let times = || costs.iter().map(|cost| cost.ns_per_batch);
    let shares = plain.map(|plain| times().zip(plain).map(|(ns, plain)| ns / plain.ns_per_batch));
    CoreRow {
        experiment: "paxos-order",
        part: "core",
        engine,
        replicas,
        ns_per_batch: median(times()),
        ns_per_batch_min: times().fold(f64::INFINITY, f64::min),
        ns_per_batch_max: times().fold(0.0, f64::max),
        events_per_batch: median(costs.iter().map(|cost| cost.events_per_batch)),
        ns_per_event: median(costs.iter().map(|cost| cost.ns_per_batch / cost.events_per_batch)),
        of_plain: shares.map(median),
        batches: costs.iter().map(|cost| cost.batches).min().unwrap_or(0),
        repeats: costs.len(),
        commit: machine::commit(),
    }
}

const TITLES: [&str; 8] = ["core", "replicas", "ns/batch", "min", "max", "of plain", "events/batch", "ns/event"];

/// Writes the rows as an aligned table.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[CoreRow], out: &mut dyn Write) -> io::Result<()> {
    let cells = rows.iter().map(|row| {
        [
            row.engine.to_string(),
            row.replicas.to_string(),
            grouped(row.ns_per_batch),
            grouped(row.ns_per_batch_min),
            grouped(row.ns_per_batch_max),
            row.of_plain.map_or_else(String::new, |share| format!("{share:.2}")),
            format!("{:.1}", row.events_per_batch),
            format!("{:.0}", row.ns_per_event),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    writeln!(out, "paxos-order, core: all replicas in one thread, without clients, network and disk\n")?;
    write_cells(&lines, out)
}
