//! Parts throughput (figure 7.2) and batches: every engine at every number of replicas, in turns.

use super::arguments::{Durability, Engine, PaxosOrderArguments};
use super::bench::Bench;
use super::measurement::Measurement;
use super::row::{Load, Row, Subject};
use super::{etcd, ours};
use crate::processes::Failure;
use crate::report::grouped;
use std::collections::HashMap;

/// Load given to each engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Single requests of many clients; etcd, which has no batches, gets the content of a batch as one put.
    Requests,
    /// Ready-made batches: what etcd is given, for all.
    Batches,
}

impl Given {
    fn part(self) -> &'static str {
        match self {
            Given::Requests => "throughput",
            Given::Batches => "batches",
        }
    }
}

/// Measures everything that the arguments ask for.
///
/// # Errors
/// The first run that failed: there are no figures beside it.
pub fn rows(bench: &Bench, given: Given) -> Result<Vec<Row>, Failure> {
    let arguments = bench.arguments();
    let subjects = bench.all_subjects(&[3, 5, 7, 9, 11, 13, 15], &[Durability::Memory]);
    let mut repeats: HashMap<Subject, Vec<Measurement>> = HashMap::new();
    for repeat in 0..arguments.repeat {
        for (at, subject) in in_turns(&subjects, repeat).into_iter().enumerate() {
            let measurement = measure(bench, subject, given)?;
            eprintln!(
                "[{}/{}] {} with {} replicas, {}: {} requests/s, p99 {} us, others used {:.2} processors, {} election(s)",
                repeat as usize * subjects.len() + at + 1,
                subjects.len() * arguments.repeat as usize,
                subject.engine,
                subject.replicas,
                subject.durability,
                grouped(measurement.requests_per_s()),
                grouped(measurement.p99_us),
                measurement.cores_used.others,
                measurement.elections,
            );
            repeats.entry(subject).or_default().push(measurement);
        }
    }
    let row = |subject: &Subject| {
        let measured = repeats.get(subject)?;
        let plain = repeats.get(&Subject { engine: Engine::Plain, ..*subject }).map(Vec::as_slice);
        let ours = plain.filter(|_| !subject.engine.is_etcd());
        Some(Row::new(given.part(), *subject, row_load(bench, measured), measured, ours))
    };
    Ok(subjects.iter().filter_map(row).collect())
}

/// Every other repeat the other way round, so that no engine is always the one after another.
fn in_turns(subjects: &[Subject], repeat: u32) -> Vec<Subject> {
    let mut subjects = subjects.to_vec();
    if repeat % 2 == 1 {
        subjects.reverse();
    }
    subjects
}

fn measure(bench: &Bench, subject: Subject, given: Given) -> Result<Measurement, Failure> {
    let arguments = bench.arguments();
    match (subject.engine, given) {
        (Engine::Etcd, _) => best(bench, |in_flight| measure_etcd(bench, subject, Puts::batches(bench, in_flight))),
        (Engine::EtcdSingle, _) => measure_etcd(bench, subject, Puts::requests(arguments)),
        (Engine::Proved | Engine::Plain, Given::Requests) => ours::measure(bench, subject, &bench.load()),
        (Engine::Proved | Engine::Plain, Given::Batches) => {
            best(bench, |in_flight| ours::measure(bench, subject, &bench.load_of_batches(in_flight)))
        }
    }
}

/// The run with the number of batches in flight that serves this engine best.
fn best(bench: &Bench, run: impl Fn(u64) -> Result<Measurement, Failure>) -> Result<Measurement, Failure> {
    let runs: Result<Vec<Measurement>, Failure> =
        bench.arguments().in_flight.iter().map(|&number| run(number)).collect();
    let best = runs?.into_iter().max_by(|a, b| a.requests_per_s().total_cmp(&b.requests_per_s()));
    best.ok_or_else(|| "no number of batches in flight was given".to_owned())
}

/// Load given to etcd.
struct Puts {
    in_flight: u64,
    value_bytes: u64,
    requests_per_put: u64,
}

impl Puts {
    /// A put is a batch of as many requests as fit.
    fn batches(bench: &Bench, in_flight: u64) -> Puts {
        Puts { in_flight, value_bytes: bench.arguments().batch_bytes, requests_per_put: bench.requests_per_batch() }
    }

    /// A put is a request.
    fn requests(arguments: &PaxosOrderArguments) -> Puts {
        Puts { in_flight: arguments.clients, value_bytes: arguments.request_bytes, requests_per_put: 1 }
    }
}

fn measure_etcd(bench: &Bench, subject: Subject, puts: Puts) -> Result<Measurement, Failure> {
    let programs = bench.etcd().ok_or("etcd is not here")?;
    let root = match subject.durability {
        Durability::Memory => etcd::in_memory()?,
        Durability::Fsync => bench.data().to_owned(),
    };
    let directory = bench.scratch(&root)?;
    let load = etcd::Load {
        members: usize::try_from(subject.replicas).map_err(|_| "too many replicas")?,
        in_flight: puts.in_flight,
        value_bytes: puts.value_bytes,
        requests_per_put: puts.requests_per_put,
        warm_up: bench.warm_up(),
        measured: bench.measured(),
    };
    etcd::measure(programs, directory.path(), &load)
}

/// Returns the load of a row. Where batches were in flight, they count as clients.
fn row_load(bench: &Bench, measured: &[Measurement]) -> Load {
    let in_flight = measured.iter().find_map(|measurement| measurement.in_flight);
    let load = bench.row_load();
    Load { clients: in_flight.unwrap_or(load.clients), ..load }
}
