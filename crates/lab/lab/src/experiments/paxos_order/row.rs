//! Rows of figures: medians of all repeats, with the spread of what matters most.

use super::arguments::{Durability, Engine};
use super::measurement::Measurement;
use crate::machine;
use crate::report::{grouped, median, write_cells};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Name of the experiment.
pub const NAME: &str = "paxos-order";

/// Subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// The system that ordered the requests.
    pub engine: Engine,
    /// By how many replicas.
    pub replicas: u64,
    /// Durability of a vote.
    pub durability: Durability,
}

/// The load of a row.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Logical clients, each with one request open; etcd's are the puts in flight.
    pub clients: u64,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Bytes of requests in a batch, at most.
    pub batch_bytes: u64,
}

/// A row of figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Always [`NAME`].
    pub experiment: String,
    /// Which part of it.
    pub part: String,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields are documented one by one")]
    pub subject: Subject,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields are documented one by one")]
    pub load: Load,
    /// Requests acknowledged in a second: median of the repeats.
    pub requests_per_s: f64,
    /// The slowest repeat's.
    pub requests_per_s_min: f64,
    /// The fastest repeat's.
    pub requests_per_s_max: f64,
    /// Batches in a second.
    pub batches_per_s: f64,
    /// Requests in a batch, on average.
    pub requests_per_batch: f64,
    /// Microseconds of processor that all replicas together spend on a request.
    pub cpu_us_per_request: f64,
    /// The same for a batch.
    pub cpu_us_per_batch: f64,
    /// Median time from a request to its acknowledgement, in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Batches in flight, if the load reports them.
    pub in_flight: Option<u64>,
    /// Requests in a second, as a share of the plain core's in the same repeat: median of the repeats.
    pub of_plain: Option<f64>,
    /// Least of them.
    pub of_plain_min: Option<f64>,
    /// Greatest of them.
    pub of_plain_max: Option<f64>,
    /// Processor time for a request, as a share of the plain core's in the same repeat: median of the repeats. Other programs
    /// disturb it less than the throughput.
    pub cpu_of_plain: Option<f64>,
    /// Processors that the replicas used.
    pub replica_cores: f64,
    /// Processors that the clients used.
    pub load_cores: f64,
    /// Processors that other programs used meanwhile.
    pub other_cores: f64,
    /// New leaders elected while it was counted, in all repeats: some are a sign of replicas that were kept from running.
    pub elections: u64,
    /// Counted seconds of a repeat.
    pub seconds: f64,
    /// Number of repeats.
    pub repeats: usize,
    /// Processors of the machine.
    pub cores: usize,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

impl Row {
    /// Sums up all repeats. `plain` are those of the plain core, in the same order, if it was run too.
    pub fn new(
        part: &str,
        subject: Subject,
        load: Load,
        repeats: &[Measurement],
        plain: Option<&[Measurement]>,
    ) -> Row {
        let of = |figure: fn(&Measurement) -> f64| median(repeats.iter().map(figure));
        let rates = || repeats.iter().map(Measurement::requests_per_s);
        let shares = |figure: fn(&Measurement) -> f64| -> Vec<f64> {
            let pairs = repeats.iter().zip(plain.unwrap_or_default());
            pairs.map(|(measured, plain)| figure(measured) / figure(plain)).collect()
        };
        let (rate_shares, cpu_shares) = (shares(Measurement::requests_per_s), shares(Measurement::cpu_us_per_request));
        let in_flight = repeats.iter().find_map(|repeat| repeat.in_flight);
        Row {
            experiment: NAME.to_owned(),
            part: part.to_owned(),
            subject,
            load,
            requests_per_s: of(Measurement::requests_per_s),
            requests_per_s_min: rates().fold(f64::INFINITY, f64::min),
            requests_per_s_max: rates().fold(0.0, f64::max),
            batches_per_s: of(Measurement::batches_per_s),
            requests_per_batch: of(|repeat| repeat.requests as f64 / repeat.batches.max(1) as f64),
            cpu_us_per_request: of(Measurement::cpu_us_per_request),
            cpu_us_per_batch: of(Measurement::cpu_us_per_batch),
            p50_us: of(|repeat| repeat.p50_us),
            p99_us: of(|repeat| repeat.p99_us),
            p999_us: of(|repeat| repeat.p999_us),
            in_flight,
            of_plain: median_of_some(&rate_shares),
            of_plain_min: rate_shares.iter().copied().reduce(f64::min),
            of_plain_max: rate_shares.iter().copied().reduce(f64::max),
            cpu_of_plain: median_of_some(&cpu_shares),
            replica_cores: of(|repeat| repeat.cores_used.replicas),
            load_cores: of(|repeat| repeat.cores_used.load),
            other_cores: of(|repeat| repeat.cores_used.others),
            elections: repeats.iter().map(|repeat| repeat.elections).sum(),
            seconds: of(|repeat| repeat.seconds),
            repeats: repeats.len(),
            cores: machine::cores(),
            commit: machine::commit(),
        }
    }
}

fn median_of_some(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(values.iter().copied()))
}

const TITLES: [&str; 18] = [
    "engine",
    "replicas",
    "durability",
    "requests/s",
    "min",
    "max",
    "of plain",
    "batches/s",
    "CPU us/request",
    "of plain",
    "CPU us/batch",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "replicas' cores",
    "clients'",
    "others'",
    "elections",
];

/// Writes the rows as an aligned table.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(
        out,
        "paxos-order, {}: {} clients, requests of {} bytes, batches of {} bytes, {} x {:.1} s, {} core(s), commit {}\n",
        first.part,
        first.load.clients,
        first.load.request_bytes,
        first.load.batch_bytes,
        first.repeats,
        first.seconds,
        first.cores,
        first.commit.as_deref().unwrap_or("unknown"),
    )?;
    let cells = rows.iter().map(|row| {
        [
            row.subject.engine.to_string(),
            row.subject.replicas.to_string(),
            row.subject.durability.to_string(),
            grouped(row.requests_per_s),
            grouped(row.requests_per_s_min),
            grouped(row.requests_per_s_max),
            row.of_plain.map_or_else(String::new, |share| format!("{share:.2}")),
            grouped(row.batches_per_s),
            format!("{:.2}", row.cpu_us_per_request),
            row.cpu_of_plain.map_or_else(String::new, |share| format!("{share:.2}")),
            format!("{:.0}", row.cpu_us_per_batch),
            grouped(row.p50_us),
            grouped(row.p99_us),
            grouped(row.p999_us),
            format!("{:.2}", row.replica_cores),
            format!("{:.2}", row.load_cores),
            format!("{:.2}", row.other_cores),
            row.elections.to_string(),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    write_cells(&lines, out)
}
